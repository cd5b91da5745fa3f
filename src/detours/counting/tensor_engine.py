"""Dense engine on a device of torch's: blocks are told apart there, counted there, and come back in one piece.

The host grows the depth-first forest, which tells the block of every arc (`forest.py`); all that is done once per arc,
the device does. When its memory runs out, matrices are kept in main memory and worked on some rows at a time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from detours.counting.contraction import contraction
from detours.counting.csr import Int64
from detours.counting.dense import Bundle, bundles, check_counts, check_length
from detours.counting.engine import Tally
from detours.counting.parallel import Progress
from detours.counting.reduce import Cyclic
from detours.counting.steps import Contraction
from detours.counting.tensor_cost import ARC, AT_WORK, BEGIN, device_bytes, device_seconds
from detours.counting.tensor_stack import TensorStack
from detours.counting.tensors import evaluate_tensors
from detours.errors import EngineError, warn_caller

STACK = 2**24
"""Entries of a stack of small blocks: enough to keep a GPU busy."""
SIMILAR = 0.15
"""A block of this share of the nodes still goes into the stack of a larger one: a stack more costs milliseconds, and
STACK bounds what zeros cost."""
WIDTH, WIDE = 8, 128
"""Matrices wider than WIDE are filled up to a multiple of WIDTH: a GPU is at its best when rows of float16 begin at
whole 16 bytes."""
FETCHED = 2**25
"""Bytes that are fetched at a time: few enough for memory that a GPU writes to itself, which is scarce."""


class Placed(NamedTuple):
    """The arcs on cycles, in the order of where they stand in the matrices, those of one bundle behind the other."""

    arc: Tensor
    """Position among the arcs of the graph."""
    ahead: Tensor
    """Where an arc i -> j stands: in the stack of its bundle, flat."""
    back: Tensor
    """The same for j -> i."""
    ends: list[int]
    """How many arcs there are up to the end of each bundle."""


class TensorEngine:
    """One count by closed forms on dense matrices of torch's."""

    name = "dense"
    fills = True

    def __init__(self, cyclic: Cyclic, k: int, device: str) -> None:
        check_length(k)
        if int(np.diff(cyclic.indptr).max(initial=0)) ** (k - 1) >= 2**63:
            check_counts(cyclic.reduced, k)
        self.cyclic, self.k, self.device = cyclic, k, torch.device(device)

    @cached_property
    def bundles(self) -> list[Bundle]:
        """Figures other than nodes are near enough for estimates: arcs at a joint count for its home block."""
        forest = self.cyclic.forest
        nodes, at_home = np.diff(forest.block_ptr), forest.block >= 0
        wide = np.where(nodes > WIDE, -(-nodes // WIDTH) * WIDTH, nodes)
        home, degree = forest.block[at_home], forest.degree[at_home].astype(np.float64)
        largest = np.zeros(len(nodes))
        np.maximum.at(largest, home, degree)
        arcs, cubes = np.bincount(home, degree, len(nodes)), np.bincount(home, degree**3, len(nodes))
        return list(bundles(wide, arcs, largest, cubes, STACK, SIMILAR))

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        around = BEGIN + ARC * len(self.cyclic.indices) if self.device.type == "cuda" else 0.0
        return around + sum(device_seconds(steps, bundle.size, str(self.device)) for bundle, steps in self.work())

    @property
    def bytes(self) -> int:
        """About how much memory it takes on the device."""
        arcs = len(self.cyclic.indices)
        return 8 * (self.k + 8) * arcs + max(device_bytes(steps, bundle.size) for bundle, steps in self.work())

    def work(self) -> Iterator[tuple[Bundle, Contraction]]:
        for bundle in self.bundles:
            yield bundle, contraction(bundle.longest(self.k), self.cyclic.directed)

    def count(self, tally: Tally, n_jobs: int = 1, progress: Progress | None = None) -> None:
        try:
            found = self.found(tally, progress)
        except torch.cuda.OutOfMemoryError:
            raise EngineError(
                f"{self.device} has too little memory for the {len(self.cyclic.indices):,} arcs of this graph; leave "
                "device out to count on the CPU"
            ) from None
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
                counts = count_tied(steps, TensorStack(tied, at_ahead, *shape))
                found[0][:, lengths][arc] = counts[at_ahead]
                found[1][:, lengths][arc] = counts[at_back]
            else:
                found[0][:, lengths][arc] = count_tied(steps, TensorStack(ahead, None, *shape))
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


def count_tied(contraction: Contraction, stack: TensorStack) -> Tensor:
    """int64 [tied pairs, lengths], lengths from 2 on; on a GPU whose memory runs out, in blocks of rows."""
    nodes = stack.nodes
    with suppress(torch.cuda.OutOfMemoryError):
        return _together(evaluate_tensors(contraction, stack), contraction)
    # here the error is gone, and with its traceback every matrix that was made
    height = _height(nodes, stack.device)
    warn_caller(
        f"the matrices of {nodes:,} nodes do not fit on {stack.device}; they are kept in main memory and worked on "
        f"{height:,} rows at a time, which is slower",
        UserWarning,
    )
    try:
        return _together(evaluate_tensors(contraction, stack, torch.device("cpu"), height), contraction)
    except torch.cuda.OutOfMemoryError:
        raise EngineError(
            f"{stack.device} has too little memory for even a few matrices of {nodes:,} nodes; leave device out to "
            "count on the CPU"
        ) from None


def _together(evaluation: Iterator[tuple[int, Tensor]], contraction: Contraction) -> Tensor:
    found = dict(evaluation)
    return torch.stack([found[length] for length in sorted(contraction.lengths)], dim=1)


def _height(nodes: int, device: torch.device) -> int:
    """Rows at a time that fit beside the right factor of a product, whole and in parts."""
    gc.collect()
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info(device)
    room = 0.8 * free / (8 * nodes) - AT_WORK * nodes
    return int(np.clip(room / (2 * AT_WORK), min(64, nodes), nodes))


def _held(shape: tuple[int, ...], dtype: Any, device: torch.device) -> Tensor:
    """Main memory that a GPU reads and writes itself: several times as quick as any other."""
    kind = torch.from_numpy(np.empty(0, dtype)).dtype
    return torch.empty(shape, dtype=kind, pin_memory=device.type == "cuda")


def _fetch(there: Tensor, here: Int64) -> None:
    rows = max(1, FETCHED // (8 * here.shape[1]))
    held = _held((min(rows, len(here)), here.shape[1]), np.int64, there.device)
    for begin in range(0, len(here), rows):
        some = here[begin : begin + rows]
        some[...] = held[: len(some)].copy_(there[begin : begin + rows]).numpy()
