"""`count_many` gives each graph the result that `count` gives."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import detours
from detours.errors import FileFormatError, InputError
from tests.strategies import SmallGraph, engines, small_graphs


def assert_same(one: detours.Detours, other: detours.Detours) -> None:
    np.testing.assert_array_equal(one.by_length, other.by_length)
    np.testing.assert_array_equal(one.edge, other.edge)
    np.testing.assert_array_equal(one.node, other.node)
    np.testing.assert_array_equal(one.arc_by_length, other.arc_by_length)
    for name in ("by_length", "edge", "node", "arc_by_length"):
        assert getattr(one, name).dtype == np.int64
        assert getattr(one, name).shape == getattr(other, name).shape
    assert one.cycles == other.cycles
    assert (one.k, one.directed) == (other.k, other.directed)
    assert one.graph == other.graph


@given(
    st.booleans().flatmap(lambda directed: st.lists(small_graphs(directed=directed), max_size=6)),
    st.integers(2, 8),
)
def test_equals_one_by_one(graphs: list[SmallGraph], k: int) -> None:
    built = [graph.graph() for graph in graphs]
    for engine in engines(k):
        results = detours.count_many(built, k, engine=engine)
        assert len(results) == len(graphs)
        for graph, result in zip(graphs, results, strict=True):
            np.testing.assert_array_equal(result.by_length, graph.table(k))
            assert_same(result, detours.count(graph.graph(), k, engine=engine))


def test_accepts_every_kind_of_graph() -> None:
    square = nx.cycle_graph(["north", "east", "south", "west"])
    edge_index = np.array([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])
    graphs = [
        square,
        edge_index,
        nx.to_scipy_sparse_array(nx.complete_graph(4)),
        nx.path_graph(3),
        nx.empty_graph(2),
    ]
    results = detours.count_many(graphs, 3)
    for graph, result in zip(graphs, results, strict=True):
        assert_same(result, detours.count(graph, 3))
    assert [result.edge.tolist() for result in results] == [[1] * 4, [1] * 6, [4] * 12, [0, 0], []]
    assert results.edge.tolist() == [1] * 10 + [4] * 12 + [0, 0]
    np.testing.assert_array_equal(results.by_length, np.concatenate([result.by_length for result in results]))


def molecules() -> list[nx.Graph]:
    return [nx.gnp_random_graph(3 + seed % 9, 0.45, seed=seed) for seed in range(300)]


def test_everything_at_once() -> None:
    graphs = molecules()
    results = detours.count_many(graphs, 5)
    single = [detours.count(graph, 5) for graph in graphs]
    np.testing.assert_array_equal(results.edge, np.concatenate([one.edge for one in single]))
    np.testing.assert_array_equal(results.node, np.concatenate([one.node for one in single]))
    np.testing.assert_array_equal(results.by_length, np.concatenate([one.by_length for one in single]))
    assert results.cycles == {length: sum(one.cycles[length] for one in single) for length in range(3, 7)}
    assert results.cycles[6] > 0


def test_threads_and_memory_do_not_matter() -> None:
    plain = detours.count_many(molecules(), 6)
    other = detours.count_many(molecules(), 6, n_jobs=2, memory_limit="8MB")
    np.testing.assert_array_equal(plain.by_length, other.by_length)
    assert plain.cycles == other.cycles


def test_is_a_sequence() -> None:
    results = detours.count_many([nx.complete_graph(n) for n in (3, 4, 5)], 3)
    assert [len(result.edge) for result in results] == [3, 6, 10]
    assert results[-1].edge.tolist() == [3 + 6] * 10
    assert [len(result.edge) for result in results[1:]] == [6, 10]
    assert [len(result.edge) for result in reversed(results)] == [10, 6, 3]
    for beyond in (3, -4):
        with pytest.raises(IndexError, match="graphs, numbered from 0, but not"):
            results[beyond]
    for no_index in (1.0, "a"):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            results[no_index]  # type: ignore[call-overload]


def test_no_graphs_at_all() -> None:
    results = detours.count_many([], 4)
    assert len(results) == 0
    assert list(results) == []
    assert results.edge.shape == results.node.shape == (0,)
    assert results.by_length.shape == (0, 3)
    assert results.cycles == {3: 0, 4: 0, 5: 0}


def test_a_data_set_with_only_getitem_and_len() -> None:
    graphs = [nx.cycle_graph(3), nx.path_graph(3), nx.cycle_graph(4)]
    some = pytest.importorskip("torch.utils.data").Subset(graphs, [2, 0])
    assert [found.cycles for found in detours.count_many(some, 3)] == [{3: 0, 4: 1}, {3: 1, 4: 0}]


def test_one_graph_is_not_a_list_of_graphs() -> None:
    graph = nx.cycle_graph(3)
    data = pytest.importorskip("torch_geometric.utils").from_networkx(graph)
    igraph = pytest.importorskip("igraph").Graph.Ring(3)
    for one in (graph, data, data.edge_index, data.edge_index.numpy(), nx.to_scipy_sparse_array(graph), igraph, "file"):
        with pytest.raises(InputError, match="count_many takes a list of graphs, but it was given one"):
            detours.count_many(one, 2)
    assert len(detours.count_many([data, data.edge_index, graph], 2)) == 3
    with pytest.raises(InputError, match="count_many takes a list of graphs, but it was given None"):
        detours.count_many(None, 2)
    with pytest.raises(InputError, match=r"count_many takes a list of graphs, but it was given \{'karate\.txt'"):
        detours.count_many({"karate.txt": graph}, 2)  # the keys would be taken for files


def test_one_molecule_is_not_a_list_of_graphs() -> None:
    molecule = pytest.importorskip("rdkit.Chem").MolFromSmiles("C1CC1")
    with pytest.raises(InputError, match="but it was given one"):
        detours.count_many(molecule, 2)


def test_a_string_among_molecules_is_named_by_its_index() -> None:
    molecule = pytest.importorskip("rdkit.Chem").MolFromSmiles("C1CC1")
    message = r"^C1CC1: there is no such file; of a SMILES, give a .smi file or RDKit's molecule \(graph number 1\).$"
    with pytest.raises(FileFormatError, match=message) as caught:
        detours.count_many([molecule, "C1CC1"], 2)
    assert str(caught.value.path) == "C1CC1"


def test_an_empty_name() -> None:
    with pytest.raises(InputError, match="the name of a file is expected"):
        detours.count("", 2)
