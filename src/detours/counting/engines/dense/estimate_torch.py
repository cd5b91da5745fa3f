"""Expected time and memory of closed forms on a device of torch's.

The prices were fitted to whole counts on an H200, k = 2 .. 7; they came out within a factor of about two there.
"""

from __future__ import annotations

from functools import lru_cache

from detours.counting.derive.matrix_steps import Combination, Contraction, Product
from detours.counting.engines.dense.bounds import EXACT, bounds
from detours.counting.engines.dense.estimate import Size, expected_seconds
from detours.counting.engines.dense.evaluate_torch import SPARSE
from detours.counting.engines.dense.exact_matmul import WIDENS, short_cut

BEGIN = 4e-3  # seconds of any count,
NODE = 70e-9  # of a node, to find its block,
ARC = 6e-9  # of an arc, to find its place, send it to the device and fetch its counts,
LAUNCH = 80e-6  # to start the operations of a step or a term, however small,
MULTIPLY = 1 / 32e12  # of a multiplication of float64 in a product,
SHORT = 1 / 400e12  # of one of float16,
BYTE = 1 / 2.5e12  # and of a byte read or written
PASSES = 4  # how often a step or a term goes over its matrix
RING = 3  # products of float64 that one modulo 2^64 takes, about
AT_WORK = 5  # matrices, besides those kept, that a step under way may fill


def seconds_around(nodes: int, arcs: int, device: str) -> float:
    """Return the time of what is done before and after evaluations."""
    return BEGIN + NODE * nodes + ARC * arcs if device.startswith("cuda") else 0.0


def device_seconds(contraction: Contraction, size: Size, device: str) -> float:
    """Return about how long an evaluation takes there."""
    if not device.startswith("cuda"):
        return expected_seconds(contraction, size)
    sparse = size.graphs == 1 and size.arcs < SPARSE * size.entries
    prices = _multiplications(contraction, size.degree)
    seconds = 0.0
    for number, step in enumerate(contraction.steps):
        terms = len(step.terms) if isinstance(step, Combination) else 1
        entries = size.entries if contraction.whole[number] else size.arcs
        seconds += terms * (LAUNCH + PASSES * 8 * entries * BYTE)
        if isinstance(step, Product):
            if sparse and (contraction.on_arcs[step.left] or contraction.on_arcs[step.right]):
                seconds += 8 * size.nodes * size.arcs * BYTE
            else:
                seconds += size.nodes * size.entries * prices[number]
    return seconds


@lru_cache(maxsize=256)
def _multiplications(contraction: Contraction, degree: int) -> dict[int, float]:
    """The price of a multiplication in each product, as far as degrees tell what it takes."""
    known, prices = bounds(contraction, degree, degree), {}
    for number, step in enumerate(contraction.steps):
        if isinstance(step, Product):
            cut = short_cut(known[step.left], known[step.right], known[number]) if WIDENS else None
            plain = MULTIPLY if known[number].entry < EXACT else RING * MULTIPLY
            prices[number] = plain if cut is None else cut.products * SHORT
    return prices


def device_bytes(contraction: Contraction, size: Size) -> int:
    """What an evaluation keeps at a time there, and what the step under way fills."""
    return 8 * size.entries * (contraction.peak_full_matrices + AT_WORK) + 16 * size.arcs * contraction.peak_matrices
