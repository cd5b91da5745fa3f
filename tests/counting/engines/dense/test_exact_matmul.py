"""Exact products on tensors: against Python integers, and the bounds that determine the parts."""

from math import log2

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from detours.counting.engines.dense.bounds import Bound
from detours.counting.engines.dense.exact_matmul import (
    Cut,
    Extent,
    best_cut,
    float16_cut,
    float16_product,
    float_product,
    ring_product,
)
from tests.oracles.ring import product_modulo_word

BITS = st.integers(1, 63)


def integers(shape: tuple[int, ...], bits: int, seed: int) -> np.ndarray:
    """Integers of both signs up to 2^bits in absolute value, including the largest."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(-(2**bits), 2**bits - 1, shape, dtype=np.int64, endpoint=True)
    drawn.reshape(-1)[:2] = (-(2**bits), 2**bits - 1)
    return drawn


@given(
    left_bits=BITS,
    right_bits=BITS,
    inner=st.integers(1, 40),
    max_bits=st.sampled_from([14, 24, 53]),
    seed=st.integers(0, 99),
)
def test_products_in_the_ring(left_bits: int, right_bits: int, inner: int, max_bits: int, seed: int) -> None:
    left = integers((2, 5, inner), left_bits, seed)
    right = integers((2, inner, 4), right_bits, seed + 1)
    found = ring_product(torch.from_numpy(left), torch.from_numpy(right), max_bits)
    assert found.dtype == torch.int64
    np.testing.assert_array_equal(found.numpy(), product_modulo_word(left, right))


def test_integers_in_floats_are_accepted() -> None:
    left, right = integers((1, 6, 6), 52, 3), integers((1, 6, 6), 50, 4)
    found = ring_product(torch.from_numpy(left).double(), torch.from_numpy(right).double())
    np.testing.assert_array_equal(found.numpy(), product_modulo_word(left, right))


def test_sums_beyond_float64_precision() -> None:
    """The case that needs parts: plain float64 products are rounded."""
    left, right = integers((1, 40, 40), 30, 5), integers((1, 40, 40), 30, 6)
    exact = product_modulo_word(left, right)
    assert (np.matmul(left.astype(np.float64), right.astype(np.float64)).astype(np.int64) != exact).any()
    np.testing.assert_array_equal(ring_product(torch.from_numpy(left), torch.from_numpy(right)).numpy(), exact)


@given(left=BITS, right=BITS, inner=st.integers(1, 10**5), max_bits=st.integers(24, 53))
def test_sums_of_parts_fit_into_the_bits(left: int, right: int, inner: int, max_bits: int) -> None:
    wide = inner.bit_length()
    extents = Extent(left, min(64, left + wide), 64), Extent(right, 64, min(64, right + wide))
    cut = best_cut(*extents, inner, max_bits)
    for parts, bits, extent in (
        (cut.left_parts, cut.left_bits, extents[0]),
        (cut.right_parts, cut.right_bits, extents[1]),
    ):
        assert parts == 1 or parts * bits > extent.entry
    size = [
        extent.entry if parts == 1 else bits - 1
        for parts, bits, extent in zip(
            (cut.left_parts, cut.right_parts), (cut.left_bits, cut.right_bits), extents, strict=True
        )
    ]
    assert log2(inner) + sum(size) <= max_bits or min(cut.left_parts, cut.right_parts) == 1


def test_a_matrix_of_zeros_and_ones_is_not_cut() -> None:
    """A row of Squirrel has 1,900 ones; its 55-bit matrices then need two products instead of four."""
    cut = best_cut(Extent(1, 11, 11), Extent(55, 64, 64), 5019)
    assert (cut.left_parts, cut.products) == (1, 2)


def test_parts_beyond_the_word_are_skipped() -> None:
    assert Cut(3, 20, 3, 30).products == 6  # 20 + 60, 40 + 30 and 40 + 60 are beyond 64


def bound_of(matrix: torch.Tensor) -> Bound:
    sizes = matrix.abs()
    return Bound(*(max(1, int(size)) for size in (sizes.max(), sizes.sum(-1).max(), sizes.sum(-2).max())))


def product_of(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return float_product(left, right, bound_of(left), bound_of(right), bound_of(left.abs() @ right.abs()))


@pytest.mark.parametrize("total", [2**24 - 1, 2**24, 2**24 + 1, 2**24 + 3])
def test_float32_is_used_only_where_exact(total: int) -> None:
    left = torch.ones(1, 1, 2, dtype=torch.float64)
    right = torch.tensor([[[float(total - 1)], [1.0]]], dtype=torch.float64)
    assert product_of(left, right).item() == total


@given(
    ones=st.integers(1, 2000),
    bits=st.integers(1, 36),
    density=st.sampled_from([0.02, 0.5, 1.0]),
    transposed=st.booleans(),
    seed=st.integers(0, 99),
)
def test_float16_products(ones: int, bits: int, density: float, transposed: bool, seed: int) -> None:
    """A 0-1 matrix times one with large entries, and the other way round, with the largest possible sums."""
    flags = (np.random.default_rng(seed).random((1, 3, ones)) < density).astype(np.int64)
    flags[0, 0] = 1
    large = integers((1, ones, 2), bits, seed)
    large[0, :, 1] = 2**bits - 1
    pair = (large.swapaxes(1, 2), flags.swapaxes(1, 2)) if transposed else (flags, large)
    left, right = (torch.from_numpy(np.ascontiguousarray(each)).double() for each in pair)
    cut = float16_cut(bound_of(left), bound_of(right), bound_of(left.abs() @ right.abs()))
    assert cut is not None or bits > 3 * 11
    if cut is not None:
        assert cut.products <= 3
        exact = torch.from_numpy(product_modulo_word(*(np.ascontiguousarray(each) for each in pair)))
        assert torch.equal(float16_product(left, right, cut).long(), exact)


def test_float16_cuts() -> None:
    def cut(left: tuple[int, int], right: tuple[int, int]) -> Cut | None:
        """The cut of factors, each given by its largest entry and its largest row and column sum."""
        largest = min(left[0] * right[1], left[1] * right[0])
        product = Bound(largest, 2**60, 2**60)
        return float16_cut(*(Bound(entry, total, total) for entry, total in (left, right)), product)

    squirrel = (1, 1904)
    assert cut(squirrel, (1904, 2**21)) == Cut(1, 64, 1, 64)
    assert cut(squirrel, (2**22, 2**40)) == Cut(1, 64, 2, 12)
    assert cut((2**22, 2**40), squirrel) == Cut(2, 12, 1, 64)
    # too many parts, factors that are both too large, a row so long that even single bits pass 2^24
    assert cut(squirrel, (2**40, 2**50)) is None
    assert cut((2**12, 2**20), (2**12, 2**20)) is None
    assert cut((1, 2**24), (3, 2**24)) is None


def test_lower_precision_settings_do_not_matter() -> None:
    """A count within a bfloat16 training step gives the same result."""
    rng = np.random.default_rng(0)
    left, right = (torch.from_numpy(rng.integers(0, 300, (1, 40, 40))).double() for _ in range(2))
    exact = left.long() @ right.long()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(product_of(left, right).long(), exact)
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        assert torch.equal(product_of(left, right).long(), exact)
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("setting", ["tf32", "bf16"])
def test_lower_precision_set_by_the_newer_api_does_not_matter(setting: str) -> None:
    if not hasattr(torch.backends, "fp32_precision"):
        pytest.skip("this torch has no torch.backends.fp32_precision")
    left = torch.full((1, 1, 2), 2.0**12 + 1, dtype=torch.float64)
    before = torch.backends.fp32_precision
    try:
        torch.backends.fp32_precision = setting
        assert product_of(left, left.mT).item() == 2 * (2**12 + 1) ** 2
        small = torch.full((1, 1, 2), 1025.0, dtype=torch.float64)
        assert product_of(small, small.mT).item() == 2 * 1025**2
    finally:
        torch.backends.fp32_precision = before
