"""The benchmark of networks must check the goals that it states, on models that train."""

import pytest

pytest.importorskip("torch_geometric")

import torch
from torch_geometric.data import Batch

from benchmarks import networks as benchmark
from benchmarks.cases import small_graphs
from benchmarks.measure import Timing
from detours.graph import Graph
from detours.transforms import AddDetourNumber


@pytest.mark.slow
def test_both_models_learn_from_the_same_batches() -> None:
    graphs = [Graph.from_csr(graph.indptr, graph.indices).to_pyg() for graph in small_graphs(12, seed=1)]
    for i, data in enumerate(graphs):
        data.x = torch.ones(data.num_nodes, 3)
        data.pe = torch.randn(data.num_nodes, benchmark.POSITIONS)
        data.y = torch.tensor([i % 2])
    batches = [Batch.from_data_list(AddDetourNumber(benchmark.K, by_length=True)(graphs))]
    torch.manual_seed(0)
    for model in (benchmark.gps(3, 16), benchmark.mdnn(3, 1)):
        epoch = benchmark.epoch_of(model, batches)
        first = epoch()
        assert [epoch() for _ in range(20)][-1] < first


@pytest.mark.parametrize(("seconds", "verdict"), [(1.9, "it is 1.90: met"), (2.1, "it is 2.10: MISSED")])
def test_the_goal_of_an_epoch(seconds: float, verdict: str) -> None:
    best = {benchmark.OURS: Timing(seconds, seconds), benchmark.GPS: Timing(1.0, 1.0)}
    sheet = benchmark.epoch_sheet(best)
    assert sheet.notes[0].endswith(verdict)
    assert [row[-1] for row in sheet.rows] == [f"{seconds:.2f}", "1.00"]


@pytest.mark.parametrize(("evaluating", "verdict"), [(290.0, "takes 2.90: met"), (310.0, "takes 3.10: MISSED")])
def test_the_goal_of_memory(evaluating: float, verdict: str) -> None:
    sizes = {
        "tokens": 1,
        "ragged": 100.0,
        "training": 500.0,
        "evaluating two": 700.0,
        "training two": 900.0,
        "attended": 110.0,
        "padded": 2500.0,
    }
    sizes["evaluating"] = evaluating
    sheet = benchmark.tokens_sheet(sizes)
    assert sheet.notes[0].endswith(verdict)
    assert sheet.rows[-1][-1] == "25.00"
