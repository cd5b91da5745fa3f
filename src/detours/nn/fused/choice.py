"""Whether the kernels of this folder handle given tensors."""

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

_promises = 0


def fused(*tensors: Tensor) -> bool:
    """Whether a kernel handles these tensors: on a CUDA device with Triton, and where `may_cache` allows it."""
    for each in tensors:
        if not (each.is_cuda or _interpreted()) or each.dtype not in DTYPES or not each.numel():
            return False
        if torch._C._functorch.is_legacy_batchedtensor(each):  # by autograd's own vmap, which ignores our rules
            return False
    return may_cache(tensors[0]) and _has_triton()


def may_cache(tensor: Tensor) -> bool:
    """Whether what is derived from a tensor now may be reused later.

    Not under `torch.compile`, nor while a CUDA graph is captured outside `same_arcs`.
    """
    if torch.compiler.is_compiling():
        return False
    return bool(_promises) or not tensor.is_cuda or not torch.cuda.is_current_stream_capturing()


@contextmanager
def same_arcs() -> Iterator[None]:
    """Promise that existing arcs and tokens keep their values whenever the CUDA graph captured now is replayed."""
    global _promises  # neither thread-local nor a context variable: the backward pass runs in threads of torch
    _promises += 1
    try:
        yield
    finally:
        _promises -= 1


@cache
def _has_triton() -> bool:
    """Whether Triton is installed and can compile: it needs a C compiler when a kernel first runs."""
    if find_spec("triton") is None:
        return False
    if _interpreted():
        return True
    try:
        from detours.nn.fused.columns_triton import column_sums

        column_sums(torch.ones(1, 1, device="cuda"))
    except Exception as error:  # from Triton, the compiler or the driver: in any case, torch does the same more slowly
        warnings.warn(f"Triton does not work here, so training on the GPU is slower: {error}", stacklevel=2)
        return False
    return True


@cache
def _interpreted() -> bool:
    """Whether Triton interprets its kernels in Python on the CPU, for tests without a GPU."""
    return os.environ.get("TRITON_INTERPRET") == "1"
