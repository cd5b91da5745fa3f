"""Closed forms on torch tensors against the definition, NumPy and search, in floats and modulo 2^64."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import detours
from detours.counting.derive.matrix_program import contraction
from detours.counting.engines.base import Tally
from detours.counting.engines.dense import bounds
from detours.counting.engines.dense import cliques as tensor_cliques
from detours.counting.engines.dense import evaluate_torch as tensors
from detours.counting.engines.dense import exact_matmul as tensor_products
from detours.counting.engines.dense import gpu as tensor_engine
from detours.counting.engines.dense.bounds import Bound
from detours.counting.engines.dense.evaluate import Stack, evaluate_tied
from detours.counting.engines.dense.evaluate_torch import evaluate_tensors
from detours.counting.engines.dense.gpu import TensorCount
from detours.counting.engines.dense.stack import TensorStack
from detours.counting.shrink.cyclic_part import Cyclic
from detours.graph import Graph
from tests import real_data
from tests.oracles.pairs import values_of_steps
from tests.strategies import SmallGraph, small_graphs

CPU = torch.device("cpu")
KINDS = [(k, directed) for k in (2, 4, 6, 7, 8) for directed in (False, True)]


def random_stack(graphs: int, n: int, density: float, directed: bool) -> NDArray[np.float64]:
    adjacency = np.random.default_rng(7).random((graphs, n, n)) < density
    adjacency &= ~np.eye(n, dtype=bool)
    return (adjacency if directed else adjacency | adjacency.swapaxes(1, 2)).astype(np.float64)


def on_tensors(adjacency: NDArray[np.float64], directed: bool) -> TensorStack:
    tied = Stack(adjacency, directed).tied
    ahead = torch.from_numpy(np.searchsorted(tied, np.flatnonzero(adjacency))) if directed else None
    return TensorStack(torch.from_numpy(tied), ahead, *adjacency.shape[:2])


def by_numpy(adjacency: NDArray[np.float64], k: int, directed: bool) -> dict[int, NDArray[np.int64]]:
    return dict(evaluate_tied(contraction(k, directed), Stack(adjacency, directed)))


def assert_equal(found: dict[int, torch.Tensor], right: dict[int, NDArray[np.int64]]) -> None:
    assert found.keys() == right.keys()
    for length, counts in found.items():
        assert counts.dtype == torch.int64
        np.testing.assert_array_equal(counts.numpy(), right[length])


def count(graph: Graph, k: int) -> Tally:
    shape = (graph.num_arcs, k - 1)
    tally = Tally(np.full(shape, -1), np.full(shape, -1) if graph.directed else None)
    TensorCount(Cyclic(graph.indptr, graph.indices, graph.directed), k, "cpu").run(tally)
    return tally


@given(small=small_graphs(max_nodes=9), k=st.integers(2, 8))
def test_every_arc_of_small_graphs(small: SmallGraph, k: int) -> None:
    graph = small.graph()
    np.testing.assert_array_equal(count(graph, k).by_length[graph.edge_arc], small.table(k))


@pytest.mark.parametrize(("k", "directed"), KINDS)
@pytest.mark.parametrize(("graphs", "n", "density"), [(1, 200, 0.002), (1, 40, 0.15), (3, 11, 0.6)])
def test_agrees_with_numpy(k: int, directed: bool, graphs: int, n: int, density: float) -> None:
    """Very sparse graphs use sparse products; graphs in a stack do not affect each other."""
    adjacency = random_stack(graphs, n, density, directed)
    program = contraction(k, directed)
    assert_equal(dict(evaluate_tensors(program, on_tensors(adjacency, directed))), by_numpy(adjacency, k, directed))


@pytest.mark.parametrize(("k", "directed"), KINDS)
@pytest.mark.parametrize("height", [1, 7])
def test_blocks_of_rows_agree(k: int, directed: bool, height: int) -> None:
    adjacency = random_stack(2, 16, 0.4, directed)
    found = evaluate_tensors(contraction(k, directed), on_tensors(adjacency, directed), CPU, height)
    assert_equal(dict(found), by_numpy(adjacency, k, directed))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("exact", [2, 300, 100_000])
def test_products_modulo_word_agree_with_floats(directed: bool, exact: int, monkeypatch: pytest.MonkeyPatch) -> None:
    adjacency = random_stack(1, 24, 0.3, directed)
    stack, program, multiplied = on_tensors(adjacency, directed), contraction(8, directed), 0

    def counted(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        nonlocal multiplied
        multiplied += 1
        # so few bits that parts are needed
        return ring_product(left, right, 20)

    ring_product = tensors.ring_product
    monkeypatch.setattr(bounds, "EXACT", exact)
    monkeypatch.setattr(tensors, "ring_product", counted)
    monkeypatch.setattr(tensor_cliques, "ring_product", counted)
    assert_equal(dict(evaluate_tensors(program, stack)), by_numpy(adjacency, 8, directed))
    assert multiplied > 0


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("short", [False, True])
def test_counts_by_float16_products(directed: bool, short: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU, with every part and sum checked; if short, limits so low that small products are cut too."""
    parts = []

    def by_float16(left: torch.Tensor, right: torch.Tensor, *bounds: Bound) -> torch.Tensor:
        cut = tensor_products.float16_cut(*bounds)
        parts.append(0 if cut is None else cut.products)
        return left @ right if cut is None else tensor_products.float16_product(left, right, cut)

    def checked(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        assert left.dtype == right.dtype == torch.float16
        assert max(left.abs().max(), right.abs().max()) <= tensor_products.IN_FLOAT16
        assert (left.double().abs() @ right.double().abs()).max() < tensor_products.IN_FLOAT32
        return left.float() @ right.float()

    monkeypatch.setattr(tensors, "float_product", by_float16)
    monkeypatch.setattr(tensor_products, "_widening_product", checked)
    if short:
        monkeypatch.setattr(tensor_products, "IN_FLOAT16", 2**5)
        monkeypatch.setattr(tensor_products, "IN_FLOAT32", 2**11)
    for seed in range(4):
        adjacency = random_stack(2, 20 + 5 * seed, 0.35, directed)
        found = dict(evaluate_tensors(contraction(7, directed), on_tensors(adjacency, directed)))
        assert_equal(found, by_numpy(adjacency, 7, directed))
    assert {0, 1, 2, 3} <= set(parts) if short else {1, 2} <= set(parts)


def test_results_are_measured_if_degrees_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub makes the bound from degrees useless; actual entries are small, so floats are used."""
    graph = nx.star_graph(60)
    graph.add_edges_from((i, i + 1) for i in range(1, 60))
    adjacency = nx.to_numpy_array(graph)[None]
    program, largest = (
        contraction(6, False),
        max(abs(v).max() for v in values_of_steps(contraction(6, False), adjacency[0] > 0)),
    )
    stack = on_tensors(adjacency, False)
    monkeypatch.setattr(bounds, "EXACT", int(largest) * 40)
    evaluation = tensors._Evaluation(program, stack, CPU, stack.nodes)
    assert_equal(dict(evaluation.run()), by_numpy(adjacency, 6, False))
    assert evaluation.proof.measured
    assert all(evaluation.proof.exact)


@pytest.mark.parametrize("scale", [0.01, 1, 4])
def test_measured_bounds_hold(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against every step in exact integers; the lower the limit for floats, the more has to be measured."""
    measured = 0
    for directed in (False, True):
        adjacency = random_stack(1, 8, 0.5, directed)
        program = contraction(8, directed)
        values = values_of_steps(program, adjacency[0] > 0)
        monkeypatch.setattr(bounds, "EXACT", int(scale * max(abs(value).max() for value in values)) + 1)
        evaluation = tensors._Evaluation(program, on_tensors(adjacency, directed), CPU, 8)
        for _ in evaluation.run():
            pass
        measured += len(evaluation.proof.measured)
        tied = (adjacency[0] + adjacency[0].T) > 0
        for index, (value, bound) in enumerate(zip(values, evaluation.proof.known, strict=True)):
            listed = value.ndim == 2 and not program.whole[index]  # such a matrix is only read at tied pairs
            assert abs(value[tied] if listed else value).max() <= bound.entry
    assert measured > 5


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("entries", [1, 400])
def test_batches_of_cliques_do_not_matter(directed: bool, entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensor_cliques, "ENTRIES", entries)
    adjacency = random_stack(2, 13, 0.5, directed)
    found = evaluate_tensors(contraction(8, directed), on_tensors(adjacency, directed))
    assert_equal(dict(found), by_numpy(adjacency, 8, directed))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("k", [7, 8])
def test_random_graphs_agree_with_search(k: int, directed: bool) -> None:
    rng = np.random.default_rng(k)
    graphs = []
    for arcs in (25, 40, 60):
        pairs = rng.permutation([(i, j) for i in range(14) for j in range(14) if i != j])[:arcs].T
        pairs = pairs if directed else np.unique(np.concatenate([pairs, pairs[::-1]], axis=1), axis=1)
        graphs.append(Graph.from_edge_index(pairs, num_nodes=14, directed=directed))
    union = Graph.disjoint_union(graphs)[0]
    searched = detours.count(union, k, engine="search")
    assert searched.arc_by_length[:, k - 2].any()
    for engine in (detours.count(union, k, engine="dense").arc_by_length, count(union, k).by_length):
        np.testing.assert_array_equal(engine, searched.arc_by_length)


@pytest.mark.parametrize("directed", [False, True])
def test_stacks_of_connected_blocks(directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of many sizes at common nodes, wide ones padded, trees between them; some alone in a stack."""
    parts = [nx.windmill_graph(5, 4), nx.barbell_graph(7, 3), nx.wheel_graph(30), nx.gnm_random_graph(25, 40, seed=1)]
    graph = nx.compose_all([nx.convert_node_labels_to_integers(part, 12 * index) for index, part in enumerate(parts)])
    graph = nx.disjoint_union_all([graph, nx.balanced_tree(2, 4), nx.cycle_graph(4), nx.complete_graph(6)])
    graph = nx.relabel_nodes(graph, dict(enumerate(np.random.default_rng(0).permutation(len(graph)).tolist())))
    if directed:
        graph = graph.to_directed()
        graph.remove_edges_from(list(graph.edges)[::3])
    monkeypatch.setattr(tensor_engine, "WIDE", 8)
    given = Graph.from_networkx(graph, directed=directed)
    searched = detours.count(given, 6, engine="search")
    for entries in (1, 600, 2**24):
        monkeypatch.setattr(tensor_engine, "STACK", entries)
        found = count(given, 6)
        np.testing.assert_array_equal(found.by_length, searched.arc_by_length)
        if found.cycles is not None:
            np.testing.assert_array_equal(found.cycles, searched.arc_cycles)


def test_molecules() -> None:
    graphs = [Graph.from_edge_index(arcs, num_nodes=n) for n, arcs in real_data.molecule_graphs("ENZYMES")]
    union = Graph.disjoint_union(graphs)[0]
    np.testing.assert_array_equal(count(union, 6).by_length, detours.count(union, 6, engine="search").arc_by_length)


@pytest.mark.slow
def test_chameleon_modulo_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a lower limit for floats, so that later products are cut into parts."""
    graph = Graph.from_edge_index(real_data.node_graph("Chameleon"))
    right = detours.count(graph, 6, engine="rows").arc_by_length
    monkeypatch.setattr(bounds, "EXACT", 2**30)
    np.testing.assert_array_equal(count(graph, 6).by_length, right)
