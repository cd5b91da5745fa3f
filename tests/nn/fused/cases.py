"""What the tests of kernels have in common: numbers, and a place where kernels run."""

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
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")  # products of all digits, to compare with
    yield
    torch.set_float32_matmul_precision(before)


def numbers(*shape: int, seed: int = 0, learned: bool = False) -> Tensor:
    drawn = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(DEVICE)
    return drawn.requires_grad_(learned)


def indices(number: int, below: int, seed: int = 0) -> Tensor:
    return torch.randint(below, (number,), generator=torch.Generator().manual_seed(seed)).to(DEVICE)
