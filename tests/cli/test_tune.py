"""`detours tune`: tables, files, and one sentence for every error."""

import json
import os
import sys
import tomllib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from detours.errors import DroppedEdgesWarning
from detours.progress import Report
from tests.cli.programs import Run

pytest.importorskip("torch")
pytest.importorskip("lightning")

SPACE = """
[space]
hidden = [4, 8]
lr = {low = 1e-3, high = 1e-2, log = true}
[space.mdnn]
k = [3, 4]
"""
QUICK = "--data rings --space space.toml --trials 2 --draws 1 --folds 0-1 --device cpu".split()
QUICK += "--set epochs=2 --set layers=1 --set pe=0 --set batch_size=256".split()


def test_two_models(run: Run) -> None:
    Path("space.toml").write_text(SPACE)
    code, out, err = run("tune", *QUICK, "--models", "plain,mdnn", "--write", "recipes", "--progress")
    assert code == 0, err
    assert out.count("on the validation parts of 2 folds") == 2 and "rings, plain" in out and "test" not in out
    assert "rings, mdnn: trial 0 on first folds, 1 replica in" in err and "Wrote recipes" in err
    found = json.loads(run("tune", *QUICK, "--models", "plain,mdnn", "--json", "--budget", "0")[1])
    assert [(each["data"], each["model"], each["tried"]) for each in found] == [
        ("rings", "plain", 2),
        ("rings", "mdnn", 2),
    ]
    for each in found:
        written = tomllib.loads(Path(f"recipes/rings-{each['model']}.toml").read_text())
        assert {name: written[name] for name in each["chosen"]["settings"]} == each["chosen"]["settings"]
        assert each["complete"] and written["data"] == "rings"
    trained = run("train", "--recipe", "recipes/rings-mdnn.toml", "--folds", "0", "--device", "cpu", "--json")
    assert json.loads(trained[1])["model"] == "mdnn"


def test_unknown_values_are_null(run: Run) -> None:
    """One fold has no standard error, and a trial that has diverged no score; JSON has neither NaN nor Infinity."""
    Path("space.toml").write_text("[space]\nhidden = [4]\n[[known]]\nlr = 1e-3\n[[known]]\nlr = 1e30\n")
    few = [*QUICK, "--model", "plain", "--folds", "0", "--no-halving", "--set", "epochs=3"]
    code, out, err = run("tune", *few)
    assert code == 0, err
    assert " ± " not in out and "diverged   " in out and "nan" not in out
    (found,) = json.loads(run("tune", *few, "--json", "--budget", "0")[1], parse_constant=pytest.fail)
    assert found["chosen"]["error"] is None and [each["score"] is None for each in found["trials"]] == [False, True]


def test_inner_parts_are_other_trials(run: Run) -> None:
    Path("space.toml").write_text(SPACE)
    assert run("tune", *QUICK, "--model", "plain", "--inner", "-q")[0] == 0
    code, _, err = run("tune", *QUICK, "--model", "plain", "--budget", "0")
    assert code == 1 and "no trial was finished within the budget" in err
    code, out, _ = run("tune", *QUICK, "--model", "plain", "--inner", "--budget", "0")
    assert code == 0 and "on the validation parts of 2 folds; epochs chosen by a tenth of each training part" in out


def test_the_best_are_trained_again(run: Run) -> None:
    Path("space.toml").write_text(SPACE)
    arguments = [*QUICK, "--models", "plain,mdnn", "--confirm", "1", "--folds", "0-7"]
    code, out, err = run("tune", *arguments, "--progress")
    assert code == 0, err
    assert out.count("again with other seeds") == 2 and out.count("on the validation parts of 2 folds") == 2
    assert "current" in out and "part of a trial again with other seeds, 1 replica in" in err
    found = json.loads(run("tune", *arguments, "--json", "--budget", "0")[1])
    best = {each["trials"][0]["trial"] for each in found}  # of both models, for both
    for each in found:
        again = [one["trial"] for one in each["again"]]
        assert sorted(again) == sorted(best | {-1}) and each["chosen"] == each["again"][0] and each["complete"]


def test_the_bar_is_full_at_the_end_of_each_step(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("space.toml").write_text(SPACE)
    bars: dict[str, list[tuple[float, float]]] = {}

    @contextmanager
    def bar(description: str, show: bool | None) -> Iterator[Report]:
        bars[description] = []
        yield lambda done, total: bars[description].append((done, total))

    monkeypatch.setattr("detours.cli.tune.printed.progress_bar", bar)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, _, err = run("tune", *QUICK, "--model", "plain", "--confirm", "1", "--folds", "0-8", "-q", "--progress")
    assert code == 0, err
    # one of two trials is promoted, then trained again next to the current recipe
    assert list(bars) == ["rings, 1 × 2 trials", "rings, 2 trials again"]
    for shown, total in zip(bars.values(), (3, 2), strict=True):
        assert list(dict.fromkeys(shown)) == [(done, total) for done in range(total + 1)]


def test_the_recipe_of_own_data_finds_them_from_any_folder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from tests.training.cases import task
    from tests.training.test_door import pyg

    torch.save(pyg(task(20)), "own.pt")
    Path("inner").mkdir()
    monkeypatch.chdir("inner")
    Path("space.toml").write_text(SPACE)
    quick = "--folds 0 --device cpu".split()
    options = "--space space.toml --trials 1 --draws 1 --set epochs=2 --set layers=1 --set pe=0".split()
    code, _, err = run("tune", "--data", "../own.pt", *options, *quick, "--models", "plain,mdnn", "--write", "recipes")
    assert code == 0, err
    recipe = ("train", "--recipe", "recipes/own-mdnn.toml", *quick)
    trained = json.loads(run(*recipe, "--json")[1])
    assert (trained["data"], trained["model"]) == ("own", "mdnn")
    shown = run("train", "--data-file", "../own.pt", "--show-recipe", "--device", "cpu")[1]
    assert tomllib.loads(shown)["data"] == str(tmp_path.resolve() / "own.pt")
    monkeypatch.chdir(tmp_path)
    assert json.loads(run("train", "--recipe", "inner/recipes/own-mdnn.toml", *quick, "--json")[1])["data"] == "own"
    Path("own.pt").rename("moved.pt")
    code, _, err = run("train", "--recipe", "inner/recipes/own-mdnn.toml", *quick)
    assert code == 1 and "own.pt: there is no such file. The file inner/recipes/own-mdnn.toml names it; --data" in err
    for option in ("--data", "--data-file"):
        moved = run("train", "--recipe", "inner/recipes/own-mdnn.toml", option, "moved.pt", *quick, "--json")
        assert json.loads(moved[1])["data"] == "moved"


def test_a_setting_of_mdnn_only(run: Run) -> None:
    Path("space.toml").write_text(SPACE)
    code, out, err = run("tune", *QUICK, "--models", "mdnn", "--set", "use_den=false", "--json")
    assert code == 0, err
    assert json.loads(out)[0]["chosen"]["settings"]["use_den"] is False
    code, out, err = run("tune", *QUICK, "--models", "plain,mdnn", "--set", "use_den=false")
    assert code == 1 and "use_den=false needs model mdnn, but the model is plain" in err


def test_quiet_commands_print_no_notes_about_the_data(run: Run) -> None:
    import torch
    from torch_geometric.data import Data

    loop = torch.tensor([[0, 1, 1, 2, 1], [1, 0, 2, 1, 1]])
    torch.save([Data(edge_index=loop, num_nodes=3, y=torch.tensor(at % 2)) for at in range(20)], "own.pt")
    Path("space.toml").write_text(SPACE)
    own = "--data own.pt --folds 0 --device cpu --set epochs=1 --set layers=1 --set pe=0".split()
    with warnings.catch_warnings():
        warnings.simplefilter("error", DroppedEdgesWarning)
        assert run("train", *own, "-q") == (0, "", "")
        assert run("tune", *own, "--space", "space.toml", "--trials", "1", "--draws", "1", "-q") == (0, "", "")
    with pytest.warns(DroppedEdgesWarning):  # printed as a note by the command line
        run("train", *own)


def test_errors_are_reported_before_the_first_search(run: Run) -> None:
    Path("space.toml").write_text(SPACE)
    code, out, err = run("tune", *QUICK, "--data", "nope.pt", "--write", "made/plain.toml", "--progress")
    assert code == 1 and out == "" and "nope.pt" in err and "trials" not in err
    Path("file").touch()
    code, out, err = run("tune", *QUICK, "--models", "plain", "--write", "file/plain.toml", "--progress")
    assert code == 1 and out == "" and "file" in err and "trials" not in err
    Path("folder").mkdir()
    code, out, err = run("tune", *QUICK, "--models", "plain", "--write", "folder", "--progress")
    assert code == 1 and out == "" and err == "detours: cannot write folder: it is a folder; give the name of a file.\n"
    Path("recipes/rings-mdnn.toml").mkdir(parents=True)
    code, out, err = run("tune", *QUICK, "--models", "plain,mdnn", "--write", "recipes", "--progress")
    assert code == 1 and out == "" and "cannot write recipes/rings-mdnn.toml: it is a folder" in err
    code, out, err = run("tune", *QUICK, "--models", "plain", "--write", "space.toml", "--progress")
    assert code == 1 and out == "" and "--space and --write must be different files" in err
    assert Path("space.toml").read_text() == SPACE and not Path("results").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
def test_devices_are_not_replaced_by_files(run: Run) -> None:
    Path("space.toml").write_text(SPACE)
    os.mkfifo("pipe")  # like /dev/stdout and /dev/null
    code, out, err = run("tune", *QUICK, "--models", "plain", "--write", "pipe", "--progress")
    assert code == 1 and out == "" and "cannot write pipe: it is a device, not a file" in err
    assert Path("pipe").is_fifo() and not Path("results").exists()


def test_a_recipe_is_written_to_the_target_of_a_link(run: Run) -> None:
    Path("space.toml").write_text(SPACE)
    Path("link.toml").symlink_to("recipe.toml")
    code, _, err = run("tune", *QUICK, "--models", "plain", "--write", "link.toml", "-q")
    assert code == 0, err
    assert Path("link.toml").is_symlink() and "model" in tomllib.loads(Path("recipe.toml").read_text())


def test_every_data_set_is_checked_before_the_first_search(run: Run) -> None:
    import torch
    from torch_geometric.data import Data

    Path("space.toml").write_text(SPACE)
    at = torch.arange(30)
    masks = {"train_mask": at < 10, "val_mask": (at >= 10) & (at < 20), "test_mask": at >= 20}
    one_fold = Data(edge_index=torch.stack([at, (at + 1) % 30]), x=torch.rand(30, 2), y=at % 2, **masks)
    for folder in ("a", "b"):
        Path(folder).mkdir()
        torch.save(one_fold, f"{folder}/own.pt")
    nodes = [*QUICK, "--set", "directed=false", "--model", "plain", "--progress", "-q"]
    code, out, err = run("tune", *nodes, "--data", "a/own.pt", "--folds", "0,3")
    assert code == 1 and out == "" and err == "detours: own has the folds 0 .. 0, but fold 3 was asked for.\n"
    code, out, err = run("tune", *nodes, "--data", "a/own.pt,b/own.pt", "--folds", "0", "--write", "recipes")
    assert code == 1 and out == "" and "two data sets are called own, whose recipes would be one file" in err
    assert not Path("results").exists()


def test_the_default_space_is_shown(run: Run) -> None:
    for name, setting in (("rings", "pool_of"), ("ring-lattice", "encoder")):
        code, out, _ = run("tune", "--data", name, "--show-space")
        assert code == 0 and setting in tomllib.loads(out)["space"]


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ([], 2, "give a data set with --data"),
        (["--data", "rings", "--models", "plain,mdn"], 1, "model must be one of 'plain', 'weighted', 'mdnn'"),
        (
            ["--data", "rings", "--set", "model=mdnn"],
            2,
            "model has its own option; it cannot be given by --set or --recipe",
        ),
        (["--data", "rings", "--space", "none.toml"], 1, "none.toml: there is no such space file"),
        (["--data", "rings", "--folds", "3-1"], 2, "Invalid value for '--folds': '3-1': give numbers and ranges"),
        (["--data", "rings", "--folds", "9-12"], 1, "rings has the folds 0 .. 9, but fold 10 was asked for"),
        (["--data", "rings", "--budget", "0"], 1, "rings, mdnn: no trial was finished within the budget"),
        (["--data", "rings", "--trials", "0"], 2, "--trials"),
    ],
)
def test_wrong_input_is_one_sentence(run: Run, arguments: list[str], code: int, sentence: str) -> None:
    found, out, err = run("tune", *arguments)
    assert found == code and out == "" and sentence in err and len(err.splitlines()) == 1
