"""The colour classes of each graph, in arrays that kernels can traverse colour by colour."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Bool, Int32, Int64, read_only
from detours.compiled import compiled
from detours.wl.nodes.sort_numba import by_colour, sort_row


class Classes(NamedTuple):
    """The nodes of each graph, grouped by colour; nodes without a colour (-1) are left out."""

    graph_offsets: Int64
    """The classes of graph g are ``graph_offsets[g]`` to ``graph_offsets[g + 1]``, in the order of their colours."""
    member_offsets: Int64
    """The members of class c are ``members[member_offsets[c]:member_offsets[c + 1]]``."""
    members: Int32
    colour: Int32
    """The colour of each class."""
    graph: Int32
    """The graph of each class."""
    order: Int32
    """The classes sorted by colour, and by graph within a colour."""
    colour_offsets: Int64
    """The classes of colour c are ``order[colour_offsets[c]:colour_offsets[c + 1]]``."""
    shared: Bool
    """Which colours occur in two or more graphs."""


def classes_in(colour: Int32, offsets: Int64) -> Classes:
    """Return the classes of one round."""
    graph_offsets, member_offsets, members, class_colour, graph = _classes(
        read_only(colour, np.int32), read_only(offsets, np.int64)
    )
    order, colour_offsets = by_colour(read_only(class_colour, np.int32), int(colour.max(initial=-1)) + 1)
    return Classes(
        graph_offsets, member_offsets, members, class_colour, graph, order, colour_offsets, np.diff(colour_offsets) > 1
    )


@compiled
def _classes(colour: Int32, offsets: Int64) -> tuple[Int64, Int64, Int32, Int32, Int32]:
    graphs = len(offsets) - 1
    graph_offsets = np.zeros(graphs + 1, np.int64)
    member_offsets = np.zeros(len(colour) + 1, np.int64)
    members = np.empty(len(colour), np.int32)
    class_colour, graph = np.empty(len(colour), np.int32), np.empty(len(colour), np.int32)
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
        for i in range(size):
            if i == 0 or row[i] >> 32 != row[i - 1] >> 32:
                class_colour[at], graph[at], member_offsets[at] = row[i] >> 32, g, end
                at += 1
            members[end] = row[i] & 0xFFFFFFFF
            end += 1
        graph_offsets[g + 1] = at
    member_offsets[at] = end
    return (
        graph_offsets,
        member_offsets[: at + 1].copy(),
        members[:end].copy(),
        class_colour[:at].copy(),
        graph[:at].copy(),
    )
