"""Exact products on tensors: parts of integers against Python's own, and the bounds that choose the parts."""

from math import log2

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from detours.counting.tensor_products import Cut, Extent, best_cut, float_product, ring_product
from tests.oracles.ring import product_modulo_word

BITS = st.integers(1, 63)


def integers(shape: tuple[int, ...], bits: int, seed: int) -> np.ndarray:
    """Of both signs, up to 2^bits, the largest ones among them."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(-(2**bits), 2**bits - 1, shape, dtype=np.int64, endpoint=True)
    drawn.reshape(-1)[:2] = (-(2**bits), 2**bits - 1)
    return drawn


@given(
    left_bits=BITS,
    right_bits=BITS,
    inner=st.integers(1, 40),
    digits=st.sampled_from([14, 24, 53]),
    seed=st.integers(0, 99),
)
def test_products_in_the_ring(left_bits: int, right_bits: int, inner: int, digits: int, seed: int) -> None:
    left = integers((2, 5, inner), left_bits, seed)
    right = integers((2, inner, 4), right_bits, seed + 1)
    found = ring_product(torch.from_numpy(left), torch.from_numpy(right), digits)
    assert found.dtype == torch.int64
    np.testing.assert_array_equal(found.numpy(), product_modulo_word(left, right))


def test_floats_that_hold_integers_are_taken_too() -> None:
    left, right = integers((1, 6, 6), 52, 3), integers((1, 6, 6), 50, 4)
    found = ring_product(torch.from_numpy(left).double(), torch.from_numpy(right).double())
    np.testing.assert_array_equal(found.numpy(), product_modulo_word(left, right))


def test_a_sum_that_passes_the_digits_would_be_wrong_in_floats() -> None:
    """The case that parts are for: float64 alone rounds it."""
    left, right = integers((1, 40, 40), 30, 5), integers((1, 40, 40), 30, 6)
    exact = product_modulo_word(left, right)
    assert (np.matmul(left.astype(np.float64), right.astype(np.float64)).astype(np.int64) != exact).any()
    np.testing.assert_array_equal(ring_product(torch.from_numpy(left), torch.from_numpy(right)).numpy(), exact)


@given(left=BITS, right=BITS, inner=st.integers(1, 10**5), digits=st.integers(24, 53))
def test_every_part_keeps_within_the_digits(left: int, right: int, inner: int, digits: int) -> None:
    wide = inner.bit_length()
    extents = Extent(left, min(64, left + wide), 64), Extent(right, 64, min(64, right + wide))
    cut = best_cut(*extents, inner, digits)
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
    assert log2(inner) + sum(size) <= digits or min(cut.left_parts, cut.right_parts) == 1


def test_a_matrix_of_zeros_and_ones_is_not_cut() -> None:
    """A row of Squirrel's has 1,900 ones; its matrices of 55 bits then take two products, not four."""
    cut = best_cut(Extent(1, 11, 11), Extent(55, 64, 64), 5019)
    assert (cut.left_parts, cut.products) == (1, 2)


def test_parts_beyond_the_word_are_left_out() -> None:
    assert Cut(3, 20, 3, 30).products == 6  # 20 + 60, 40 + 30 and 40 + 60 are beyond 64


@pytest.mark.parametrize("bound", [2**24 - 1, 2**24])
def test_short_floats_only_where_they_are_exact(bound: int) -> None:
    left = torch.ones(1, 1, 2, dtype=torch.float64)
    right = torch.tensor([[[float(bound - 1)], [1.0]]], dtype=torch.float64)
    assert float_product(left, right, bound, bound).item() == bound
    assert float_product(left, right + 1, bound + 2, bound).item() == bound + 2


def test_shorter_floats_elsewhere_do_not_matter() -> None:
    """Whoever trains with bfloat16 around a count gets the same numbers."""
    rng = np.random.default_rng(0)
    left, right = (torch.from_numpy(rng.integers(0, 300, (1, 40, 40))).double() for _ in range(2))
    exact = left.long() @ right.long()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(float_product(left, right, 40 * 300**2, 300).long(), exact)
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        assert torch.equal(float_product(left, right, 40 * 300**2, 300).long(), exact)
    finally:
        torch.set_float32_matmul_precision(before)
