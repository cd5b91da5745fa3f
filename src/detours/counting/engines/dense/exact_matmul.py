"""Matrix products of integers modulo 2^64, composed of exact float64 products.

An integer matrix is cut into signed parts of a few bits each, X = X₀ + 2^w X₁ + 2^2w X₂ + …, so that no part exceeds
2^(w-1) in absolute value. A product of two parts is exact in float64 as long as no sum in it exceeds 2^53; shifted and
added in int64, which wraps, these products give the product in the ring of integers modulo 2^64. In this ring closed
forms are correct whenever the final counts fit, however large the intermediate values. Parts are used instead of
residues modulo primes: then everything else stays plain int64 arithmetic, there is no reconstruction at the end, and a
0-1 matrix, as most left factors are, need not be cut at all.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from detours.counting.engines.dense.bounds import Bound

FLOAT64_BITS = 53  # bits of the integers that are exact in float64
WORD = 64

IN_FLOAT32 = 2**24  # below this, every integer is exact in float32
IN_FLOAT16 = 2**11  # up to this, every integer is exact in float16
HAS_WIDENING_BMM = torch.__version__ >= torch.torch_version.TorchVersion("2.8")
"""Whether torch can multiply float16 matrices into float32 on a GPU."""
MAX_FLOAT16_PRODUCTS = 3  # this many float16 products are still faster than one in float64, cutting included


def float_product(left: Tensor, right: Tensor, of_left: Bound, of_right: Bound, of_product: Bound) -> Tensor:
    """left @ right in float64, where no sum exceeds 2^53; in shorter floats if they are exact too.

    A GPU multiplies float16 with float32 sums many times faster than float64. Sums below 2^24 of products of integers
    up to 2^11 are exact then, and a factor with larger entries is cut into parts.
    """
    if left.device.type == "cpu" and of_product.entry < IN_FLOAT32 and _float32_is_exact():
        return torch.matmul(left.float(), right.float()).double()
    if left.device.type == "cuda" and _float16_is_exact():
        cut = float16_cut(of_left, of_right, of_product)
        if cut is not None:
            return float16_product(left, right, cut)
    return torch.matmul(left, right)


def float16_cut(left: Bound, right: Bound, product: Bound) -> Cut | None:
    """How to cut the factors so that parts are exact in float16 and sums in float32; None if there are too many parts.

    At most one of them is cut; sums are then bounded by a row sum of the left factor times a part of the right one, or
    by a part of the left one times a column sum of the right one.
    """
    if max(left.entry, right.entry) <= IN_FLOAT16 and product.entry < IN_FLOAT32:
        return Cut(1, WORD, 1, WORD)
    candidates = []
    if left.entry <= IN_FLOAT16 and (bits := _float16_bits(left.row)) > 1:
        candidates.append(Cut(1, WORD, _num_parts(right.entry.bit_length(), bits), bits))
    if right.entry <= IN_FLOAT16 and (bits := _float16_bits(right.column)) > 1:
        candidates.append(Cut(_num_parts(left.entry.bit_length(), bits), bits, 1, WORD))
    best = min(candidates, key=lambda cut: cut.products, default=None)
    return best if best is not None and best.products <= MAX_FLOAT16_PRODUCTS else None


def _float16_bits(total: int) -> int:
    """Bits of a part, sign included, such that it is exact in float16 and sums are exact in float32."""
    return min(IN_FLOAT16, (IN_FLOAT32 - 1) // total).bit_length()


def float16_product(left: Tensor, right: Tensor, cut: Cut) -> Tensor:
    """left @ right by float16 parts; the factors are integers in float64.

    >>> large = torch.tensor([[[5000.0, -3.0], [2.0, 7.0]]], dtype=torch.float64)
    >>> float16_product(torch.ones_like(large), large, Cut(1, WORD, 2, 12)).tolist()
    [[[5002.0, 4.0], [5002.0, 4.0]]]
    """
    rights = _float16_parts(right, cut.right_parts, cut.right_bits)
    total: Tensor | None = None
    for p, part in enumerate(_float16_parts(left, cut.left_parts, cut.left_bits)):
        for q, other in enumerate(rights):
            partial = _widening_product(part, other)
            shift = (p and p * cut.left_bits) + (q and q * cut.right_bits)
            total = partial.double() if total is None else total.add_(partial, alpha=2.0**shift)
    assert total is not None
    return total


def _float16_parts(matrix: Tensor, parts: int, bits: int) -> list[Tensor]:
    """The parts as float16, lowest bits first."""
    result = []
    for _ in range(parts - 1):
        upper = torch.round(matrix * 2.0**-bits)
        result.append(torch.sub(matrix, upper, alpha=2.0**bits).half())
        matrix = upper
    return [*result, matrix.half()]


def _widening_product(left: Tensor, right: Tensor) -> Tensor:
    """A float16 product in float32."""
    if left.device.type == "cuda":
        return torch.bmm(left, right, out_dtype=torch.float32)
    return torch.matmul(left.float(), right.float())


def _float32_is_exact() -> bool:
    """Whether float32 products use float32: torch can be configured to use lower precision for them."""
    try:
        exact = torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # set by a newer API, which this getter does not support
        exact = False
    return exact and not torch.is_autocast_enabled("cpu")


def _float16_is_exact() -> bool:
    """Whether float16 products have float32 sums on a GPU: torch can be configured to use lower precision."""
    return HAS_WIDENING_BMM and not getattr(torch.backends.cuda.matmul, "allow_fp16_accumulation", False)


class Cut(NamedTuple):
    """How two matrices are cut: the number of parts and their bits; a single part is the matrix itself."""

    left_parts: int
    left_bits: int
    right_parts: int
    right_bits: int

    @property
    def products(self) -> int:
        return sum(
            p * self.left_bits + q * self.right_bits < WORD
            for p in range(self.left_parts)
            for q in range(self.right_parts)
        )


class Extent(NamedTuple):
    """Bits of the largest entry, row sum and column sum of a matrix, in absolute value."""

    entry: int
    row: int
    column: int


def ring_product(left: Tensor, right: Tensor, max_bits: int = FLOAT64_BITS) -> Tensor:
    """left @ right modulo 2^64, as int64; the factors are int64, or integers in float64.

    >>> large = torch.full((1, 2, 2), 2**40 + 1)
    >>> ring_product(large, large)[0, 0, 0].item() == (2 * (2**40 + 1) ** 2) % 2**64
    True
    """
    cut = best_cut(_extent(left), _extent(right), left.shape[-1], max_bits)
    rights = _parts(right, cut.right_parts, cut.right_bits)
    total: Tensor | None = None
    for p, part in enumerate(_parts(left, cut.left_parts, cut.left_bits)):
        for q, other in enumerate(rights):
            shift = p * cut.left_bits + q * cut.right_bits
            if shift < WORD:
                partial = torch.matmul(part, other).to(torch.int64) << shift
                total = partial if total is None else total.add_(partial)
    assert total is not None
    return total


def best_cut(left: Extent, right: Extent, inner: int, max_bits: int = FLOAT64_BITS) -> Cut:
    """The cut with the fewest products whose sums all fit into the given bits.

    If the left factor is not cut, a sum of products is bounded by its largest row sum times the largest entry of a
    right part; the same holds for column sums of the right factor.
    """
    candidates = []
    if left.entry <= max_bits and (bits := max_bits - left.row + 1) > 1:
        candidates.append(Cut(1, WORD, _num_parts(right.entry, bits), bits))
    if right.entry <= max_bits and (bits := max_bits - right.column + 1) > 1:
        candidates.append(Cut(_num_parts(left.entry, bits), bits, 1, WORD))
    for bits in range(2, max_bits):
        # inner · 2^(left bits - 1) · 2^(right bits - 1) <= 2^digits
        other = max_bits - inner.bit_length() - bits + 2
        if other > 1:
            candidates.append(Cut(_num_parts(left.entry, bits), bits, _num_parts(right.entry, other), other))
    return min(candidates, key=lambda cut: cut.products)


def _num_parts(entry_bits: int, part_bits: int) -> int:
    """The number of parts of an integer with the given bits and a sign."""
    return -(-(entry_bits + 1) // part_bits)


def _parts(matrix: Tensor, parts: int, bits: int) -> list[Tensor]:
    """The parts as float64, lowest bits first; a single part may have any number of bits."""
    if parts == 1:
        return [matrix.to(torch.float64)]
    rest, half, result = matrix.to(torch.int64), 1 << (bits - 1), []
    for _ in range(parts - 1):
        low = ((rest + half) & (2 * half - 1)) - half
        result.append(low.to(torch.float64))
        rest = (rest - low) >> bits
    return [*result, rest.to(torch.float64)]


def _extent(matrix: Tensor) -> Extent:
    """The measured extent; sums are increased by more than their rounding error."""
    smallest, largest = (int(x) for x in torch.stack(torch.aminmax(matrix)).tolist())
    entry = max(largest, -smallest).bit_length()
    if entry > FLOAT64_BITS:
        return Extent(entry, WORD, WORD)
    floats = matrix.to(torch.float64)
    sums = torch.stack([torch.linalg.vector_norm(floats, 1, dim=axis).max() for axis in (-1, -2)]).tolist()
    return Extent(entry, *(int(size * (1 + 1e-9)).bit_length() for size in sums))
