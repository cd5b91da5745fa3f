"""Arguments of the compiled loops: a pass as tables of operations, and the arrays that it works on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64, UInt8

Integers = NDArray[np.signedinteger]
Records = NDArray[Any]


def _record(*names: str) -> np.dtype[Any]:
    return np.dtype([(name, np.int64) for name in names])


OPERATION = _record("kind", "result", "source", "weighting", "support", "demand")
"""How a vector is computed: TOUCH, whose source is a mask of flags, PRODUCT of a source and a weighting, or COMBINE. It
is zero farther than `support` from the roots, and needed within `demand` steps, the first one along a served arc."""
TERM = _record("coefficient", "pendant", "factors", "one", "two", "three")
"""A product of a pendant, or NO_PENDANT, and one to three vectors."""
READING = _record("ear_sum", "coefficient", "vector", "weighting")
"""A summand of an ear sum: a vector, read by a weighting or READ_VECTOR."""


class Graph(NamedTuple):
    """A symmetric CSR; `rank` and `flags` may be empty: see `RowGraph`."""

    indptr: Int64
    indices: Int32
    rank: Int32
    flags: UInt8


class Code(NamedTuple):
    """A pass: operations in order, the terms of operation n from term_offsets[n] to term_offsets[n + 1], readings."""

    operations: Records
    term_offsets: Int64
    terms: Records
    readings: Records


class Links(NamedTuple):
    """Weights of arcs, one row per weighting, read from either end; and of nodes, one row per product of pendants."""

    weights: Integers
    reverse_weights: Integers
    pendants: Integers


class Space(NamedTuple):
    """The surroundings of a block of roots."""

    local: Int32  # local index of each node, from 1; 0 outside
    nodes: Int32  # node of each local index
    needed: Int32  # local indices where vectors are needed, by distance from the ends of the served arcs
    is_needed: UInt8  # whether a local index is among them
    sizes: Int64
    """Four rows by distance: `near[r]`, the number of local nodes within r of the roots, plus one for row 0, and the
    number of their arcs; `ends[q]`, the same within q - 1 of the ends of the served arcs, and their arcs."""
