"""`Colors`: the result of a refinement."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from detours.arrays import Int32, Int64
from detours.checks import check_integer
from detours.graph import Graph

SHOWN = 12
"""The largest number of rounds whose numbers of colours the `repr` shows."""


class Colors(Sequence[Int32]):
    """The colours of the nodes of many graphs, round by round; ``colors[g]`` is int32 [rounds + 1, nodes of graph g].

    Within a round equal integers mean equal colours, across all graphs. Colours are numbered from 0 by rank of what
    they stand for, so they do not depend on the order of the graphs.

    >>> from detours.wl import refine
    >>> colors = refine([[(0, 1), (1, 2), (2, 3)]], init="degree")
    >>> colors.rounds, colors[0].tolist(), colors.histogram(0)
    (0, [[0, 1, 1, 0]], {0: 2, 1: 2})
    """

    def __init__(self, graphs: list[Graph], offsets: Int64, history: list[Int32], stable: bool) -> None:
        self.graphs = graphs
        self.offsets = offsets
        """int64 [graphs + 1]: the nodes of graph g are ``offsets[g]`` to ``offsets[g + 1]`` of all nodes together."""
        self.stable = stable
        """Whether it is known that another round would find no more colours."""
        self.history = history
        """int32 [nodes of all graphs], for each round."""
        for colour in history:
            colour.flags.writeable = False

    @property
    def rounds(self) -> int:
        """The number of rounds, excluding a last one that found no new colours."""
        return len(self.history) - 1

    @property
    def num_colors(self) -> list[int]:
        """The number of colours in each round."""
        return [int(colour.max(initial=-1)) + 1 for colour in self.history]

    def all_nodes(self, round: int | None = None) -> Int32:
        """Return the colours of the nodes of all graphs, one graph after another; those of the last round by default.

        If the colours are stable, any later round has those of the last one.
        """
        if round is None:
            return self.history[-1]
        index = check_integer("round", round, minimum=0, maximum=None if self.stable else self.rounds)
        return self.history[min(index, self.rounds)]

    def of(self, g: int, round: int | None = None) -> Int32:
        """Return the colours of the nodes of graph g in one round, int32."""
        g = range(len(self))[g]
        return self.all_nodes(round)[self.offsets[g] : self.offsets[g + 1]]

    def histogram(self, g: int, round: int | None = None) -> dict[int, int]:
        """Return the number of nodes of each colour of graph g."""
        colours, counts = np.unique(self.of(g, round), return_counts=True)
        return dict(zip(colours.tolist(), counts.tolist(), strict=True))

    def sizes(self, g: int, round: int | None = None) -> tuple[int, ...]:
        """Return the sorted sizes of the colour classes of graph g."""
        return tuple(sorted(self.histogram(g, round).values()))

    def groups(self, round: int | None = None) -> list[list[int]]:
        """Return lists of indices of graphs with equal colour multisets, in order of their first member."""
        colour = self.all_nodes(round)
        graph_of = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        ordered = colour[np.lexsort((colour, graph_of))]
        members: dict[bytes, list[int]] = {}
        for g, (start, end) in enumerate(pairwise(self.offsets.tolist())):
            members.setdefault(ordered[start:end].tobytes(), []).append(g)
        return list(members.values())

    def __getitem__(self, g: Any) -> Any:
        if isinstance(g, slice):
            return [self[index] for index in range(*g.indices(len(self)))]
        g = range(len(self))[g]
        nodes = slice(self.offsets[g], self.offsets[g + 1])
        return np.stack([colour[nodes] for colour in self.history])

    def __len__(self) -> int:
        return len(self.graphs)

    def __repr__(self) -> str:
        graphs = f"{len(self):,} graph{'s' * (len(self) != 1)}, {int(self.offsets[-1]):,} nodes"
        end = f"{'stable after ' if self.stable else ''}{self.rounds} round{'s' * (self.rounds != 1)}"
        counts = [f"{n:,}" for n in self.num_colors]
        if len(counts) > SHOWN:
            counts[SHOWN - 2 : -1] = ["…"]
        return f"Colors({graphs}; {end}; colours by round: {', '.join(counts)})"
