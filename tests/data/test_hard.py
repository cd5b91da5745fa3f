"""The hard pairs: every graph is what its name says, and no pair is isomorphic."""

from itertools import combinations
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import detours
from detours.data import hard
from detours.data.generated.constructions import complete, cube, cycle, from_edges, group_tables, petersen, prism
from detours.data.readers.pair_files import read_pair_folder
from detours.errors import InputError
from detours.wl.tuples.refinement import tuple_certificates

Pair = tuple[detours.Graph, detours.Graph]


def isomorphic(first: detours.Graph, second: detours.Graph) -> bool:
    return bool(nx.vf2pp_is_isomorphic(first.to_networkx(), second.to_networkx()))


def strongly_regular(graph: detours.Graph) -> tuple[int, int, int, int]:
    """(n, k, λ, μ) from A² = kI + λA + μ(J - I - A), checked entry by entry."""
    adjacency = graph.to_scipy().toarray()
    n, k = graph.num_nodes, int(graph.degree[0])
    square, loops = adjacency @ adjacency, np.eye(n, dtype=int)
    joined, unjoined = int(square[adjacency == 1][0]), int(square[(adjacency + loops) == 0][0])
    assert (square == k * loops + joined * adjacency + unjoined * (1 - loops - adjacency)).all()
    return n, k, joined, unjoined


def same_to_one_wl(pair: Pair) -> bool:
    one, other = tuple_certificates(pair, 1)
    return one == other


def test_small_graphs() -> None:
    assert isomorphic(complete(5), detours.Graph.from_networkx(nx.complete_graph(5)))
    assert isomorphic(prism(), detours.Graph.from_networkx(nx.circular_ladder_graph(3)))
    assert isomorphic(cube(), detours.Graph.from_networkx(nx.cubical_graph()))
    assert isomorphic(petersen(), detours.Graph.from_networkx(nx.petersen_graph()))
    assert isomorphic(hard.cfi_bases()["K3,3"], detours.Graph.from_networkx(nx.complete_bipartite_graph(3, 3)))


@pytest.mark.parametrize("n", [3, 4, 9])
def test_cycle_unions(n: int) -> None:
    two, one = hard.cycle_unions(n)
    assert isomorphic(two, detours.Graph.from_networkx(nx.disjoint_union(nx.cycle_graph(n), nx.cycle_graph(n))))
    assert isomorphic(one, detours.Graph.from_networkx(nx.cycle_graph(2 * n)))
    assert same_to_one_wl((two, one))


@pytest.mark.slow
def test_csl() -> None:
    for graph, skip in zip(hard.csl_classes(), (2, 3, 4, 5, 6, 9, 11, 12, 13, 16), strict=True):
        assert graph.num_nodes == 41
        assert (graph.degree == 4).all()
        assert graph == detours.Graph.from_networkx(nx.circulant_graph(41, [1, skip]))
    assert not any(isomorphic(*pair) for pair in combinations(hard.csl_classes(), 2))


def test_csl_has_no_eleventh_class() -> None:
    known = set(tuple_certificates(hard.csl_classes(), 2, folklore=True))
    others = [hard.csl(41, skip) for skip in range(2, 40)]
    assert known == set(tuple_certificates(others, 2, folklore=True))


def test_strongly_regular() -> None:
    assert strongly_regular(hard.rook(4)) == strongly_regular(hard.shrikhande()) == (16, 6, 2, 2)
    assert strongly_regular(hard.rook(5)) == (25, 8, 3, 2)
    assert isomorphic(hard.rook(4), detours.Graph.from_networkx(nx.line_graph(nx.complete_bipartite_graph(4, 4))))
    assert not isomorphic(hard.rook(4), hard.shrikhande())
    assert isomorphic(hard.triangular(8), detours.Graph.from_networkx(nx.line_graph(nx.complete_graph(8))))
    family = [hard.triangular(8), *hard.chang()]
    assert {strongly_regular(graph) for graph in family} == {(28, 12, 6, 4)}
    assert len(set(tuple_certificates(family, 3, folklore=True))) == 4


@pytest.mark.parametrize("order", [4, 6, 8, 12])
def test_groups(order: int) -> None:
    tables = {name: np.array(table) for name, table in group_tables(order).items()}
    assert len(tables) == {4: 2, 6: 2, 8: 5, 12: 4}[order]
    for table in tables.values():
        assert (np.arange(order) == np.sort(table, axis=0).T).all()
        assert (np.sort(table, axis=1) == np.arange(order)).all()
        assert (table[table] == table[:, table]).all()  # (ab)c = a(bc)
        assert strongly_regular(hard.latin_square(table)) == (order**2, 3 * order - 3, order, 6)
    # Groups of these orders are told apart by being abelian or not and by how many elements there are of each order.
    assert len({_profile(table) for table in tables.values()}) == len(tables)


@pytest.mark.parametrize(
    "table", [[[0, 1], [1, 1]], [[0, 1], [0, 1]], [[0, 0], [0, 0]], [[0, 1]], [0, 1], "x"], ids=str
)
def test_a_table_that_is_not_a_latin_square_is_refused(table: Any) -> None:
    with pytest.raises(InputError, match="every symbol once in each row and each column, but it is"):
        hard.latin_square(table)


def test_invalid_sizes() -> None:
    with pytest.raises(InputError, match="n must be an integer of at least 1, but it is -1"):
        hard.rook(-1)
    with pytest.raises(InputError, match="n must be an integer of at least 2, but it is 1"):
        hard.triangular(1)
    with pytest.raises(InputError, match="graphs must be an integer, but it is 'ten'"):
        detours.data.rings("ten")  # type: ignore[arg-type]


def _profile(table: np.ndarray) -> tuple[object, ...]:
    (unit,) = (at for at, row in enumerate(table) if (row == np.arange(len(table))).all())
    orders = []
    for element in range(len(table)):
        power, order = element, 1
        while power != unit:
            power, order = table[power, element], order + 1
        orders.append(order)
    return bool((table == table.T).all()), *sorted(orders)


# ------------------------------------------------------------------------------------------------------------ CFI


@pytest.mark.parametrize("name", hard.cfi_bases())
def test_cfi(name: str) -> None:
    base = hard.cfi_bases()[name]
    plain, twisted = hard.cfi_pair(base)
    assert plain.num_nodes == twisted.num_nodes == sum(2 ** (degree - 1) for degree in base.degree)
    assert plain.num_edges == twisted.num_edges
    assert (np.sort(plain.degree) == np.sort(twisted.degree)).all()
    assert same_to_one_wl((plain, twisted))
    assert not plain.to_igraph().isomorphic(twisted.to_igraph())
    for edge in range(base.num_edges):
        assert twisted.to_igraph().isomorphic(hard.cfi(base, twisted=True, edge=edge).to_igraph())
        assert plain == hard.cfi(base, edge=edge)


def test_cfi_of_small_bases_are_well_known_graphs() -> None:
    assert all(isomorphic(*pair) for pair in zip(hard.cfi_pair(cycle(3)), hard.cycle_unions(3), strict=True))
    strongly = (hard.rook(4), hard.shrikhande())
    assert all(isomorphic(*pair) for pair in zip(hard.cfi_pair(complete(4)), strongly, strict=True))


def test_cfi_of_a_tree_is_easy() -> None:
    pair = hard.cfi_pair(from_edges(4, [(0, 1), (1, 2), (1, 3)]))
    assert not isomorphic(*pair)
    assert not same_to_one_wl(pair)


@pytest.mark.parametrize("edges", [[], [(0, 1), (2, 3)]])
def test_cfi_needs_a_connected_base(edges: list[tuple[int, int]]) -> None:
    with pytest.raises(InputError, match="must be connected and have an edge, but Graph"):
        hard.cfi(from_edges(4, edges))


def test_cfi_arguments_out_of_range() -> None:
    with pytest.raises(InputError, match=r"here 5,242,880 in all; take a base that needs at most 100,000"):
        hard.cfi(complete(20))
    with pytest.raises(InputError, match=r"edge must be in 0 \.\. 2"):
        hard.cfi(cycle(3), edge=3)


# ------------------------------------------------------------------------------------------------------- at random


@pytest.mark.parametrize(("n", "d"), [(6, 3), (10, 3), (9, 4), (20, 5), (12, 9)])
def test_random_regular_pair(n: int, d: int) -> None:
    first, second = pair = hard.random_regular_pair(n, d, seed=3)
    for graph in pair:
        assert graph.num_nodes == n
        assert (graph.degree == d).all()
        assert nx.is_connected(graph.to_networkx())
    assert not isomorphic(first, second)
    assert pair == hard.random_regular_pair(n, d, seed=3)


def test_random_regular_pairs_differ_by_seed() -> None:
    graphs = [hard.random_regular_pair(20, 3, seed)[0] for seed in range(10)]
    assert len(set(tuple_certificates(graphs, 2, folklore=True))) > 5


@pytest.mark.parametrize(("n", "d"), [(5, 3), (9, 3), (10, 2), (4, 3)])
def test_no_random_regular_pair(n: int, d: int) -> None:
    with pytest.raises(InputError, match="need 3 <= d <= n - 3 and n·d even"):
        hard.random_regular_pair(n, d)


@pytest.mark.parametrize("layers", [2, 3])
def test_lift_pair(layers: int) -> None:
    base = complete(4)
    first, second = hard.lift_pair(base, layers)
    for graph in (first, second):
        assert graph.num_nodes == 4 * layers
        source, target = graph.to_edge_index()
        over = np.zeros((4, 4), dtype=int)
        np.add.at(over, (source % 4, target % 4), 1)
        assert (over == layers * base.to_scipy().toarray()).all()
    assert not isomorphic(first, second)
    assert same_to_one_wl((first, second))


def test_no_lift_pair() -> None:
    with pytest.raises(InputError, match="No two connected lifts"):
        hard.lift_pair(cycle(4))
    with pytest.raises(InputError, match="at least 2 layers of a connected graph"):
        hard.lift_pair(cycle(4), layers=1)


# ------------------------------------------------------------------------------------------------------- collections


def test_atlas() -> None:
    graphs = hard.atlas()
    assert len(graphs) == 996
    assert [sum(graph.num_nodes == n for graph in graphs) for n in range(1, 8)] == [1, 1, 2, 6, 21, 112, 853]
    assert len(hard.atlas(5)) == 31
    with pytest.raises(InputError, match="1 to 7 nodes"):
        hard.atlas(8)


def test_hard_pairs() -> None:
    pairs = hard.hard_pairs()
    assert {name: len(some) for name, some in pairs.items()} == {
        "cycles": 8, "csl": 45, "regular": 20, "strongly-regular": 8, "cfi": 7,
    }  # fmt: skip
    _check_pairs(pairs)


def test_pair_benchmark(tmp_path: Path) -> None:
    pairs = hard.pair_benchmark(40, max_nodes=60, seed=1)
    assert list(pairs) == ["basic", "regular", "strongly-regular", "extension", "cfi"]
    assert sum(map(len, pairs.values())) == 40
    assert max(graph.num_nodes for some in pairs.values() for pair in some for graph in pair) <= 60
    _check_pairs(pairs)
    assert pairs == hard.pair_benchmark(40, max_nodes=60, seed=1)
    hard.write_pairs(tmp_path / "new", pairs)
    read = {category.name: category for category in read_pair_folder(tmp_path / "new")}
    assert set(read) == set(pairs)
    for name, category in read.items():
        assert [(category.graphs[i], category.graphs[j]) for i, j in category.pairs or []] == pairs[name]


@pytest.mark.slow
def test_the_full_pair_benchmark() -> None:
    pairs = hard.pair_benchmark()
    assert sum(map(len, pairs.values())) == 400
    assert 180 <= max(graph.num_nodes for some in pairs.values() for pair in some for graph in pair) <= 200
    _check_pairs(pairs)


def test_invalid_pair_benchmark(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="max_nodes must be an integer of at least 40, but it is 10"):
        hard.pair_benchmark(max_nodes=10)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=r"the folder .* cannot be created"):
        hard.write_pairs(tmp_path / "file", {})


def _check_pairs(pairs: dict[str, list[Pair]]) -> None:
    """Not isomorphic, says BLISS, and not told apart by 1-WL."""
    for some in pairs.values():
        certificates = tuple_certificates([graph for pair in some for graph in pair], 1)
        assert certificates[::2] == certificates[1::2]
        assert not any(first.to_igraph().isomorphic(second.to_igraph()) for first, second in some)
