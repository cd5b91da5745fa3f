"""Whether tensors are worked on by the kernels of this folder."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)

_promised = 0


def fused(*tensors: Tensor) -> bool:
    """Whether these are worked on by a kernel: on a CUDA device with Triton, and where `may_remember`."""
    for each in tensors:
        if not (each.is_cuda or _interpreted()) or each.dtype not in DTYPES or not each.numel():
            return False
        if torch._C._functorch.is_legacy_batchedtensor(each):  # of autograd's own vmap, which has no rules for us
            return False
    return may_remember(tensors[0]) and _has_triton()


def may_remember(tensor: Tensor) -> bool:
    """Whether what is made of a tensor now will do for later: not under `torch.compile`, nor in a CUDA graph.

    A graph of someone who has promised `same_arcs` is none of these.
    """
    if torch.compiler.is_compiling():
        return False
    return bool(_promised) or not tensor.is_cuda or not torch.cuda.is_current_stream_capturing()


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
    """Whether Triton is there, and can compile: it wants a C compiler when a kernel is first used."""
    if find_spec("triton") is None:
        return False
    if _interpreted():
        return True
    try:
        from detours.nn.fused.columns_triton import column_sums

        column_sums(torch.ones(1, 1, device="cuda"))
    except Exception as error:  # of Triton, of a compiler, of a driver: whatever it is, torch does the same more slowly
        warnings.warn(f"Triton does not work here, so training on the GPU is slower: {error}", stacklevel=2)
        return False
    return True


@cache
def _interpreted() -> bool:
    """Whether Triton runs its kernels in Python on the CPU: for tests without a GPU."""
    return os.environ.get("TRITON_INTERPRET") == "1"
