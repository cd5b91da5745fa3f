"""`detours train`: resumed runs, tables, files, recipes, and one sentence for every error."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from detours.store import Store
from tests.cli.programs import QUICK, Run

pytest.importorskip("torch")
pytest.importorskip("lightning")


# ---------------------------------------------------------------- train


def test_two_folds(run: Run) -> None:
    code, out, err = run("train", *QUICK, "--folds", "0,2", "--progress")
    assert code == 0
    rows = [line.split() for line in out.splitlines() if line.strip()[:1].isdigit() and "%" not in line]
    assert [row[0] for row in rows] == ["0", "2"] and all(row[1] == "3" and row[5] == "3" for row in rows)
    assert "% on the test parts of 2 folds: rings, mdnn gin, k = 3, preset ours, splits generated, seed" in out
    assert "rings, mdnn gin, k = 3, fold 0: test" in err and "Wrote results/networks" in err
    files = sorted(file.suffix for file in Path("results/networks").iterdir())
    assert files == [".csv", ".csv", ".json", ".json"]


def test_json_of_a_finished_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run("train", *QUICK, "--folds", "1", "--json")
    found = json.loads(first[1])
    assert found["std"] is None and found["mean"] == found["folds"][0]["test_accuracy"]
    assert found["folds"][0]["k"] == 3 and found["folds"][0]["device"] == "cpu"
    monkeypatch.setattr("detours.training.stacks.train", lambda *_: pytest.fail("made again"))
    assert run("train", *QUICK, "--folds", "1", "--json") == first


def test_a_run_from_before_a_setting_existed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = [*QUICK, "--folds", "1"]
    first = json.loads(run("train", *quick, "--json").out)
    (file,) = Path("results/networks").glob("*.json")
    cell = json.loads(file.read_text())
    del cell["key"]["smooth"]
    file.unlink()
    Store("results").keep({**cell["key"], "code": "01234567"}, cell["value"], cell["seconds"])
    monkeypatch.setattr("detours.training.stacks.train", lambda *_, **__: pytest.fail("made again"))
    found = run("train", *quick, "--json", "--keep-old")
    assert found.err == "note: 1 of 1 finished results come from other code (used because of --keep-old)\n"
    assert json.loads(found.out) == first
    with pytest.raises(pytest.fail.Exception, match="made again"):
        run("train", *quick, "--keep-old", "--set", "smooth=0.5")


def test_folds_count_with_the_mean_over_their_seeds(run: Run) -> None:
    quick = [*QUICK, "--set", "task=regression", "--seeds", "0-1"]  # errors differ where accuracies are all equal
    two = [*quick, "--folds", "0,2"]
    code, out, err = run("train", *two, "--progress")
    assert code == 0 and "rings, mdnn gin, k = 3, fold 0, seed 1: test" in err
    rows = [line.split() for line in out.splitlines() if line.strip()[:1].isdigit() and "±" not in line]
    assert out.split()[:3] == ["fold", "seed", "k"]
    assert [row[:3] for row in rows] == [["0", "0", "3"], ["0", "1", "3"], ["2", "0", "3"], ["2", "1", "3"]]
    assert "MAE on the test parts of 2 folds, each the mean of 2 seeds: rings, mdnn" in out
    found = json.loads(run("train", *two, "--json")[1])
    assert [(each["fold"], each["seed"]) for each in found["folds"]] == [(0, 0), (0, 1), (2, 0), (2, 1)]
    assert found["seeds"] == [0, 1] and found["seed"] is None
    scores = np.array([each["test_mae"] for each in found["folds"]]).reshape(2, 2)
    assert len(np.unique(scores)) == 4
    assert found["mean"] == pytest.approx(scores.mean())
    assert found["std"] == pytest.approx(scores.mean(axis=1).std(ddof=1))
    one = [*quick, "--folds", "2"]
    assert "MAE on the test parts of 1 fold, over 2 seeds: rings, mdnn" in run("train", *one)[1]
    assert json.loads(run("train", *one, "--json")[1])["std"] == pytest.approx(scores[1].std(ddof=1))


def test_validation_chooses_k(run: Run) -> None:
    code, out, _ = run("train", *QUICK, "-k", "2-3", "--folds", "0", "--model", "weighted", "--backbone", "gcn")
    assert code == 0 and "k by validation" in out
    assert len(list(Path("results").rglob("*.json"))) == 2


def test_a_note_says_that_k_has_no_effect_on_plain_networks(run: Run) -> None:
    plain = [*QUICK, "--folds", "0", "--model", "plain"]
    note = "note: k = 5, 6 has no effect: model plain sees no detours, unless edge_den or node_den is true"
    _, out, err = run("train", *plain, "-k", "5-6", "--progress")
    assert note in err.splitlines() and "rings, plain gin, fold 0: test" in err
    assert out.split()[:2] == ["fold", "validation"] and ": rings, plain gin, preset ours" in out  # no k
    assert json.loads(run("train", *plain, "--json").out)["folds"][0]["k"] is None
    assert len(list(Path("results").rglob("*.json"))) == 1
    for more in (["-k", "5", "-q"], ["-k", "4"], ["-k", "5", "--set", "node_den=true"]):
        code, out, err = run("train", *plain, *more)
        assert code == 0 and "no effect" not in err
    assert out.split()[:2] == ["fold", "k"] and ": rings, plain gin, k = 5, preset ours" in out


def test_a_note_says_which_settings_only_mdnn_has(run: Run) -> None:
    quick = [*QUICK, "--folds", "0", "--set", "heads=2", "--set", "detour_gate=true"]
    _, _, err = run("train", *quick, "--model", "plain")
    assert "note: heads, detour_gate have no effect: only model mdnn has such settings" in err.splitlines()
    assert "no effect" not in run("train", *quick, "--model", "mdnn")[2]


def test_a_note_says_which_settings_others_make_idle(run: Run) -> None:
    settings = ("hops=5", "regression_loss=mse", "gate=true")
    _, _, err = run("train", *QUICK, "--folds", "0", *(word for each in settings for word in ("--set", each)))
    assert "note: hops, regression_loss have no effect with the other settings" in err.splitlines()


def test_nodes(run: Run) -> None:
    arguments = "--data ring-lattice --hidden 8 --epochs 2 --folds 0 --device cpu --json".split()
    arguments += ["--set", "heads=2", "--set", "layers=1"]
    assert json.loads(run("train", *arguments)[1])["data"] == "ring-lattice"
    sampled = json.loads(run("train", *arguments, "--set", "neighbours=4,3", "--set", "batch_size=512")[1])
    assert sampled["folds"][0]["epochs"] == 2


@pytest.mark.slow
def test_an_interrupted_run_resumes(run: Run, tmp_path: Path) -> None:
    arguments = [*QUICK, "--epochs", "60", "--folds", "0", "--checkpoint-every", "0", "--out", str(tmp_path / "out")]
    code = [sys.executable, "-c", "from detours.cli import main; main()", "train", *arguments]
    program = subprocess.Popen(code, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (begun := list((tmp_path / "out").rglob("*.ckpt"))) and program.poll() is None:
        time.sleep(0.005)
    os.kill(program.pid, signal.SIGINT)
    out, err = program.communicate(timeout=60)
    assert program.returncode == 130 and out == "" and err == "detours: interrupted; repeat the command to resume\n"
    assert begun and begun[0].exists() and not list((tmp_path / "out").rglob("*.json"))
    assert run("train", *arguments)[0] == 0
    (log,) = (tmp_path / "out").rglob("*.csv")
    with open(log) as lines:
        assert [int(row["epoch"]) for row in csv.DictReader(lines)] == list(range(1, 61))
    assert not list((tmp_path / "out").rglob("*.ckpt")) and not list((tmp_path / "out").rglob(".*.part"))


@pytest.mark.slow
@pytest.mark.parametrize("several", [["--jobs", "2"], ["--devices", "2"]])
def test_several_processes(run: Run, several: list[str]) -> None:
    quick = [*QUICK, "--set", "precision=64-true"]
    one = json.loads(run("train", *quick, "--folds", "0-1", "--json", "--out", "one")[1])
    code, out, err = run("train", *quick, "--folds", "0-1", "--json", "--out", "two", *several)
    assert code == 0, err
    for mine, theirs in zip(one["folds"], json.loads(out)["folds"], strict=True):
        assert theirs["val_loss"] == pytest.approx(mine["val_loss"], abs=1e-6)
        assert theirs["processes"] == (2 if "--devices" in several else 1)


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["--data", "MUTGA"], 1, "did you mean MUTAG?"),
        (["--data", "rings", "--folds", "8-12"], 1, "rings has the folds 0 .. 9, but fold 10 was asked for"),
        (["--data", "rings", "--folds", "zero"], 2, "for '--folds': 'zero': give numbers and ranges, such as 0-9"),
        (["--data", "rings", "--seeds", ""], 2, "for '--seeds': '': give numbers and ranges, such as 0-9"),
        (["--data", "rings", "--seed", "1", "--seeds", "0-1"], 2, "give either --seed or --seeds"),
        (["--data", "rings", "-k", "1"], 2, "must be an integer of at least 2, but it is 1"),
        (["--data", "rings", "--lr", "0"], 2, "lr must be a number above 0, but it is 0.0"),
        (["--data", "rings", "--model", "mdn"], 2, "model must be one of 'plain', 'weighted', 'mdnn'"),
        (["--data", "rings", "--set", "layer=2"], 2, "a recipe has no setting 'layer'; did you mean layers?"),
        (["--data", "rings", "--set", "layers"], 2, "'layers' is not of the form name=value"),
        (["--data", "rings", "--recipe", "none.toml"], 1, "none.toml: there is no such recipe file"),
        (["--data", "rings", "--set", "neighbours=5,5"], 1, "neighbours applies to node data, but rings"),
        ([], 2, "give a data set with --data, in the file of --recipe, or with --data-file"),
        (["--data", "rings", "--device", "gpu"], 1, "device must be 'cpu', 'cuda' or"),
        (["--data", "rings", "--jobs", "2", "--devices", "2"], 1, "not --devices and --jobs"),
        (
            ["--data", "ring-lattice", "--devices", "2", "--device", "cpu", "--set", "heads=3"],
            1,
            "3 heads do not divide",
        ),
        (["--data", "MUTAG", "--root", "nowhere"], 1, "MUTAG"),
    ],
)
def test_wrong_input_is_one_sentence(run: Run, arguments: list[str], code: int, sentence: str) -> None:
    found, out, err = run("train", *arguments)
    assert found == code and out == "" and sentence in err and len(err.splitlines()) == 1


@pytest.mark.parametrize(("missing", "option"), [("lightning", []), ("tensorboard", ["--tensorboard"])])
def test_missing_packages_are_named(run: Run, monkeypatch: pytest.MonkeyPatch, missing: str, option: list[str]) -> None:
    from importlib.util import find_spec

    def found(name: str) -> Any:
        return None if name == missing else find_spec(name)

    monkeypatch.setattr(sys.modules["detours.cli.train"], "find_spec", found)
    code, out, err = run("train", *QUICK, *option)
    assert code == 1 and out == "" and "run: pip install" in err and len(err.splitlines()) == 1


def test_only_mdnn_can_leave_out_detours(run: Run) -> None:
    code, _, err = run("train", *QUICK, "--model", "weighted", "--set", "use_den=false")
    assert code == 1 and "use_den=false needs model mdnn" in err


def test_a_folder_for_models_that_cannot_be_made(run: Run) -> None:
    Path("taken").write_text("")
    code, _, err = run("train", *QUICK, "--folds", "0", "--save", "taken")
    assert code == 1 and "the folder taken cannot be made" in err and not Path("results").exists()


def test_a_folder_of_finished_models_is_only_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("train", *QUICK, "--folds", "0", "--save", "models", "--json")
    first = run(*arguments)
    assert first[0] == 0
    monkeypatch.setattr("detours.cli.train.make_folder", lambda folder: pytest.fail("written"))
    assert run(*arguments) == first


def test_a_note_says_how_many_runs_are_looked_up(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = run("train", *QUICK, "--seeds", "0-999999")
    assert (code, out) == (1, "")
    assert err == "detours: 10 folds × 1,000,000 seeds × 1 k are 10,000,000 runs; ask for at most 100,000 at once.\n"
    monkeypatch.setattr("detours.cli.train.MANY_RUNS", 1)
    code, _, err = run("train", *QUICK, "--folds", "0", "--seeds", "0-1")
    assert code == 0 and "note: looking up the finished ones of 2 runs first\n" in err


# ---------------------------------------------------------------- recipes


def test_the_recipe_shown_can_be_read(run: Run) -> None:
    shown = run("train", *QUICK, "--set", "dropout=0.25", "--show-recipe")
    assert shown[0] == 0 and "\ndropout = 0.25" in shown[1] and not Path("results").exists()
    Path("recipe.toml").write_text(shown[1])
    assert run("train", "--recipe", "recipe.toml", "--show-recipe", "--device", "cpu")[1] == shown[1]


def test_options_override_changes_and_changes_override_the_file(run: Run) -> None:
    Path("recipe.toml").write_text('data = "rings"\npreset = "paper"\nhidden = 16\nepochs = 7\nlr = 0.5\nk = 3\n')
    changes = ["--recipe", "recipe.toml", "--set", "epochs=8", "--set", "lr=0.25", "--set", "k=4"]
    lines = run("train", *changes, "--lr", "0.125", "--show-recipe", "--device", "cpu")[1].splitlines()
    found = {line.split(" = ")[0]: line.split(" = ")[1].split(" ")[0] for line in lines}
    assert {"hidden": "16", "epochs": "8", "lr": "0.125", "k": "4", "patience": "250"}.items() <= found.items()
    code, out, _ = run("train", *changes, "-k", "5", "--epochs", "1", "--folds", "0", "--set", "transformer_layers=1")
    assert code == 0 and "k = 5, preset paper" in out


def test_a_recipe_without_data_is_for_graphs(run: Run) -> None:
    code, out, err = run("train", "--show-recipe", "--device", "cpu")
    assert code == 0 and "heads = 1" in out and "settings for graph-level data; --data shows those of a data set" in err
    assert run("train", "--show-recipe", "-q", "--device", "cpu")[2] == ""
    assert run("train", "--data", "ring-lattice", "--show-recipe", "--device", "cpu")[2] == ""


def test_own_data(run: Run, tmp_path: Path) -> None:
    import torch
    from torch_geometric.data import Data

    ring = torch.stack([torch.arange(5), (torch.arange(5) + 1) % 5])
    graphs = [
        Data(edge_index=torch.cat([ring, ring.flip(0)], 1), x=torch.rand(5, 2), y=torch.rand(1)) for _ in range(20)
    ]
    torch.save(graphs, tmp_path / "mine.pt")
    quick = "--model plain --hidden 4 --epochs 2 --folds 0 --device cpu --set layers=1".split()
    code, out, err = run("train", "--data", str(tmp_path / "mine.pt"), *quick, "--save", "models")
    assert code == 0, err
    assert "MAE on the test parts of 1 fold: mine, plain gin" in out and "validation MAE" in out
    assert json.loads(next(Path("results").rglob("*.json")).read_text())["key"]["task"] == "regression"
    code, _, err = run("train", "--data-file", "mine.pt", "--data", "rings")
    assert code == 2 and "give either --data or --data-file" in err
    for option in ("--data", "--data-file"):
        model = str(next(Path("models").iterdir()))
        predicted = run("predict", model, option, "mine.pt", "--device", "cpu", "--json").out
        assert len(json.loads(predicted)) == 20
    space = tmp_path / "space.toml"
    space.write_text("[space]\nhidden = [4, 8]\n")
    tuning = "--models plain --trials 2 --draws 1 --folds 0-1 --device cpu --set epochs=2 --set layers=1".split()
    code, out, err = run("tune", "--data-file", "mine.pt", "--space", str(space), *tuning)
    assert code == 0, err
    (score,) = re.findall(r"of 2: (\S+) ± \S+ MAE", out)
    assert 0 < float(score) < 3  # targets are from 0 to 1
    code, _, err = run("train", "--data-file", "none.pt")
    assert code == 1 and "none.pt: there is no such file" in err


def test_masks_without_a_test_part(run: Run, tmp_path: Path) -> None:
    import torch
    from torch_geometric.data import Data

    ring = torch.stack([torch.arange(30), (torch.arange(30) + 1) % 30])
    masks = {"train_mask": torch.arange(30) < 15, "val_mask": torch.arange(30) >= 15}
    y = torch.arange(30) % 2
    data = Data(edge_index=torch.cat([ring, ring.flip(0)], 1), x=torch.rand(30, 2), y=y, **masks)
    data.test_mask = torch.zeros(30, dtype=torch.bool)
    torch.save(data, tmp_path / "masked.pt")
    quick = "--model plain --hidden 4 --epochs 2 --device cpu --set layers=1".split()
    code, out, err = run("train", "--data", "masked.pt", *quick)
    assert code == 0 and "on the validation parts of 1 fold" in out, err
    assert json.loads(run("train", "--data", "masked.pt", *quick, "--json")[1])["part"] == "validation"
