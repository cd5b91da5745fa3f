"""Rounds of colour refinement where few nodes change colour: what they cost is what changed, not the graph."""

from __future__ import annotations

import numpy as np

from detours.arrays import Bool, Int32, Int64, read_only
from detours.wl.nodes.local_rounds_numba import (
    changed_ranks,
    fill_partition,
    local_round,
    new_partition,
    new_scratch,
    out_of_balance,
    ranks,
    reversed_arcs,
)
from detours.wl.nodes.rounds_numba import Arcs


class LocalRounds:
    """Rounds that read the arcs at changed nodes; see `local_rounds_numba`.

    Colours are computed only when they are read, since one split renumbers all classes behind it.
    """

    def __init__(self, arcs: Arcs, colour: Int32, order: Int32, starts: Int64, changed: Bool, most_arcs: int) -> None:
        """Continue after a round that changed some classes; at most `most_arcs` arcs may be at changed nodes."""
        self._arcs = self._reverse = arcs
        if len(arcs.colour):
            indptr, indices, arc_colour = reversed_arcs(arcs)
            self._reverse = Arcs(
                read_only(indptr, np.int64), read_only(indices, np.int32), read_only(arc_colour, np.int32)
            )
        self._num_classes = len(starts) - 1
        self._partition, self._scratch = new_partition(order, colour), new_scratch(len(order), most_arcs)
        self._num_changed = fill_partition(self._partition, self._scratch, starts, changed)
        self.changed_arcs = 0
        """The number of arcs at nodes that the last round changed."""

    @property
    def order(self) -> Int32:
        """The nodes in the order of their colours."""
        return self._partition.order

    def round(self) -> bool:
        """Split the classes that see a changed one, and return whether there are more of them."""
        before = self._num_classes
        self._num_classes, self._num_changed, self.changed_arcs = local_round(
            self._arcs, self._reverse, self._partition, self._num_classes, self._scratch, self._num_changed
        )
        return self._num_classes > before

    def colours(self) -> tuple[Int32, Int64]:
        """Return the colours, and their offsets in the order of the nodes."""
        return ranks(self._partition, self._num_classes)

    def changed(self, colour: Int32, num_colours: int) -> Bool:
        """Return which colours are on changed nodes."""
        return changed_ranks(colour, num_colours, self._scratch, self._num_changed)

    def differs(self, boundary: int) -> bool:
        """Return whether a changed class has more or fewer nodes below `boundary` than others."""
        return out_of_balance(self._partition, self._scratch, self._num_changed, boundary)
