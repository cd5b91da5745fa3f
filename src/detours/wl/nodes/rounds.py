"""Rounds of colour refinement: every class of nodes is split by what its members see.

Nodes are kept in the order of their colours. A round writes for each node the sorted row of pairs (arc colour, colour
of the neighbour), sorts the rows inside every class and cuts the class where they differ. The new colours are the ranks
of (own colour, row): they refine the old ones and keep their order. So the order of the colours of a graph does not
depend on the graphs it is refined with.

These full rounds read all nodes and arcs. Where few nodes change, local rounds (`local_rounds`) split the same classes
in the same way, and read little more than the arcs at the changed nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from detours.arrays import Bool, Int32, Int64
from detours.wl.nodes.local_rounds import LocalRounds
from detours.wl.nodes.neighbourhood import Neighbourhood
from detours.wl.nodes.rounds_numba import Arcs, Layout, mark_dirty, next_chunk, recolour, split_classes, write_rows
from detours.wl.nodes.sort_numba import Rows, by_colour

CHUNK_ENTRIES = 1 << 26
"""Entries of rows in memory at a time (8 bytes each), unless a single class has more."""
ENTER_LOCAL = 16
"""Local rounds begin when less than this fraction (1/16) of all arcs are at nodes that changed."""
LEAVE_LOCAL = 8
"""They end when more than this fraction are; not above `ENTER_LOCAL`, as memory is taken for so many."""


def refinements(colour: Int32, around: Neighbourhood) -> Iterator[Int32]:
    """Yield the colours after one round, two rounds, and so on, as long as each round finds more of them.

    The given colours are numbered from 0 without gaps; so are those that are yielded.
    """
    refinement = NodeRefinement(colour, around)
    while refinement.round():
        yield refinement.colour


class NodeRefinement:
    """The colours of nodes, refined round by round; the first are numbered from 0 without gaps."""

    def __init__(self, colour: Int32, around: Neighbourhood) -> None:
        self._arcs = around.arcs
        self._full: FullRounds | None = FullRounds(around.arcs, colour, *by_colour(colour, _num_colours(colour)))
        self._local: LocalRounds | None = None
        self._colour: Int32 | None = colour

    @property
    def colour(self) -> Int32:
        """int32 [nodes], numbered from 0 without gaps. Local rounds number colours only if they are read."""
        if self._colour is None:
            assert self._local is not None
            self._colour, _ = self._local.colours()
        return self._colour

    def round(self) -> bool:
        """Do a round, and return whether it found more colours; if not, the colours stay as they are."""
        self._choose_rounds()
        if self._local is not None:
            if not self._local.round():
                return False
            self._colour = None
        elif self._full is not None:
            if not self._full.round():
                return False
            self._colour = self._full.colour
        return True

    def differs(self, boundary: int) -> bool:
        """Return whether a colour is on more or fewer nodes below `boundary` than others, given that none was before.

        "Before" is the round before.
        """
        if self._local is not None:
            return self._local.differs(boundary)
        size = _num_colours(self.colour)
        below, others = (np.bincount(part, minlength=size) for part in np.split(self.colour, [boundary]))
        return not np.array_equal(below, others)

    def _choose_rounds(self) -> None:
        """Change between full and local rounds if the other kind is faster."""
        arcs = self._arcs
        size = len(arcs.indptr) + len(arcs.indices)
        if self._full is not None and self._full.changed_arcs is not None:
            if self._full.changed_arcs <= size // ENTER_LOCAL:
                full, self._full = self._full, None
                full.free()
                self._local = LocalRounds(arcs, full.colour, full.order, full.starts, full.changed, size // LEAVE_LOCAL)
        elif self._local is not None and self._local.changed_arcs > size // LEAVE_LOCAL:
            local, self._local = self._local, None
            colour, starts = local.colours()
            self._full = FullRounds(arcs, colour, local.order, starts, local.changed(colour, len(starts) - 1))
            self._colour = colour  # the next round may change nothing


class FullRounds:
    """Rounds that read all nodes and arcs."""

    def __init__(self, arcs: Arcs, colour: Int32, order: Int32, starts: Int64, changed: Bool | None = None) -> None:
        self._arcs = arcs
        self.colour, self.order, self.starts = colour, order, starts
        self.changed = np.ones(len(starts) - 1, np.bool_) if changed is None else changed
        self.changed_arcs: int | None = None
        """The number of arcs at nodes that the last round changed; None after the first, after which it is unknown."""
        self._ragged = changed is None  # after one round all members of a class have rows of one length
        nodes = len(order)
        self._rows = Rows(np.empty(nodes, np.int64), np.empty(nodes, np.int32), np.empty(0, np.int64))
        self._entries = np.empty(nodes, np.int64)
        self._row = np.empty(np.diff(arcs.indptr).max(initial=0), np.int64)
        self._arc_bits = int(arcs.colour.max(initial=0)).bit_length()

    def round(self) -> bool:
        """Split all classes, and return whether there are more of them."""
        arcs, nodes, classes = self._arcs, len(self.order), len(self.starts) - 1
        if self._ragged:
            dirty = np.diff(self.starts) > 1
        else:
            dirty = np.zeros(classes, np.bool_)
            mark_dirty(self.starts, self.changed, arcs, self.colour, dirty)
        fresh = np.zeros(nodes, np.bool_)
        node_bits = max(1, (classes - 1).bit_length())
        layout = Layout(node_bits, node_bits + self._arc_bits, self._ragged)
        found = first = 0
        while first < classes:
            last, size = classes, nodes + len(arcs.indices)
            if size > CHUNK_ENTRIES:
                last, size = next_chunk(first, self.order, self.starts, dirty, arcs.indptr, CHUNK_ENTRIES)
            if size > len(self._rows.keys):
                self._rows = self._rows._replace(keys=np.empty(size, np.int64))
            write_rows(first, last, dirty, arcs, self.colour, layout, self._rows, self._row)
            found += split_classes(first, last, self.order, self.starts, dirty, self._rows, self._entries, fresh)
            first = last
        if found == 0:
            return False
        self.colour, self.starts, self.changed, changed_arcs = recolour(
            self.order, self.starts, fresh, found, arcs.indptr
        )
        self.changed_arcs = None if self._ragged else changed_arcs
        self._ragged = False
        return True

    def free(self) -> None:
        """Free the memory that only rounds need."""
        self._rows = self._rows._replace(keys=np.empty(0, np.int64))


def _num_colours(colour: Int32) -> int:
    return int(colour.max(initial=-1)) + 1
