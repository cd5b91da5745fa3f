"""The result object: shapes, types, exports, and sums that would not fit in 64 bits."""

import pickle
import sys
import tracemalloc
from math import comb, factorial, perm
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import detours
from detours.errors import InputError

pandas = pytest.importorskip("pandas")


def house() -> nx.Graph:
    """A square with a roof and a chimney, with strings for names."""
    return nx.Graph(["ab", "bc", "cd", "da", "ce", "ed", "ex"])


HOUSE_BY_LENGTH = {
    "ab": [0, 1, 1],
    "ad": [0, 1, 1],
    "bc": [0, 1, 1],
    "cd": [1, 1, 0],
    "ce": [1, 0, 1],
    "de": [1, 0, 1],
    "ex": [0, 0, 0],
}


def row(edge: tuple[str, str]) -> list[int]:
    return HOUSE_BY_LENGTH["".join(sorted(edge))]


@pytest.fixture
def result() -> detours.Detours:
    return detours.count(house(), 4)


def test_values_shapes_and_types(result: detours.Detours) -> None:
    graph = house()
    assert isinstance(result, detours.Detours)
    assert (result.k, result.directed) == (4, False)
    assert result.by_length.tolist() == [row(edge) for edge in graph.edges]
    assert result.edge.tolist() == [sum(row(edge)) for edge in graph.edges]
    by_node = {node: sum(sum(row(edge)) for edge in graph.edges(node)) for node in graph}
    assert result.node.tolist() == list(by_node.values()) == [4, 4, 6, 6, 4, 0]
    assert result.cycles == {3: 1, 4: 1, 5: 1}
    assert all(type(value) is int for item in result.cycles.items() for value in item)
    assert result.by_length.shape == (7, 3)
    assert result.arc_by_length.shape == (14, 3)
    assert result.edge.shape == (7,)
    assert result.node.shape == (6,)
    for name in ("by_length", "arc_by_length", "edge", "node"):
        assert getattr(result, name).dtype == np.int64


def test_arcs_follow_the_graphs_own_order(result: detours.Detours) -> None:
    graph = result.graph
    tails = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    names = list(house())
    expected = [row((names[i], names[j])) for i, j in zip(tails, graph.indices, strict=True)]
    assert result.arc_by_length.tolist() == expected


def test_to_networkx(result: detours.Detours) -> None:
    graph = result.to_networkx()
    assert nx.utils.graphs_equal(nx.Graph(graph.edges), nx.Graph(house().edges))
    assert list(graph) == list(house())
    for edge in graph.edges:
        lengths = {f"length_{length}": count for length, count in enumerate(row(edge), 2)}
        cycles = {f"cycle_{length}": count for length, count in enumerate(row(edge), 3)}
        assert graph.edges[edge] == {"den": sum(row(edge)), **lengths, **cycles}
        assert type(graph.edges[edge]["den"]) is int
    assert dict(graph.nodes(data="phi")) == dict(zip(house(), [4, 4, 6, 6, 4, 0], strict=True))


def test_to_networkx_directed() -> None:
    shortcut = nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c"), ("c", "a")])
    result = detours.count(shortcut, 2, directed=True)
    graph = result.to_networkx()
    assert graph.is_directed()
    dens = {("a", "b"): 0, ("b", "c"): 0, ("a", "c"): 1, ("c", "a"): 0}
    assert {edge: graph.edges[edge]["den"] for edge in graph.edges} == dens
    assert dict(graph.nodes(data="phi")) == {"a": 1, "b": 0, "c": 0}
    assert result.cycles == {3: 1}


def test_to_pandas(result: detours.Detours) -> None:
    table = result.to_pandas()
    lengths, cycles = ["length_2", "length_3", "length_4"], ["cycle_3", "cycle_4", "cycle_5"]
    assert list(table.columns) == ["source", "target", "den", *lengths, *cycles]
    edges = [tuple(edge) for edge in house().edges]
    assert list(zip(table.source, table.target, strict=True)) == edges
    for columns in (lengths, cycles):
        assert table[columns].to_numpy().tolist() == [row(edge) for edge in edges]
    assert table.den.tolist() == [sum(row(edge)) for edge in edges]
    assert set(table.dtypes.iloc[2:]) == {np.dtype("int64")}


@pytest.mark.filterwarnings("ignore::detours.errors.DroppedEdgesWarning")
def test_to_pandas_keeps_loops_and_repeats() -> None:
    result = detours.count(np.array([[0, 1, 2, 2, 0], [1, 2, 0, 2, 1]]), 2)
    rows = [[0, 1, 1, 1, 1], [1, 2, 1, 1, 1], [2, 0, 1, 1, 1], [2, 2, 0, 0, 0], [0, 1, 1, 1, 1]]
    assert result.to_pandas().values.tolist() == rows
    assert result.to_pandas(once=True).values.tolist() == rows[:3]


@pytest.mark.parametrize("directed", [False, True])
def test_one_row_per_edge(directed: bool, tmp_path: Path) -> None:
    both_ways = nx.to_scipy_sparse_array(house())
    result = detours.count(both_ways, 4, directed=directed)
    assert len(result.to_pandas()) == 2 * house().number_of_edges()
    table = result.to_pandas(once=True)
    assert len(table) == result.graph.num_edges and (directed or (table.source < table.target).all())
    assert table.den.sum() == result.edge.sum() // (1 if directed else 2)
    pyarrow = pytest.importorskip("pyarrow")
    result.to_parquet(tmp_path / "edges.parquet", once=True)
    assert pandas.read_parquet(tmp_path / "edges.parquet").equals(table)
    assert result.to_arrow(once=True).to_pandas().equals(table)
    assert pyarrow.table(result).equals(result.to_arrow())  # as polars.DataFrame(result) does it


def test_nodes_to_pandas_has_the_cycles_through_every_node() -> None:
    graph = house()
    result = detours.count(graph, 4)
    table = result.nodes_to_pandas()
    assert list(table.columns) == ["node", "cycle_3", "cycle_4", "cycle_5", "phi"]
    found = [tuple(cycle) for cycle in nx.simple_cycles(graph, length_bound=5)]
    for line in table.itertuples():
        through = [len(cycle) for cycle in found if line.node in cycle]
        assert [line.cycle_3, line.cycle_4, line.cycle_5] == [through.count(length) for length in (3, 4, 5)]
        assert line.phi == 2 * len(through)


def test_cycles_through_arcs_and_nodes_if_directed() -> None:
    arcs = nx.gnp_random_graph(9, 0.4, seed=3, directed=True)
    result = detours.count(arcs, 4)
    found = [cycle for cycle in nx.simple_cycles(arcs, length_bound=5) if len(cycle) > 2]
    nodes, edges = result.nodes_to_pandas(), result.to_pandas()
    for length in (3, 4, 5):
        cycles = [cycle for cycle in found if len(cycle) == length]
        assert nodes[f"cycle_{length}"].tolist() == [sum(node in cycle for cycle in cycles) for node in arcs]
        arcs_of = [set(zip(cycle, [*cycle[1:], cycle[0]], strict=True)) for cycle in cycles]
        assert edges[f"cycle_{length}"].tolist() == [sum(arc in own for own in arcs_of) for arc in arcs.edges]
    assert not np.array_equal(result.edge_cycles, result.by_length)


def test_to_torch(result: detours.Detours) -> None:
    torch = pytest.importorskip("torch")
    tensors = result.to_torch()
    assert set(tensors) == {"edge_index", "edge", "node", "by_length"}
    assert {tensor.dtype for tensor in tensors.values()} == {torch.int64}
    assert tensors["edge"].tolist() == result.edge.tolist()
    assert tensors["node"].tolist() == result.node.tolist()
    assert tensors["by_length"].tolist() == result.by_length.tolist()
    names = list(house())
    assert [(names[i], names[j]) for i, j in tensors["edge_index"].T.tolist()] == list(house().edges)
    tensors["edge"][:] = -1
    assert result.edge.tolist() == [sum(row(edge)) for edge in house().edges]


def test_repr_says_what_was_counted(result: detours.Detours) -> None:
    text = repr(result)
    for part in ("Detours", "k=4", "6 nodes", "7 edges", "1 of length 5"):
        assert part in text
    assert "directed" not in text
    assert "directed" in repr(detours.count(nx.DiGraph(house()), 2, directed=True))
    assert "2 nodes, 1 edge;" in repr(detours.count([("a", "b")], 2))
    assert "1 node, 0 edges;" in repr(detours.count(nx.empty_graph(1), 2))
    many = repr(detours.count_many([house(), house()], 4))
    assert "2 graphs" in many
    assert "12 nodes" in many


def test_a_large_k_is_shown_in_a_few_lines() -> None:
    result = detours.count(nx.cycle_graph(5), 10**4)
    assert repr(result).endswith("0 of length 4, 1 of length 5, " + ", ".join(
        f"0 of length {length}" for length in range(6, 15)
    ) + ", … up to length 10001)")  # fmt: skip
    assert result._repr_html_().count("<tr>") == 1 + 12 + 1 and "<td>…</td>" in result._repr_html_()
    whole = detours.count(nx.cycle_graph(5), 13)
    assert repr(whole).endswith("0 of length 14)") and "…" not in whole._repr_html_()


def test_pickle(result: detours.Detours) -> None:
    copy = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(copy.by_length, result.by_length)
    assert copy.cycles == result.cycles
    assert copy.graph == result.graph


@pytest.mark.parametrize("num_nodes", [0, 1, 5])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("engine", ["auto", "rows", "search"])
def test_graph_without_edges(num_nodes: int, directed: bool, engine: str) -> None:
    graph = detours.Graph.from_edge_index(np.zeros((2, 0), np.int64), num_nodes=num_nodes, directed=directed)
    result = detours.count(graph, 3, engine=engine)
    assert result.edge.shape == (0,)
    assert result.by_length.shape == result.arc_by_length.shape == (0, 2)
    assert result.node.tolist() == [0] * num_nodes
    assert result.cycles == {3: 0, 4: 0}
    assert len(result.to_pandas()) == 0
    assert len(result.to_networkx()) == num_nodes
    assert ("0 arcs" if directed else "0 edges") in repr(result)


def star_result(counts: list[list[int]]) -> detours.Detours:
    """A result on a star whose arcs have the given counts: sums near 2^63 without the work of counting."""
    graph = detours.Graph.from_networkx(nx.star_graph(len(counts)))
    return detours.Detours(graph, len(counts[0]) + 1, np.array(counts + counts, dtype=np.int64))


LARGEST = 2**63 - 1


@pytest.mark.parametrize("counts", [[LARGEST, 1], [2**62, 2**62], [LARGEST] * 2, [LARGEST, LARGEST, 3]])
def test_edge_sum_beyond_64_bits_is_refused(counts: list[int]) -> None:
    result = star_result([counts])
    with pytest.raises(OverflowError, match=rf"k ?= ?{len(counts) + 1}"):
        _ = result.edge
    assert result.by_length.tolist() == [counts]


@pytest.mark.parametrize("counts", [[2**62, 2**62 - 2**54], [0, 2**62 + 12345], [1, 2**62 - 1]])
def test_edge_sum_below_the_limit_is_exact(counts: list[int]) -> None:
    assert star_result([counts]).edge.tolist() == [sum(counts)]


def test_node_sum_beyond_64_bits_is_refused() -> None:
    for counts in ([[2**62, 0], [2**62, 0]], [[2**62, 0]] * 4, [[3 * 2**61, 0]] * 3):
        result = star_result(counts)
        assert result.edge.tolist() == [first for first, _ in counts]
        with pytest.raises(OverflowError, match=r"k ?= ?3"):
            _ = result.node
    fits = star_result([[2**61 + 1, 5]] * 3)
    assert fits.node.tolist() == [3 * (2**61 + 6)] + [2**61 + 6] * 3


def test_cycles_are_exact_beyond_64_bits() -> None:
    # 2^62 detours of length 2 on each of 12 arcs: 2^62 * 12 / (3 * 2) triangles
    assert star_result([[2**62, 0]] * 6).cycles == {3: 2**63, 4: 0}


def complete(num_nodes: int) -> detours.Graph:
    return detours.Graph.from_edge_index(np.stack(np.nonzero(~np.eye(num_nodes, dtype=bool))))


def phi(num_nodes: int, k: int) -> int:
    return (num_nodes - 1) * sum(perm(num_nodes - 2, length - 1) for length in range(2, k + 1))


@pytest.mark.slow
def test_complete_graphs_around_the_limit() -> None:
    """The largest complete graph whose Φ^6 fits in 64 bits, and the next one."""
    fits = max(n for n in range(1400, 1500) if phi(n, 6) < 2**63)
    below = detours.count(complete(fits), 6)
    assert set(below.node.tolist()) == {phi(fits, 6)}
    above = detours.count(complete(fits + 1), 6)
    assert set(above.edge.tolist()) == {phi(fits + 1, 6) // fits}
    cycles = {length: comb(fits + 1, length) * factorial(length - 1) // 2 for length in range(3, 8)}
    assert above.cycles == cycles
    assert cycles[7] > 2**63
    with pytest.raises(OverflowError, match=r"k ?= ?6"):
        _ = above.node


def test_results_cannot_be_changed_by_accident() -> None:
    result = detours.count([(2, 0, 1), (0, 1, 2)], 3)
    for values in (result.edge, result.node, result.by_length, result.arc_by_length):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 0


@pytest.mark.parametrize(
    ("method", "library", "extra"), [("to_pandas", "pandas", "tables"), ("to_torch", "torch", "torch")]
)
def test_a_missing_library(method: str, library: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(
        InputError, match=rf"needs {library}, which is not installed; run: pip install 'detours\[{extra}\]'"
    ):
        getattr(detours.count([(0, 1, 2), (1, 2, 0)], 2), method)()


@pytest.mark.parametrize("name", ["node", "node_cycles"])
def test_sums_of_nodes_take_little_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detours.counting.sums.ROWS", 2_000)
    result = detours.count(nx.complete_graph(400), k=3)
    tracemalloc.start()
    values = getattr(result, name)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    per_node = 399 * (398 + 398 * 397) if name == "node" else [399 * 398 // 2, 399 * 398 * 397 // 2]
    np.testing.assert_array_equal(values, [per_node] * 400)
    assert peak < 8 * result.graph.num_arcs / 4
