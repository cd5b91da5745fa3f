"""Dense engine on a device of torch's: blocks are told apart there, counted there, and come back in one piece.

The host grows the depth-first forest, which tells the block of every arc (`forest.py`); all that is done once per arc,
the device does. When its memory runs out, matrices are kept in main memory and worked on some rows at a time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from detours.arrays import Int64
from detours.checks import readable_bytes
from detours.counting.derive.matrix_program import MAX_LENGTH, contraction
from detours.counting.derive.matrix_steps import Contraction
from detours.counting.engines.base import Engine, Estimate, Tally, Task
from detours.counting.engines.dense.count import Bundle, bundles, check_counts
from detours.counting.engines.dense.engine import how_dense
from detours.counting.engines.dense.estimate_torch import AT_WORK, device_bytes, device_seconds, seconds_around
from detours.counting.engines.dense.evaluate_torch import evaluate_tensors
from detours.counting.engines.dense.stack import TensorStack
from detours.counting.engines.threads import Progress
from detours.counting.shrink.cyclic_part import Cyclic
from detours.errors import EngineError, warn_caller

STACK = 2**24  # entries of a stack of small blocks: enough to keep a GPU busy
SIMILAR = 0.15
"""A block of this share of the nodes still goes into the stack of a larger one: a stack more costs milliseconds, and
STACK bounds what zeros cost."""
WIDTH, WIDE = 8, 128
"""Matrices wider than WIDE are filled up to a multiple of WIDTH: a GPU is at its best when rows of float16 begin at
whole 16 bytes."""
FETCHED = 2**25  # bytes that are fetched at a time: few enough for memory that a GPU writes to itself, which is scarce


class Placed(NamedTuple):
    """The arcs on cycles, in the order of where they stand in the matrices, those of one bundle behind the other."""

    arc: Tensor  # position among the arcs of the graph
    ahead: Tensor  # where an arc i -> j stands: in the stack of its bundle, flat
    back: Tensor  # the same for j -> i
    ends: list[int]  # how many arcs there are up to the end of each bundle


class TensorEngine(Engine):
    """Closed forms on dense matrices of torch's, on the device of the task."""

    name = "dense"
    longest = MAX_LENGTH
    on_device = True

    def least_seconds(self, task: Task) -> float:
        return seconds_around(len(task.cyclic.indptr) - 1, len(task.cyclic.indices), str(task.device))

    def estimate(self, task: Task) -> Estimate:
        """Memory is that of the host, unless the device is the host."""
        assert task.device is not None
        room = None if task.memory is None else task.memory - task.result_bytes
        count = TensorCount(task.cyclic, task.k, task.device, room)
        size, arcs = count.bytes, len(task.cyclic.indices)
        on_host = size if task.device == "cpu" else min(FETCHED, 8 * (task.k - 1) * arcs) + 8 * arcs
        how = f"{how_dense(task)}, on {task.device} with about {readable_bytes(size)} there"
        return Estimate(count.seconds, on_host + task.result_bytes, how, count)


class TensorCount:
    """One count."""

    def __init__(self, cyclic: Cyclic, k: int, device: str, limit: int | None = None) -> None:
        """``limit`` are the bytes of main memory that matrices may take when they do not fit on the device."""
        if int(np.diff(cyclic.indptr).max(initial=0)) ** (k - 1) >= 2**63:
            check_counts(cyclic.reduced, k)
        self.cyclic, self.k, self.device, self.limit = cyclic, k, torch.device(device), limit

    @cached_property
    def bundles(self) -> list[Bundle]:
        """Figures other than nodes are near enough for estimates: all arcs at a node count, whatever their block."""
        forest = self.cyclic.forest
        nodes, at_home = np.diff(forest.block_ptr), forest.block >= 0
        wide = np.where(nodes > WIDE, -(-nodes // WIDTH) * WIDTH, nodes)
        home = np.concatenate([forest.block[at_home], np.arange(len(nodes))])
        degree = np.concatenate([forest.degree[at_home], forest.degree[forest.joint]])
        degree = np.minimum(degree, nodes[home] - 1).astype(np.float64)
        largest = np.zeros(len(nodes))
        np.maximum.at(largest, home, degree)
        arcs, cubes = np.bincount(home, degree, len(nodes)), np.bincount(home, degree**3, len(nodes))
        return list(bundles(wide, arcs, largest, cubes, STACK, SIMILAR))

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        cyclic, device = self.cyclic, str(self.device)
        counting = sum(device_seconds(steps, bundle.size, device) for bundle, steps in self.work())
        return counting + seconds_around(len(cyclic.indptr) - 1, len(cyclic.indices), device)

    @property
    def bytes(self) -> int:
        """About how much memory it takes on the device."""
        arcs = len(self.cyclic.indices)
        return 8 * (self.k + 8) * arcs + max(device_bytes(steps, bundle.size) for bundle, steps in self.work())

    def work(self) -> Iterator[tuple[Bundle, Contraction]]:
        for bundle in self.bundles:
            yield bundle, contraction(bundle.longest(self.k), self.cyclic.directed)

    def run(self, tally: Tally, n_jobs: int = 1, progress: Progress | None = None) -> None:
        found: list[Tensor] = []
        with _short_of_memory():
            found = self.found(tally, progress)
        if not found:
            raise EngineError(
                f"{self.device} has too little memory for the {len(self.cyclic.indices):,} arcs of this graph; leave "
                "device out to count on the CPU"
            )
        for counts, there in zip(tally, found, strict=False):
            assert counts is not None
            _fetch(there, counts)

    def found(self, tally: Tally, progress: Progress | None) -> list[Tensor]:
        """What the tally is to hold, on the device."""
        placed, begin = self.placed(), 0
        found = [
            torch.zeros(counts.shape, dtype=torch.int64, device=self.device) for counts in tally if counts is not None
        ]
        for done, ((bundle, steps), end) in enumerate(zip(self.work(), placed.ends, strict=True), 1):
            arc, ahead, back = (each[begin:end] for each in placed[:3])
            shape, lengths, begin = (bundle.size.graphs, bundle.size.nodes), slice(len(steps.lengths)), end
            if self.cyclic.directed:
                tied, at = torch.unique(torch.cat([ahead, back]), return_inverse=True)
                at_ahead, at_back = at.chunk(2)
                counts = count_tied(steps, TensorStack(tied, at_ahead, *shape), self.limit)
                found[0][:, lengths][arc] = counts[at_ahead]
                found[1][:, lengths][arc] = counts[at_back]
            else:
                found[0][:, lengths][arc] = count_tied(steps, TensorStack(ahead, None, *shape), self.limit)
            if progress is not None:
                progress(done, len(self.bundles))
        return found

    def placed(self) -> Placed:
        """Where every arc stands; see `Forest` for how the block of an edge is told."""
        cyclic, forest = self.cyclic, self.cyclic.forest
        first, width, starts = map(self.send, self.places())
        indptr, j, entry, block = map(self.send, (cyclic.indptr, cyclic.indices, forest.entry, forest.block))
        number, joint, j = _numbers(block), self.send(forest.joint), j.long()
        i = torch.arange(len(block), device=self.device).repeat_interleave(indptr.diff(), output_size=len(j))
        home = torch.where(entry[i] > entry[j], block[i], block[j])
        arc = torch.nonzero(home >= 0)[:, 0]
        home, i, j = home[arc].long(), i[arc], j[arc]
        at_i, at_j = (torch.where(end == joint[home], 0, number[end]) for end in (i, j))
        ahead, order = torch.sort(first[home] + at_i * width[home] + at_j)
        back = (first[home] + at_j * width[home] + at_i)[order]
        start = starts[torch.searchsorted(starts, ahead, right=True) - 1]
        return Placed(arc[order], ahead - start, back - start, torch.searchsorted(ahead, starts[1:]).tolist())

    def places(self) -> tuple[Int64, Int64, Int64]:
        """Where the matrix of each block begins and how wide it is, all laid end to end; and where stacks begin."""
        first, width = (np.empty(len(self.cyclic.forest.joint), np.int64) for _ in range(2))
        starts = [0]
        for bundle in self.bundles:
            entries = bundle.size.nodes**2
            first[bundle.blocks] = starts[-1] + entries * np.arange(len(bundle.blocks))
            width[bundle.blocks] = bundle.size.nodes
            starts.append(starts[-1] + entries * len(bundle.blocks))
        return first, width, np.array(starts)

    def send(self, array: NDArray[Any]) -> Tensor:
        held = _held(array.shape, array.dtype, self.device)
        np.copyto(held.numpy(), array)
        return held.to(self.device, non_blocking=True)


def _numbers(block: Tensor) -> Tensor:
    """Home nodes of each block are numbered from 1 on; 0 is for the joint."""
    ascending, order = torch.sort(block, stable=True)
    number = torch.empty_like(order)
    number[order] = torch.arange(1, len(order) + 1, device=block.device) - torch.searchsorted(ascending, ascending)
    return number


def count_tied(contraction: Contraction, stack: TensorStack, limit: int | None = None) -> Tensor:
    """int64 [tied pairs, lengths], lengths from 2 on; on a GPU whose memory runs out, in blocks of rows."""
    with _short_of_memory():
        return _together(evaluate_tensors(contraction, stack), contraction)
    # here the error is gone, and with its traceback every matrix that was made
    many = f"{stack.graphs:,} graphs of " if stack.graphs > 1 else ""
    matrices = f"the matrices of {many}{stack.nodes:,} nodes"
    size = 8 * stack.graphs * stack.nodes**2 * contraction.peak_full_matrices
    if limit is not None and size > limit:
        raise EngineError(
            f"{matrices} do not fit on {stack.device}, and the {size / 2**30:.1f} GB that they take in main memory are "
            "more than memory_limit; raise it, or leave device out to count on the CPU"
        )
    height = _height(stack)
    warn_caller(
        f"{matrices} do not fit on {stack.device}; they are kept in main memory and worked on {height:,} rows at a "
        "time, which is slower",
        UserWarning,
    )
    with _short_of_memory():
        return _together(evaluate_tensors(contraction, stack, torch.device("cpu"), height), contraction)
    raise EngineError(
        f"{stack.device} has too little memory for {matrices}, even some rows at a time, or main memory has; leave "
        "device out to count on the CPU"
    )


@contextmanager
def _short_of_memory() -> Iterator[None]:
    """Go on behind the block when memory runs out in it. What was made there is let go of, which an error that is held
    on to would prevent."""
    try:
        yield
    except RuntimeError as error:  # CUDA itself, torch on a GPU and torch in main memory say it in different ways
        words = ("out of memory", "not enough memory", "can't allocate memory")
        if not any(word in str(error) for word in words):
            raise
    except MemoryError:
        pass


def _together(evaluation: Iterator[tuple[int, Tensor]], contraction: Contraction) -> Tensor:
    found = dict(evaluation)
    return torch.stack([found[length] for length in sorted(contraction.lengths)], dim=1)


def _height(stack: TensorStack) -> int:
    """Rows at a time that fit beside the right factor of a product, whole and in parts."""
    gc.collect()
    free = 0
    if stack.device.type == "cuda":
        torch.cuda.empty_cache()
        free, _ = torch.cuda.mem_get_info(stack.device)
    room = 0.8 * free / (8 * stack.graphs * stack.nodes) - AT_WORK * stack.nodes
    return int(np.clip(room / (2 * AT_WORK), min(64, stack.nodes), stack.nodes))


def _held(shape: tuple[int, ...], dtype: Any, device: torch.device) -> Tensor:
    """Main memory that a GPU reads and writes itself, unless that is too much: several times as quick as any other."""
    empty = torch.from_numpy(np.empty(0, dtype))
    pinned = device.type == "cuda" and prod(shape) * empty.element_size() <= FETCHED
    return torch.empty(shape, dtype=empty.dtype, device="cpu", pin_memory=pinned)


def _fetch(there: Tensor, here: Int64) -> None:
    rows = max(1, FETCHED // (8 * here.shape[1]))
    held = _held((min(rows, len(here)), here.shape[1]), np.int64, there.device)
    for begin in range(0, len(here), rows):
        some = here[begin : begin + rows]
        some[...] = held[: len(some)].copy_(there[begin : begin + rows]).numpy()
