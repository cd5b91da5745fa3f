"""Dense engine on a torch device: blocks are separated and counted there, and the counts are fetched at the end.

The host builds the depth-first forest, which determines the block of every arc (`shrink/biconnected.py`); the device
does all work per arc. If its memory runs out, matrices are kept in main memory and processed in blocks of rows.
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

STACK = 2**24  # most entries of a stack of small blocks: enough to keep a GPU busy
SIMILAR = 0.15
"""Blocks with at least this share of the nodes of the largest are stacked with it: one more stack costs milliseconds,
and STACK bounds the cost of padding."""
WIDTH, WIDE = 8, 128
"""Matrices wider than WIDE are padded to a multiple of WIDTH: GPUs are fastest if rows of float16 are aligned to 16
bytes."""
BUFFER_BYTES = 2**25  # most bytes fetched at a time, in pinned memory, which is scarce


class ArcPositions(NamedTuple):
    """The arcs on cycles, ordered by bundle and position in its matrices."""

    arc: Tensor  # position among the arcs of the graph
    forward: Tensor  # flat position of i -> j in the stack of its bundle
    backward: Tensor  # the same for j -> i
    ends: list[int]  # number of arcs up to the end of each bundle


class TensorEngine(Engine):
    """Closed forms on dense torch tensors, on the device of the task."""

    name = "dense"
    longest = MAX_LENGTH
    on_device = True

    def least_seconds(self, task: Task) -> float:
        return seconds_around(len(task.cyclic.indptr) - 1, len(task.cyclic.indices), str(task.device))

    def estimate(self, task: Task) -> Estimate:
        """Memory is that of the host, unless the device is the host."""
        assert task.device is not None
        limit = None if task.memory is None else task.memory - task.result_bytes
        count = TensorCount(task.cyclic, task.k, task.device, limit)
        size, arcs = count.bytes, len(task.cyclic.indices)
        on_host = size if task.device == "cpu" else min(BUFFER_BYTES, 8 * (task.k - 1) * arcs) + 8 * arcs
        how = f"{how_dense(task)}, on {task.device} with about {readable_bytes(size)} there"
        return Estimate(count.seconds, on_host + task.result_bytes, how, count)


class TensorCount:
    """One count."""

    def __init__(self, cyclic: Cyclic, k: int, device: str, limit: int | None = None) -> None:
        """``limit``: bytes of main memory available to matrices that do not fit on the device."""
        if int(np.diff(cyclic.indptr).max(initial=0)) ** (k - 1) >= 2**63:
            check_counts(cyclic.reduced, k)
        self.cyclic, self.k, self.device, self.limit = cyclic, k, torch.device(device), limit

    @cached_property
    def bundles(self) -> list[Bundle]:
        """Sizes other than nodes are approximate, for estimates: all arcs at a node count, whatever their block."""
        forest = self.cyclic.forest
        nodes, has_home = np.diff(forest.block_ptr), forest.block >= 0
        padded = np.where(nodes > WIDE, -(-nodes // WIDTH) * WIDTH, nodes)
        home = np.concatenate([forest.block[has_home], np.arange(len(nodes))])
        degree = np.concatenate([forest.degree[has_home], forest.degree[forest.joint]])
        degree = np.minimum(degree, nodes[home] - 1).astype(np.float64)
        largest = np.zeros(len(nodes))
        np.maximum.at(largest, home, degree)
        arcs, cubes = np.bincount(home, degree, len(nodes)), np.bincount(home, degree**3, len(nodes))
        return list(bundles(padded, arcs, largest, cubes, STACK, SIMILAR))

    @property
    def seconds(self) -> float:
        """The approximate time."""
        cyclic, device = self.cyclic, str(self.device)
        counting = sum(device_seconds(steps, bundle.size, device) for bundle, steps in self.work())
        return counting + seconds_around(len(cyclic.indptr) - 1, len(cyclic.indices), device)

    @property
    def bytes(self) -> int:
        """The approximate memory on the device."""
        arcs = len(self.cyclic.indices)
        return 8 * (self.k + 8) * arcs + max(device_bytes(steps, bundle.size) for bundle, steps in self.work())

    def work(self) -> Iterator[tuple[Bundle, Contraction]]:
        for bundle in self.bundles:
            yield bundle, contraction(bundle.longest(self.k), self.cyclic.directed)

    def run(self, tally: Tally, n_jobs: int = 1, progress: Progress | None = None) -> None:
        results: list[Tensor] = []
        with _out_of_memory_suppressed():
            results = self.count_on_device(tally, progress)
        if not results:
            raise EngineError(
                f"{self.device} has too little memory for the {len(self.cyclic.indices):,} arcs of this graph; leave "
                "device out to count on the CPU"
            )
        for counts, result in zip(tally, results, strict=False):
            assert counts is not None
            _copy_to_host(result, counts)

    def count_on_device(self, tally: Tally, progress: Progress | None) -> list[Tensor]:
        """Return the arrays of the tally as tensors on the device."""
        positions, begin = self.positions(), 0
        results = [
            torch.zeros(counts.shape, dtype=torch.int64, device=self.device) for counts in tally if counts is not None
        ]
        for done, ((bundle, steps), end) in enumerate(zip(self.work(), positions.ends, strict=True), 1):
            arc, forward, backward = (tensor[begin:end] for tensor in positions[:3])
            shape, lengths, begin = (bundle.size.graphs, bundle.size.nodes), slice(len(steps.lengths)), end
            if self.cyclic.directed:
                tied, tied_index = torch.unique(torch.cat([forward, backward]), return_inverse=True)
                forward_index, backward_index = tied_index.chunk(2)
                counts = count_tied(steps, TensorStack(tied, forward_index, *shape), self.limit)
                results[0][:, lengths][arc] = counts[forward_index]
                results[1][:, lengths][arc] = counts[backward_index]
            else:
                results[0][:, lengths][arc] = count_tied(steps, TensorStack(forward, None, *shape), self.limit)
            if progress is not None:
                progress(done, len(self.bundles))
        return results

    def positions(self) -> ArcPositions:
        """The position of every arc on a cycle; see `Forest` for the block of an edge."""
        cyclic, forest = self.cyclic, self.cyclic.forest
        first, width, starts = map(self.send, self.block_layout())
        indptr, j, entry, block = map(self.send, (cyclic.indptr, cyclic.indices, forest.entry, forest.block))
        local_index, joint, j = _local_indices(block), self.send(forest.joint), j.long()
        i = torch.arange(len(block), device=self.device).repeat_interleave(indptr.diff(), output_size=len(j))
        home = torch.where(entry[i] > entry[j], block[i], block[j])
        arc = torch.nonzero(home >= 0)[:, 0]
        home, i, j = home[arc].long(), i[arc], j[arc]
        at_i, at_j = (torch.where(end == joint[home], 0, local_index[end]) for end in (i, j))
        forward, order = torch.sort(first[home] + at_i * width[home] + at_j)
        backward = (first[home] + at_j * width[home] + at_i)[order]
        start = starts[torch.searchsorted(starts, forward, right=True) - 1]
        ends = torch.searchsorted(forward, starts[1:]).tolist()
        return ArcPositions(arc[order], forward - start, backward - start, ends)

    def block_layout(self) -> tuple[Int64, Int64, Int64]:
        """Offset and width of the matrix of each block, all laid out end to end; and offsets of the stacks."""
        first, width = (np.empty(len(self.cyclic.forest.joint), np.int64) for _ in range(2))
        starts = [0]
        for bundle in self.bundles:
            entries = bundle.size.nodes**2
            first[bundle.blocks] = starts[-1] + entries * np.arange(len(bundle.blocks))
            width[bundle.blocks] = bundle.size.nodes
            starts.append(starts[-1] + entries * len(bundle.blocks))
        return first, width, np.array(starts)

    def send(self, array: NDArray[Any]) -> Tensor:
        buffer = _host_buffer(array.shape, array.dtype, self.device)
        np.copyto(buffer.numpy(), array)
        return buffer.to(self.device, non_blocking=True)


def _local_indices(block: Tensor) -> Tensor:
    """Number the home nodes of each block, from 1; 0 is the joint."""
    ascending, order = torch.sort(block, stable=True)
    local_index = torch.empty_like(order)
    local_index[order] = torch.arange(1, len(order) + 1, device=block.device) - torch.searchsorted(ascending, ascending)
    return local_index


def count_tied(contraction: Contraction, stack: TensorStack, limit: int | None = None) -> Tensor:
    """Return int64 [tied pairs, lengths], lengths from 2 on; in blocks of rows if the memory of a GPU runs out."""
    with _out_of_memory_suppressed():
        return _stack_lengths(evaluate_tensors(contraction, stack), contraction)
    # the error is gone here, and with its traceback all matrices that it referenced
    graphs = f"{stack.graphs:,} graphs of " if stack.graphs > 1 else ""
    matrices = f"the matrices of {graphs}{stack.nodes:,} nodes"
    size = 8 * stack.graphs * stack.nodes**2 * contraction.peak_full_matrices
    if limit is not None and size > limit:
        raise EngineError(
            f"{matrices} do not fit on {stack.device}, and the {size / 2**30:.1f} GB that they take in main memory are "
            "more than memory_limit; raise it, or leave device out to count on the CPU"
        )
    height = _rows_per_block(stack)
    warn_caller(
        f"{matrices} do not fit on {stack.device}; they are kept in main memory and processed {height:,} rows at a "
        "time, which is slower",
        UserWarning,
    )
    with _out_of_memory_suppressed():
        return _stack_lengths(evaluate_tensors(contraction, stack, torch.device("cpu"), height), contraction)
    raise EngineError(
        f"{stack.device} has too little memory for {matrices}, even in blocks of rows, or main memory has; leave "
        "device out to count on the CPU"
    )


@contextmanager
def _out_of_memory_suppressed() -> Iterator[None]:
    """Leave the block silently if memory runs out in it, and free its tensors, which an error would keep alive."""
    try:
        yield
    except RuntimeError as error:  # CUDA, torch on a GPU and torch in main memory have different messages
        messages = ("out of memory", "not enough memory", "can't allocate memory")
        if not any(message in str(error) for message in messages):
            raise
    except MemoryError:
        pass


def _stack_lengths(evaluation: Iterator[tuple[int, Tensor]], contraction: Contraction) -> Tensor:
    counts = dict(evaluation)
    return torch.stack([counts[length] for length in sorted(contraction.lengths)], dim=1)


def _rows_per_block(stack: TensorStack) -> int:
    """The number of rows that fit next to the right factor of a product and its parts."""
    gc.collect()
    free = 0
    if stack.device.type == "cuda":
        torch.cuda.empty_cache()
        free, _ = torch.cuda.mem_get_info(stack.device)
    available = 0.8 * free / (8 * stack.graphs * stack.nodes) - AT_WORK * stack.nodes
    return int(np.clip(available / (2 * AT_WORK), min(64, stack.nodes), stack.nodes))


def _host_buffer(shape: tuple[int, ...], dtype: Any, device: torch.device) -> Tensor:
    """A buffer in main memory, pinned unless too large: a GPU then accesses it directly, several times as fast."""
    empty = torch.from_numpy(np.empty(0, dtype))
    pinned = device.type == "cuda" and prod(shape) * empty.element_size() <= BUFFER_BYTES
    return torch.empty(shape, dtype=empty.dtype, device="cpu", pin_memory=pinned)


def _copy_to_host(source: Tensor, target: Int64) -> None:
    rows = max(1, BUFFER_BYTES // (8 * target.shape[1]))
    buffer = _host_buffer((min(rows, len(target)), target.shape[1]), np.int64, source.device)
    for begin in range(0, len(target), rows):
        chunk = target[begin : begin + rows]
        chunk[...] = buffer[: len(chunk)].copy_(source[begin : begin + rows]).numpy()
