"""Number the colours within each graph of a batch, and write the tables that define them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Bool, Int32, Int64
from detours.compiled import compiled
from detours.wl.nodes.rounds_numba import Arcs
from detours.wl.nodes.sort_numba import sort_row


class Classes(NamedTuple):
    """The colour classes of each graph, in the order of their colours; none for graphs outside the mask."""

    offsets: Int64
    """The classes of graph g are ``offsets[g]`` to ``offsets[g + 1]`` of all."""
    sizes: Int64
    members: Int64
    """One node of each class."""
    class_index: Int32
    """For every node, the index of its class within its graph."""


class ArcClasses(NamedTuple):
    """The arc colours of each graph."""

    offsets: Int64
    """The arc colours of graph g are ``offsets[g]`` to ``offsets[g + 1]`` of all."""
    colours: Int32
    colour_index: Int32
    """For every arc, the index of its colour among those of its graph."""


@compiled
def classes_of(colour: Int32, offsets: Int64, mask: Bool) -> tuple[Int64, Int64, Int64, Int32]:
    """Return the fields of the `Classes` of the graphs in the mask."""
    graphs = len(offsets) - 1
    class_offsets = np.zeros(graphs + 1, np.int64)
    sizes = np.empty(len(colour), np.int64)
    members = np.empty(len(colour), np.int64)
    class_index = np.empty(len(colour), np.int32)
    max_nodes = 0
    for g in range(graphs):
        max_nodes = max(max_nodes, offsets[g + 1] - offsets[g])
    ordered = np.empty(max_nodes, np.int64)
    class_of = np.full(max_nodes, -1, np.int64)
    last = -1
    for g in range(graphs):
        start, size = offsets[g], offsets[g + 1] - offsets[g]
        if mask[g] and size > 0:
            colours = colour[start : start + size]
            lowest, highest = colours.min(), colours.max()
            if highest - lowest < size:  # a table of the colours is faster than sorting
                for node in range(size):
                    class_of[colours[node] - lowest] = start + node
                for c in range(highest - lowest + 1):
                    if class_of[c] >= 0:
                        last += 1
                        sizes[last] = 0
                        members[last] = class_of[c]
                        class_of[c] = last - class_offsets[g]
                for node in range(size):
                    class_index[start + node] = class_of[colours[node] - lowest]
                    sizes[class_offsets[g] + class_index[start + node]] += 1
                class_of[: highest - lowest + 1] = -1
            else:
                for node in range(size):
                    ordered[node] = np.int64(colours[node]) << 32 | node
                sort_row(ordered, size)
                for i in range(size):
                    node = start + (ordered[i] & 0xFFFFFFFF)
                    if i == 0 or ordered[i] >> 32 != ordered[i - 1] >> 32:
                        last += 1
                        sizes[last] = 0
                        members[last] = node
                    sizes[last] += 1
                    class_index[node] = last - class_offsets[g]
        class_offsets[g + 1] = last + 1
    return class_offsets, sizes[: last + 1], members[: last + 1], class_index


@compiled
def arc_classes_of(arcs: Arcs, offsets: Int64) -> tuple[Int64, Int32, Int32]:
    """Return the fields of the `ArcClasses` of each graph."""
    graphs = len(offsets) - 1
    colour_offsets = np.zeros(graphs + 1, np.int64)
    colours = np.empty(len(arcs.colour), np.int32)
    colour_index = np.empty(len(arcs.colour), np.int32)
    num_colours = 0
    for c in arcs.colour:
        num_colours = max(num_colours, c + 1)
    seen_in = np.full(num_colours, -1, np.int64)
    index_of = np.empty(num_colours, np.int32)
    row = np.empty(num_colours, np.int64)
    for g in range(graphs):
        start, end = arcs.indptr[offsets[g]], arcs.indptr[offsets[g + 1]]
        num_found = 0
        for arc in range(start, end):
            if seen_in[arcs.colour[arc]] != g:
                seen_in[arcs.colour[arc]] = g
                row[num_found] = arcs.colour[arc]
                num_found += 1
        sort_row(row, num_found)
        for c in range(num_found):
            colours[colour_offsets[g] + c] = row[c]
            index_of[row[c]] = c
        for arc in range(start, end):
            colour_index[arc] = index_of[arcs.colour[arc]]
        colour_offsets[g + 1] = colour_offsets[g] + num_found
    return colour_offsets, colours[: colour_offsets[graphs]], colour_index


@compiled
def tables_of(classes: Classes, coarser: Int32, arcs: Arcs) -> tuple[Int64, Int64]:
    """Write a table for each graph: the number of its classes, and for each its size, its parent class and its row.

    `coarser` has the class index of every node in the previous round, and the colours of `arcs` are numbered within
    each graph. Return all tables one after another, and their offsets.
    """
    class_offsets, members = classes.offsets, classes.members
    size, max_degree = len(class_offsets) - 1, 0
    for node in members:
        degree = arcs.indptr[node + 1] - arcs.indptr[node]
        size += 3 + degree
        max_degree = max(max_degree, degree)
    words = np.empty(size, np.int64)
    row = np.empty(max_degree, np.int64)
    offsets = np.zeros(len(class_offsets), np.int64)
    end = 0
    for g in range(len(class_offsets) - 1):
        words[end] = class_offsets[g + 1] - class_offsets[g]
        end += 1
        for c in range(class_offsets[g], class_offsets[g + 1]):
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
        offsets[g + 1] = end
    return words, offsets
