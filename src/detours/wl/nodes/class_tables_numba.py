"""Number the colours of each graph of a batch by themselves, and write the tables that say what they stand for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Bool, Int32, Int64
from detours.compiled import compiled
from detours.wl.nodes.rounds_numba import Arcs
from detours.wl.nodes.sort_numba import sort_row


class Classes(NamedTuple):
    """The colour classes of each graph, in the order of their colours; none for graphs that were not asked for."""

    ends: Int64
    """The classes of graph g are ``ends[g]`` to ``ends[g + 1]`` of all."""
    sizes: Int64
    members: Int64
    """One node of each class."""
    number: Int32
    """For every node, the class within its graph."""


class ArcClasses(NamedTuple):
    """The arc colours of each graph."""

    ends: Int64
    """The arc colours of graph g are ``ends[g]`` to ``ends[g + 1]`` of all."""
    colours: Int32
    number: Int32
    """For every arc, the number of its colour among those of its graph."""


@compiled
def classes_of(colour: Int32, offsets: Int64, asked: Bool) -> Classes:
    """Return the colour classes of the graphs that are `asked` for."""
    graphs = len(offsets) - 1
    ends = np.zeros(graphs + 1, np.int64)
    sizes = np.empty(len(colour), np.int64)
    members = np.empty(len(colour), np.int64)
    number = np.empty(len(colour), np.int32)
    largest = 0
    for g in range(graphs):
        largest = max(largest, offsets[g + 1] - offsets[g])
    ordered = np.empty(largest, np.int64)
    class_of = np.full(largest, -1, np.int64)
    at = -1
    for g in range(graphs):
        start, size = offsets[g], offsets[g + 1] - offsets[g]
        if asked[g] and size > 0:
            own = colour[start : start + size]
            least, most = own.min(), own.max()
            if most - least < size:  # a table of the colours is faster than sorting
                for node in range(size):
                    class_of[own[node] - least] = start + node
                for c in range(most - least + 1):
                    if class_of[c] >= 0:
                        at += 1
                        sizes[at] = 0
                        members[at] = class_of[c]
                        class_of[c] = at - ends[g]
                for node in range(size):
                    number[start + node] = class_of[own[node] - least]
                    sizes[ends[g] + number[start + node]] += 1
                class_of[: most - least + 1] = -1
            else:
                for node in range(size):
                    ordered[node] = np.int64(own[node]) << 32 | node
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
    return Classes(ends, sizes[: at + 1], members[: at + 1], number)


@compiled
def arc_classes_of(arcs: Arcs, offsets: Int64) -> ArcClasses:
    """Return the arc colours of each graph."""
    graphs = len(offsets) - 1
    ends = np.zeros(graphs + 1, np.int64)
    colours = np.empty(len(arcs.colour), np.int32)
    number = np.empty(len(arcs.colour), np.int32)
    most = 0
    for c in arcs.colour:
        most = max(most, c + 1)
    seen_in = np.full(most, -1, np.int64)
    place = np.empty(most, np.int32)
    row = np.empty(most, np.int64)
    for g in range(graphs):
        start, end = arcs.indptr[offsets[g]], arcs.indptr[offsets[g + 1]]
        found = 0
        for arc in range(start, end):
            if seen_in[arcs.colour[arc]] != g:
                seen_in[arcs.colour[arc]] = g
                row[found] = arcs.colour[arc]
                found += 1
        sort_row(row, found)
        for c in range(found):
            colours[ends[g] + c] = row[c]
            place[row[c]] = c
        for arc in range(start, end):
            number[arc] = place[arcs.colour[arc]]
        ends[g + 1] = ends[g] + found
    return ArcClasses(ends, colours[: ends[graphs]], number)


@compiled
def tables_of(classes: Classes, coarser: Int32, arcs: Arcs) -> tuple[Int64, Int64]:
    """Write a table for each graph: the number of its classes, and for each its size, the one it came from, its row.

    `coarser` numbers the classes of the round before, and the colours of `arcs` are numbers within each graph. Return
    all tables one after another, and where that of each graph begins.
    """
    ends, members = classes.ends, classes.members
    size, widest = len(ends) - 1, 0
    for node in members:
        degree = arcs.indptr[node + 1] - arcs.indptr[node]
        size += 3 + degree
        widest = max(widest, degree)
    words = np.empty(size, np.int64)
    row = np.empty(widest, np.int64)
    begins = np.zeros(len(ends), np.int64)
    end = 0
    for g in range(len(ends) - 1):
        words[end] = ends[g + 1] - ends[g]
        end += 1
        for c in range(ends[g], ends[g + 1]):
            node = members[c]
            degree = arcs.indptr[node + 1] - arcs.indptr[node]
            for at in range(degree):
                arc = arcs.indptr[node] + at
                row[at] = coarser[arcs.indices[arc]]
                if len(arcs.colour) > 0:
                    row[at] |= np.int64(arcs.colour[arc]) << 32
            sort_row(row, degree)
            words[end], words[end + 1], words[end + 2] = classes.sizes[c], coarser[node], degree
            end += 3
            for at in range(degree):
                words[end + at] = row[at]
            end += degree
        begins[g + 1] = end
    return words, begins
