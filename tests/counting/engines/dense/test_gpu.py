"""Counting on a device: errors, the choice of the engine, and what happens if memory runs out."""

import json
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch

import detours
from benchmarks.dense import main as benchmark
from detours.counting import plan as plan_module
from detours.counting.derive.matrix_program import contraction
from detours.counting.engines.base import Tally
from detours.counting.engines.dense import gpu as tensor_engine
from detours.counting.engines.dense.estimate import Size
from detours.counting.engines.dense.estimate_torch import device_bytes, device_seconds
from detours.counting.engines.dense.gpu import count_tied
from detours.counting.engines.dense.stack import TensorStack
from detours.counting.plan import Plan, make_plan
from detours.counting.shrink.cyclic_part import Cyclic
from detours.errors import EngineError, InputError
from detours.graph import Graph
from tests import real_data

with_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


def plan(graph: Graph, k: int, **options: object) -> Plan:
    return make_plan(Cyclic(graph.indptr, graph.indices, graph.directed), k, **options)  # type: ignore[arg-type]


@pytest.fixture
def as_if_there_were_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sufficient for a plan, which does not use the device."""
    monkeypatch.setattr(plan_module, "check_device", lambda device: device)


@pytest.mark.parametrize("engine", ["rows", "search"])
def test_other_engines_stay_on_the_cpu(engine: str) -> None:
    graph = Graph.from_networkx(nx.complete_graph(5))
    with pytest.raises(InputError, match=f"engine='{engine}' runs on the CPU alone"):
        plan(graph, 4, engine=engine, device="cpu")


@pytest.mark.usefixtures("as_if_there_were_a_gpu")
def test_planner_uses_the_gpu_if_faster() -> None:
    thick = Graph.from_networkx(nx.gnm_random_graph(1500, 60_000, seed=1))
    for k in (5, 6, 7):
        chosen = plan(thick, k, device="cuda")
        assert chosen.engine == "dense"
        assert "on cuda with about" in str(chosen)
        assert chosen.seconds < plan(thick, k).seconds
        results = 8 * (k - 1) * thick.num_arcs
        assert results < chosen.bytes <= 2 * results + 8 * thick.num_arcs


@pytest.mark.usefixtures("as_if_there_were_a_gpu")
def test_planner_keeps_molecules_and_long_detours_on_the_cpu() -> None:
    rings = Graph.from_networkx(nx.disjoint_union_all([nx.cycle_graph(6)] * 50))
    assert plan(rings, 5, device="cuda").engine == "search"
    assert plan(Graph.from_networkx(nx.complete_graph(12)), 9, device="cuda").engine == "search"


def test_device_cpu_only_affects_an_explicit_dense_engine() -> None:
    graph = Graph.from_networkx(nx.gnm_random_graph(300, 9000, seed=1))
    assert plan(graph, 4, device="cpu").engine == plan(graph, 4).engine == "rows"
    assert "on cpu" in str(plan(graph, 4, engine="dense", device="cpu"))


def test_out_of_memory_falls_back_to_main_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second try keeps matrices in main memory, in blocks of rows, and warns."""
    adjacency = nx.to_numpy_array(nx.gnm_random_graph(40, 200, seed=5))
    tied, made, heights = torch.from_numpy(np.flatnonzero(adjacency)), contraction(6, False), []
    right = count_tied(made, TensorStack(tied, None, 1, 40))
    evaluate = tensor_engine.evaluate_tensors

    def small(*given: object) -> Iterator[tuple[int, torch.Tensor]]:
        heights.append(given[3:])
        if len(heights) == 1:
            raise torch.cuda.OutOfMemoryError("out of memory")
        return evaluate(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(tensor_engine, "evaluate_tensors", small)
    monkeypatch.setattr(tensor_engine, "_rows_per_block", lambda stack: 7)
    with pytest.warns(
        UserWarning, match="40 nodes do not fit on cpu; they are kept in main memory and processed 7 rows"
    ):
        found = count_tied(made, TensorStack(tied, None, 1, 40))
    assert heights == [(), (7,)]
    assert right.shape == (len(tied), 5) and right.any(dim=0).all()
    assert torch.equal(found, right)


def test_out_of_memory_twice_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: object) -> Iterator[tuple[int, torch.Tensor]]:
        raise torch.cuda.OutOfMemoryError("out of memory")

    monkeypatch.setattr(tensor_engine, "evaluate_tensors", never)
    monkeypatch.setattr(tensor_engine, "_rows_per_block", lambda stack: 7)
    with (
        pytest.warns(UserWarning, match="do not fit"),
        pytest.raises(EngineError, match="too little memory for the matrices of 3 nodes, even in blocks of rows"),
    ):
        count_tied(contraction(2, False), TensorStack(torch.tensor([1, 2, 3, 5, 6, 7]), None, 1, 3))


def test_out_of_memory_for_the_arcs_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: object) -> None:
        raise torch.cuda.OutOfMemoryError("out of memory")

    monkeypatch.setattr(tensor_engine.TensorCount, "positions", never)
    with pytest.raises(EngineError, match="cpu has too little memory for the 20 arcs of this graph; leave device out"):
        detours.count(nx.complete_graph(5), 4, engine="dense", device="cpu")


@pytest.mark.parametrize("message", ["CUDA error: out of memory", "DefaultCPUAllocator: not enough memory"])
def test_other_out_of_memory_messages(message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: object) -> None:
        raise RuntimeError(message)

    monkeypatch.setattr(tensor_engine.TensorCount, "positions", never)
    with pytest.raises(EngineError, match="too little memory") as caught:
        detours.count(nx.complete_graph(5), 4, engine="dense", device="cpu")
    assert caught.value.__context__ is None  # which would keep tensors alive


def test_other_errors_are_not_treated_as_out_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: object) -> None:
        raise RuntimeError("something else")

    monkeypatch.setattr(tensor_engine, "evaluate_tensors", never)
    with pytest.raises(RuntimeError, match="something else"):
        detours.count(nx.complete_graph(5), 4, engine="dense", device="cpu")


def test_main_memory_is_not_used_beyond_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: object) -> None:
        raise torch.cuda.OutOfMemoryError("out of memory")

    monkeypatch.setattr(tensor_engine, "evaluate_tensors", never)
    with pytest.raises(EngineError, match=r"matrices of 2 graphs of 3 nodes do not fit .* more than memory_limit"):
        count_tied(contraction(4, False), TensorStack(torch.tensor([1, 2, 3, 5, 6, 7]), None, 2, 3), limit=10)


def test_rows_per_block_depend_on_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    free = [2**33]
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free[0], 2**37))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)

    def height(graphs: int, nodes: int) -> int:
        stack = TensorStack(torch.empty(0, dtype=torch.int64), None, graphs, nodes)
        stack.device = torch.device("cuda")
        return tensor_engine._rows_per_block(stack)

    some = height(1, 10_000)
    assert height(20, 2000) < height(1, 2000)
    free[0] = 2**34
    assert 64 < some < height(1, 10_000) <= 10_000
    free[0] = 0
    assert height(1, 10_000) == 64


def test_callers_default_device_does_not_matter() -> None:
    graph = nx.complete_graph(6)
    right = detours.count(graph, 4, engine="search").arc_by_length
    with torch.device("meta"):
        found = detours.count(graph, 4, engine="dense", device="cpu").arc_by_length
    np.testing.assert_array_equal(found, right)


@pytest.mark.usefixtures("as_if_there_were_a_gpu")
def test_gpu_is_not_used_if_the_host_would_exceed_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensor_engine.TensorCount, "seconds", 0.0)
    monkeypatch.setattr(tensor_engine.TensorEngine, "least_seconds", lambda *_: 0.0)
    rings = Graph.from_networkx(nx.disjoint_union_all([nx.cycle_graph(8)] * 500))
    here, there = plan(rings, 8), plan(rings, 8, device="cuda")
    assert (here.engine, there.engine) == ("search", "dense") and here.bytes < there.bytes
    assert plan(rings, 8, device="cuda", memory_limit=here.bytes).engine == "search"


@pytest.mark.usefixtures("as_if_there_were_a_gpu")
def test_a_triangle_needs_little_memory_on_the_host_of_a_gpu() -> None:
    triangle = plan(Graph.from_networkx(nx.complete_graph(3)), 4, engine="dense", device="cuda", n_jobs=2)
    assert triangle.bytes < 1000 and triangle.task.n_jobs == 1


def test_estimates_grow_with_the_work() -> None:
    sizes = [Size(1, n, 50 * n, 100, 0.0) for n in (1000, 4000, 20_000)]
    for kind in (device_seconds, lambda made, size, device: device_bytes(made, size)):
        figures = [[kind(contraction(k, False), size, "cuda") for size in sizes] for k in (4, 6, 7)]
        assert all(a < b < c for a, b, c in (*figures, *zip(*figures, strict=True)))
    assert device_bytes(contraction(6, False), sizes[2]) < 100e9


def on_both(graph: Graph, k: int) -> list[Tally]:
    """Counts of the dense engine on the CPU and on the GPU."""
    tallies = []
    for device in (None, "cuda"):
        chosen = plan(graph, k, engine="dense", device=device)
        shape = (graph.num_arcs, k - 1)
        tallies.append(Tally(np.zeros(shape, np.int64), np.zeros(shape, np.int64) if graph.directed else None))
        chosen.run(tallies[-1])
    return tallies


@with_gpu
@pytest.mark.parametrize("k", [4, 6, 7])
def test_chameleon_on_the_gpu(k: int) -> None:
    here, there = on_both(Graph.from_edge_index(real_data.node_graph("Chameleon")), k)
    np.testing.assert_array_equal(here.by_length, there.by_length)


@with_gpu
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("nodes", "arcs"), [(5, 8), (40, 70), (150, 2000), (400, 700)])
def test_random_graphs_on_the_gpu(nodes: int, arcs: int, directed: bool) -> None:
    graph = Graph.from_networkx(nx.gnm_random_graph(nodes, arcs, seed=1, directed=directed), directed=directed)
    for k in (2, 5, 8):
        here, there = on_both(graph, k)
        np.testing.assert_array_equal(here.by_length, there.by_length)
        if directed:
            np.testing.assert_array_equal(here.cycles, there.cycles)


@with_gpu
def test_a_gpu_with_little_memory_left() -> None:
    graph = Graph.from_networkx(nx.gnm_random_graph(2000, 60_000, seed=1))
    right = on_both(graph, 6)[0].by_length
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info()
    taken = torch.empty(free - 300 * 2**20, dtype=torch.uint8, device="cuda")
    with pytest.warns(UserWarning, match="do not fit on cuda:0; they are kept in main memory"):
        found = on_both(graph, 6)[1].by_length
    del taken
    np.testing.assert_array_equal(found, right)


def test_benchmark_runs_and_detects_different_counts(tmp_path: Path) -> None:
    reference, out = tmp_path / "cpu.json", tmp_path / "out.json"
    benchmark(["--quick", "--write-reference", str(reference)])
    benchmark(["--quick", "--reference", str(reference), "--out", str(out)])
    assert all(row["equal"] for row in json.loads(out.read_text())["table"])
    spoilt = json.loads(reference.read_text())
    spoilt["random 3"]["digest"] = "0"
    reference.write_text(json.dumps(spoilt))
    with pytest.raises(SystemExit, match="differ from the CPU's"):
        benchmark(["--quick", "--reference", str(reference)])
