"""The first line of a METIS file, which determines the layout of the other lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_FORMATS = (0, 1, 10, 11, 100, 101, 110, 111)


class MetisHeader(NamedTuple):
    nodes: int
    edges: int
    skip: int
    """The count of numbers before the neighbours in a line: the size and the weights of the node."""
    step: int
    """The count of numbers per neighbour: 2 if edges have weights, else 1."""


def metis_header(numbers: Sequence[int]) -> MetisHeader | None:
    """Return the header in these numbers, None if they are not one.

    They are the number of nodes, the number of edges, a format and the number of weights per node; the last two are
    optional. The digits of the format say whether nodes have sizes, nodes have weights, and edges have weights.

    >>> metis_header([5, 6]), metis_header([5, 6, 11, 2])
    (MetisHeader(nodes=5, edges=6, skip=0, step=1), MetisHeader(nodes=5, edges=6, skip=2, step=2))
    """
    if not 2 <= len(numbers) <= 4 or min(numbers) < 0:
        return None
    nodes, edges, format, weights = [*numbers, *(0, 0, 0, 1)[len(numbers) :]]
    if format not in _FORMATS:
        return None
    return MetisHeader(nodes, edges, format // 100 + weights * (format // 10 % 10), 1 + format % 10)
