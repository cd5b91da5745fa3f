"""Closed forms on a device of torch's: which there are, what they take, and what to do when memory runs out."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from detours.counting.csr import Int64
from detours.counting.evaluate import Size, expected_seconds
from detours.counting.steps import Combination, Contraction, Product
from detours.errors import EngineError, InputError, shown, warn_caller

if TYPE_CHECKING:
    import torch

STACK = 2**24
"""Entries of a stack of small blocks: enough to keep a GPU busy."""
SIMILAR = 0.6
"""A block of this share of the nodes still goes into the stack of a larger one: a stack more costs a millisecond."""
SPARSE = 0.004
"""The share of pairs joined by an arc up to which a sparse product beats a dense one on a GPU."""

LAUNCH = 8e-6
"""Seconds to start an operation on a GPU, however small. With what follows, whole counts on an H200 came out within a
factor of two: ..."""
MULTIPLY = 1 / 25e12
"""... seconds per multiplication in float64 products, ..."""
BYTE = 1 / 2.5e12
"""... and per byte read or written there."""
ARC = 60e-9
"""Seconds per arc to find its place, send it there and fetch its counts."""
AT_WORK = 5
"""Matrices, besides those kept, that a step under way may fill."""


def check_device(device: Any) -> str | None:
    """Return the name of a device that can be used, or say in one sentence why it cannot."""
    if device is None:
        return None
    name = str(device)
    if name.partition(":")[0] not in ("cpu", "cuda"):
        raise InputError(f"device={shown(device)} is not known; choose 'cpu', 'cuda' or 'cuda:0', or leave it out")
    if find_spec("torch") is None:
        raise EngineError(f"device={name!r} needs PyTorch, which is not installed; install it, or leave device out")
    import torch

    try:
        found = torch.device(name)
    except RuntimeError:
        raise InputError(f"device={shown(device)} is not known; choose 'cpu', 'cuda' or 'cuda:0'") from None
    if found.type == "cuda" and not torch.cuda.is_available():
        raise EngineError(
            f"device={name!r} was asked for, but PyTorch finds no CUDA GPU here; leave device out to count on the CPU"
        )
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        raise EngineError(
            f"device={name!r} was asked for, but there are {torch.cuda.device_count()} GPUs, numbered from 0; "
            "choose one of them"
        )
    return name if found.type == "cuda" else found.type


def count_tied(
    contraction: Contraction, tied: Int64, ahead: Int64 | None, graphs: int, nodes: int, device: str
) -> Int64:
    """int64 [tied pairs, lengths], lengths from 2 on; on a GPU whose memory runs out, in blocks of rows."""
    import torch

    from detours.counting.tensor_stack import TensorStack
    from detours.counting.tensors import evaluate_tensors

    stack = TensorStack(tied, ahead, graphs, nodes, torch.device(device))
    counts: torch.Tensor | None
    try:
        counts = _together(evaluate_tensors(contraction, stack), contraction)
    except torch.cuda.OutOfMemoryError:
        counts = None
    if counts is None:  # outside the handler, which would hold on to every matrix through its traceback
        height = _height(nodes, device)
        warn_caller(
            f"the matrices of {nodes:,} nodes do not fit on {device}; they are kept in main memory and worked on "
            f"{height:,} rows at a time, which is slower",
            UserWarning,
        )
        try:
            counts = _together(evaluate_tensors(contraction, stack, torch.device("cpu"), height), contraction)
        except torch.cuda.OutOfMemoryError:
            raise EngineError(
                f"{device} has too little memory for even a few matrices of {nodes:,} nodes; leave device out to count "
                "on the CPU"
            ) from None
    # Into memory that a GPU may write to itself: several times as quick as any other.
    fetched = torch.empty(counts.shape, dtype=counts.dtype, device="cpu", pin_memory=counts.is_cuda)
    found: Int64 = fetched.copy_(counts).numpy()
    return found


def _together(evaluation: Iterator[tuple[int, torch.Tensor]], contraction: Contraction) -> torch.Tensor:
    """The counts of all lengths in one tensor, which is fetched from the device in one go."""
    import torch

    found = dict(evaluation)
    return torch.stack([found[length] for length in sorted(contraction.lengths)], dim=1)


def _height(nodes: int, device: str) -> int:
    """Rows at a time that fit beside the right factor of a product, whole and in parts."""
    import torch

    gc.collect()
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info(torch.device(device))
    room = 0.8 * free / (8 * nodes) - AT_WORK * nodes
    return int(np.clip(room / (2 * AT_WORK), min(64, nodes), nodes))


def device_seconds(contraction: Contraction, size: Size, device: str) -> float:
    """About how long an evaluation takes there, transfers included; right within a small factor."""
    if not device.startswith("cuda"):
        return expected_seconds(contraction, size)
    sparse = size.graphs == 1 and size.arcs < SPARSE * size.entries
    seconds = ARC * size.arcs
    for number, step in enumerate(contraction.steps):
        entries = size.entries if contraction.whole[number] else size.arcs
        terms = len(step.terms) if isinstance(step, Combination) else 1
        seconds += 4 * terms * (LAUNCH + 24 * entries * BYTE)
        if isinstance(step, Product):
            on_arcs = contraction.on_arcs[step.left] or contraction.on_arcs[step.right]
            if sparse and on_arcs:
                seconds += 8 * size.nodes * size.arcs * BYTE
            else:
                seconds += size.nodes * size.entries * MULTIPLY
    return seconds


def device_bytes(contraction: Contraction, size: Size) -> int:
    """What an evaluation keeps at a time there, and what the step under way fills."""
    return 8 * size.entries * (contraction.most_whole + AT_WORK) + 16 * size.arcs * contraction.most_held
