"""`same`, `compare` and `groups`: report which graphs the colours distinguish."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from detours.arrays import Int32, Int64
from detours.wl.colors import Colors
from detours.wl.individual.tree import individual_round
from detours.wl.nodes.neighbourhood import Neighbourhood
from detours.wl.options import Options
from detours.wl.preparation import Prepared, prepare
from detours.wl.words import describe_edges

INIT_NAMES = {"degree": "degree", "labels": "label", "phi": "Φ"}


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """The result of `compare`: certainly not isomorphic, or not told apart, but never isomorphic.

    >>> found = compare([(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2), (2, 3)], init="degree")
    >>> found.same, found.verdict, found.round
    (False, 'not isomorphic', 0)
    """

    same: bool
    """False: certainly not isomorphic. True: not told apart."""
    rounds: int
    """Rounds done; refinement ends at the first in which the colours differ."""
    stable: bool
    """Whether the colours are known to be stable; always False if they differ."""
    round: int | None = None
    """The first round in which the colours differ."""
    witness: int | None = None
    """A colour of that round whose number of nodes differs between the graphs."""
    counts: tuple[int, int] = (0, 0)
    """The number of nodes of this colour in each graph."""
    nodes: tuple[tuple[Any, ...], tuple[Any, ...]] = ((), ())
    """The nodes of this colour in each graph, by the caller's names."""
    meaning: str | None = None
    """A description of the witness if it is a colour of round 0; later colours have no short description."""

    @property
    def verdict(self) -> str:
        return "not told apart" if self.same else "not isomorphic"

    @property
    def reason(self) -> str:
        """A description of the witness, or the number of rounds in which the colours agree."""
        if self.same:
            end = ", and no more rounds will" if self.stable else ""
            return f"not told apart in {self.rounds} round{'s' * (self.rounds != 1)}{end}"
        ours, theirs = self.counts
        colour = f"colour {self.witness}" + (f" ({self.meaning})" if self.meaning else "")
        nodes = f"{ours:,} node{'s' * (ours != 1)} of the first graph and {theirs:,} of the second"
        return f"in round {self.round}, {colour} is on {nodes}"

    def __repr__(self) -> str:
        return f"Comparison({'' if self.same else 'not isomorphic: '}{self.reason})"


def same(G: Any, H: Any, **options: Unpack[Options]) -> bool:
    """Return False if the graphs are certainly not isomorphic, True if they are not told apart.

    The options are those of `refine`; `labels` is a pair. If None, nodes have no labels, whatever their attributes.

    >>> two_triangles = [(0, 1, 2, 3, 4, 5), (1, 2, 0, 4, 5, 3)]
    >>> hexagon = [(0, 1, 2, 3, 4, 5), (1, 2, 3, 4, 5, 0)]
    >>> same(two_triangles, hexagon, init="degree"), same(two_triangles, hexagon, init="den", k=2)
    (True, False)
    """
    return compare_rounds(prepare("same", [G, H], **options))[0].same


def compare(G: Any, H: Any, **options: Unpack[Options]) -> Comparison:
    """Compare as `same` does, and return the first round in which the graphs differ, with a colour as witness.

    The witness is the colour whose node counts differ most. The options are those of `refine`; `labels` is a pair.

    >>> two_triangles = [(0, 1, 2, 3, 4, 5), (1, 2, 0, 4, 5, 3)]
    >>> hexagon = [(0, 1, 2, 3, 4, 5), (1, 2, 3, 4, 5, 0)]
    >>> compare(two_triangles, hexagon, k=2)
    Comparison(not isomorphic: in round 0, colour 0 (two edges on no cycle of up to 3 edges) is on 0 nodes of the
    first graph and 6 of the second)
    >>> compare(two_triangles, hexagon, init="degree")
    Comparison(not told apart in 0 rounds, and no more rounds will)
    """
    return compare_rounds(prepare("compare", [G, H], **options))[0]


def groups(graphs: Iterable[Any], **options: Unpack[Options]) -> list[list[int]]:
    """Return lists of indices of graphs that are not told apart, in order of their first member.

    >>> triangle, path = [(0, 1, 2), (1, 2, 0)], [(0, 1), (1, 2)]
    >>> groups([triangle, path, triangle], init="degree")
    [[0, 2], [1]]
    """
    prepared = prepare("groups", graphs, **options)
    (last,) = deque(prepared.rounds(), maxlen=1)
    coarse_groups = _groups(prepared, last.colour)
    if prepared.method.individualise is None:
        return coarse_groups
    graph_mask = np.zeros(len(prepared.graphs), np.bool_)
    graph_mask[[g for group in coarse_groups if len(group) > 1 for g in group]] = True
    return _groups(prepared, individual_round(prepared, last.colour, graph_mask))


def _groups(prepared: Prepared, colour: Int32) -> list[list[int]]:
    return Colors(prepared.graphs, prepared.offsets, [colour], stable=False).groups()


def compare_rounds(prepared: Prepared) -> tuple[Comparison, Int32]:
    """Refine two graphs until they differ or the rounds end; also return the last colours."""
    for round, refinement in enumerate(prepared.rounds()):
        if refinement.differs(int(prepared.offsets[1])):
            return _told_apart(prepared, round, refinement.colour), refinement.colour
    colour = refinement.colour
    if prepared.method.individualise is None:
        return Comparison(True, round, prepared.method.is_stable(round)), colour
    colour = individual_round(prepared, colour)
    if _difference(colour, prepared.offsets).any():
        return _told_apart(prepared, round + 1, colour), colour
    return Comparison(True, round + 1, stable=False), colour


def _difference(colour: Int32, offsets: Int64) -> Int64:
    """For each colour, return its number of nodes in the first graph minus that in the second."""
    num_colours = int(colour.max(initial=-1)) + 1
    ours, theirs = (np.bincount(colour[nodes], minlength=num_colours) for nodes in _node_slices(offsets))
    return ours - theirs


def _told_apart(prepared: Prepared, round: int, colour: Int32) -> Comparison:
    witness = int(np.abs(_difference(colour, prepared.offsets)).argmax())
    indices = [np.flatnonzero(colour[nodes] == witness).tolist() for nodes in _node_slices(prepared.offsets)]
    ours, theirs = (tuple(map(graph.name, own)) for graph, own in zip(prepared.graphs, indices, strict=True))
    meaning = _describe(prepared, int(np.argmax(colour == witness))) if round == 0 else None
    return Comparison(False, round, False, round, witness, (len(ours), len(theirs)), (ours, theirs), meaning)


def _node_slices(offsets: Int64) -> tuple[slice, slice]:
    """Return the slice of the nodes of each graph."""
    return slice(offsets[0], offsets[1]), slice(offsets[1], offsets[2])


def _describe(prepared: Prepared, node: int) -> str:
    """Describe the colour of a node in round 0."""
    method = prepared.method
    parts = prepared.initial.parts or (prepared.initial,)
    names = ["label"] * method.labels + ([INIT_NAMES[method.init]] if method.init in INIT_NAMES else [])
    words = []
    for name, part in zip(dict.fromkeys(names), parts, strict=False):
        value = part.values[part.colour[node]]
        words.append(f"{name} {repr(value) if isinstance(value, str) else ', '.join(map(str, value.tolist()))}")
    if (first := prepared.first_neighbourhood) is not None:
        counts = _list_edge_counts(first, node, prepared.graphs[0].directed, method.init == "den")
        words.append(counts if method.init == "den" else f"{method.k}-DeN of the edges: {counts}")
    return ", ".join(words) or "any node"


def _list_edge_counts(first: Neighbourhood, node: int, directed: bool, by_length: bool) -> str:
    """Describe or list the counts of the edges of a node; if directed, of its outgoing and incoming arcs separately."""
    assert first.arc_values is not None
    arcs = slice(first.arcs.indptr[node], first.arcs.indptr[node + 1])
    values = sorted(map(tuple, first.arc_values[first.arcs.colour[arcs]].tolist()))
    if not directed:
        return describe_edges(values) if by_length else _list_values(values)
    outgoing, incoming = ([value[1:] for value in values if value[0] == direction] for direction in (0, 1))
    if by_length:
        return f"leaving {describe_edges(outgoing, directed)}; arriving {describe_edges(incoming, directed)}"
    return f"{_list_values(outgoing)} leaving, {_list_values(incoming)} arriving"


def _list_values(values: list[tuple[int, ...]]) -> str:
    return ", ".join(str(value[0]) for value in values) or "none"
