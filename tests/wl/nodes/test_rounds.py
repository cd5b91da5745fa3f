"""Full and local rounds against the definition, on random graphs and on shapes that take many rounds."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import detours
from detours.arrays import Int32
from detours.wl.nodes import rounds as rounds_module
from detours.wl.nodes.neighbourhood import Neighbourhood
from detours.wl.nodes.rounds import NodeRefinement, refinements
from detours.wl.preparation import Prepared, prepare
from tests.strategies import SmallGraph
from tests.wl.cases import METHODS, batches, name_of

NEVER, MIXED, ALWAYS = (1 << 40, 1 << 40), (4, 2), (1, 1)
"""Values of ENTER_LOCAL and LEAVE_LOCAL; even with ALWAYS the first two rounds are full."""


def history(colour: Int32, around: Neighbourhood, limits: tuple[int, int]) -> list[Int32]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds_module, "ENTER_LOCAL", limits[0])
        patch.setattr(rounds_module, "LEAVE_LOCAL", limits[1])
        return list(refinements(colour, around))


def last_colour(colour: Int32, around: Neighbourhood, limits: tuple[int, int]) -> Int32:
    """The colours that are stable, with none read before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds_module, "ENTER_LOCAL", limits[0])
        patch.setattr(rounds_module, "LEAVE_LOCAL", limits[1])
        refinement = NodeRefinement(colour, around)
        while refinement.round():
            pass
        return refinement.colour


def defined(colour: Int32, around: Neighbourhood) -> list[list[int]]:
    """In every round, the rank of each node's own colour, number of arcs and sorted pairs (arc colour, colour)."""
    indptr, indices, arc_colour = (own.tolist() for own in around.arcs)
    arc_colour = arc_colour or [0] * len(indices)
    rounds = [colour.tolist()]
    while True:
        old = rounds[-1]
        rows = [
            (old[node], end - start, sorted((arc_colour[arc], old[indices[arc]]) for arc in range(start, end)))
            for node, (start, end) in enumerate(pairwise(indptr))
        ]
        rank = {repr(row): number for number, row in enumerate(_distinct(rows))}
        if len(rank) == len(set(old)):
            return rounds[1:]
        rounds.append([rank[repr(row)] for row in rows])


def _distinct(rows: list[Any]) -> list[Any]:
    ordered = sorted(rows)
    return ordered[:1] + [row for before, row in pairwise(ordered) if before != row]


@pytest.mark.parametrize("method", METHODS, ids=name_of)
@given(graphs=batches(min_size=1, max_nodes=12), limits=st.sampled_from([NEVER, MIXED, ALWAYS]))
def test_full_and_local_rounds_give_the_ranks_of_the_definition(
    method: dict[str, Any], graphs: list[SmallGraph], limits: tuple[int, int]
) -> None:
    prepared = prepare("refine", [graph.graph() for graph in graphs], **method)
    colour, around = prepared.initial.colour, prepared.neighbourhood
    rounds = defined(colour, around)
    assert [own.tolist() for own in history(colour, around, limits)] == rounds
    assert last_colour(colour, around, limits).tolist() == [colour.tolist(), *rounds][-1]


def two_hubs(length: int) -> nx.Graph:
    """A path, all of whose nodes are joined to both of two hubs: a small diameter, and still many rounds."""
    graph = nx.path_graph(length)
    graph.add_edges_from((hub, node) for hub in (length, length + 1) for node in range(length))
    return graph


def hubs_with_tails() -> nx.Graph:
    """K(2, 20), whose hubs have tails of four and five nodes: the round after the last local one changes nothing."""
    graph = nx.complete_bipartite_graph(2, 20)
    nx.add_path(graph, [0, *range(22, 26)])
    nx.add_path(graph, [1, *range(26, 31)])
    return graph


def ring_with_a_pendant(length: int) -> nx.Graph:
    graph = nx.cycle_graph(length)
    graph.add_edge(0, length)
    return graph


LONG: dict[str, Callable[[], nx.Graph]] = {
    "path": lambda: nx.path_graph(150),
    "directed path": lambda: nx.path_graph(60, create_using=nx.DiGraph),
    "ring with a pendant": lambda: ring_with_a_pendant(150),
    "ladder": lambda: nx.ladder_graph(80),
    "grid": lambda: nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 40)),
    "two hubs": lambda: two_hubs(60),
    "hubs with tails": hubs_with_tails,
    "tree": lambda: nx.full_rary_tree(2, 200),
    "lollipop": lambda: nx.lollipop_graph(12, 60),
}


def prepared_long(name: str, edges: str | None = None) -> Prepared:
    graph = LONG[name]()
    shuffled = np.random.default_rng(0).permutation(len(graph)).tolist()
    return prepare("refine", [nx.relabel_nodes(graph, dict(enumerate(shuffled)))], init="uniform", edges=edges)


@pytest.mark.parametrize("limits", [NEVER, MIXED, (16, 8), ALWAYS], ids=str)
@pytest.mark.parametrize("edges", [None, "den"])
@pytest.mark.parametrize("name", LONG)
def test_long_shapes(name: str, edges: str | None, limits: tuple[int, int]) -> None:
    prepared = prepared_long(name, edges)
    colour, around = prepared.initial.colour, prepared.neighbourhood
    rounds = defined(colour, around)
    assert [own.tolist() for own in history(colour, around, limits)] == rounds
    assert last_colour(colour, around, limits).tolist() == rounds[-1]


@pytest.mark.parametrize("name", [name for name in LONG if name != "directed path"])  # NetworkX sees successors only
def test_long_shapes_are_split_as_by_networkx(name: str) -> None:
    graph = LONG[name]()
    prepared = prepare("refine", [graph], init="degree")
    rounds = [own.colour for own in prepared.rounds()]
    hashes = nx.weisfeiler_lehman_subgraph_hashes(graph, iterations=len(rounds))
    for round, colour in enumerate(rounds):
        pairs = {(colour[index], hashes[node][round]) for index, node in enumerate(graph)}
        assert len(pairs) == len({own for own, _ in pairs}) == len({own for _, own in pairs})


@pytest.mark.parametrize("name", ["path", "ring with a pendant", "ladder", "two hubs"])
def test_a_local_round_reads_only_what_changed(name: str) -> None:
    """On these shapes at most four nodes of degree four leave their class in a round, however many there are."""
    prepared = prepared_long(name)
    refinement = NodeRefinement(prepared.initial.colour, prepared.neighbourhood)
    rounds = local = 0
    while refinement.round():
        rounds += 1
        if refinement._local is not None:
            local += 1
            assert refinement._local.changed_arcs <= 16
    assert local > rounds * 0.8 and rounds > 25


@given(st.integers(0, 3), st.integers(1, 40), st.integers(0, 2**32))
def test_the_first_round_that_differs(ends: int, length: int, seed: int) -> None:
    """`differs` against counting: two trees that are alike near their leaves."""
    pair = [nx.path_graph(length), nx.path_graph(length)]
    rng = np.random.default_rng(seed)
    for graph in pair:
        for _ in range(ends):
            graph.add_edge(int(rng.integers(len(graph))), len(graph))
    prepared = prepare("same", [detours.Graph.from_networkx(graph) for graph in pair], init="uniform")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds_module, "ENTER_LOCAL", 1)
        patch.setattr(rounds_module, "LEAVE_LOCAL", 1)
        for refinement in prepared.rounds():
            first, second = np.split(refinement.colour, prepared.offsets[1:2])
            differs = sorted(first.tolist()) != sorted(second.tolist())
            assert refinement.differs(int(prepared.offsets[1])) == differs
            if differs:
                break
