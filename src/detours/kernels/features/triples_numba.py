"""Kernels that count triples (colour, colour, distance) over the pairs of nodes of each graph.

The work goes colour by colour. For a first colour a, each graph that has it compares its class of that colour with
its other classes: the distances between two classes are counted in a short table. Every (b, d) met becomes a column,
found by an open table of hashed keys (compared whole, so never taken for one another). What no other graph can share
only counts for the graph itself and needs no column. Nothing larger than the entries of one colour is held at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Bool, Int32, Int64
from detours.compiled import compiled
from detours.kernels.features.distances import FAR, Distance, search
from detours.kernels.features.products import ACROSS, by_column, multiply
from detours.wl.nodes.sort_numba import sort_row

ROOM = 1 << 10
"""Entries that arrays have room for at first; they grow."""
_MIX = np.uint64(0x9E3779B97F4A7C15)


@compiled
def _slot(key: Any, bits: Any) -> Any:
    return np.int64((np.uint64(key) * _MIX) >> np.uint64(64 - bits))


@compiled
def _longer(array: Any) -> Any:
    grown = np.empty(2 * len(array), array.dtype)
    grown[: len(array)] = array
    return grown


@compiled
def _rehashed(keys: Int64, columns: int, bits: int, table: Int32) -> Int32:
    if len(table) < 1 << bits:
        table = np.empty(1 << bits, np.int32)
    table[: 1 << bits] = -1
    for column in range(columns):
        slot = _slot(keys[column], bits)
        while table[slot] >= 0:
            slot = (slot + 1) & ((1 << bits) - 1)
        table[slot] = column
    return table


@compiled
def _room() -> tuple[Int32, Int64, Int32, Int32, Int64]:
    """What `_collect` fills: a table of columns, their keys, and the column, the graph and the count of entries."""
    numbers = np.empty(ROOM, np.int32), np.empty(ROOM, np.int32)
    return np.empty(ROOM, np.int32), np.empty(ROOM, np.int64), *numbers, np.empty(ROOM, np.int64)


@compiled
def _rows_of(
    begin: int, end: int, members: Int32, g: int, distances: tuple[Any, ...], row_at: Int64, queue: Int32
) -> None:
    """Where in `square` the distances from each member of a class begin; they are searched for if not kept."""
    indptr, indices, offsets, square, begins, kept = distances
    first, size = offsets[g], offsets[g + 1] - offsets[g]
    for at in range(begin, end):
        if kept:
            row_at[at - begin] = begins[g] + (members[at] - first) * size
        else:
            row_at[at - begin] = (at - begin) * size
            search(
                np.int64(members[at]),
                first,
                indptr,
                indices,
                square[row_at[at - begin] : row_at[at - begin] + size],
                queue,
            )


@compiled
def _count(
    rows: int,
    row_at: Int64,
    square: Distance,
    begin: int,
    end: int,
    members: Int32,
    first: int,
    tally: Int64,
    met: Int32,
) -> int:
    """Count the distances between a class, given by its rows, and another, ``members[begin:end]``.

    Returns how many distances were met; `met` holds them and `tally` how often each.
    """
    number = 0
    for row in range(rows):
        for at in range(begin, end):
            d = square[row_at[row] + members[at] - first]
            if d != FAR and d != 0:
                if tally[d] == 0:
                    met[number] = d
                    number += 1
                tally[d] += 1
    return number


@compiled
def _collect(
    a: int,
    ordered: bool,
    classes: tuple[Any, ...],
    distances: tuple[Any, ...],
    settled: Bool,
    own: Int64,
    work: tuple[Int64, Int32, Int64, Int32],
    found: tuple[Int32, Int64, Int32, Int32, Int64],
) -> tuple[int, int, tuple[Int32, Int64, Int32, Int32, Int64]]:
    """Columns and entries of all triples that begin with colour a; if not `ordered`, none that end with a lower one.

    Returns the number of columns, the number of entries, and `found`, larger if need be: a table, the keys
    ``b << 16 | d`` of the columns, and the column, the graph and the count of each entry. Counts of colours that
    are not shared are squared and added to `own` instead, or left out for graphs that are `settled`.
    """
    ends, class_begins, members, class_colour, class_graph, order, starts, shared = classes
    _, _, offsets, square, _, _ = distances
    tally, met, row_at, queue = work
    table, keys, entry_column, entry_graph, entry_count = found
    bits = 10
    mask = (1 << bits) - 1
    if shared[a]:
        table[: 1 << bits] = -1
    columns, entries = 0, 0
    for at in range(starts[a], starts[a + 1]):
        one = order[at]
        g = class_graph[one]
        if not shared[a] and settled[g]:
            continue
        rows = class_begins[one + 1] - class_begins[one]
        _rows_of(class_begins[one], class_begins[one + 1], members, g, distances, row_at, queue)
        for other in range(ends[g] if ordered else one, ends[g + 1]):
            b = class_colour[other]
            begin, end = class_begins[other], class_begins[other + 1]
            factor = 1 if ordered or b == a else 2
            only_own = not (shared[a] and shared[b])
            if only_own and settled[g]:
                continue
            if only_own and rows == 1 and end - begin == 1:
                d = square[row_at[0] + members[begin] - offsets[g]]
                own[g] += factor * (d != FAR and d != 0)
                continue
            number = _count(rows, row_at, square, begin, end, members, offsets[g], tally, met)
            if only_own:
                for i in range(number):
                    own[g] += factor * tally[met[i]] * tally[met[i]]
                    tally[met[i]] = 0
                continue
            while entries + number > len(entry_count):
                entry_column, entry_graph = _longer(entry_column), _longer(entry_graph)
                entry_count = _longer(entry_count)
            for i in range(number):
                key = np.int64(b) << 16 | met[i]
                slot = _slot(key, bits)
                while table[slot] >= 0 and keys[table[slot]] != key:
                    slot = (slot + 1) & mask
                column: Any = np.int64(table[slot])
                if column < 0:
                    column = columns
                    if columns == len(keys):
                        keys = _longer(keys)
                    keys[column] = key
                    table[slot] = column
                    columns += 1
                    if 2 * columns > mask:
                        bits += 2
                        mask = (1 << bits) - 1
                        table = _rehashed(keys, columns, bits, table)
                entry_column[entries] = column
                entry_graph[entries] = g
                entry_count[entries] = tally[met[i]]
                tally[met[i]] = 0
                entries += 1
    return columns, entries, (table, keys, entry_column, entry_graph, entry_count)


@compiled
def add_products(
    first: int,
    last: int,
    classes: tuple[Any, ...],
    distances: tuple[Any, ...],
    work: tuple[Int64, Int32, Int64, Int32],
    ordered: bool,
    mode: int,
    split: int,
    gram: NDArray[np.int64],
    settled: Bool,
    own: Int64,
) -> None:
    """Add what the triples that begin with the colours from `first` to `last` - 1 contribute to the products of graphs.

    `own` receives the products of graphs with themselves that come from colours no other graph has; for graphs that
    are `settled` nobody asks.
    Where distances are symmetric (not `ordered`), (a, b, d) is met as often as (b, a, d): only one is counted, twice.
    """
    class_graph, order, starts = classes[4], classes[5], classes[6]
    found = _room()
    for a in range(first, last):
        if starts[a] == starts[a + 1]:
            continue
        if mode == ACROSS and (class_graph[order[starts[a]]] >= split or class_graph[order[starts[a + 1] - 1]] < split):
            continue
        columns, entries, found = _collect(a, ordered, classes, distances, settled, own, work, found)
        _, keys, column, graph, count = found
        if columns > 0:
            factor = np.empty(columns, np.int64)
            for at in range(columns):
                factor[at] = 1 if ordered or keys[at] >> 16 == a else 2
            column_starts, entry_order = by_column(columns, entries, column)
            multiply(column_starts, entry_order, graph, count, factor, mode, split, gram)


@compiled
def list_triples(
    first: int,
    last: int,
    most: int,
    classes: tuple[Any, ...],
    distances: tuple[Any, ...],
    work: tuple[Int64, Int32, Int64, Int32],
) -> tuple[Int64, Int64, Int64, Int32, Int64]:
    """All triples, in both orders, that begin with the colours from `first` to `last` - 1; all are marked as shared.

    Returns how many columns each first colour has, the keys of the columns in ascending order within each colour, and
    of each entry the column, counted from 0, the graph and the count. Stops after more than `most` entries.
    """
    of_colour = np.zeros(last - first, np.int64)
    keys = np.empty(ROOM, np.int64)
    entry_column, entry_count = np.empty(ROOM, np.int64), np.empty(ROOM, np.int64)
    entry_graph = np.empty(ROOM, np.int32)
    graphs = len(classes[0]) - 1
    settled, own = np.zeros(graphs, np.bool_), np.zeros(graphs, np.int64)
    ordered = last > first  # always; a constant would be compiled apart
    found = _room()
    columns, entries = 0, 0
    for a in range(first, last):
        new_columns, new_entries, found = _collect(a, ordered, classes, distances, settled, own, work, found)
        _, new_keys, column, graph, count = found
        while columns + new_columns > len(keys):
            keys = _longer(keys)
        while entries + new_entries > len(entry_count):
            entry_column, entry_graph = _longer(entry_column), _longer(entry_graph)
            entry_count = _longer(entry_count)
        ascending = keys[columns : columns + new_columns]
        ascending[:] = new_keys[:new_columns]
        sort_row(ascending, new_columns)
        rank = np.searchsorted(ascending, new_keys[:new_columns])
        for entry in range(new_entries):
            entry_column[entries + entry] = columns + rank[column[entry]]
        entry_graph[entries : entries + new_entries] = graph[:new_entries]
        entry_count[entries : entries + new_entries] = count[:new_entries]
        of_colour[a - first] = new_columns
        columns += new_columns
        entries += new_entries
        if entries > most:
            break
    return of_colour, keys[:columns], entry_column[:entries], entry_graph[:entries], entry_count[:entries]


@compiled
def find_triples(starts: Int64, keys: Int64, first: Int32, wanted: Int64) -> Int64:
    """The place of each triple (first colour, key) among `keys`, sorted within each first colour; -1 if absent."""
    found = np.full(len(first), -1, np.int64)
    for at in range(len(first)):
        a = first[at]
        if a >= 0 and wanted[at] >= 0:
            place = starts[a] + np.searchsorted(keys[starts[a] : starts[a + 1]], wanted[at])
            if place < starts[a + 1] and keys[place] == wanted[at]:
                found[at] = place
    return found
