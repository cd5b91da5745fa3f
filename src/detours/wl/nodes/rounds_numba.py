"""The compiled steps of a round; `rounds` puts them together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Bool, Int32, Int64
from detours.compiled import compiled
from detours.wl.nodes.sort_numba import Rows, load_first_keys, sort_row, sort_rows


class Arcs(NamedTuple):
    """Arcs from every node to those it sees, as a CSR; `colour` is empty if all arcs are alike."""

    indptr: Int64
    indices: Int32
    colour: Int32


class Layout(NamedTuple):
    """How entries of rows, pairs of an arc colour and a node colour, are packed into 63-bit keys."""

    node_bits: int
    """Bits of a node colour."""
    entry_bits: int
    """Bits of an entry."""
    ragged: bool
    """Whether rows of one class may differ in length, so that each starts with its length."""


@compiled
def mark_dirty(starts: Int64, changed: Bool, arcs: Arcs, colour: Int32, dirty: Bool) -> None:
    """Mark the classes of two or more nodes that see a `changed` class."""
    for node in range(len(colour)):
        c = colour[node]
        if not dirty[c] and starts[c + 1] - starts[c] > 1:
            for arc in range(arcs.indptr[node], arcs.indptr[node + 1]):
                if changed[colour[arcs.indices[arc]]]:
                    dirty[c] = True
                    break


@compiled
def next_chunk(first: int, order: Int32, starts: Int64, dirty: Bool, indptr: Int64, most: int) -> tuple[int, int]:
    """Return the end of a chunk of classes from `first` on with at most `most` entries in their rows, and the count."""
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
def write_rows(
    first: int, last: int, dirty: Bool, arcs: Arcs, colour: Int32, layout: Layout, rows: Rows, row: Int64
) -> None:
    """Write the sorted rows of the nodes of dirty classes, as many entries to a key as fit.

    Nodes are taken in their own order: what is near in the graph is mostly near in memory. `row` is scratch space for
    the longest row.
    """
    # The loop is one function, since Numba does not inline functions that come from its cache.
    coloured = len(arcs.colour) > 0
    bits = layout.entry_bits
    entries_per_key = 63 // bits
    end = 0
    for node in range(len(colour)):
        if not (first <= colour[node] < last and dirty[colour[node]]):
            continue
        start, size = arcs.indptr[node], arcs.indptr[node + 1] - arcs.indptr[node]
        for at in range(size):
            row[at] = colour[arcs.indices[start + at]]
        if coloured:
            for at in range(size):
                row[at] |= np.int64(arcs.colour[start + at]) << layout.node_bits
        rows.place[node] = end
        if layout.ragged:
            rows.keys[end] = size
            end += 1
        if 0 < size <= 3 <= entries_per_key:  # most nodes of molecules and road networks: sorted without branches
            a = row[0]
            b = row[1] if size > 1 else 0  # a missing entry counts as 0
            c = row[2] if size > 2 else 0
            low, high = min(a, b), max(a, b)
            rows.keys[end] = min(low, c) << 2 * bits | max(low, min(high, c)) << bits | max(high, c)
            end += 1
        else:
            sort_row(row, size)
            for at in range(size):
                if at % entries_per_key == 0:
                    rows.keys[end] = row[at]
                    end += 1
                else:
                    rows.keys[end - 1] = rows.keys[end - 1] << bits | row[at]
        rows.length[node] = end - rows.place[node]


@compiled
def split_classes(
    first: int, last: int, order: Int32, starts: Int64, dirty: Bool, rows: Rows, entries: Int64, fresh: Bool
) -> int:
    """Sort the members of dirty classes by their rows, set `fresh` at the first node of new classes, and count them."""
    for c in range(first, last):
        if dirty[c]:
            load_first_keys(order, starts[c], starts[c + 1], rows, entries)
    found = 0
    for c in range(first, last):
        if dirty[c]:
            found += sort_rows(order, starts[c], starts[c + 1], rows, entries, fresh)
    return found


@compiled
def recolour(order: Int32, starts: Int64, fresh: Bool, found: int, indptr: Int64) -> tuple[Int32, Int64, Bool, int]:
    """Return new colours, their offsets, which of them changed, and the number of arcs at nodes of these.

    Of each class all parts but the largest change.

    Members of a class saw the same number of nodes of every old class. If none of them sees a changed class, they see
    the same number of nodes of the largest parts, too, and stay together in the next round.
    """
    colour = np.empty(len(order), np.int32)
    parts = np.empty(len(starts) + found, np.int64)
    changed = np.ones(len(parts) - 1, np.bool_)
    c, arcs = -1, 0
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
        if c > first:
            degree = (
                indptr[order[starts[old]] + 1] - indptr[order[starts[old]]]
            )  # after the first round that of all members
            arcs += degree * (starts[old + 1] - starts[old] - parts[largest + 1] + parts[largest])
    return colour, parts, changed, arcs
