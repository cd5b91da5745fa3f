"""`detours predict`: classes and probabilities of data sets and files."""

import csv
import json
import warnings
from pathlib import Path

import networkx as nx
import pytest

from detours.errors import DroppedEdgesWarning
from tests.cli.programs import QUICK, Run

pytest.importorskip("torch")
pytest.importorskip("lightning")


@pytest.fixture
def model(run: Run) -> str:
    assert run("train", *QUICK, "--set", "pe=0", "--folds", "0", "--save", "models", "-q")[0] == 0
    (file,) = Path("models").iterdir()
    return str(file)


def test_a_model_of_undirected_graphs_symmetrises_arcs(model: str) -> None:
    """Features are degrees, so the arcs have to be symmetrised first."""
    import numpy as np

    from detours.data import GraphSet, rings
    from detours.graph import Graph
    from detours.training.saved import SavedModel

    task = rings(6)
    one_way = []
    for graph in task.graphs:
        source, target = graph.to_edge_index()
        arcs = np.stack([source, target])[:, source < target]
        one_way.append(Graph.from_edge_index(arcs, num_nodes=graph.num_nodes, directed=True))
    saved = SavedModel.load(Path(model))
    found = saved.probabilities(GraphSet("arcs", one_way, task.y))
    np.testing.assert_allclose(found, saved.probabilities(task), atol=1e-6)
    assert np.ptp(found[:, 0]) > 0


def test_predict_a_data_set_and_files(run: Run, model: str) -> None:
    from detours.data import rings

    rows = json.loads(run("predict", model, "--data", "rings", "--json", "--device", "cpu")[1])
    assert len(rows) == 200 and all(sum(row[f"p({c})"] for c in (0, 1)) == pytest.approx(1) for row in rows)
    assert all(row["class"] == max((0, 1), key=lambda c: row[f"p({c})"]) for row in rows)
    for at in (0, 3):
        nx.write_edgelist(rings().graphs[at].to_networkx(), f"graph{at}.txt", data=False)
    code, out, err = run("predict", model, "graph0.txt", "graph3.txt", "--out", "classes.csv", "--device", "cpu")
    assert code == 0 and out == "" and err == "Wrote classes.csv\n"
    with open("classes.csv") as lines:
        written = list(csv.DictReader(lines))
    assert [row["graph"] for row in written] == ["graph0.txt", "graph3.txt"]
    for row, at in zip(written, (0, 3), strict=True):
        # The nodes are numbered differently in the file, so sums have another order.
        assert float(row["p(0)"]) == pytest.approx(rows[at]["p(0)"], abs=1e-4)
        assert int(row["class"]) == rows[at]["class"]
    shown = run("predict", model, "graph0.txt", "--device", "cpu")[1]
    assert shown.split()[:4] == ["graph", "class", "p(0)", "p(1)"] and "graph0.txt" in shown


def test_predictions_never_replace_the_model_or_a_graph(run: Run, model: str) -> None:
    Path("graph.csv").write_text("0,1\n1,2\n2,0\n")
    Path("model.csv").write_bytes(Path(model).read_bytes())
    Path("shared.csv").write_text("old")
    Path("link.csv").symlink_to("shared.csv")
    for out in ("graph.csv", "model.csv"):
        before = Path(out).read_bytes()
        ran = run("predict", "model.csv", "graph.csv", "--out", out, "--device", "cpu")
        assert ran.code == 1 and "the graphs and --out must be different files" in ran.err
        assert Path(out).read_bytes() == before
    assert run("predict", "model.csv", "graph.csv", "--out", "link.csv", "--device", "cpu").code == 0
    assert Path("link.csv").is_symlink() and Path("shared.csv").read_text().startswith("graph,class")


def test_classes_have_their_names(run: Run) -> None:
    from detours.data import load, rings
    from detours.training import fit

    task = rings(20)
    names = [("acid", "base")[label] for label in task.y]
    fit(load(task.graphs, y=names), folds=[0], save="models", epochs=1, hidden=4, layers=1, heads=1, device="cpu")
    nx.write_edgelist(task.graphs[0].to_networkx(), "graph.txt", data=False)
    (file,) = Path("models").iterdir()
    (row,) = json.loads(run("predict", str(file), "graph.txt", "--json", "--device", "cpu")[1])
    assert set(row) == {"graph", "class", "p(acid)", "p(base)"}
    assert row["class"] == max(("acid", "base"), key=lambda name: row[f"p({name})"])


def test_the_saved_model_is_the_best_one(run: Run, model: str) -> None:
    from detours.data import rings, splits

    (cell,) = Path("results").rglob("*.json")
    rows = json.loads(run("predict", model, "--data", "rings", "--json", "--device", "cpu")[1])
    task = rings()
    right = [rows[at]["class"] == task.y[at] for at in splits(task)[0].test]
    assert sum(right) / len(right) == json.loads(cell.read_text())["value"]["test_accuracy"]


def test_predict_nodes(run: Run) -> None:
    arguments = "--data ring-lattice --hidden 8 --epochs 1 --folds 0 --device cpu -q".split()
    arguments += ["--set", "heads=2", "--set", "layers=1"]
    assert run("train", *arguments, "--save", "models")[0] == 0
    (file,) = Path("models").iterdir()
    nx.write_edgelist(nx.cycle_graph(5), "ring.txt", data=False)
    rows = json.loads(run("predict", str(file), "ring.txt", "--json", "--device", "cpu")[1])
    assert [(row["graph"], row["node"]) for row in rows] == [("ring.txt", node) for node in range(5)]
    code, _, err = run("predict", str(file), "--data", "rings", "--device", "cpu")
    assert code == 1 and "trained on targets of nodes, but rings has targets of graphs" in err


def test_a_note_on_directions(run: Run) -> None:
    import torch
    from torch_geometric.data import Data

    torch.manual_seed(0)
    arcs, y = torch.randint(0, 30, (2, 60)), torch.arange(30) % 2
    torch.save(Data(edge_index=arcs, num_nodes=30, y=y), "arcs.pt")
    train = "--hidden 8 --epochs 1 --folds 0 --device cpu -q --set heads=2 --set layers=1 --set directed=true".split()
    assert run("train", "--data", "arcs.pt", *train, "--save", "models")[0] == 0
    (file,) = Path("models").iterdir()
    Path("arcs.txt").write_text("\n".join(f"{u} {v}" for u, v in arcs.T.tolist()))
    note = "note: the model follows the directions of arcs, but arcs.txt was read as undirected; --directed reads its"
    given = run("predict", str(file), "arcs.txt", "--device", "cpu")
    assert given.code == 0 and note in given.err
    for option in ("--directed", "--undirected", "-q"):
        assert note not in run("predict", str(file), "arcs.txt", option, "--device", "cpu").err


def test_predicted_values_of_any_size_are_shown(run: Run) -> None:
    import torch
    from torch_geometric.data import Data

    from detours.data import rings

    graphs = rings(20).graphs
    y = [torch.tensor([at * 1e-9 + 1e-7], dtype=torch.float64) for at in range(20)]
    torch.save(
        [Data(edge_index=g.to_pyg().edge_index, num_nodes=g.num_nodes, y=y[at]) for at, g in enumerate(graphs)],
        "small.pt",
    )
    arguments = "--hidden 4 --epochs 1 --set layers=1 --set pe=0 --folds 0 --device cpu --save models".split()
    code, out, _ = run("train", "--data", "small.pt", *arguments)
    assert code == 0 and " 0.0000" not in out and "e-0" in out
    (file,) = Path("models").iterdir()
    shown = run("predict", str(file), "--data", "small.pt", "--device", "cpu")[1].splitlines()
    numbers = [float(line.split()[1]) for line in shown if line.split()[0].isdigit()]
    assert len(numbers) == 20 and all(5e-8 < number < 2e-7 for number in numbers)


def test_predict_needs_no_targets(run: Run, model: str) -> None:
    import torch
    from torch_geometric.data import Data

    from detours.data import rings

    graphs = rings(6, seed=1).graphs
    listed = [Data(edge_index=graph.to_pyg().edge_index, num_nodes=graph.num_nodes) for graph in graphs]
    torch.save(listed, "new.pt")
    Path("NEW").mkdir()
    starts = [sum(graph.num_nodes for graph in graphs[:at]) + 1 for at in range(6)]
    arcs = [row for start, each in zip(starts, listed, strict=True) for row in (each.edge_index.T + start).tolist()]
    Path("NEW/NEW_A.txt").write_text("".join(f"{i}, {j}\n" for i, j in arcs))
    Path("NEW/NEW_graph_indicator.txt").write_text("".join(f"{at + 1}\n" * g.num_nodes for at, g in enumerate(graphs)))
    found = [run("predict", model, "--data", data, "--json", "--device", "cpu") for data in ("new.pt", "NEW")]
    rows, others = (json.loads(each.out) for each in found)
    assert [row["graph"] for row in rows] == list(range(6)) and [row["p(0)"] for row in others] == pytest.approx(
        [row["p(0)"] for row in rows], abs=1e-5
    )
    for data, sentence in (
        ("new.pt", "new has no target y; give it one"),
        ("NEW", "NEW_graph_labels.txt: there is no such file with a class for each graph, which training needs"),
    ):
        for command in ("train", "tune"):
            code, _, err = run(command, "--data", data)
            assert code == 1 and sentence in err and len(err.splitlines()) == 1


def test_a_quiet_prediction_prints_no_note(run: Run, model: str) -> None:
    import torch
    from torch_geometric.data import Data

    loop = Data(edge_index=torch.tensor([[0, 1, 1], [1, 2, 1]]), num_nodes=3, y=torch.tensor([4]))
    torch.save([loop, loop], "new.pt")
    options = ("--data", "new.pt", "--out", "new.csv", "--device", "cpu")
    with pytest.warns(DroppedEdgesWarning):  # printed as a note by the command line
        assert run("predict", model, *options) == (0, "", "Wrote new.csv\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run("predict", model, *options, "-q") == (0, "", "")
        assert run("predict", model, *options[:2], *options[4:], "-q") == (0, "", "")
        quiet = run("predict", model, *options, "-q", "--json")
    assert quiet.code == 0 and len(json.loads(quiet.out)) == 2  # the requested output


def test_a_note_on_degrees_that_training_did_not_see(run: Run, model: str) -> None:
    nx.write_edgelist(nx.star_graph(50), "star.txt", data=False)
    with pytest.warns(UserWarning, match="1 of 51 nodes has a degree above"):  # printed as a note
        assert run("predict", model, "star.txt", "--device", "cpu").code == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run("predict", model, "star.txt", "--device", "cpu", "-q") == (0, "", "")


def test_wrong_input_of_predict(run: Run, model: str) -> None:
    assert run("predict", model)[0] == 2
    code, _, err = run("predict", model, "-", "-")
    assert code == 2 and "only one input can be -" in err
    code, _, err = run("predict", model, "--data", "rings", "--out", "classes.xlsx")
    assert code == 1 and err == "detours: cannot write classes.xlsx: the name must end in .csv\n"
    assert not Path("classes.xlsx").exists()
    Path("torn.pt").write_bytes(Path(model).read_bytes()[:200])
    for file, sentence in (
        ("torn.pt", "is not a model of `detours train --save`"),
        ("none.pt", "there is no such file"),
        ("models", f"models: this is a folder; give a file in it: {Path(model).name}."),
    ):
        code, out, err = run("predict", file, "--data", "rings")
        assert code == 1 and out == "" and sentence in err and len(err.splitlines()) == 1


def test_a_model_of_labelled_nodes_rejects_graph_files(run: Run, model: str) -> None:
    from dataclasses import replace

    from detours.data import Encoder
    from detours.training.saved import SavedModel

    saved = SavedModel.load(Path(model))
    replace(saved, encoder=Encoder(labels=(0, 1))).save(Path("labelled.pt"))
    Path("graph.txt").write_text("0 1\n")
    code, _, err = run("predict", "labelled.pt", "graph.txt")
    assert code == 1 and "whose nodes have labels, but graph files have none" in err
    code, _, err = run("predict", "labelled.pt", "--data", "rings")
    assert code == 1 and "Every node is expected to have a label, but rings has none" in err
    replace(saved, encoder=Encoder(largest_degree=99)).save(Path("wider.pt"))
    code, _, err = run("predict", "wider.pt", "--data", "rings")
    assert code == 1 and "the model holds the weights of another network" in err
