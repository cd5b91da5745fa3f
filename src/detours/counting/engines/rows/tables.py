"""What the compiled loops take: a pass as tables of operations, and the arrays that it works on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64, UInt8

Integers = NDArray[np.signedinteger]
Records = NDArray[Any]


def _record(*names: str) -> np.dtype[Any]:
    return np.dtype([(name, np.int64) for name in names])


OPERATION = _record("kind", "into", "source", "weighting", "support", "demand")
"""How a vector is made: TOUCH, whose source is a mask of flags, PRODUCT of a source and a weighting, or COMBINE. It is
zero beyond `support` of the roots, and needed within `demand` of the ends asked for."""
TERM = _record("coefficient", "pendant", "factors", "one", "two", "three")
"""A product of one to three vectors and a pendant, or NO_PENDANT."""
READING = _record("ear_sum", "coefficient", "vector", "weighting")
"""What a vector adds to an ear sum, by a weighting or READ_VECTOR."""


class Graph(NamedTuple):
    """A symmetric CSR; `rank` and `flags` may be empty: see `RowGraph`."""

    indptr: Int64
    indices: Int32
    rank: Int32
    flags: UInt8


class Code(NamedTuple):
    """A pass: the operations in order, the terms of operation n at start[n] to start[n + 1], and the readings."""

    operations: Records
    start: Int64
    terms: Records
    readings: Records


class Links(NamedTuple):
    """What is known of arcs, the matrix of each weighting read from either end, and of nodes, products of pendants."""

    weights: Integers
    back: Integers
    pendants: Integers


class Space(NamedTuple):
    """The surroundings of a block of roots."""

    place: Int32  # local number of each node, 0 outside
    nodes: Int32  # node of each local number
    asked: Int32  # local numbers by distance from the ends of the edges asked for
    steps: UInt8  # whether a local number is among them
    sizes: Int64
    """Four rows by distance: `near[r]`, the local nodes within r of the roots, plus one for row 0, and the arcs of
    these; `ends[q]`, the local nodes within q - 1 of the ends asked for, and their arcs."""
