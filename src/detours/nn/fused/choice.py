"""Whether tensors are worked on by the kernels of this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)

_promised = 0


def fused(*tensors: Tensor) -> bool:
    """Whether these are worked on by a kernel: on a CUDA device with Triton, and not under `torch.compile`.

    Nor while a CUDA graph is captured, unless by someone who has promised `same_arcs`.
    """
    if not all((each.is_cuda or _interpreted()) and each.dtype in DTYPES and each.numel() for each in tensors):
        return False
    if torch.compiler.is_compiling() or not _has_triton():
        return False
    return bool(_promised) or not tensors[0].is_cuda or not torch.cuda.is_current_stream_capturing()


@contextmanager
def same_arcs() -> Iterator[None]:
    """Promise that arcs and tokens that exist already keep their numbers, when what is captured now is replayed."""
    global _promised  # not of a thread or a context: the backward pass runs in threads of torch
    _promised += 1
    try:
        yield
    finally:
        _promised -= 1


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None


@cache
def _interpreted() -> bool:
    """Whether Triton runs its kernels in Python on the CPU: for tests without a GPU."""
    return os.environ.get("TRITON_INTERPRET") == "1"
