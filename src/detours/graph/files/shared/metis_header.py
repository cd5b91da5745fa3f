"""The first line of a METIS file: its numbers, and what they say about the other lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_FORMATS = (0, 1, 10, 11, 100, 101, 110, 111)


class MetisHeader(NamedTuple):
    nodes: int
    edges: int
    skip: int
    """How many numbers of a line, sizes and weights of its node, come before the neighbours."""
    step: int
    """How many numbers there are for a neighbour: 2 if its edge has a weight."""


def metis_header(numbers: Sequence[int]) -> MetisHeader | None:
    """Return what the numbers of nodes and edges, a format and how many weights nodes have say; None if they are none.

    The digits of a format tell whether nodes have a size, whether they have weights, and whether edges have one.

    >>> metis_header([5, 6]), metis_header([5, 6, 11, 2])
    (MetisHeader(nodes=5, edges=6, skip=0, step=1), MetisHeader(nodes=5, edges=6, skip=2, step=2))
    """
    if not 2 <= len(numbers) <= 4 or min(numbers) < 0:
        return None
    nodes, edges, code, weights = [*numbers, *(0, 0, 0, 1)[len(numbers) :]]
    if code not in _FORMATS:
        return None
    return MetisHeader(nodes, edges, code // 100 + weights * (code // 10 % 10), 1 + code % 10)
