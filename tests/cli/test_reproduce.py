"""`detours reproduce`: tables on standard output, files in the folder, and resumed runs."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import networkx as nx
import pytest

from detours.experiments import runs
from detours.experiments.environment import Outcome
from detours.experiments.expressiveness import hard
from tests.cli.programs import Run


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "reproduce")


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    """Two categories: cycles against unions of cycles, and trees."""
    folder = tmp_path / "benchmark"
    folder.mkdir()
    unions = [
        nx.to_graph6_bytes(graph, header=False)
        for n in (3, 4)
        for graph in (nx.cycle_graph(2 * n), nx.disjoint_union(nx.cycle_graph(n), nx.cycle_graph(n)))
    ]
    (folder / "unions.g6").write_bytes(b"".join(unions))
    trees = [nx.to_graph6_bytes(graph, header=False) for graph in (nx.path_graph(4), nx.star_graph(3))]
    (folder / "trees.g6").write_bytes(b"".join(trees))
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """MUTAG as a triangle, a square and another triangle; Texas as a directed triangle."""
    raw = tmp_path / "data" / "TUDataset" / "MUTAG" / "raw"
    raw.mkdir(parents=True)
    edges = [(1, 2), (2, 3), (3, 1), (4, 5), (5, 6), (6, 7), (7, 4), (8, 9), (9, 10), (10, 8)]
    (raw / "MUTAG_A.txt").write_text("".join(f"{a}, {b}\n{b}, {a}\n" for a, b in edges))
    (raw / "MUTAG_graph_indicator.txt").write_text("1\n" * 3 + "2\n" * 4 + "3\n" * 3)
    (raw / "MUTAG_graph_labels.txt").write_text("1\n-1\n1\n")
    raw = tmp_path / "data" / "WebKB" / "texas" / "raw"
    raw.mkdir(parents=True)
    (raw / "out1_graph_edges.txt").write_text("a\tb\n0\t1\n1\t2\n2\t0\n")
    (raw / "out1_node_feature_label.txt").write_text("h\n0\t1\t0\n1\t1\t1\n2\t1\t0\n")
    return tmp_path / "data"


# ---------------------------------------------------------------- counting


def test_counting(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "raw" / "cycle-counting"
    folder.mkdir(parents=True)
    graphs = [nx.to_graph6_bytes(graph, header=False) for graph in (nx.cycle_graph(5), nx.complete_graph(4))]
    (folder / "graphs.g6").write_bytes(b"".join(graphs))
    (folder / "counts.csv").write_text("cycle3,cycle4,cycle5,cycle6\n0,0,1,0\n4,3,0,0\n")
    counted, errors = json.loads(run("counting", "--root", "raw", "--json").out)
    assert [row["exactly equal"] for row in counted["rows"]] == [2, 2, 2, 2]
    assert "their figures" in errors["rows"][1]["method"]
    assert run("counting", "--root", "elsewhere").code == 1
    wrong = run("counting", "--data", "MUTAG")
    assert wrong.code == 1 and "--data MUTAG: this experiment has its own data sets" in wrong.err


def test_former_names_of_options(run: Run, data: Path) -> None:
    new = run("cycles", "--root", str(data), "--data", "texas", "--json")
    old = run("cycles", "--data", str(data), "--only", "texas", "--json")
    assert old.out == new.out and json.loads(new.out)
    assert f"note: --data {data} is taken as --root" in old.err and "taken as" not in new.err


# ---------------------------------------------------------------- pairs


def test_pairs(run: Run, benchmark: Path) -> None:
    code, out, err = run("pairs", str(benchmark), "-k", "3")
    assert code == 0
    rows = {
        line.split("  ")[0]: line.split()
        for line in out.split("Seconds")[0].splitlines()
        if "DeN" in line or "WL" in line
    }
    assert rows["1-WL"][-3:] == ["1", "0", "1"] and rows["3-DeN"][-3:] == ["1", "2", "3"]
    assert "trees (1)" in out and "unions (2)" in out
    assert "Wrote results/pairs.md, results/pairs.json" in err
    written = json.loads(Path("results/pairs.json").read_text())
    assert written["tables"][0]["rows"][0] == {"test": "1-WL", "trees (1)": 1, "unions (2)": 0, "in all": 1}


def test_only_json_is_on_standard_output(run: Run, benchmark: Path) -> None:
    tables = json.loads(run("pairs", str(benchmark), "-k", "2", "--json")[1])
    titles = [table["title"] for table in tables]
    assert titles[:3] == ["Pairs told apart", "Seconds", "The rung each pair needs"] and len(titles) == 4


def test_a_second_run_computes_nothing(run: Run, benchmark: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run("pairs", str(benchmark), "-k", "3", "--json")
    monkeypatch.setattr(
        "detours.experiments.expressiveness.ratios._separated", lambda *a: pytest.fail("computed again")
    )
    assert run("pairs", str(benchmark), "-k", "3", "--json")[1] == first[1]


def test_results_of_other_code_are_recomputed_unless_kept(
    run: Run, benchmark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run("pairs", str(benchmark), "-k", "2")
    assert "other code" not in first.err
    for module in ("pairs", "ratios"):
        monkeypatch.setattr(f"detours.experiments.expressiveness.{module}.code_digest", lambda *rooms: "00000000")
    kept = run("pairs", str(benchmark), "-k", "2", "--keep-old")
    assert kept.out == first.out  # including the seconds
    assert (
        "note: Pairs, unions: 11 of 11 finished results come from other code (used because of --keep-old)" in kept.err
    )
    anew = run("pairs", str(benchmark), "-k", "2")
    assert "(computed anew; --keep-old would use them)" in anew.err
    assert run("pairs", str(benchmark), "-k", "2").out == anew.out
    assert len(list(Path("results/pairs").glob("*-00000000.json"))) == 22


def test_damaged_pairs_name_file_and_line(run: Run, benchmark: Path) -> None:
    (benchmark / "bad.g6").write_text("A_\nA_\nE?\nA_\n")
    code, out, err = run("pairs", str(benchmark), "-k", "3")
    assert code == 1 and out == "" and "bad.g6, line 3: " in err and len(err.splitlines()) == 1


@pytest.mark.slow
def test_an_interrupted_run_resumes(run: Run, benchmark: Path, tmp_path: Path) -> None:
    # The third cell takes a minute, unless interrupted.
    code = (
        "import sys, time\n"
        "from detours.experiments.expressiveness import ratios as expressiveness, methods\n"
        "from detours.experiments import runs\n"
        "runs.warm_up = lambda tests: None\n"
        "work = expressiveness._separated\n"
        "def slow(data, method, *rest):\n"
        "    if method.name == '3-DeN': print('third', flush=True); time.sleep(60)\n"
        "    return work(data, method, *rest)\n"
        "expressiveness._separated = slow\n"
        "from detours.cli import main; main()\n"
    )
    arguments = ["reproduce", "pairs", str(benchmark), "-k", "3", "--out", str(tmp_path / "out")]
    program = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert program.stdout is not None and program.stdout.readline() == "third\n"
    os.kill(program.pid, signal.SIGINT)
    _, err = program.communicate(timeout=30)
    assert program.returncode == 130 and err == "detours: interrupted; repeat the command to resume\n"
    cells = sorted((tmp_path / "out").rglob("*"))
    kept = [file for file in cells if file.is_file()]
    assert len(kept) == 2 and all(json.loads(file.read_text()) for file in kept)
    before = {file: file.stat().st_mtime_ns for file in kept}
    assert run(*arguments[1:]).code == 0
    assert {file: file.stat().st_mtime_ns for file in kept} == before


# ---------------------------------------------------------------- cycles and expressiveness


def test_cycles(run: Run, data: Path) -> None:
    code, _, err = run("cycles", "--root", str(data), "--out", "here")
    assert code == 0 and "not found and left out: Chameleon, Squirrel" in err
    assert json.loads(Path("here/cycles.json").read_text())["tables"][1]["rows"][0] == {
        "data": "MUTAG",
        "cycle lengths": "3",
        "graphs": 1,  # the second triangle is a copy of the first
        "paper's choice, ours": 1,
        "paper": 0,
    }


def test_only_some_data(run: Run, data: Path) -> None:
    tables = json.loads(run("cycles", "--root", str(data), "--data", "texas", "--json")[1])
    assert [table["title"] for table in tables] == ["Cycles of the node data"]
    code, _, err = run("cycles", "--root", str(data), "--data", "Mutagenicity")
    assert code == 1 and "there is no data set 'Mutagenicity'; choose from EXP" in err
    code, _, err = run("cycles", "--root", str(data), "--data", "Roman-empire")
    assert code == 1 and "Roman-empire is not in this experiment; choose from EXP" in err
    code, _, err = run("cycles", "--root", str(data), "--data", "NCI1")
    assert code == 1 and "NCI1 is not in" in err


def test_expressiveness_with_data(run: Run, data: Path) -> None:
    code, out, _ = run("expressiveness", "--root", str(data), "--data", "MUTAG", "-k", "3")
    assert code == 0 and "Told apart, rule “sound”" in out and "Beside the paper" in out
    for file in ("expressiveness.md", "expressiveness.json", "expressiveness-sound.png", "expressiveness-paper.svg"):
        assert Path("results", file).stat().st_size > 0, file


def test_without_matplotlib_there_are_tables_and_a_note(run: Run, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detours.experiments.runs.find_spec", lambda name: None)
    code, _, err = run("expressiveness", "--root", str(data), "--data", "MUTAG", "-k", "2")
    assert code == 0 and "no figures: they need matplotlib" in err and not list(Path("results").glob("*.png"))


def test_without_data_the_built_in_graphs_remain(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    sets = [data for data in hard.hard_sets() if data.name in ("cycles", "CFI(K3)")]
    monkeypatch.setattr(hard, "hard_sets", lambda: sets)
    monkeypatch.setattr(hard, "HARD_K", 3)
    monkeypatch.setattr(hard, "ATLAS_NODES", 5)
    code, out, err = run("expressiveness")
    assert code == 0 and "Built-in hard pairs told apart" in out and "The atlas" in out
    assert "only the built-in graphs were used" in err
    assert run("all")[1] == out


def test_without_networkx_the_atlas_is_skipped(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hard, "hard_sets", lambda: [])
    monkeypatch.setattr(hard, "HARD_K", 2)
    monkeypatch.setattr("detours.experiments.runs.find_spec", lambda name: None)
    code, out, err = run("expressiveness")
    assert code == 0 and "CSL(41, R)" in out and "The atlas" not in out and "pip install networkx" in err


def test_experiments_without_networks_accept_a_device(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("expressiveness", "cycles", "kernels"):
        monkeypatch.setattr(runs, f"run_{name}", lambda environment, *options, **named: Outcome([], []))
        code, _, err = run(name, "--device", "cpu")
        assert (code, err) == (0, "")
        code, _, err = run(name, "--device", "gpu")
        assert code == 1 and "device must be 'cpu', 'cuda' or" in err


def test_all_runs_every_experiment(run: Run, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def stub(name: str) -> Callable[..., Outcome]:
        return lambda environment, *options, **named: ran.append(name) or Outcome([], [Path(f"{name}.md")])

    for name in ("expressiveness", "cycles", "kernels", "networks"):
        monkeypatch.setattr(runs, f"run_{name}", stub(name))
    code, _, err = run("all", "--root", str(data))
    assert code == 0 and ran == ["expressiveness", "cycles", "kernels", "networks"]
    assert err == "Wrote expressiveness.md\nWrote cycles.md\nWrote kernels.md\nWrote networks.md\n"
    assert run("all").code == 0 and ran[4:] == ["expressiveness"]  # the others need data
    code, _, err = run("all", "--root", str(data), "--device", "cuda:99")  # reported before hours of other experiments
    assert code == 1 and "device='cuda:99' was given, but" in err and len(ran) == 5


# ---------------------------------------------------------------- networks


@pytest.fixture
def texas(tmp_path: Path) -> Path:
    """Texas as a directed ring of 24 nodes, whose class is their only feature."""
    raw = tmp_path / "data" / "WebKB" / "texas" / "raw"
    raw.mkdir(parents=True)
    (raw / "out1_graph_edges.txt").write_text("a\tb\n" + "".join(f"{i}\t{(i + 1) % 24}\n" for i in range(24)))
    nodes = "".join(f"{i}\t{i % 2},{1 - i % 2}\t{i % 2}\n" for i in range(24))
    (raw / "out1_node_feature_label.txt").write_text(f"h\n{nodes}")
    return tmp_path / "data"


TINY = "--set epochs=2 --set hidden=8 --seeds 0 --folds 0-1 --device cpu --preset ours".split()


def test_networks_are_trained_shown_and_not_trained_again(
    run: Run, texas: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["nodes", "--data", "texas", "--row", "plain GCN", "--row", "mdnn gcn", "--root", str(texas), *TINY]
    code, out, err = run(*arguments)
    assert code == 0 and "Texas, ours, plain GCN: 2 of 2 runs" in err and "Texas, ours, MDNN GCN: 2 of 2 runs" in err
    line = next(line for line in out.splitlines() if line.startswith("MDNN GCN, ours"))
    assert line.endswith("(2/10)") and "60.27 ± 7.46" in out
    assert len(list(Path("results/tables").glob("Texas-ours-*.json"))) == 2
    monkeypatch.setattr("detours.training.stacks.train", lambda *a, **k: pytest.fail("trained again"))
    assert run(*arguments).out == out
    code, shown, err = run("nodes", "--finished")
    assert code == 0 and shown == out and err == "Wrote results/nodes.md, results/nodes.json\n"
    code, shown, err = run("nodes", "--finished", "--row", "mdnn gcn")
    assert code == 0 and "MDNN GCN, published" in shown and "plain GCN" not in shown
    lines, of_all = ({" ".join(line.split()) for line in text.splitlines()} for text in (shown, out))
    both = [line for line in lines & of_all if "MDNN GCN" in line]
    assert len(both) == 3  # ours, published, and the entry with its difference to the plain network
    code, _, err = run("nodes", "--finished", "--row", "MDNN GIN")
    assert code == 1 and "results has no finished entry of nodes, MDNN GIN; leave out --finished." in err
    whole = Path("results/nodes.md").read_bytes()
    for part in (["--preset", "ours"], ["--row", "mdnn gcn"], ["--data", "texas"]):
        code, shown, err = run("nodes", "--finished", *part)
        assert code == 0 and "MDNN GCN, ours" in shown and "Wrote" not in err
    assert Path("results/nodes.md").read_bytes() == whole
    assert run("nodes", "--finished", "--preset", "ours").out == out
    code, _, err = run("nodes", "--finished", "--preset", "paper")
    assert code == 1 and "no finished entry of nodes, paper; leave out" in err
    code, _, err = run("nodes", "--finished", "--row", "GIN")
    assert code == 1 and "there is no row 'GIN'; choose from plain GCN" in err
    code, _, err = run("graphs", "--finished")
    assert code == 1 and "results has no finished entry of graphs; leave out --finished." in err


def test_training_some_rows_writes_the_tables_of_all_finished_entries(run: Run, texas: Path) -> None:
    shutil.copytree(texas / "WebKB" / "texas", texas / "WebKB" / "cornell")
    for name in ("Texas", "Cornell"):
        code, out, _ = run("nodes", "--root", str(texas), "--data", name, "--row", "plain GCN", *TINY)
        assert code == 0
    assert "Trained with epochs=" in out  # by --set
    tables = out.splitlines()
    assert [line.split()[0] for line in tables if line.startswith("plain GCN, ours")] == ["plain"]
    # the requested data, by row and by entry
    assert [line.split()[0] for line in tables if re.search(r"^\w+ +ours +plain GCN", line)] == ["Cornell"]
    _, by_entry = json.loads(Path("results/nodes.json").read_text())["tables"]
    assert sorted(row["data"] for row in by_entry["rows"]) == ["Cornell", "Texas"]


def test_data_sets_and_rows_may_be_lists(run: Run, texas: Path) -> None:
    shutil.copytree(texas / "WebKB" / "texas", texas / "WebKB" / "cornell")
    chosen = ("--data", "Texas,Cornell", "--row", "plain GCN, plain GIN")
    assert run("nodes", "--root", str(texas), *chosen, *TINY).code == 0
    _, by_entry = json.loads(Path("results/nodes.json").read_text())["tables"]
    found = sorted((row["data"], row["network"]) for row in by_entry["rows"])
    assert found == [(data, row) for data in ("Cornell", "Texas") for row in ("plain GCN", "plain GIN")]


def test_wrong_options_of_networks(run: Run, texas: Path) -> None:
    for option in ("--seeds", "--folds"):
        code, _, err = run("nodes", "--finished", option, "0")
        assert code == 2 and "--finished shows all seeds and folds of an entry; leave out" in err
    code, _, err = run("nodes", "--preset", "theirs")
    assert code == 2 and "there is no preset 'theirs'; give ours, paper or paper-small" in err
    for more in ((), ("--root", str(texas), "--data", "Texas"), ("--data", str(texas), "--only", "Texas")):
        code, _, err = run("nodes", "--row", "GIN", *more)
        assert code == 1 and "there is no row 'GIN'; choose from plain GCN" in err
    code, _, err = run("ablation", "--root", str(texas), "--row", "MDNN GIN")
    assert code == 1 and "there is no row 'MDNN GIN'; choose from MDNN GAT without φD, MDNN GAT." in err
    code, _, err = run("nodes", "--root", str(texas), "--folds", "12", "--device", "cpu")
    assert code == 1 and "Texas has the folds 0 .. 9, but fold 12 was requested." in err
    code, _, err = run("nodes", "--root", str(texas), "--data", "MUTAG")
    assert code == 1 and "MUTAG is not in this table; choose from Texas, Cornell" in err
    assert err.endswith("or take `detours reproduce graphs`.\n")
    code, _, err = run("nodes", "--root", str(texas), "--data", "Roman-empire")
    assert code == 1 and "Roman-empire is not in this table; choose from Texas, Cornell" in err
    assert err.endswith("or take `detours reproduce heterophilous`.\n")
    code, _, err = run("nodes", "--root", str(texas), "--data", "Roman")
    assert code == 1 and "there is no data set 'Roman'; choose from" in err
    Path("mine.pt").touch()
    for table in ("nodes", "cycles", "expressiveness"):
        code, _, err = run(table, "--root", str(texas), "--data", "mine.pt")
        assert (
            code == 1
            and "mine.pt is your own data, but this experiment runs only on the data sets of its tables; " in err
        )
        assert "`detours train --data mine.pt` trains networks on your data, " in err
        assert "there is no data set 'yours.pt'" in run(table, "--root", str(texas), "--data", "yours.pt").err
    code, _, err = run("graphs", "--root", str(texas))
    assert code == 1 and "none of MUTAG, PTC_FM" in err


def test_a_note_says_that_k_has_no_effect_on_plain_networks(run: Run, texas: Path) -> None:
    note = "note: k = 5 has no effect: model plain sees no detours, unless edge_den or node_den is true"
    arguments = ["nodes", "--root", str(texas), "--data", "Texas", *TINY, "--set", "k=5", "--row"]
    assert note in run(*arguments, "plain GCN").err.splitlines()
    assert "no effect" not in run(*arguments, "plain GCN", "--row", "weighted GCN").err


def test_a_single_graph_has_nothing_to_be_told_apart_from(run: Run, data: Path) -> None:
    code, _, err = run("expressiveness", "--root", str(data), "--data", "Texas")
    assert code == 1 and "Texas holds one graph only; choose from EXP" in err


def test_a_file_where_the_folder_should_be(run: Run, benchmark: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    code, _, err = run("pairs", str(benchmark), "-k", "2", "--out", "taken")
    assert code == 1 and "taken is a file; give a folder" in err
