"""`separate`: sound at every rung, exact at the end, and honest about what it did not decide."""

import time
from collections import Counter
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detours import Graph, wl
from detours.data import hard
from detours.errors import InputError
from detours.wl import separation
from detours.wl.individual.matching import Matching
from detours.wl.isomorphism import isomorphic
from tests.strategies import SmallGraph, small_graphs
from tests.wl.cases import relabelled

TRANSITIVE = {
    "cycle": nx.cycle_graph(12),
    "complete": nx.complete_graph(9),
    "bipartite": nx.complete_bipartite_graph(5, 5),
    "cube": nx.hypercube_graph(4),
    "Petersen": nx.petersen_graph(),
    "rook": nx.line_graph(nx.complete_bipartite_graph(4, 4)),
    "circulant": nx.circulant_graph(41, [1, 9]),
    "dodecahedron": nx.dodecahedral_graph(),
    "cycles": nx.disjoint_union_all([nx.cycle_graph(5)] * 4),
    "CFI": hard.cfi(nx.petersen_graph()).to_networkx(),
}


def shuffled(graph: Any, random: np.random.Generator) -> Graph:
    own = Graph.from_any(graph)
    names = random.permutation(own.num_nodes)
    return Graph.from_edge_index(names[np.stack(own.to_edge_index())], own.num_nodes)


def rewired(n: int, p: float, random: np.random.Generator) -> tuple[Graph, Graph]:
    """Return two random graphs of equal degree sequence, often isomorphic: the second has a few edges exchanged."""
    first = nx.gnp_random_graph(n, p, seed=int(random.integers(2**31)))
    second = first.copy()
    if first.number_of_edges() > 1 and n > 3:
        swaps, most = int(random.integers(0, 3)), 200
        try:
            nx.double_edge_swap(second, swaps, most, seed=int(random.integers(2**31)))
        except nx.NetworkXException:
            second = first.copy()
    return shuffled(first, random), shuffled(second, random)


def check_pair(first: Graph, second: Graph) -> bool:
    found, expected = wl.separate(first, second), isomorphic(first, second)
    assert found.same is expected
    assert all(rung.told_apart is not True for rung in found.rungs[:-1])
    if expected:
        check_mapping(first, second, found.mapping)
    return expected


def check_mapping(first: Graph, second: Graph, mapping: Any) -> None:
    assert sorted(mapping.values()) == list(range(second.num_nodes))
    ours, theirs = (
        set(zip(*(side.tolist() for side in graph.to_edge_index()), strict=True)) for graph in (first, second)
    )
    assert {(mapping[i], mapping[j]) for i, j in ours} == theirs


def agree_with_igraph(pairs: int, seed: int) -> Counter[bool]:
    random = np.random.default_rng(seed)
    sizes = random.integers(2, 14, pairs)
    return Counter(check_pair(*rewired(int(n), float(random.uniform(0.1, 0.7)), random)) for n in sizes)


def test_agrees_with_igraph_on_pairs_of_equal_degrees() -> None:
    counts = agree_with_igraph(250, seed=0)
    assert min(counts[True], counts[False]) > 25


@pytest.mark.slow
def test_agrees_with_igraph_on_ten_thousand_pairs() -> None:
    counts = agree_with_igraph(10_000, seed=1)
    assert min(counts[True], counts[False]) > 1000


@given(graph=small_graphs(max_nodes=8), data=st.data())
def test_relabelled_graphs_are_mapped(graph: SmallGraph, data: st.DataObject) -> None:
    first, second = graph.graph(), data.draw(relabelled(graph)).graph()
    found = wl.separate(first, second)
    assert found.same is True
    check_mapping(first, second, found.mapping)


@pytest.mark.parametrize("name", TRANSITIVE)
def test_vertex_transitive_graphs_are_mapped_and_never_told_apart(name: str) -> None:
    first = Graph.from_any(nx.convert_node_labels_to_integers(TRANSITIVE[name]))
    second = shuffled(first, np.random.default_rng(5))
    assert check_pair(first, second)
    for options in ({"individualise": "mark", "depth": 2}, {"individualise": "delete"}):
        assert wl.same(first, second, k=4, **options)


def test_the_atlas_is_decided_exactly() -> None:
    """Of the connected graphs with up to six nodes no two are isomorphic; pairs that 1-WL confuses come first."""
    graphs = hard.atlas(6)
    alike = [pair for group in wl.groups(graphs, init="degree") for pair in combinations(group, 2)]
    assert alike
    assert all(wl.separate(graphs[i], graphs[j]).same is False for i, j in alike)
    random = np.random.default_rng(2)
    assert all(wl.separate(graph, shuffled(graph, random)).same for graph in graphs)


@pytest.mark.slow
def test_ten_thousand_relabelled_pairs_and_the_full_atlas_are_never_told_apart() -> None:
    random = np.random.default_rng(3)
    graphs = hard.atlas(7)
    graphs += [Graph.from_any(nx.gnp_random_graph(int(random.integers(2, 30)), 0.2, seed=s)) for s in range(4000)]
    graphs += [Graph.from_any(nx.random_regular_graph(3, 2 * int(random.integers(3, 12)), seed=s)) for s in range(5004)]
    others = [shuffled(graph, random) for graph in graphs]
    for options in (
        {"init": "degree", "individualise": "mark"},
        {"init": "den", "k": 4, "individualise": "mark", "depth": 3},
        {"init": "den", "k": 4, "individualise": "delete"},
    ):
        assert wl.certificates(graphs, **options) == wl.certificates(others, **options)
    for graph, other in zip(graphs, others, strict=True):
        found = wl.separate(graph, other)
        assert found.same is True and not any(rung.told_apart for rung in found.rungs)


@pytest.mark.parametrize(
    ("base", "rung"),
    [
        ("K3", "4-DeN"),
        ("K4", "7-DeN"),
        ("prism", None),
        ("K3,3", None),
        ("cube", None),
        ("Petersen", None),
        ("K5", None),
    ],
)
def test_cfi_pairs(base: str, rung: str | None) -> None:
    found = wl.separate(*hard.cfi_pair(hard.cfi_bases()[base]))
    assert found.same is False
    assert found.rung == rung if rung else found.rung not in ("1-WL", "4-DeN", "7-DeN", "7-DeN on pairs")


@pytest.mark.parametrize("budget", [None, 60])
def test_a_test_whose_counts_exceed_63_bits_is_left_out(budget: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(graph: Graph, k: int, **_: object) -> Any:
        if k == 40:
            raise OverflowError
        return SimpleNamespace(seconds=0)

    monkeypatch.setattr(separation, "LARGE_K", 40)  # for k = 7 it takes a clique of 1,450 nodes
    monkeypatch.setattr(separation, "explain", refuse)
    clique = nx.complete_graph(30)
    pair = [nx.disjoint_union(graph.to_networkx(), clique) for graph in hard.cfi_pair(hard.cfi_bases()["K3,3"])]
    found = wl.separate(*pair, budget=budget)
    assert found.rung == "individualised, depth 3"
    assert [(rung.name, rung.note) for rung in found.rungs if rung.told_apart is None] == [
        ("40-DeN", "left out, as its counts may exceed 2^63"),
        ("40-DeN on pairs", "left out, as its counts may exceed 2^63"),
    ]


def test_labels_must_be_preserved() -> None:
    path = nx.path_graph(4)
    kept = wl.separate(path, path, labels=[["C", "C", "C", "N"], ["N", "C", "C", "C"]])
    assert kept.mapping == {0: 3, 1: 2, 2: 1, 3: 0}
    assert wl.separate(path, path, labels=[["C", "C", "C", "N"], ["C", "N", "C", "C"]]).same is False


def test_labels_by_node_name_must_be_preserved() -> None:
    path = nx.relabel_nodes(nx.path_graph(4), dict(enumerate("dcba")))
    first, second = ({node: "N" if node == end else "C" for node in "abcd"} for end in "da")
    assert wl.separate(path, path, labels=[first, second]).mapping == {"a": "d", "b": "c", "c": "b", "d": "a"}
    assert wl.separate(path, path, labels=iter([first, second | {"a": "C", "b": "N"}])).verdict == "different"


HINT = "labels of nodes were not compared, as labels= was not given"


def test_labels_that_were_not_compared_are_reported() -> None:
    bare, atoms = nx.cycle_graph(6), nx.cycle_graph(6)
    nx.set_node_attributes(atoms, "C", "label")
    assert wl.separate(bare, atoms).same and HINT in wl.separate(bare, atoms).witness
    assert HINT not in wl.separate(bare, bare).witness
    assert HINT not in wl.separate(atoms, atoms, labels=[["C"] * 6] * 2).witness
    chem = pytest.importorskip("rdkit.Chem")
    benzene, pyridine = (chem.MolFromSmiles(each) for each in ("c1ccccc1", "c1ccncc1"))
    assert HINT in repr(wl.separate(benzene, pyridine))
    assert HINT in repr(wl.separate(Graph.from_any(benzene), Graph.from_any(pyridine)))
    igraph = pytest.importorskip("igraph")
    ring = igraph.Graph.Ring(6)
    assert HINT not in wl.separate(ring, bare).witness
    ring.vs["label"] = list("CCCCCN")
    assert HINT in wl.separate(ring, bare).witness


def test_graphs_are_not_copied_to_look_for_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    bare, atoms = nx.cycle_graph(6), nx.cycle_graph(6)
    nx.set_node_attributes(atoms, "C", "label")
    igraph = pytest.importorskip("igraph")
    ring, of_atoms = igraph.Graph.Ring(6), igraph.Graph.Ring(6)
    of_atoms.vs["label"] = list("CCCCCN")

    def refuse(*_: object, **options: object) -> None:
        raise AssertionError  # copying takes longer than the tests, and for igraph needs NetworkX

    monkeypatch.setattr(nx.Graph, "copy", refuse)
    monkeypatch.setattr(igraph.Graph, "to_networkx", refuse)
    for one, other in ((bare, atoms), (ring, of_atoms)):
        plain, labelled = Graph.from_any(one), Graph.from_any(other)
        assert HINT in wl.separate(plain, labelled).witness
        assert HINT not in wl.separate(plain, plain).witness


def test_labels_of_a_file_are_reported_unless_they_are_names(tmp_path: Path) -> None:
    ring = nx.cycle_graph(6)
    nx.write_gexf(ring, tmp_path / "names.gexf")  # with the names of the nodes as labels
    nx.set_node_attributes(ring, dict(enumerate("CCCCCN")), "label")
    nx.write_graphml(ring, tmp_path / "labels.graphml")
    named, of_atoms = (Graph.read(tmp_path / name) for name in ("names.gexf", "labels.graphml"))
    assert HINT in wl.separate(named, of_atoms).witness
    assert HINT not in wl.separate(named, named).witness


def test_compilation_is_not_part_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    class Compiling:
        """A clock that says that all the time was spent compiling."""

        start = time.perf_counter()

        def __enter__(self) -> "Compiling":
            return self

        def __exit__(self, *error: object) -> None:
            pass

        @property
        def seconds(self) -> float:
            return 100 * (time.perf_counter() - self.start)

    monkeypatch.setattr("detours.wl.separation.CompileClock", Compiling)
    graph = nx.random_regular_graph(3, 300, seed=1)
    same = nx.relabel_nodes(graph, dict(zip(graph, reversed(list(graph)), strict=True)))
    assert wl.separate(graph, same, budget=0.001).same is True


def test_a_spent_budget_leaves_it_undecided() -> None:
    found = wl.separate(*hard.cfi_pair(nx.petersen_graph()), budget=0)
    assert found.verdict == "undecided" and found.same is None and found.rung is None and found.mapping is None
    assert "within 0 seconds" in found.witness


def test_mapping_uses_the_node_names_of_the_caller() -> None:
    first, second = nx.Graph([("a", "b"), ("b", "c")]), nx.Graph([(7, 5), (6, 5)])
    found = wl.separate(first, second)
    assert found.mapping is not None and found.mapping["b"] == 5
    assert repr(found) == "Separation(isomorphic by search for a mapping: a mapping of the nodes keeps every edge)"


def test_invalid_arguments() -> None:
    with pytest.raises(InputError, match="budget must be"):
        wl.separate(nx.path_graph(2), nx.path_graph(2), budget=-1)
    with pytest.raises(InputError, match="directed"):
        wl.separate(nx.path_graph(2), Graph.from_any(nx.path_graph(2)).to_directed())


def cubic(nodes: int, seed: int) -> Graph:
    return Graph.from_any(nx.random_regular_graph(3, nodes, seed=seed))


def test_few_copies_are_refined_before_four_edges_of_detours_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without detours every node of a random regular graph may be the image of every other, and none is."""
    steps: list[int] = []
    step = Matching._step
    monkeypatch.setattr(Matching, "_step", lambda self, count: (steps.append(count), step(self, count)))
    first, second = cubic(400, seed=1), cubic(400, seed=2)
    assert wl.separate(first, second).rung == "4-DeN"
    assert 0 < sum(steps) < 200
    steps.clear()
    found = wl.separate(first, shuffled(first, np.random.default_rng(0)))
    assert found.same and [rung.name for rung in found.rungs] == ["1-WL", "4-DeN", "search for a mapping"]
    assert sum(steps) < 200


def test_a_deep_search_that_never_fails_needs_no_detours() -> None:
    squares = Graph.from_any(nx.disjoint_union_all([nx.cycle_graph(4)] * 60))
    found = wl.separate(squares, shuffled(squares, np.random.default_rng(0)))
    assert found.same and [rung.name for rung in found.rungs] == ["1-WL", "search for a mapping"]
