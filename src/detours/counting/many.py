"""The results of many graphs counted together: `DetoursList`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import overload

import numpy as np

from detours.arrays import Int64
from detours.counting.result import Detours
from detours.graph import Graph


class DetoursList(Sequence[Detours]):
    """The detours of many graphs, counted as one disjoint union; item i is for graph i, `whole` for the union."""

    def __init__(self, graphs: Sequence[Graph], whole: Detours) -> None:
        self.graphs = graphs
        self.whole = whole

    @cached_property
    def _arc_offsets(self) -> Int64:
        return np.cumsum([0, *(graph.num_arcs for graph in self.graphs)])

    @overload
    def __getitem__(self, index: int) -> Detours: ...
    @overload
    def __getitem__(self, index: slice) -> list[Detours]: ...
    def __getitem__(self, index: int | slice) -> Detours | list[Detours]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self.graphs))[index]
        arcs = slice(self._arc_offsets[index], self._arc_offsets[index + 1])
        cycles = None if self.whole._arc_cycles is None else self.whole._arc_cycles[arcs]
        counts = self.whole.arc_by_length[arcs], cycles
        return Detours(self.graphs[index], self.whole.k, *counts, chordless=self.whole.chordless)

    def __len__(self) -> int:
        return len(self.graphs)

    @cached_property
    def edge(self) -> Int64:
        """k-DeN of the edges of all graphs, one graph after the other, each in the caller's order."""
        return np.concatenate([d.edge for d in self]) if len(self) else np.empty(0, np.int64)

    @cached_property
    def by_length(self) -> Int64:
        return np.concatenate([d.by_length for d in self]) if len(self) else np.empty((0, self.whole.k - 1), np.int64)

    @property
    def node(self) -> Int64:
        return self.whole.node

    @property
    def cycles(self) -> dict[int, int]:
        """Cycles of all graphs together, by length."""
        return self.whole.cycles

    def __repr__(self) -> str:
        return f"DetoursList({len(self):,} graphs; {self.whole!r})"
