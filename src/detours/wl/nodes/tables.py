"""The colours of each graph of a batch numbered anew, graph by graph, and what they stand for, as tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Bool, Int32, Int64
from detours.compiled import compiled
from detours.wl.nodes.rounds import sort_row


class Classes(NamedTuple):
    """The colour classes of each graph, in the order of their colours; none for graphs that are not asked for."""

    ends: Int64
    """The classes of graph g are ``ends[g]`` to ``ends[g + 1]`` of all."""
    sizes: Int64
    members: Int64
    """One node of each class."""
    number: Int32
    """For every node, which class of its graph it is in."""


@compiled
def classes_of(colour: Int32, offsets: Int64, asked: Bool) -> tuple[Int64, Int64, Int64, Int32]:
    """The fields of `Classes`."""
    graphs = len(offsets) - 1
    ends = np.zeros(graphs + 1, np.int64)
    sizes = np.empty(len(colour), np.int64)
    members = np.empty(len(colour), np.int64)
    number = np.empty(len(colour), np.int32)
    largest = 0
    for g in range(graphs):
        largest = max(largest, offsets[g + 1] - offsets[g])
    ordered = np.empty(largest, np.int64)
    at = -1
    for g in range(graphs):
        start, size = offsets[g], offsets[g + 1] - offsets[g]
        if asked[g]:
            for node in range(size):
                ordered[node] = np.int64(colour[start + node]) << 32 | node
            sort_row(ordered, size)
            for place in range(size):
                node = start + (ordered[place] & 0xFFFFFFFF)
                if place == 0 or ordered[place] >> 32 != ordered[place - 1] >> 32:
                    at += 1
                    sizes[at] = 0
                    members[at] = node
                sizes[at] += 1
                number[node] = at - ends[g]
        ends[g + 1] = at + 1
    return ends, sizes[: at + 1], members[: at + 1], number


@compiled
def arc_classes_of(arc_colour: Int32, indptr: Int64, offsets: Int64) -> tuple[Int64, Int32, Int32]:
    """The arc colours of each graph: where those of graph g begin, their colours, and every arc's number among them."""
    graphs = len(offsets) - 1
    ends = np.zeros(graphs + 1, np.int64)
    distinct = np.empty(len(arc_colour), np.int32)
    number = np.empty(len(arc_colour), np.int32)
    most = 0
    for c in arc_colour:
        most = max(most, c + 1)
    seen_in = np.full(most, -1, np.int64)
    place = np.empty(most, np.int32)
    row = np.empty(most, np.int64)
    for g in range(graphs):
        start, end = indptr[offsets[g]], indptr[offsets[g + 1]]
        found = 0
        for arc in range(start, end):
            if seen_in[arc_colour[arc]] != g:
                seen_in[arc_colour[arc]] = g
                row[found] = arc_colour[arc]
                found += 1
        sort_row(row, found)
        for c in range(found):
            distinct[ends[g] + c] = row[c]
            place[row[c]] = c
        for arc in range(start, end):
            number[arc] = place[arc_colour[arc]]
        ends[g + 1] = ends[g] + found
    return ends, distinct[: ends[graphs]], number


@compiled
def tables_of(
    ends: Int64,
    sizes: Int64,
    members: Int64,
    coarser: Int32,
    indptr: Int64,
    indices: Int32,
    arc_number: Int32,
) -> tuple[Int64, Int64]:
    """For each graph the number of its classes, and for each class its size, the one it came from, and what it saw.

    Returns all tables in one row, and where that of graph g begins. `coarser` numbers the classes of the round before.
    """
    room, widest = len(ends) - 1, 0
    for node in members:
        degree = indptr[node + 1] - indptr[node]
        room += 3 + degree
        widest = max(widest, degree)
    words = np.empty(room, np.int64)
    row = np.empty(widest, np.int64)
    begins = np.zeros(len(ends), np.int64)
    end = 0
    for g in range(len(ends) - 1):
        words[end] = ends[g + 1] - ends[g]
        end += 1
        for c in range(ends[g], ends[g + 1]):
            node = members[c]
            degree = indptr[node + 1] - indptr[node]
            for at in range(degree):
                arc = indptr[node] + at
                row[at] = coarser[indices[arc]]
                if len(arc_number) > 0:
                    row[at] |= np.int64(arc_number[arc]) << 32
            sort_row(row, degree)
            words[end], words[end + 1], words[end + 2] = sizes[c], coarser[node], degree
            end += 3
            for at in range(degree):
                words[end + at] = row[at]
            end += degree
        begins[g + 1] = end
    return words, begins
