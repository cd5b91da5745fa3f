"""The results of many graphs counted together: `DetoursList`."""

from __future__ import annotations

import operator
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
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self):,} graphs, numbered from 0, but not {index}")
        index %= len(self)
        arcs = slice(self._arc_offsets[index], self._arc_offsets[index + 1])
        cycles = None if self.whole._arc_cycles is None else self.whole._arc_cycles[arcs]
        counts = self.whole.arc_by_length[arcs], cycles
        return Detours(self.graphs[index], self.whole.k, *counts, chordless=self.whole.chordless)

    def __len__(self) -> int:
        return len(self.graphs)

    @property
    def edge(self) -> Int64:
        """k-DeN of the edges of all graphs, one graph after the other, each in the caller's order."""
        return self.whole.edge

    @property
    def by_length(self) -> Int64:
        return self.whole.by_length

    @property
    def node(self) -> Int64:
        return self.whole.node

    @property
    def cycles(self) -> dict[int, int]:
        """Cycles of all graphs together, by length."""
        return self.whole.cycles

    def __repr__(self) -> str:
        return f"DetoursList({len(self):,} graphs; {self.whole!r})"
