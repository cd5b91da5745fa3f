"""Matrix products of integers modulo 2^64, made of float64 products that are exact.

An integer matrix is cut into parts of a few bits each, X = X₀ + 2^w X₁ + 2^2w X₂ + …, with signs, so that no part is
larger than 2^(w-1) in size. A product of two parts is exact in float64 as long as no sum in it passes 2^53; shifted and
added in int64, which wraps round, the parts give the product in the ring of integers modulo 2^64. In that ring closed
forms come out right whenever the final counts fit, however large the numbers on the way. Parts, not residues modulo
primes: all that is not a product then stays plain int64 arithmetic, nothing is put together again at the end, and a
0-1 matrix, which most left factors are, need not be cut at all.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from detours.counting.engines.dense.bounds import Bound

DIGITS = 53  # bits of the integers that are exact in float64
WORD = 64

IN_FLOAT32 = 2**24  # below this, every integer is a float32
IN_FLOAT16 = 2**11  # up to this, every integer is a float16
WIDENS = torch.__version__ >= torch.torch_version.TorchVersion("2.8")
"""Whether torch can multiply float16 into float32 on a GPU."""
HALVES = 3  # products of float16 that are still faster than one of float64, cutting included


def float_product(left: Tensor, right: Tensor, of_left: Bound, of_right: Bound, of_product: Bound) -> Tensor:
    """left @ right in float64, where no sum passes 2^53; by shorter floats where they are exact too.

    A GPU multiplies float16 and adds up in float32 many times faster than it does either in float64: sums below 2^24
    of products of integers up to 2^11 are exact there, and a factor with larger entries is cut into parts.
    """
    if left.device.type == "cpu" and of_product.entry < IN_FLOAT32 and _float32_is_float32():
        return torch.matmul(left.float(), right.float()).double()
    if left.device.type == "cuda" and _float16_widens():
        cut = short_cut(of_left, of_right, of_product)
        if cut is not None:
            return product_of_halves(left, right, cut)
    return torch.matmul(left, right)


def short_cut(left: Bound, right: Bound, product: Bound) -> Cut | None:
    """How factors are cut into parts that float16 holds, with sums that float32 holds; None if that takes too many.

    At most one of them is cut; a sum is then at most a row of the left factor times a part of the right one, or a part
    of the left one times a column of the right one.
    """
    if max(left.entry, right.entry) <= IN_FLOAT16 and product.entry < IN_FLOAT32:
        return Cut(1, WORD, 1, WORD)
    found = []
    if left.entry <= IN_FLOAT16 and (bits := _short_bits(left.row)) > 1:
        found.append(Cut(1, WORD, _count(right.entry.bit_length(), bits), bits))
    if right.entry <= IN_FLOAT16 and (bits := _short_bits(right.column)) > 1:
        found.append(Cut(_count(left.entry.bit_length(), bits), bits, 1, WORD))
    best = min(found, key=lambda cut: cut.products, default=None)
    return best if best is not None and best.products <= HALVES else None


def _short_bits(total: int) -> int:
    """Bits of a part, sign included: no larger than float16 allows, and small enough for their sums in float32."""
    return min(IN_FLOAT16, (IN_FLOAT32 - 1) // total).bit_length()


def product_of_halves(left: Tensor, right: Tensor, cut: Cut) -> Tensor:
    """left @ right by float16 parts; the factors are float64 that hold integers.

    >>> large = torch.tensor([[[5000.0, -3.0], [2.0, 7.0]]], dtype=torch.float64)
    >>> product_of_halves(torch.ones_like(large), large, Cut(1, WORD, 2, 12)).tolist()
    [[[5002.0, 4.0], [5002.0, 4.0]]]
    """
    rights = _halves(right, cut.right_parts, cut.right_bits)
    total: Tensor | None = None
    for p, part in enumerate(_halves(left, cut.left_parts, cut.left_bits)):
        for q, other in enumerate(rights):
            piece = _widening_product(part, other)
            shift = (p and p * cut.left_bits) + (q and q * cut.right_bits)
            total = piece.double() if total is None else total.add_(piece, alpha=2.0**shift)
    assert total is not None
    return total


def _halves(matrix: Tensor, parts: int, bits: int) -> list[Tensor]:
    """The parts as float16, lowest bits first."""
    found = []
    for _ in range(parts - 1):
        upper = torch.round(matrix * 2.0**-bits)
        found.append(torch.sub(matrix, upper, alpha=2.0**bits).half())
        matrix = upper
    return [*found, matrix.half()]


def _widening_product(left: Tensor, right: Tensor) -> Tensor:
    """A float16 product in float32."""
    if left.device.type == "cuda":
        return torch.bmm(left, right, out_dtype=torch.float32)
    return torch.matmul(left.float(), right.float())


def _float32_is_float32() -> bool:
    """Whether products of float32 matrices are what they say: torch can be told to take shorter numbers for them."""
    try:
        precise = torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # told so in a newer way, which this question does not know
        precise = False
    return precise and not torch.is_autocast_enabled("cpu")


def _float16_widens() -> bool:
    """Whether sums of float16 products are float32 on a GPU: torch can be told to take shorter sums."""
    return WIDENS and not getattr(torch.backends.cuda.matmul, "allow_fp16_accumulation", False)


class Cut(NamedTuple):
    """How two matrices are cut: the number of parts and their bits. One part is the matrix itself."""

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
    """Bits of the largest entry of a matrix, and of the largest sum of a row or column, in absolute value."""

    entry: int
    row: int
    column: int


def ring_product(left: Tensor, right: Tensor, digits: int = DIGITS) -> Tensor:
    """left @ right modulo 2^64, as int64; the factors are int64, or float64 that hold integers.

    >>> large = torch.full((1, 2, 2), 2**40 + 1)
    >>> ring_product(large, large)[0, 0, 0].item() == (2 * (2**40 + 1) ** 2) % 2**64
    True
    """
    cut = best_cut(_extent(left), _extent(right), left.shape[-1], digits)
    rights = _parts(right, cut.right_parts, cut.right_bits)
    total: Tensor | None = None
    for p, part in enumerate(_parts(left, cut.left_parts, cut.left_bits)):
        for q, other in enumerate(rights):
            shift = p * cut.left_bits + q * cut.right_bits
            if shift < WORD:
                piece = torch.matmul(part, other).to(torch.int64) << shift
                total = piece if total is None else total.add_(piece)
    assert total is not None
    return total


def best_cut(left: Extent, right: Extent, inner: int, digits: int = DIGITS) -> Cut:
    """The cut with the fewest products, each of whose sums stays within the given bits.

    A factor that is left whole is measured by its sums: a sum of products is then at most the largest sum of a row of
    the left factor times the largest entry of a right part, and the same from the other side.
    """
    found = []
    if left.entry <= digits and (bits := digits - left.row + 1) > 1:
        found.append(Cut(1, WORD, _count(right.entry, bits), bits))
    if right.entry <= digits and (bits := digits - right.column + 1) > 1:
        found.append(Cut(_count(left.entry, bits), bits, 1, WORD))
    for bits in range(2, digits):
        # inner · 2^(left bits - 1) · 2^(right bits - 1) <= 2^digits
        other = digits - inner.bit_length() - bits + 2
        if other > 1:
            found.append(Cut(_count(left.entry, bits), bits, _count(right.entry, other), other))
    return min(found, key=lambda cut: cut.products)


def _count(entry_bits: int, part_bits: int) -> int:
    """Parts of a number with the given bits and a sign."""
    return -(-(entry_bits + 1) // part_bits)


def _parts(matrix: Tensor, parts: int, bits: int) -> list[Tensor]:
    """The parts as float64, lowest bits first; the last may be wide when it is the only one."""
    if parts == 1:
        return [matrix.to(torch.float64)]
    rest, half, found = matrix.to(torch.int64), 1 << (bits - 1), []
    for _ in range(parts - 1):
        low = ((rest + half) & (2 * half - 1)) - half
        found.append(low.to(torch.float64))
        rest = (rest - low) >> bits
    return [*found, rest.to(torch.float64)]


def _extent(matrix: Tensor) -> Extent:
    """Measured; where sums are rounded, a bit is added."""
    smallest, largest = (int(x) for x in torch.stack(torch.aminmax(matrix)).tolist())
    entry = max(largest, -smallest).bit_length()
    if entry > DIGITS:
        return Extent(entry, WORD, WORD)
    floats = matrix.to(torch.float64)
    sums = torch.stack([torch.linalg.vector_norm(floats, 1, dim=axis).max() for axis in (-1, -2)]).tolist()
    return Extent(entry, *(int(size * (1 + 1e-9)).bit_length() for size in sums))
