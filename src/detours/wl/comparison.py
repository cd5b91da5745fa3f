"""`same`, `compare` and `groups`: which graphs do the colours tell apart?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from detours.wl.colors import Colors
from detours.wl.meaning import meaning
from detours.wl.options import Options
from detours.wl.refinement import run


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Two graphs compared: certainly not isomorphic, or not told apart. It never says that they are isomorphic."""

    same: bool
    """False: certainly not isomorphic. True: not told apart."""
    rounds: int
    """Rounds done."""
    stable: bool
    """Whether more rounds are known to be of no use."""
    round: int | None = None
    """The first round in which the colours differ."""
    witness: int | None = None
    """A colour of that round that one graph has more often than the other."""
    counts: tuple[int, int] = (0, 0)
    """How many nodes of either graph have it."""
    nodes: tuple[tuple[Any, ...], tuple[Any, ...]] = ((), ())
    """Which ones, by the caller's names."""
    meaning: str | None = None
    """What the witness stands for if it is a colour of round 0; those of later rounds have no short description."""

    @property
    def verdict(self) -> str:
        return "not told apart" if self.same else "not isomorphic"

    def __repr__(self) -> str:
        if self.same:
            end = ", and no more rounds will" if self.stable else ""
            return f"Comparison(not told apart in {self.rounds} round{'s' * (self.rounds != 1)}{end})"
        ours, theirs = self.counts
        colour = f"colour {self.witness}" + (f" ({self.meaning})" if self.meaning else "")
        seen = f"{colour} is on {ours:,} node{'s' * (ours != 1)} of the first graph and {theirs:,} of the second"
        return f"Comparison(not isomorphic: in round {self.round}, {seen})"


def same(G: Any, H: Any, **options: Unpack[Options]) -> bool:
    """False: certainly not isomorphic. True: not told apart. The options are those of `refine`, labels a pair.

    >>> two_triangles = [(0, 1, 2, 3, 4, 5), (1, 2, 0, 4, 5, 3)]
    >>> hexagon = [(0, 1, 2, 3, 4, 5), (1, 2, 3, 4, 5, 0)]
    >>> same(two_triangles, hexagon, init="degree"), same(two_triangles, hexagon, init="den", k=2)
    (True, False)
    """
    return len(run([G, H], **options).colors.groups()) == 1


def compare(G: Any, H: Any, **options: Unpack[Options]) -> Comparison:
    """Like `same`, with the first round in which the graphs differ and a colour that shows it.

    The witness is the colour whose numbers of nodes differ most. The options are those of `refine`, labels a pair.

    >>> two_triangles = [(0, 1, 2, 3, 4, 5), (1, 2, 0, 4, 5, 3)]
    >>> hexagon = [(0, 1, 2, 3, 4, 5), (1, 2, 3, 4, 5, 0)]
    >>> compare(two_triangles, hexagon, k=2)
    Comparison(not isomorphic: in round 0, colour 0 (2-DeN of the edges: 0, 0) is on 0 nodes of the first graph
    and 6 of the second)
    >>> compare(two_triangles, hexagon, init="degree")
    Comparison(not told apart in 0 rounds, and no more rounds will)
    """
    refined = run([G, H], **options)
    colors = refined.colors
    for round in range(colors.rounds + 1):
        shown = [np.bincount(colors.of(g, round), minlength=colors.num_colors[round]) for g in (0, 1)]
        difference = np.abs(shown[0] - shown[1])
        if difference.any():
            witness = int(difference.argmax())
            counts = int(shown[0][witness]), int(shown[1][witness])
            nodes = _carriers(colors, 0, round, witness), _carriers(colors, 1, round, witness)
            first = int(np.flatnonzero(colors.all_nodes(round) == witness)[0])
            words = meaning(refined, first) if round == 0 else None
            return Comparison(False, colors.rounds, colors.stable, round, witness, counts, nodes, words)
    return Comparison(True, colors.rounds, colors.stable)


def _carriers(colors: Colors, g: int, round: int, colour: int) -> tuple[Any, ...]:
    return tuple(colors.graphs[g].name(node) for node in np.flatnonzero(colors.of(g, round) == colour).tolist())


def groups(graphs: Iterable[Any], **options: Unpack[Options]) -> list[list[int]]:
    """The indices of graphs that are not told apart from one another, in order of the first of each group.

    >>> triangle, path = [(0, 1, 2), (1, 2, 0)], [(0, 1), (1, 2)]
    >>> groups([triangle, path, triangle], init="degree")
    [[0, 2], [1]]
    """
    return run(graphs, **options).colors.groups()
