"""Saved models: they predict for anything that `load` takes, with targets or without."""

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")

from torch_geometric.data import Batch, Data, InMemoryDataset  # noqa: E402
from torch_geometric.loader import DataLoader  # noqa: E402

from detours.data import graph_set_of, load, stratified_splits  # noqa: E402
from detours.errors import EngineError, InputError  # noqa: E402
from detours.graph import Graph  # noqa: E402
from detours.training import fit, tune  # noqa: E402
from detours.training.recipe import recipe  # noqa: E402
from detours.training.saved import SavedModel  # noqa: E402
from tests.training.cases import one_graph, task  # noqa: E402
from tests.training.test_door import QUICK, pyg  # noqa: E402


def trained(data: Any, folder: Path) -> SavedModel:
    fit(data, folds=[0], save=folder, **QUICK)
    return SavedModel.load(str(next(folder.iterdir())))


def bare(data: list[Data]) -> list[Data]:
    return [Data(x=each.x, edge_index=each.edge_index) for each in data]


class Own(InMemoryDataset):  # type: ignore[misc]
    def __init__(self, listed: list[Data]):
        super().__init__(None)
        self.data, self.slices = self.collate(listed)


@pytest.mark.parametrize("evaluation", ["whole", "sampled"])
def test_predictions_of_sampled_nodes_are_those_that_were_evaluated(evaluation: str, tmp_path: Path) -> None:
    data = one_graph()
    parts = stratified_splits(data, 2)[0]
    changed = {"neighbours": (2, 2), "batch_size": 8, "evaluation": evaluation, "backbone": "gin", "model": "plain"}
    (cell,) = fit(data, folds=[parts], save=tmp_path, **{**QUICK, **changed})
    found = SavedModel.load(next(tmp_path.iterdir())).predict(data)
    rows = parts.test
    loss = -np.log(found[rows, data.y[rows]]).mean()
    assert (found[rows].argmax(1) == data.y[rows]).mean() == pytest.approx(cell.value["test_accuracy"])
    assert loss == pytest.approx(cell.value["test_loss"], rel=1e-4)


def test_devices_are_checked_before_the_work(tmp_path: Path) -> None:
    data = task(20)
    model = trained(data, tmp_path)
    for device in ("cuda:99", torch.device("cuda:99")):
        with pytest.raises(EngineError, match=r"device='cuda:99' was given, but .*\.$"):
            model.predict(data, device)
    with pytest.raises(InputError, match="device must be 'cpu', 'cuda' or"):
        model.probabilities(data, "gpu")
    np.testing.assert_array_equal(model.predict(data, torch.device("cpu")), model.predict(data))


def test_a_batch_is_its_graphs(tmp_path: Path) -> None:
    listed = pyg(task(20))
    model, batch = trained(listed, tmp_path), Batch.from_data_list(listed)
    np.testing.assert_array_equal(model.predict(batch), model.predict(listed))
    assert len(graph_set_of(batch)) == 20
    for given in (DataLoader(listed, batch_size=8), [batch], iter(listed)):
        np.testing.assert_array_equal(model.predict(given), model.predict(listed))


def test_a_graph_of_one_node_has_the_level_of_the_model(tmp_path: Path) -> None:
    alone = Data(x=torch.ones(1, 1), edge_index=torch.empty(2, 0, dtype=torch.long), y=torch.tensor([1]))
    (nodes,) = pyg(replace(one_graph(), x=None))
    assert trained(nodes, tmp_path / "nodes").predict(alone).shape[0] == 1
    assert trained(pyg(task(20)), tmp_path / "graphs").predict(alone).shape == (1, 2)


def test_a_model_with_fewer_settings(tmp_path: Path) -> None:
    """As of earlier versions: a missing setting has the value that stands for the time before it existed."""
    data = pyg(task(20))
    model = trained(data, tmp_path)
    (file,) = tmp_path.iterdir()
    found = torch.load(file, weights_only=True)
    about = json.loads(found["about"])
    for name in ("evaluation", "average", "smooth"):
        del about["recipe"][name]
    torch.save({**found, "about": json.dumps(about)}, file)
    older = SavedModel.load(file)
    assert older.recipe.evaluation == "whole"
    np.testing.assert_array_equal(older.predict(data), model.predict(data))


def test_a_model_of_preset_paper_with_fewer_settings(tmp_path: Path) -> None:
    """Missing settings have the values of its preset, and the whole graph was evaluated."""
    model = replace(trained(task(20), tmp_path / "models"), recipe=recipe("a", "b", "c", "node", preset="paper"))
    model.save(tmp_path / "paper.pt")
    found = torch.load(tmp_path / "paper.pt", weights_only=True)
    about = json.loads(found["about"])
    for name in ("evaluation", "standardise"):
        del about["recipe"][name]
    torch.save({**found, "about": json.dumps(about)}, tmp_path / "paper.pt")
    older = SavedModel.load(tmp_path / "paper.pt").recipe
    assert (older.evaluation, older.standardise) == ("whole", False)


def test_predict_takes_what_fit_takes_and_needs_no_targets(tmp_path: Path) -> None:
    listed = pyg(task(20))
    model = trained(listed, tmp_path / "models")
    expected = model.predict(graph_set_of(listed))
    torch.save(bare(listed), tmp_path / "new.pt")
    partly = [*listed[:3], *bare(listed[3:])]
    for given in (listed, Own(listed), bare(listed), Own(bare(listed)), tmp_path / "new.pt", partly):
        np.testing.assert_array_equal(model.predict(given), expected)
    np.testing.assert_array_equal(model.probabilities(str(tmp_path / "new.pt")), expected)
    for one in (listed[0], bare(listed)[0], Data(x=listed[0].x, edge_index=listed[0].edge_index, y=torch.ones(1, 3))):
        np.testing.assert_allclose(model.predict(one), expected[:1], atol=1e-6)


def test_one_graph_without_targets_is_of_the_level_of_the_model(tmp_path: Path) -> None:
    (single,) = pyg(one_graph(directed=False))
    model = trained(single, tmp_path / "models")
    (new,) = bare([single])
    new.val_mask = torch.zeros(60, dtype=torch.bool)  # masks are not used here
    np.testing.assert_array_equal(model.predict(new), model.predict(single))
    with pytest.raises(InputError, match="trained on targets of nodes, but data has several graphs"):
        model.predict([new, new])


def test_graphs_of_other_libraries(tmp_path: Path) -> None:
    rings = task(20)
    model = trained(rings, tmp_path / "models")
    graphs = [graph.to_networkx() for graph in rings.graphs]
    np.testing.assert_allclose(model.predict(graphs), model.predict(rings), atol=1e-5)
    nx.set_node_attributes(graphs[0], "C", "label")  # this model was trained without labels
    np.testing.assert_array_equal(model.predict(graphs), model.predict(rings))
    with pytest.raises(InputError, match="data must have at least one graph, but the list is empty"):
        model.predict([])


def test_text_labels_are_the_same_in_other_data(tmp_path: Path) -> None:
    def ring(text: str) -> nx.Graph:
        graph = nx.cycle_graph(5)
        nx.set_node_attributes(graph, text, "label")
        return graph

    texts = ["C", "N", "a long label"] * 8
    data = load([ring(text) for text in texts], y=[text == "N" for text in texts])
    fit(data, folds=[0], save=tmp_path / "models", **{**QUICK, "epochs": 40, "lr": 0.03})
    model = SavedModel.load(next((tmp_path / "models").iterdir()))
    for other in ("N", "C", "a long label"):  # alone, the label would have the number 0
        assert model.predict(ring(other)).argmax(1).item() == (other == "N")
    with pytest.raises(InputError, match=r"has the label 'Xe', which was not in .* \(they have .*'C', 'N'\]\)"):
        model.predict([ring("Xe")])


def test_models_keep_the_names_of_classes(tmp_path: Path) -> None:
    data = task(40)
    names = [("odd", "even")[label] for label in data.y]
    named, numbered = (trained(load(data.graphs, y=y), tmp_path / str(y[0])) for y in (names, 1 - data.y))
    assert named.class_names == ("even", "odd") and named.classes.tolist() == [0, 1] and numbered.class_names is None
    np.testing.assert_array_equal(named.predict(data.graphs), numbered.predict(data.graphs))


def test_one_label_has_no_names_of_classes(tmp_path: Path) -> None:
    data = task(40)
    named = load(data.graphs, y=[("odd", "even")[label] for label in data.y])
    fit(named, folds=[0], save=tmp_path, **QUICK, task="multilabel")
    model = SavedModel.load(next(tmp_path.iterdir()))
    assert model.class_names is None and model.classes.tolist() == [0] and model.predict(data).shape == (40, 1)


@pytest.mark.filterwarnings("ignore::detours.errors.DroppedEdgesWarning")
def test_directed_graphs_of_any_kind_keep_their_directions(tmp_path: Path) -> None:
    data = one_graph()
    graph = data.graphs[0]
    arcs = torch.tensor(graph.to_edge_index())
    bare = Data(edge_index=arcs, num_nodes=60, y=torch.tensor(data.y))
    fit(bare, folds=stratified_splits(data)[:1], save=tmp_path, directed=True, **QUICK)
    model = SavedModel.load(next(tmp_path.iterdir()))
    expected = model.predict(bare)
    for one in (
        graph,
        graph.to_networkx(),
        Data(edge_index=arcs, num_nodes=60),
        Data(edge_index=arcs, y=torch.ones(7)),
    ):
        for given in (one, [one]):
            np.testing.assert_allclose(model.predict(given), expected, atol=1e-6)
    assert not np.allclose(model.predict(graph.to_undirected()), expected, atol=1e-3)
    assert model.predict([[(0, 1), (1, 2), (2, 3)]]).shape == (4, 3)


def test_paths_may_be_strings(tmp_path: Path) -> None:
    model = trained(task(20), tmp_path / "models")
    model.save(f"{tmp_path}/copy.pt")
    assert SavedModel.load(f"{tmp_path}/copy.pt").recipe == model.recipe
    with pytest.raises(InputError, match="there is no such file"):
        SavedModel.load("none.pt")


def test_a_folder_is_not_a_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"^{tmp_path}: this is a folder; give a \.pt file that `.*`.*none is in it"):
        SavedModel.load(tmp_path)
    for name in "edcba":
        (tmp_path / f"{name}.pt").touch()
    with pytest.raises(InputError, match=r"folder; give a file in it: a\.pt, b\.pt, c\.pt and 2 more\.$"):
        SavedModel.load(tmp_path)


def test_degrees_that_training_did_not_see(tmp_path: Path) -> None:
    model = trained(load("rings").subset(range(20)), tmp_path)
    largest = model.encoder.largest_degree
    assert largest is not None
    stars = [nx.star_graph(largest + more) for more in (0, 1, 2)]
    with pytest.warns(UserWarning) as warned:
        model.predict(stars)
    nodes = 3 * largest + 6
    assert [str(each.message) for each in warned] == [
        f"2 of {nodes} nodes have a degree above {largest}, the largest of the training data; "
        f"they are treated as {largest}."
    ]
    with pytest.warns(UserWarning, match=rf"^1 of {largest + 2} nodes has a degree.*; it is treated as {largest}\.$"):
        model.predict(stars[1:2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(stars[:1])


def test_nothing_is_learned_without_targets(tmp_path: Path) -> None:
    new = load(bare(pyg(task(20))), targets=False)
    assert repr(new).endswith("no targets)") and not len(new.y) and new.subset([1, 2]).graphs == new.graphs[1:3]
    for learn in (fit, tune):
        with pytest.raises(InputError, match="data has no targets to learn; give y"):
            learn(new, **QUICK)
    with pytest.raises(InputError, match="data has no targets to learn; give y"):
        fit(new, folds=stratified_splits(task(20)), **QUICK)


def test_one_graph_of_any_library(tmp_path: Path) -> None:
    rings = task(20)
    model = trained(rings, tmp_path)
    graph, expected = rings.graphs[3], model.predict(rings)[3:4]
    plain = graph.to_networkx()
    arcs = np.array(graph.to_edge_index())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for one in (graph, plain, Graph.from_networkx(plain), graph.to_scipy(), arcs, torch.from_numpy(arcs)):
            np.testing.assert_allclose(model.predict(one), expected, atol=1e-6)


def test_a_model_is_shown_in_a_line(tmp_path: Path) -> None:
    model = trained(task(20), tmp_path)
    weights = sum(each.numel() for each in model.weights.values())
    shown = f"{model.recipe.model} {model.recipe.backbone}, graphs; 2 classes; {weights:,} weights"
    assert repr(model) == f"SavedModel({shown})"
