"""Rounds of colour refinement: every class of nodes is split by what its members see around them.

Nodes are kept in the order of their colours. A round writes down for each node the sorted row of
(arc colour, colour of the neighbour), sorts the rows inside every class and cuts the class where they differ. The
new colours are the ranks of (own colour, row): they refine the old ones and keep their order, and with it they
rank the nodes of a graph alike in whatever company it is refined.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from detours.arrays import Bool, Int32, Int64
from detours.compiled import compiled
from detours.wl.nodes.neighbourhood import Neighbourhood
from detours.wl.nodes.rows import first_entries, sort_rows

SHORT = 24
"""Entries up to which a row is sorted by insertion alone."""
AT_ONCE = 1 << 26
"""Entries of rows held at once (8 bytes each), unless a single class has more."""


@compiled
def sort_row(row: Int64, size: int) -> None:
    """Sort the first entries of `row`: by insertion, and before that coarsely (Shell's way) if they are many."""
    gap = 1
    if size > SHORT:
        while gap < size // 3:
            gap = 3 * gap + 1
    while gap > 0:
        for at in range(gap, size):
            key = row[at]
            free = at
            while free >= gap and row[free - gap] > key:
                row[free] = row[free - gap]
                free -= gap
            row[free] = key
        gap //= 3


@compiled
def _mark_dirty(starts: Int64, changed: Bool, indptr: Int64, indices: Int32, colour: Int32, dirty: Bool) -> None:
    """Mark the classes of two or more nodes that see a class which is `changed`."""
    for node in range(len(colour)):
        c = colour[node]
        if not dirty[c] and starts[c + 1] - starts[c] > 1:
            for arc in range(indptr[node], indptr[node + 1]):
                if changed[colour[indices[arc]]]:
                    dirty[c] = True
                    break


@compiled
def _next_chunk(first: int, order: Int32, starts: Int64, dirty: Bool, indptr: Int64, most: int) -> tuple[int, int]:
    """How far to go from class `first` until the rows of the dirty classes have `most` entries; and how many."""
    entries = 0
    for c in range(first, len(starts) - 1):
        if dirty[c]:
            own = 0
            for at in range(starts[c], starts[c + 1]):
                own += indptr[order[at] + 1] - indptr[order[at]] + 1
            if entries > 0 and entries + own > most:
                return c, entries
            entries += own
    return len(starts) - 1, entries


@compiled
def _write_rows(
    first: int,
    last: int,
    dirty: Bool,
    indptr: Int64,
    indices: Int32,
    arc_colour: Int32,
    colour: Int32,
    colour_bits: int,
    key_bits: int,
    ragged: bool,
    place: Int64,
    length: Int32,
    keys: Int64,
    row: Int64,
) -> None:
    """The sorted rows of the nodes of dirty classes, as many entries to an integer as have room in its 63 bits.

    A row that may meet rows of other lengths begins with its own. Nodes are taken in their own order: what is
    near in the graph is mostly near in memory.
    """
    # All is written out here, as Numba does not inline kernels that come from its cache.
    coloured = len(arc_colour) > 0
    room = 63 // key_bits
    end = 0
    for node in range(len(colour)):
        if not (first <= colour[node] < last and dirty[colour[node]]):
            continue
        start, size = indptr[node], indptr[node + 1] - indptr[node]
        for at in range(size):
            row[at] = colour[indices[start + at]]
        if coloured:
            for at in range(size):
                row[at] |= np.int64(arc_colour[start + at]) << colour_bits
        place[node] = end
        if ragged:
            keys[end] = size
            end += 1
        if 0 < size <= 3 <= room:  # most nodes of a molecule or a road network: no branch to be guessed wrong
            a = row[0]
            b = row[1] if size > 1 else 0  # what is missing counts as 0
            c = row[2] if size > 2 else 0
            low, high = min(a, b), max(a, b)
            keys[end] = min(low, c) << 2 * key_bits | max(low, min(high, c)) << key_bits | max(high, c)
            end += 1
        else:
            sort_row(row, size)
            for at in range(size):
                if at % room == 0:
                    keys[end] = row[at]
                    end += 1
                else:
                    keys[end - 1] = keys[end - 1] << key_bits | row[at]
        length[node] = end - place[node]


@compiled
def _split(
    first: int,
    last: int,
    order: Int32,
    starts: Int64,
    dirty: Bool,
    place: Int64,
    length: Int32,
    keys: Int64,
    entries: Int64,
    fresh: Bool,
) -> int:
    """Reorder the members of each dirty class by their rows; `fresh` is set where a new class begins."""
    for c in range(first, last):
        if dirty[c]:
            first_entries(order, starts[c], starts[c + 1], place, length, keys, entries)
    found = 0
    for c in range(first, last):
        if dirty[c]:
            found += sort_rows(order, starts[c], starts[c + 1], place, length, keys, entries, fresh)
    return found


@compiled
def _recolour(order: Int32, starts: Int64, fresh: Bool, found: int) -> tuple[Int32, Int64, Bool]:
    """New colours, where each begins, and which of them count as changed: all but the largest part of each class.

    Members of a class saw equally much of every old class. If none of them sees a changed one, they see equally
    much of the largest parts, too, and stay together in the next round.
    """
    colour = np.empty(len(order), np.int32)
    parts = np.empty(len(starts) + found, np.int64)
    changed = np.ones(len(parts) - 1, np.bool_)
    c = -1
    for old in range(len(starts) - 1):
        first = c + 1
        for at in range(starts[old], starts[old + 1]):
            if at == starts[old] or fresh[at]:
                c += 1
                parts[c] = at
            colour[order[at]] = c
        parts[c + 1] = starts[old + 1]
        largest = first
        for part in range(first + 1, c + 1):
            if parts[part + 1] - parts[part] > parts[largest + 1] - parts[largest]:
                largest = part
        changed[largest] = False
    return colour, parts, changed


@compiled
def by_colour(colour: Int32, count: int) -> tuple[Int32, Int64]:
    """The nodes in the order of their colours, and where each colour begins."""
    starts = np.zeros(count + 1, np.int64)
    for c in colour:
        starts[c + 1] += 1
    for c in range(count):
        starts[c + 1] += starts[c]
    order = np.empty(len(colour), np.int32)
    place = starts.copy()
    for node in range(len(colour)):
        order[place[colour[node]]] = node
        place[colour[node]] += 1
    return order, starts


def refinements(colour: Int32, around: Neighbourhood) -> Iterator[Int32]:
    """The colours after one round, two rounds, and so on, as long as there are more of them each time.

    The given colours are numbered from 0 without gaps; so are the coming ones.
    """
    order, starts = by_colour(colour, int(colour.max(initial=-1)) + 1)
    dirty = np.diff(starts) > 1
    nodes = len(order)
    place, length, entries = np.empty(nodes, np.int64), np.empty(nodes, np.int32), np.empty(nodes, np.int64)
    row = np.empty(np.diff(around.indptr).max(initial=0), np.int64)
    keys = np.empty(0, np.int64)
    ragged = True  # after one round all members of a class have rows of one length
    arc_bits = int(around.arc_colour.max(initial=0)).bit_length()
    while True:
        fresh = np.zeros(nodes, np.bool_)
        found, first = 0, 0
        bits = max(1, (len(starts) - 2).bit_length())
        while first < len(starts) - 1:
            last, held = len(starts) - 1, nodes + len(around.indices)
            if held > AT_ONCE:
                last, held = _next_chunk(first, order, starts, dirty, around.indptr, AT_ONCE)
            if held > len(keys):
                keys = np.empty(held, np.int64)
            seen = around.indptr, around.indices, around.arc_colour, colour
            _write_rows(first, last, dirty, *seen, bits, bits + arc_bits, ragged, place, length, keys, row)
            found += _split(first, last, order, starts, dirty, place, length, keys, entries, fresh)
            first = last
        if found == 0:
            return
        colour, starts, changed = _recolour(order, starts, fresh, found)
        yield colour
        ragged = False
        dirty = np.zeros(len(starts) - 1, np.bool_)
        _mark_dirty(starts, changed, around.indptr, around.indices, colour, dirty)
