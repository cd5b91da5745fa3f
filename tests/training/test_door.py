"""`training.fit`: data sets of any origin, folds and seeds together."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")

from torch_geometric.data import Data  # noqa: E402

from detours.data import GraphSet, Split, graph_set_of, stratified_splits  # noqa: E402
from detours.errors import DroppedEdgesWarning, InputError  # noqa: E402
from detours.graph import Graph  # noqa: E402
from detours.training import fit, tune  # noqa: E402
from detours.training.loop import Diverged  # noqa: E402
from detours.training.saved import SavedModel  # noqa: E402
from tests.training.cases import one_graph, task  # noqa: E402

QUICK: dict[str, Any] = {"epochs": 2, "hidden": 4, "layers": 1, "heads": 1, "pe": 2, "device": "cpu"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def pyg(data: GraphSet) -> list[Data]:
    x = data.x or [np.ones((graph.num_nodes, 1), np.float32) for graph in data.graphs]
    y = data.y.reshape(1, -1) if data.level == "node" else data.y.reshape(-1, 1)
    return [
        Data(x=torch.from_numpy(features), y=torch.from_numpy(classes), edge_index=graph.to_pyg().edge_index)
        for graph, features, classes in zip(data.graphs, x, y, strict=True)
    ]


def test_folds_and_seeds_are_trained_together(tmp_path: Path) -> None:
    cells = fit(task(20), folds=[0, 3], seeds=[0, 1], out=tmp_path / "out", save=tmp_path / "models", **QUICK)
    assert [(cell.key["fold"], cell.key["seed"]) for cell in cells] == [(0, 0), (0, 1), (3, 0), (3, 1)]
    assert {cell.value["replicas"] for cell in cells} == {4} and len(list((tmp_path / "models").iterdir())) == 4
    assert fit(task(20), folds=[0, 3], seeds=[0, 1], out=tmp_path / "out", **QUICK) == cells


def test_progress_is_reported_in_epochs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("detours.training.door.POLL", 0.01)
    reports: list[tuple[float, float]] = []
    fit(task(20), folds=[0, 1], progress=lambda *seen: reports.append(seen), **{**QUICK, "epochs": 6})
    assert reports[-1] == (12, 12) and {total for _, total in reports} == {12}
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)
    assert len({done for done, _ in reports}) > 2  # in between, too
    reports.clear()
    with pytest.raises(InputError, match="fold 77"):
        fit(task(20), folds=[77], progress=lambda *seen: reports.append(seen), **QUICK)
    assert not reports
    fit(task(20), folds=[0], progress=True, **QUICK)
    assert "Training: 100% after" in capsys.readouterr().err
    with pytest.raises(InputError, match="progress must be True, False, None or a function"):
        fit(task(20), folds=[0], progress="yes", **QUICK)  # type: ignore[arg-type]


def test_random_numbers_of_the_caller_continue(tmp_path: Path) -> None:
    data, drawn = task(20), torch.rand(3, generator=torch.Generator().manual_seed(5))
    torch.manual_seed(5)
    fit(data, folds=[0], out=tmp_path / "out", save=tmp_path / "models", dropout=0.2, **QUICK)
    SavedModel.load(next((tmp_path / "models").iterdir())).predict(data)
    space = {"space": {"lr": [0.01, 0.1]}}
    tune(data, space=space, trials=1, folds=[0], dropout=0.2, **QUICK)
    assert torch.equal(torch.rand(3), drawn)
    torch.manual_seed(5)
    with pytest.raises(Diverged):
        fit(data, folds=[0], lr=1e30, **QUICK)
    assert torch.equal(torch.rand(3), drawn)


@contextmanager
def in_64_bits() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, in_64_bits])
def test_modes_of_torch_change_no_result(mode: Callable[[], AbstractContextManager[None]], tmp_path: Path) -> None:
    data, results = task(20), []
    for folder, chosen in ((tmp_path / "usual", nullcontext), (tmp_path / "mode", mode)):
        with chosen():
            modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype()
            (cell,) = fit(data, folds=[0], out=folder, save=folder / "models", dropout=0.2, **QUICK)
            predicted = SavedModel.load(next((folder / "models").iterdir())).predict(data)
            assert modes == (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype())
        results.append((cell.value, predicted.tolist()))
    assert results[0] == results[1]


def test_the_setting_seed_is_a_seed() -> None:
    assert [cell.key["seed"] for cell in fit(task(20), folds=[0], seed=5, **QUICK)] == [5]
    assert [cell.key["seed"] for cell in fit(task(20), folds=[0], **QUICK)] == [0]
    with pytest.raises(InputError, match=r"^seeds must be a list, such as .*, but it is 3; a single seed is seed=…\.$"):
        fit(task(20), folds=[0], seeds=3, **QUICK)
    with pytest.raises(InputError, match=r"^give either seeds or seed, but both were given: \[0, 1\] and 5\.$"):
        fit(task(20), folds=[0], seeds=[0, 1], seed=5, **QUICK)


@pytest.mark.parametrize("call", [fit, tune])
@pytest.mark.parametrize("wrong", [{"fold": 0}, {"ks": [2, 3]}, {"data": "MUTAG"}, {"numbers": None}])
def test_arguments_that_are_no_settings(call: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"^a recipe has no setting '{next(iter(wrong))}'"):
        call(task(20), folds=[0], **wrong, **QUICK)


@pytest.mark.parametrize(("name", "level"), [("MUTAG", "graph"), ("Texas", "node")])
def test_other_data_with_the_name_of_a_known_set_are_trained_as_own_data(name: str, level: str) -> None:
    listed = pyg(task(20) if level == "graph" else one_graph())
    (usual,) = fit(listed, folds=[0], **QUICK)
    with pytest.warns(UserWarning, match=f"{name} is the name of a known data set .*; they are called own-{name}, and"):
        (cell,) = fit(listed, folds=[0], name=name, **QUICK)
    other = {at for at in usual.key if usual.key[at] != cell.key[at]}
    assert other == {"data"} and cell.key["data"] == f"own-{name}"


def test_k_of_a_plain_network_has_no_effect() -> None:
    with pytest.warns(UserWarning, match=r"^k = 5 has no effect: model plain sees no detours, unless edge_den or"):
        (cell,) = fit(task(20), folds=[0], **QUICK | {"model": "plain", "k": 5})
    assert cell.key["k"] == 4


def test_at_least_one_replica() -> None:
    sentence = "^replicas must be an integer of at least 1, but it is 0"
    with pytest.raises(InputError, match=sentence):
        fit(task(20), folds=[0], replicas=0, **QUICK)
    with pytest.raises(InputError, match=sentence):
        tune(task(20), folds=[0], replicas=0, trials=1, **QUICK)


def test_pyg_data_are_taken() -> None:
    graphs, nodes = task(20), one_graph(directed=False)
    loaded = graph_set_of(pyg(graphs))
    assert loaded.level == "graph" and (loaded.y == graphs.y).all() and len(loaded) == 20
    (single,) = pyg(nodes)
    loaded = graph_set_of(single)
    assert loaded.level == "node" and loaded.graphs[0].num_arcs == nodes.graphs[0].num_arcs
    order = np.arange(60)
    (cell,) = fit(single, folds=[Split(order[:40], order[40:50], order[50:])], **QUICK)
    assert cell.value["epochs"] == 2


@pytest.mark.parametrize("directed", [False, True])
def test_directions_of_pyg_data_are_a_setting(directed: bool) -> None:
    nodes = one_graph()
    kept = nodes if directed else replace(nodes, graphs=[nodes.graphs[0].to_undirected()])
    settings = {**QUICK, "folds": stratified_splits(nodes, 2)[:1], "directed": directed, "seed": 1}
    with pytest.warns(DroppedEdgesWarning, match="one-way arcs: .* unless the setting directed is true"):
        (ours,) = fit(*pyg(nodes), **settings)
    (expected,) = fit(kept, **settings)
    assert ours.value["val_loss"] == pytest.approx(expected.value["val_loss"], rel=1e-6)


@pytest.mark.filterwarnings("ignore::detours.errors.DroppedEdgesWarning")
def test_features_of_one_way_arcs_are_those_of_their_edges() -> None:
    nodes = one_graph()
    graph = nodes.graphs[0]
    source, target = graph.to_edge_index()
    labels = np.add(source, target) % 3
    folds, settings = stratified_splits(nodes, 2)[:1], {**QUICK, "edge_features": True, "seed": 1}
    (ours,) = fit(replace(nodes, edge_labels=[labels]), folds=folds, **settings)
    both = graph.to_undirected()
    source, target = both.to_edge_index()
    edges = replace(nodes, graphs=[Graph.from_edge_index([source, target], 60)], edge_labels=[(source + target) % 3])
    (expected,) = fit(edges, folds=folds, **settings)
    assert ours.value["val_loss"] == pytest.approx(expected.value["val_loss"], rel=1e-6)


def test_unknown_targets_are_in_no_fold() -> None:
    (data,) = pyg(one_graph(directed=False))
    index = torch.arange(60)
    data.train_mask, data.val_mask, data.test_mask = index < 30, (index >= 30) & (index < 50), index < 0
    y = torch.where(index < 50, data.y, -1)
    for targets in (y, torch.where(index < 50, torch.randn(60), torch.nan)):
        data.y = targets
        read = graph_set_of(data)
        assert read.unknown is not None and read.unknown.tolist() == [False] * 50 + [True] * 10
        assert fit(read, **QUICK)[0].value["epochs"] == 2
        with pytest.raises(InputError, match="fold 0 of data names node 50, whose target is unknown; leave it out"):
            fit(read, folds=[(range(30), range(30, 50), range(50, 60))], **QUICK)
        generated = stratified_splits(read, 5)
        assert max(part.max() for fold in generated for part in fold) == 49
    data.y = torch.ones(60, 2)
    assert graph_set_of(data).unknown is None


def test_features_of_both_arcs_of_an_edge_may_differ_with_directions() -> None:
    nodes = one_graph(directed=False)
    source, target = nodes.graphs[0].to_edge_index()
    (data,) = pyg(nodes)
    data.edge_index, data.edge_attr = torch.tensor(np.stack([source, target])), torch.tensor((2 * source + target) % 3)
    settings = {**QUICK, "folds": stratified_splits(nodes, 2)[:1], "edge_features": True, "seed": 1}
    (ours,) = fit(data, directed=True, **settings)
    graph = Graph.from_edge_index([source, target], 60, directed=True)
    given = replace(nodes, graphs=[graph], edge_labels=[(2 * source + target) % 3])
    (expected,) = fit(given, directed=True, **settings)
    assert ours.value["val_loss"] == pytest.approx(expected.value["val_loss"], rel=1e-6)
    with pytest.raises(InputError, match=r"opposite direction, .* or train directed graphs with directed=True"):
        fit(data, **settings)


@pytest.mark.parametrize(
    ("folds", "sentence"),
    [
        ([Split(np.arange(9), np.arange(8, 12), np.arange(12, 20))], "fold 0 of rings has graph 8 twice"),
        ([Split(np.arange(9), np.arange(9, 12), np.arange(12, 21))], r"names 0 \.\. 20, but there are 0 \.\. 19"),
        ([Split(np.arange(9), np.arange(0), np.arange(12, 20))], "empty training or validation part"),
        ([11], "rings has the folds 0"),
        (0, r"folds must be a list, such as \[0\] or .*, but it is 0"),
        (Split([0], [1], [2]), "folds must be a list"),
        ([([0, 1], [2])], "fold 0 must be three lists of integers"),
        ([0, ([0, 1], [2], [3])], "fold 0 must be three lists of integers"),
        ([([True, False], [2], [3])], "fold 0 must be three lists of integers"),
        ([([0, 1], [[2], [3, 4]], [5])], "fold 0 must be three lists of integers"),
    ],
)
def test_folds_that_are_refused(folds: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        fit(task(20), folds=folds, **QUICK)


def test_targets_in_no_given_fold_may_be_unknown() -> None:
    nodes = torch.arange(60)
    ring = torch.stack([nodes, (nodes + 1) % 60])
    edges, x = torch.cat([ring, ring.flip(0)], 1), torch.rand(60, 2)
    parts = [(range(30), range(30, 40), range(40, 50))]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # such as that of a class that may mean unknown
        unknown, known = (
            fit(Data(x=x, edge_index=edges, y=torch.where(nodes < 50, nodes % 3, other)), folds=parts, **QUICK)[0]
            for other in (-1, 0)
        )
        fit(Data(x=x, edge_index=edges, y=torch.where(nodes < 50, nodes / 7, np.nan)), folds=parts, **QUICK)
    assert unknown.value["parameters"] == known.value["parameters"]
    edge = torch.tensor([[0, 1], [1, 0]])
    graphs = [
        Data(x=torch.rand(2, 2), edge_index=edge, y=torch.tensor([at / 3 if at < 50 else np.nan])) for at in nodes
    ]
    assert fit(graphs, folds=parts, **QUICK)[0].value["metric"] == "mae"
    with pytest.raises(InputError, match="the target of graph 50 of data is nan"):
        fit(graphs, folds=[0], **QUICK)


def test_folds_are_lists_of_any_kind() -> None:
    train, val, test = list(range(10)), list(range(10, 14)), list(range(14, 20))
    kinds = (Split(*map(np.array, (train, val, test))), Split(train, val, test), (train, val, test), [train, val, test])
    cells = [fit(task(20), folds=[fold], **QUICK) for fold in (*kinds, tuple(map(torch.tensor, (train, val, test))))]
    assert all(each[0].key == cells[0][0].key and each[0].value["epochs"] == 2 for each in cells)
    (cell,) = fit(task(20), folds=[(train, val, [])], **QUICK)
    assert "test_accuracy" not in cell.value


def test_few_graphs() -> None:
    few = task(10).subset(range(5))
    with pytest.raises(InputError, match=r"has 5; take more data, or .*fit\(data, folds=stratified_splits\(data, 4"):
        fit(few, **QUICK)
    assert len(fit(few, folds=stratified_splits(few, 4), **QUICK)) == 4
    with pytest.raises(InputError, match=r"has 3; take more data\.$"):
        fit(few.subset(range(3)), **QUICK)


def test_data_that_are_refused() -> None:
    with pytest.raises(InputError, match="data must have at least one graph, but the list is empty"):
        graph_set_of([])
    with pytest.raises(InputError, match=r"data must be a GraphSet, or PyG data .*; .* detours.data.load\("):
        graph_set_of(["C1CC1"])
    (first, *others) = pyg(task(8))
    with pytest.raises(InputError, match="one target, or row of targets, for every graph"):
        graph_set_of([Data(x=first.x, edge_index=first.edge_index, y=torch.zeros(3, dtype=torch.long)), *others])
    for each in others:
        each.y = torch.zeros(1, dtype=torch.long)
    with pytest.raises(InputError, match="has 1 class, but classification needs two"):
        fit(others, folds=[Split(np.arange(3), np.arange(3, 5), np.arange(5, 7))], **QUICK)
    empty = replace(task(8), graphs=[*task(8).graphs[:-1], Graph.from_edge_index(np.zeros((2, 0), int), num_nodes=0)])
    with pytest.raises(InputError, match="graph 7 of rings has no nodes"):
        fit(empty, folds=[Split(np.arange(3), np.arange(3, 5), np.arange(5, 8))], **QUICK)
    wide = pyg(task(20))
    wide[4].x = torch.ones(wide[4].num_nodes, 3)
    with pytest.raises(InputError, match="x of graph 4 has the width 3, but those before have 1"):
        fit(wide, folds=[Split(np.arange(10), np.arange(10, 15), np.arange(15, 20))], **QUICK)
    for none in (3, None):
        with pytest.raises(InputError, match=f"data must be a GraphSet, or PyG data .* but {none} was given"):
            fit(none, **QUICK)
