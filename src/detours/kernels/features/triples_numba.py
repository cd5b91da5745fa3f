"""Compiled loops that count triples (colour, colour, distance) over the pairs of nodes of each graph.

Colours are processed one by one. For a first colour a, each graph that has it compares its class of that colour with
its other classes: the distances between two classes are counted in a short table. Every (b, d) that occurs becomes a
column, found through a hash table with open addressing. Triples that no other graph can share only contribute to the
product of the graph with itself and need no column. Only the entries of one first colour are in memory at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Bool, Int32, Int64
from detours.compiled import compiled
from detours.kernels.colours.classes import Classes
from detours.kernels.features.distances import UNREACHABLE, Distances, search
from detours.kernels.features.products import ACROSS, by_column, multiply
from detours.wl.nodes.sort_numba import sort_row

INITIAL_SIZE = 1 << 10
"""The initial capacity of growing arrays."""
INITIAL_BITS = 10
"""The hash table has 2 ** bits slots, initially."""
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Scratch(NamedTuple):
    """Work space, allocated once; `tally` is zero between uses."""

    tally: Int64
    """The number of pairs of nodes of two classes at each distance."""
    met: Int32
    """The distances that occur."""
    row_starts: Int64
    """The offset of the distances from each member of a class in `Distances.square`."""
    queue: Int32


class Triples(NamedTuple):
    """The columns and entries of the triples with one first colour; the arrays may be longer."""

    num_columns: int
    num_entries: int
    slots: Int32
    """Hash table: the column in each slot, or -1."""
    keys: Int64
    """``b << 16 | d`` of each column."""
    column: Int32
    """The column of each entry."""
    graph: Int32
    """The graph of each entry."""
    counts: Int64
    """The count of each entry."""


def new_scratch(distances: Distances) -> Scratch:
    """Work space for the largest graph."""
    largest = int(np.diff(distances.offsets).max(initial=0))
    tally, row_starts = np.zeros(largest + 1, np.int64), np.empty(largest, np.int64)
    return Scratch(tally, np.empty(largest + 1, np.int32), row_starts, np.empty(largest, np.int32))


@compiled
def _new_triples() -> Triples:
    column, graph, count = (
        np.empty(INITIAL_SIZE, np.int32),
        np.empty(INITIAL_SIZE, np.int32),
        np.empty(INITIAL_SIZE, np.int64),
    )
    slots, keys = np.empty(1 << INITIAL_BITS, np.int32), np.empty(INITIAL_SIZE, np.int64)
    return Triples(0, 0, slots, keys, column, graph, count)


@compiled
def _grow(array: Any) -> Any:
    grown = np.empty(2 * len(array), array.dtype)
    grown[: len(array)] = array
    return grown


@compiled
def _find_slot(slots: Int32, bits: Any, keys: Int64, key: Any) -> Any:
    """The slot of a key: the one that holds its column, or a free one if it is new."""
    slot = np.int64((np.uint64(key) * _MIX) >> np.uint64(64 - bits))
    while slots[slot] >= 0 and keys[slots[slot]] != key:
        slot = (slot + 1) & ((1 << bits) - 1)
    return slot


@compiled
def _rehash(slots: Int32, bits: int, keys: Int64, num_columns: int) -> Int32:
    """Rebuild the table with 2 ** bits slots."""
    if len(slots) < 1 << bits:
        slots = np.empty(1 << bits, np.int32)
    slots[: 1 << bits] = -1
    for column in range(num_columns):
        slots[_find_slot(slots, bits, keys, keys[column])] = column
    return slots


@compiled
def _find_rows(begin: int, end: int, classes: Classes, g: int, distances: Distances, scratch: Scratch) -> None:
    """Set the row offsets of members ``begin`` to ``end`` of a class; compute their distances if they are not kept."""
    first, size = distances.offsets[g], distances.offsets[g + 1] - distances.offsets[g]
    for at in range(begin, end):
        member = np.int64(classes.members[at])
        if distances.kept:
            scratch.row_starts[at - begin] = distances.square_offsets[g] + (member - first) * size
        else:
            start = (at - begin) * size
            scratch.row_starts[at - begin] = start
            row = distances.square[start : start + size]
            search(member, first, distances.indptr, distances.indices, row, scratch.queue)


@compiled
def _count_distances(
    rows: int, begin: int, end: int, first: int, classes: Classes, distances: Distances, scratch: Scratch
) -> int:
    """Count the distances between a class, given by its rows, and the members ``begin`` to ``end`` of another.

    Returns the number of different distances: `scratch.met` holds them and `scratch.tally` how often each occurs.
    """
    tally, met, row_starts = scratch.tally, scratch.met, scratch.row_starts
    members, square = classes.members, distances.square
    num_met = 0
    for row in range(rows):
        for at in range(begin, end):
            d = square[row_starts[row] + members[at] - first]
            if d != UNREACHABLE and d != 0:
                if tally[d] == 0:
                    met[num_met] = d
                    num_met += 1
                tally[d] += 1
    return num_met


@compiled
def _collect(
    a: int,
    ordered: bool,
    classes: Classes,
    distances: Distances,
    unchanged: Bool,
    self_products: Int64,
    scratch: Scratch,
    triples: Triples,
) -> Triples:
    """The triples with first colour a; if not `ordered`, only those whose second colour is not lower.

    The arrays of `triples` are overwritten, and replaced where they are too short. Counts of colours that are not
    shared are squared and added to `self_products` instead, or left out for graphs that are `unchanged`.
    """
    shared, tally, met = classes.shared, scratch.tally, scratch.met
    slots, keys = triples.slots, triples.keys
    entry_column, entry_graph, entry_count = triples.column, triples.graph, triples.counts
    bits = INITIAL_BITS
    if shared[a]:
        slots[: 1 << bits] = -1
    columns, entries = 0, 0
    for at in range(classes.colour_offsets[a], classes.colour_offsets[a + 1]):
        this = classes.order[at]
        g = classes.graph[this]
        if not shared[a] and unchanged[g]:
            continue
        begin, end = classes.member_offsets[this], classes.member_offsets[this + 1]
        rows = end - begin
        _find_rows(begin, end, classes, g, distances, scratch)
        first = distances.offsets[g]
        for other in range(classes.graph_offsets[g] if ordered else this, classes.graph_offsets[g + 1]):
            b = classes.colour[other]
            begin, end = classes.member_offsets[other], classes.member_offsets[other + 1]
            factor = 1 if ordered or b == a else 2
            within_graph = not (shared[a] and shared[b])
            if within_graph and unchanged[g]:
                continue
            if within_graph and rows == 1 and end - begin == 1:
                d = distances.square[scratch.row_starts[0] + classes.members[begin] - first]
                self_products[g] += factor * (d != UNREACHABLE and d != 0)
                continue
            num_met = _count_distances(rows, begin, end, first, classes, distances, scratch)
            if within_graph:
                for i in range(num_met):
                    self_products[g] += factor * tally[met[i]] * tally[met[i]]
                    tally[met[i]] = 0
                continue
            while entries + num_met > len(entry_count):
                entry_column, entry_graph, entry_count = _grow(entry_column), _grow(entry_graph), _grow(entry_count)
            for i in range(num_met):
                key = np.int64(b) << 16 | met[i]
                slot = _find_slot(slots, bits, keys, key)
                column: Any = np.int64(slots[slot])
                if column < 0:
                    column = columns
                    if columns == len(keys):
                        keys = _grow(keys)
                    keys[column] = key
                    slots[slot] = column
                    columns += 1
                    if 2 * columns >= 1 << bits:
                        bits += 2
                        slots = _rehash(slots, bits, keys, columns)
                entry_column[entries] = column
                entry_graph[entries] = g
                entry_count[entries] = tally[met[i]]
                tally[met[i]] = 0
                entries += 1
    return Triples(columns, entries, slots, keys, entry_column, entry_graph, entry_count)


@compiled
def add_products(
    first: int,
    last: int,
    classes: Classes,
    distances: Distances,
    scratch: Scratch,
    ordered: bool,
    mode: int,
    split: int,
    gram: NDArray[np.int64],
    unchanged: Bool,
    self_products: Int64,
) -> None:
    """Add the triples with first colours from `first` to `last` - 1 to the products of graphs.

    The contribution of colours that no other graph has to the product of a graph with itself is added to
    `self_products` instead, except for graphs that are `unchanged`. If distances are symmetric (not `ordered`),
    (a, b, d) occurs as often as (b, a, d), so only one of them is counted, twice.
    """
    class_graph, order, starts = classes.graph, classes.order, classes.colour_offsets
    triples = _new_triples()
    for a in range(first, last):
        if starts[a] == starts[a + 1]:
            continue
        if mode == ACROSS and (class_graph[order[starts[a]]] >= split or class_graph[order[starts[a + 1] - 1]] < split):
            continue
        triples = _collect(a, ordered, classes, distances, unchanged, self_products, scratch, triples)
        columns = triples.num_columns
        if columns > 0:
            factor = np.empty(columns, np.int64)
            for at in range(columns):
                factor[at] = 1 if ordered or triples.keys[at] >> 16 == a else 2
            column_starts, entry_order = by_column(columns, triples.num_entries, triples.column)
            multiply(column_starts, entry_order, triples.graph, triples.counts, factor, mode, split, gram)


@compiled
def list_triples(
    first: int,
    last: int,
    max_entries: int,
    classes: Classes,
    distances: Distances,
    scratch: Scratch,
) -> tuple[Int64, Int64, Int64, Int32, Int64]:
    """All triples, in both orders, with first colours from `first` to `last` - 1; all colours must be shared.

    Returns the number of columns of each first colour, the keys of the columns in ascending order within each colour,
    and the column, graph and count of each entry. Stops at the first colour that takes it beyond `max_entries` entries.
    """
    widths = np.zeros(last - first, np.int64)
    keys = np.empty(INITIAL_SIZE, np.int64)
    entry_column, entry_count = np.empty(INITIAL_SIZE, np.int64), np.empty(INITIAL_SIZE, np.int64)
    entry_graph = np.empty(INITIAL_SIZE, np.int32)
    graphs = len(classes.graph_offsets) - 1
    unchanged, self_products = np.zeros(graphs, np.bool_), np.zeros(graphs, np.int64)
    ordered = last > first  # always True; a literal would be compiled as another type
    triples = _new_triples()
    columns, entries = 0, 0
    for a in range(first, last):
        triples = _collect(a, ordered, classes, distances, unchanged, self_products, scratch, triples)
        new_columns, new_entries = triples.num_columns, triples.num_entries
        while columns + new_columns > len(keys):
            keys = _grow(keys)
        while entries + new_entries > len(entry_count):
            entry_column, entry_graph, entry_count = _grow(entry_column), _grow(entry_graph), _grow(entry_count)
        ascending = keys[columns : columns + new_columns]
        ascending[:] = triples.keys[:new_columns]
        sort_row(ascending, new_columns)
        rank = np.searchsorted(ascending, triples.keys[:new_columns])
        for entry in range(new_entries):
            entry_column[entries + entry] = columns + rank[triples.column[entry]]
        entry_graph[entries : entries + new_entries] = triples.graph[:new_entries]
        entry_count[entries : entries + new_entries] = triples.counts[:new_entries]
        widths[a - first] = new_columns
        columns += new_columns
        entries += new_entries
        if entries > max_entries:
            break
    return widths, keys[:columns], entry_column[:entries], entry_graph[:entries], entry_count[:entries]


@compiled
def find_triples(starts: Int64, keys: Int64, first: Int32, queries: Int64) -> Int64:
    """The index of each triple (first colour, key) in `keys`, sorted within each first colour; -1 if absent."""
    found = np.full(len(first), -1, np.int64)
    for at in range(len(first)):
        a = first[at]
        if a >= 0 and queries[at] >= 0:
            index = starts[a] + np.searchsorted(keys[starts[a] : starts[a + 1]], queries[at])
            if index < starts[a + 1] and keys[index] == queries[at]:
                found[at] = index
    return found
