"""The colour classes of each graph, laid out so that kernels can walk over them colour by colour."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Bool, Int32, Int64, read_only
from detours.compiled import compiled
from detours.wl.nodes.sort_numba import by_colour, sort_row


class Classes(NamedTuple):
    """The nodes of each graph that have a colour, by colour; nodes without one (-1) are left out."""

    ends: Int64
    """The classes of graph g are ``ends[g]`` to ``ends[g + 1]`` of all, in the order of their colours."""
    begins: Int64
    """The members of class c are ``members[begins[c]:begins[c + 1]]``."""
    members: Int32
    colour: Int32
    graph: Int32
    order: Int32
    """The classes in the order of their colours, those of a colour in the order of their graphs."""
    starts: Int64
    """Where each colour begins in `order`."""
    shared: Bool
    """Which colours two or more graphs have."""


def classes_in(colour: Int32, offsets: Int64) -> Classes:
    """Lay out the classes of one round."""
    ends, begins, members, of_class, graph = _classes(read_only(colour, np.int32), read_only(offsets, np.int64))
    order, starts = by_colour(read_only(of_class, np.int32), int(colour.max(initial=-1)) + 1)
    return Classes(ends, begins, members, of_class, graph, order, starts, np.diff(starts) > 1)


@compiled
def _classes(colour: Int32, offsets: Int64) -> tuple[Int64, Int64, Int32, Int32, Int32]:
    graphs = len(offsets) - 1
    ends = np.zeros(graphs + 1, np.int64)
    begins = np.zeros(len(colour) + 1, np.int64)
    members = np.empty(len(colour), np.int32)
    of_class, graph = np.empty(len(colour), np.int32), np.empty(len(colour), np.int32)
    largest = 0
    for g in range(graphs):
        largest = max(largest, offsets[g + 1] - offsets[g])
    row = np.empty(largest, np.int64)
    at, end = 0, 0
    for g in range(graphs):
        size = 0
        for node in range(offsets[g], offsets[g + 1]):
            if colour[node] >= 0:
                row[size] = np.int64(colour[node]) << 32 | node
                size += 1
        sort_row(row, size)
        for place in range(size):
            if place == 0 or row[place] >> 32 != row[place - 1] >> 32:
                of_class[at], graph[at], begins[at] = row[place] >> 32, g, end
                at += 1
            members[end] = row[place] & 0xFFFFFFFF
            end += 1
        ends[g + 1] = at
    begins[at] = end
    return ends, begins[: at + 1].copy(), members[:end].copy(), of_class[:at].copy(), graph[:at].copy()
