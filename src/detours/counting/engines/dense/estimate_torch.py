"""Expected time and memory of closed forms on a torch device.

The prices were fitted to complete counts on an H200, k = 2 .. 7, where estimates are within a factor of about two.
"""

from __future__ import annotations

from functools import lru_cache

from detours.counting.derive.matrix_steps import Combination, Contraction, Product
from detours.counting.engines.dense.bounds import EXACT, bounds
from detours.counting.engines.dense.estimate import Size, expected_seconds
from detours.counting.engines.dense.evaluate_torch import SPARSE_DENSITY
from detours.counting.engines.dense.exact_matmul import HAS_WIDENING_BMM, float16_cut

START = 4e-3  # seconds per count
NODE = 70e-9  # per node, to find its block
ARC = 6e-9  # per arc, to find its position, send it to the device and fetch its counts
LAUNCH = 80e-6  # per step or term, to launch its kernels
MULTIPLY = 1 / 32e12  # per multiplication of float64 in a product
SHORT = 1 / 400e12  # per multiplication of float16
BYTE = 1 / 2.5e12  # per byte read or written
PASSES = 4  # passes of a step or a term over its matrix
RING = 3  # approximate number of float64 products for one modulo 2^64
AT_WORK = 5  # temporary matrices of the current step, in addition to the results kept


def seconds_around(nodes: int, arcs: int, device: str) -> float:
    """Return the time before and after the evaluations."""
    return START + NODE * nodes + ARC * arcs if device.startswith("cuda") else 0.0


def device_seconds(contraction: Contraction, size: Size, device: str) -> float:
    """Return the approximate time of an evaluation on the device."""
    if not device.startswith("cuda"):
        return expected_seconds(contraction, size)
    sparse = size.graphs == 1 and size.arcs < SPARSE_DENSITY * size.entries
    prices = _multiplications(contraction, size.degree)
    seconds = 0.0
    for index, step in enumerate(contraction.steps):
        terms = len(step.terms) if isinstance(step, Combination) else 1
        entries = size.entries if contraction.whole[index] else size.arcs
        seconds += terms * (LAUNCH + PASSES * 8 * entries * BYTE)
        if isinstance(step, Product):
            if sparse and (contraction.on_arcs[step.left] or contraction.on_arcs[step.right]):
                seconds += 8 * size.nodes * size.arcs * BYTE
            else:
                seconds += size.nodes * size.entries * prices[index]
    return seconds


@lru_cache(maxsize=256)
def _multiplications(contraction: Contraction, degree: int) -> dict[int, float]:
    """The price of a multiplication in each product, as far as degrees determine it."""
    known, prices = bounds(contraction, degree, degree), {}
    for index, step in enumerate(contraction.steps):
        if isinstance(step, Product):
            cut = float16_cut(known[step.left], known[step.right], known[index]) if HAS_WIDENING_BMM else None
            plain = MULTIPLY if known[index].entry < EXACT else RING * MULTIPLY
            prices[index] = plain if cut is None else cut.products * SHORT
    return prices


def device_bytes(contraction: Contraction, size: Size) -> int:
    """Return the peak memory on the device: the results kept, and temporary matrices of the current step."""
    return 8 * size.entries * (contraction.peak_full_matrices + AT_WORK) + 16 * size.arcs * contraction.peak_matrices
