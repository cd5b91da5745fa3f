"""Rounds of colour refinement: every class of nodes is split by what its members see.

Nodes are kept in the order of their colours. A round writes for each node the sorted row of pairs (arc colour, colour
of the neighbour), sorts the rows inside every class and cuts the class where they differ. The new colours are the ranks
of (own colour, row): they refine the old ones and keep their order. So the order of the colours of a graph does not
depend on the graphs it is refined with.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from detours.arrays import Int32
from detours.wl.nodes.neighbourhood import Neighbourhood
from detours.wl.nodes.rounds_numba import Layout, mark_dirty, next_chunk, recolour, split_classes, write_rows
from detours.wl.nodes.sort_numba import Rows, by_colour

CHUNK_ENTRIES = 1 << 26
"""Entries of rows in memory at a time (8 bytes each), unless a single class has more."""


def refinements(colour: Int32, around: Neighbourhood) -> Iterator[Int32]:
    """Yield the colours after one round, two rounds, and so on, as long as each round finds more of them.

    The given colours are numbered from 0 without gaps; so are those that are yielded.
    """
    arcs = around.arcs
    order, starts = by_colour(colour, int(colour.max(initial=-1)) + 1)
    dirty = np.diff(starts) > 1
    nodes = len(order)
    rows = Rows(np.empty(nodes, np.int64), np.empty(nodes, np.int32), np.empty(0, np.int64))
    entries = np.empty(nodes, np.int64)
    row = np.empty(np.diff(arcs.indptr).max(initial=0), np.int64)
    arc_bits = int(arcs.colour.max(initial=0)).bit_length()
    ragged = True  # after one round all members of a class have rows of one length
    while True:
        fresh = np.zeros(nodes, np.bool_)
        found, first = 0, 0
        node_bits = max(1, (len(starts) - 2).bit_length())
        layout = Layout(node_bits, node_bits + arc_bits, ragged)
        while first < len(starts) - 1:
            last, size = len(starts) - 1, nodes + len(arcs.indices)
            if size > CHUNK_ENTRIES:
                last, size = next_chunk(first, order, starts, dirty, arcs.indptr, CHUNK_ENTRIES)
            if size > len(rows.keys):
                rows = rows._replace(keys=np.empty(size, np.int64))
            write_rows(first, last, dirty, arcs, colour, layout, rows, row)
            found += split_classes(first, last, order, starts, dirty, rows, entries, fresh)
            first = last
        if found == 0:
            return
        colour, starts, changed = recolour(order, starts, fresh, found)
        yield colour
        ragged = False
        dirty = np.zeros(len(starts) - 1, np.bool_)
        mark_dirty(starts, changed, arcs, colour, dirty)
