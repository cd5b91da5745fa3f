"""`detours data`: the known data sets, their contents, and errors in their files."""

import json
from functools import partial
from pathlib import Path

import pytest

from detours.data.known import KNOWN
from tests.cli.programs import Run

CLASSES = [1, -1] * 10


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "data")


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """MUTAG as twenty single edges, with two attributes per node."""
    folder = tmp_path / "raw" / "TUDataset" / "MUTAG" / "raw"
    folder.mkdir(parents=True)
    files = {
        "A": "\n".join(f"{2 * g + 1}, {2 * g + 2}\n{2 * g + 2}, {2 * g + 1}" for g in range(20)),
        "graph_indicator": "\n".join(f"{g}\n{g}" for g in range(1, 21)),
        "graph_labels": "\n".join(map(str, CLASSES)),
        "node_labels": "\n".join("0 4".split() * 20),
        "node_attributes": "\n".join(["1, 2.5"] * 40),
    }
    for name, text in files.items():
        (folder / f"MUTAG_{name}.txt").write_text(text + "\n")
    return tmp_path / "raw"


def file_of(raw: Path, name: str) -> Path:
    return raw / "TUDataset" / "MUTAG" / "raw" / f"MUTAG_{name}.txt"


def test_list(run: Run, raw: Path) -> None:
    code, out, err = run("list", "--root", str(raw))
    assert code == 0 and not err
    lines = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.strip()}
    assert lines["MUTAG"][:5] == ["graph", "20", "40", "20", "2"] and "generated, seed 142857" in out
    assert lines["Squirrel"] == ["node", "–", "–", "–", "–", "not", "found"]
    assert lines["ring-lattice"][0] == "node" and "Generated, no files needed: rings, fused-rings, ring-lattice." in out


def test_list_as_json(run: Run, raw: Path) -> None:
    file_of(raw, "A").write_text("1, 2, 3\n")
    code, out, _ = run("list", "--root", str(raw), "--json")
    rows = {row["data"]: row for row in json.loads(out)}
    assert code == 0 and list(rows) == list(KNOWN)
    assert rows["MUTAG"]["state"].startswith("damaged") and rows["MUTAG"]["graphs"] is None
    assert rows["DD"]["state"] == "not found" and rows["Texas"]["level"] == "node"
    assert {name: row["level"] for name, row in rows.items()} == {name: each.level for name, each in KNOWN.items()}
    assert rows["rings"] == {
        "data": "rings", "made_in_code": True, "state": "there", "level": "graph", "graphs": 200,
        "nodes": rows["rings"]["nodes"], "edges": rows["rings"]["nodes"] + 200, "classes": 2,
        "splits": "generated, seed 142857", "task": "classification",
    }  # fmt: skip


def test_info(run: Run, raw: Path) -> None:
    facts = json.loads(run("info", "mutag", "--root", str(raw), "--json")[1])
    assert facts.pop("digest")
    assert facts == {
        "data": "MUTAG", "level": "graph", "graphs": 20, "nodes": 40, "edges": 20, "classes": 2, "directed": False,
        "pairs": None, "attributes": 2, "labels": 2, "edge_labels": 0, "edge_attributes": 0, "input_columns": 4,
        "task": "classification", "targets": "2 classes",
        "class_sizes": {"-1": 10, "1": 10}, "degrees": [1, 1],
        "splits": {
            "source": "generated, seed 142857", "folds": 10, "train": [16, 16], "val": [2, 2], "test": [2, 2],
        },
    }  # fmt: skip
    code, out, _ = run("info", "mutag", "--root", str(raw))
    assert code == 0 and "-1: 10, 1: 10" in out and "10 folds (generated, seed 142857): 16 train, 2 val, 2 test" in out


def test_info_of_edge_attributes(run: Run) -> None:
    torch, data = pytest.importorskip("torch"), pytest.importorskip("torch_geometric.data")
    edge = data.Data(edge_index=torch.tensor([[0, 1], [1, 0]]), edge_attr=torch.ones(2, 3), y=torch.tensor([1]))
    torch.save([edge, *[data.Data(**edge.to_dict() | {"y": torch.tensor([at % 2])}) for at in range(11)]], "own.pt")
    code, out, _ = run("info", "own.pt")
    assert code == 0 and " ".join(out.split()).count("edge attributes 3 edge labels none") == 1


def test_info_of_a_generated_task(run: Run) -> None:
    code, out, _ = run("info", "rings")
    assert code == 0 and "200 in 100 pairs" in out and "0: 100, 1: 100" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["info", "mutga"], "There is no data set 'mutga' (did you mean MUTAG?); give one of EXP"),
        (["info", "NCI1", "--root", "."], "NCI1 is not in .: its raw files should be in TUDataset/NCI1/raw"),
        (["list", "--root", "nowhere"], "--root nowhere: there is no such folder"),
        (["check", "--data", "nowhere"], "--root nowhere: there is no such folder"),
        (["check", "squirel"], "(did you mean Squirrel?)"),
    ],
)
def test_wrong_input_is_one_sentence(run: Run, arguments: list[str], sentence: str) -> None:
    code, out, err = run(*arguments)
    assert code == 1 and not out and err.startswith("detours: ") and sentence in err and err.count("\n") == 1


def test_check(run: Run, raw: Path) -> None:
    code, out, err = run("check", "--root", str(raw))
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert code == 0 and not err and list(lines) == list(KNOWN)
    assert lines["MUTAG"].split(None, 1)[1] == (
        "ok: 20 graphs, 2 classes, 4 input columns, 10 folds (generated, seed 142857)"
    )
    assert lines["DD"].split(None, 1)[1] == "not found"


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("node_attributes", "1, 2\n" * 39 + "1, nan\n", "line 40: attributes must be finite, but number 2 is nan"),
        ("node_labels", "1\n", "there are 1 labels for 40 nodes"),
        ("graph_labels", "1\n" * 20, "MUTAG has 1 class; at least 2 are needed to learn"),
    ],
)
def test_check_finds_errors(run: Run, raw: Path, file: str, text: str, says: str) -> None:
    file_of(raw, file).write_text(text)
    code, out, _ = run("check", "mutag", "--root", str(raw))
    assert code == 1 and out.startswith("MUTAG") and "wrong: " in out and says in out and out.count("\n") == 1
    code, out, _ = run("check", "--root", str(raw), "--json")
    (row,) = (row for row in json.loads(out) if row["state"] == "wrong")
    assert code == 1 and row["data"] == "MUTAG" and says in row["says"]


def test_named_data_sets_must_exist(run: Run, raw: Path) -> None:
    code, out, _ = run("check", "NCI1", "mutag", "--root", str(raw))
    assert code == 1 and "wrong: NCI1 is not in" in out and "MUTAG               ok" in out
