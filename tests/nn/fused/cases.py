"""Common to the tests of kernels: random tensors, and a device that runs kernels."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest
import torch
from torch import Tensor

from detours.nn import dropout, functional
from detours.nn.fused import fused
from detours.nn.tokens import attention
from detours.training.replicas import products

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

NEEDS_KERNELS = pytest.mark.skipif(
    find_spec("triton") is None or not fused(torch.ones(1, device=DEVICE)),
    reason="needs Triton, and a CUDA device or TRITON_INTERPRET=1 (make test-triton)",
)


@pytest.fixture(autouse=True)
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for module in (functional, attention, products, dropout):
        monkeypatch.setattr(module, "rows_first", lambda _: True)
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")  # full precision, to compare with
    yield
    torch.set_float32_matmul_precision(precision)


def randn(*shape: int, seed: int = 0, requires_grad: bool = False) -> Tensor:
    values = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(DEVICE)
    return values.requires_grad_(requires_grad)


def indices(count: int, high: int, seed: int = 0) -> Tensor:
    return torch.randint(high, (count,), generator=torch.Generator().manual_seed(seed)).to(DEVICE)
