"""`detours count`: tables, JSON, and files."""

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import detours
from tests.cli.programs import Ran, Run, command, one_sentence


def test_count_shows_tables(run: Run) -> None:
    ran = run("count", "g1.txt", "-k", "3", "--top", "2")
    assert ran.code == 0 and ran.err == ""
    lines = [line.split() for line in ran.out.splitlines()]
    assert "6 nodes, 8 edges, undirected" in ran.out
    assert ["2", "6", "2", "3", "2"] in lines  # length 2: 6 detours, at most 2 on an edge, 2 triangles
    assert ["3", "8", "1", "4", "2"] in lines
    assert ["all", "14", "all", "4"] in lines
    assert any(line[:4] == ["c", "-", "d", "3"] for line in lines)


def test_edges_without_detours_are_counted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tailed.txt").write_text("0 1\n1 2\n2 0\n2 3\n3 4\n")
    assert "2 of 5 edges have no detours." in run("count", "tailed.txt", "-k", "3").out
    assert json.loads(run("count", "tailed.txt", "-k", "3", "--json").out)["edges_without_detours"] == 2
    assert (
        "no detours" not in run("count", "tailed.txt", "-k", "3", "--directed").out
    )  # no arc has any, as the table shows
    (tmp_path / "arcs.txt").write_text("0 1\n1 2\n0 2\n")
    assert "2 of 3 arcs have no detours." in run("count", "arcs.txt", "-k", "2", "--directed").out
    assert "no detours" not in run("count", "k6.txt", "-k", "2").out


def test_no_digits_are_cut_on_a_narrow_screen(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    out = run("count", "g1.txt", "-k", "3").out
    assert "…" not in out and ["all", "14", "all", "4"] in [line.split() for line in out.splitlines()]


def test_lengths_without_detours_share_a_line(run: Run) -> None:
    shown = run("count", "k6.txt", "-k", "40").out
    assert "6+" in shown and "39" not in shown


def test_a_hint_if_k_is_too_small_for_the_rings(run: Run, tmp_path: Path) -> None:
    (tmp_path / "benzene.txt").write_text("0 1\n1 2\n2 3\n3 4\n4 5\n5 0\n5 6\n")
    small, enough = (run("count", "benzene.txt", "-k", k).out for k in ("4", "5"))
    assert "No cycle has up to 5 edges, but there are longer ones: try a larger k (5 to 7 for molecules)." in small
    assert "try a larger k" not in enough
    (tmp_path / "chain.txt").write_text("0 1\n1 2\n")
    assert "The graph has no cycles." in run("count", "chain.txt", "-k", "4").out
    (tmp_path / "looped.txt").write_text("0 0\n0 1\n1 2\n")
    assert "The graph has no cycles." in run("count", "looped.txt", "-k", "4").out
    assert "5 to 7 for molecules" in " ".join(run("count", "--help").out.split())


def test_count_json_is_the_only_output(run: Run) -> None:
    ran = run("count", "g1.txt", "-k", "3", "--json", "--top", "1")
    assert ran.code == 0 and ran.err == ""
    result = json.loads(ran.out)
    assert (result["nodes"], result["edges"], result["k"], result["directed"]) == (6, 8, 3, False)
    assert (result["detours"], result["cycles"]) == (14, 4)
    assert [row["cycles"] for row in result["by_length"]] == [2, 2]
    assert result["busiest_edges"] == [{"source": "c", "target": "d", "detours": 3}]
    assert result["busiest_nodes"] == [{"node": "c", "detours": 8}]


def test_count_directed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "arcs.txt").write_text("0 1\n1 2\n0 2\n2 0\n")
    result = json.loads(run("count", "arcs.txt", "-k", "2", "--directed", "--json").out)
    assert result["directed"] and result["edges"] == 4
    assert result["detours"] == 1  # only 0 -> 1 -> 2 is a detour of an arc
    assert result["cycles"] == 1  # 0 -> 1 -> 2 -> 0


def test_dropped_edges_are_noted(run: Run) -> None:
    ran = run("count", "untidy.txt", "-k", "2", "--json")
    assert ran.code == 0
    assert ran.err == "note: dropped 1 loop, merged 1 repeated edge\n"
    assert json.loads(ran.out)["dropped"] == {"loops": 1, "duplicates": 1, "one_way": 0}


def test_strict_rejects_edges_that_would_be_dropped(run: Run) -> None:
    ran = run("count", "untidy.txt", "-k", "2", "--strict", "--out", "o.csv")
    assert ran.code == 1 and ran.out == "" and one_sentence(ran.err)
    assert not Path("o.csv").exists()


def test_quiet_prints_nothing(run: Run) -> None:
    assert run("count", "untidy.txt", "-k", "2", "--quiet", "--out", "o.csv") == (0, "", "")
    assert Path("o.csv").exists()


@pytest.mark.parametrize(
    "options", [["--engine", "rows"], ["--engine", "search"], ["--jobs", "2"], ["--memory", "1GB"]]
)
def test_options_do_not_change_the_counts(run: Run, options: list[str]) -> None:
    result = json.loads(run("count", "k6.txt", "-k", "4", "--json", *options).out)
    assert [row["cycles"] for row in result["by_length"]] == [20, 45, 72]


def test_progress_on_request_goes_to_stderr(run: Run) -> None:
    ran = run("count", "k6.txt", "-k", "4", "--json", "--progress")
    assert ran.code == 0 and json.loads(ran.out)["cycles"] == 137
    *_, last = lines = [line for line in ran.err.splitlines() if not line.startswith("Reading")]
    assert all(line.startswith("Counting, k = 4: ") for line in lines) and ": 100% after " in last


def test_a_device(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    file = tmp_path / "square.txt"
    file.write_text("0 1\n1 2\n2 3\n3 0\n0 2\n")
    on_device = run("count", str(file), "-k", "3", "--engine", "dense", "--device", "cpu", "--json")
    here, there = json.loads(run("count", str(file), "-k", "3", "--json").out), json.loads(on_device.out)
    times = {name: here[name] for name in ("seconds", "loading_seconds")}
    assert {**there, **times} == here
    assert "on cpu" in run("explain", str(file), "-k", "3", "--engine", "dense", "--device", "cpu").out
    wrong = run("count", str(file), "-k", "3", "--device", "tpu")
    assert wrong.code == 1 and wrong.err.startswith("detours: device must be 'cpu', 'cuda'")


# ---------------------------------------------------------------- --out


def test_csv_has_a_row_per_line_of_the_file(run: Run) -> None:
    run("count", "untidy.txt", "-k", "2", "--out", "o.csv")
    with open("o.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["source", "target", "den", "length_2", "cycle_3"],
        *[
            ["0", "1", "1", "1", "1"],
            ["1", "2", "1", "1", "1"],
            ["2", "0", "1", "1", "1"],
            ["2", "0", "1", "1", "1"],
            ["1", "1", "0", "0", "0"],
        ],
    ]
    run("count", "untidy.txt", "-k", "2", "--out", "once.csv", "--once")
    assert Path("once.csv").read_text().split()[1:] == ["0,1,1,1,1", "1,2,1,1,1", "2,0,1,1,1"]


def test_parquet_and_nodes(run: Run) -> None:
    import pyarrow.parquet

    assert run("count", "g1.txt", "-k", "3", "--out", "o.parquet", "--out-nodes", "n.csv").code == 0
    table = pyarrow.parquet.read_table("o.parquet").to_pydict()
    edges = dict(zip(map("".join, zip(table["source"], table["target"], strict=True)), table["den"], strict=True))
    assert edges == {"ab": 1, "ac": 1, "bd": 1, "cd": 3, "ce": 2, "cf": 2, "de": 2, "df": 2}
    assert Path("n.csv").read_text() == (
        "node,cycle_3,cycle_4,phi\na,0,1,2\nb,0,1,2\nc,2,2,8\nd,2,2,8\ne,1,1,4\nf,1,1,4\n"
    )


def test_npz_holds_everything_and_is_a_graph_again(run: Run) -> None:
    run("count", "k6.txt", "-k", "4", "--out", "o.npz")
    with np.load("o.npz") as stored:
        assert stored["edge"].tolist() == [4 + 12 + 24] * 15
        assert stored["by_length"].shape == (15, 3)
        assert dict(zip(stored["cycle_length"].tolist(), stored["cycles"].tolist(), strict=True)) == {
            3: 20,
            4: 45,
            5: 72,
        }
        assert (int(stored["k"]), bool(stored["directed"]), int(stored["num_nodes"])) == (4, False, 6)
    again = json.loads(run("count", "o.npz", "-k", "4", "--json", "--quiet").out)
    assert again["cycles"] == 137


def test_out_replaces_a_file_and_keeps_its_mode(run: Run) -> None:
    Path("o.csv").write_text("old")
    Path("o.csv").chmod(0o640)
    run("count", "g1.txt", "-k", "3", "--out", "o.csv")
    assert Path("o.csv").read_text().startswith("source,") and Path("o.csv").stat().st_mode & 0o777 == 0o640
    assert [path.name for path in Path().iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("o.xls", "must end in .csv, .parquet, .npz, .gexf or .graphml"),
        ("missing/o.csv", "does not exist"),
        ("folder.csv", "is a folder"),
        ("-", "cannot write to standard output"),
        (os.devnull, "is a device"),
    ],
)
def test_an_invalid_target_is_reported_before_the_work(
    run: Run, monkeypatch: pytest.MonkeyPatch, target: str, says: str
) -> None:
    Path("folder.csv").mkdir()
    monkeypatch.setattr("detours.graph.Graph.read", lambda *a, **k: pytest.fail("read the graph"))
    ran = run("count", "g1.txt", "-k", "3", "--out", target)
    assert ran.code == 1 and says in ran.err and one_sentence(ran.err)


def test_failure_while_writing_leaves_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = sorted(Path().iterdir())
    monkeypatch.setattr("detours.counting.export.node_tables", full)
    ran = run("count", "g1.txt", "-k", "3", "--out", "o.csv", "--out-nodes", "n.csv")
    target = Path("n.csv").resolve()
    assert (ran.code, ran.err) == (1, f"detours: {target} cannot be written (No space left on device).\n")
    assert sorted(Path().iterdir()) == before
    assert "6 nodes, 8 edges" in ran.out and "busiest edges" in ran.out  # the count itself is not lost
    result = run("count", "g1.txt", "-k", "3", "--json", "--out", "o.csv", "--out-nodes", "n.csv")
    assert result.code == 1 and json.loads(result.out)["cycles"] == 4
    assert run("count", "g1.txt", "-k", "3", "-q", "--out-nodes", "n.csv").out == ""


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="for others /proc is not writable")
def test_an_unwritable_folder(run: Run) -> None:
    ran = run("count", "g1.txt", "-k", "3", "--out", "/proc/x.csv")
    assert (ran.code, ran.err) == (1, "detours: /proc/x.csv cannot be written (No such file or directory).\n")


def test_files_that_would_overwrite_each_other_are_refused(run: Run) -> None:
    before = Path("k6.txt").read_text()
    for arguments in (
        ["k6.txt", "--out", "k6.csv", "--out-nodes", "k6.csv"],
        ["k6.txt", "--out", "k6.txt"],
    ):
        ran = run("count", *arguments, "-k", "3")
        assert ran.code == 1 and "different files" in ran.err
    assert Path("k6.txt").read_text() == before and not Path("k6.csv").exists()


def test_a_directed_file_is_counted_directed_and_arcs_have_arrows(run: Run, tmp_path: Path) -> None:
    nx.write_graphml(nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")]), tmp_path / "arcs.graphml")
    ran = run("count", "arcs.graphml", "-k", "2")
    assert ran.code == 0 and "3 arcs, directed" in ran.out and "a → c" in ran.out and ran.err == ""
    undirected = run("count", "arcs.graphml", "-k", "2", "--undirected").out
    assert "3 edges, undirected" in undirected and "a - b" in undirected
    refused = run("count", "arcs.graphml", "-k", "2", "--chordless")
    assert refused.code == 1 and "--undirected" in refused.err


@pytest.mark.parametrize("ending", ["gexf", "graphml"])
def test_gexf_and_graphml_hold_the_graph_with_counts(run: Run, tmp_path: Path, ending: str) -> None:
    source = nx.cycle_graph(4)
    nx.set_node_attributes(source, {0: "red", 1: "blue", 2: "red", 3: "blue"}, "colour")
    nx.write_gml(source, tmp_path / "square.gml")
    assert run("count", "square.gml", "-k", "3", "--out", f"o.{ending}").code == 0
    made = getattr(nx, f"read_{ending}")(tmp_path / f"o.{ending}")
    assert made.edges["0", "1"]["cycle_4"] == 1 and made.nodes["0"]["phi"] == 2
    assert made.nodes["1"]["colour"] == "blue"
    assert run("count", "square.gml", "-k", "3", "--out-nodes", f"n.{ending}").code == 1


def test_counting_is_timed_separately_from_loading(run: Run) -> None:
    run("count", "g1.txt", "-k", "4")  # to fill the cache of compiled code
    fresh = subprocess.run(command("count", "g1.txt", "-k", "4", "--json"), capture_output=True, text=True, check=True)
    result = json.loads(fresh.stdout)
    assert result["seconds"] < 0.5 * result["loading_seconds"]
    assert "loading compiled code took" in run("count", "g1.txt", "-k", "4").out


def test_a_folder_has_the_table_the_edges_and_the_names(run: Run) -> None:
    arguments = ("count", "g1.txt", "-k", "3", "--top", "2")
    table, counted = (run(*arguments, *more).out.rsplit("Counted", 1)[0] for more in ((), ("--out", "counts")))
    assert counted == table and "c - d" in table
    result = json.loads(run(*arguments, "--out", "counts", "--json").out)
    assert result["folder"] == "counts" and result["resumed"] == result["blocks"] and len(result["busiest_edges"]) == 2
    opened = detours.Detours.open("counts")
    expected = detours.count("g1.txt", 3)
    assert opened.to_pandas().equals(expected.to_pandas()) and opened.graph == expected.graph


def test_the_summary_is_the_same_in_small_pieces(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run("count", "k6.txt", "-k", "4", "--json", "--top", "7").out
    monkeypatch.setattr("detours.cli.shared.summary.ROWS", 3)
    pieces = run("count", "k6.txt", "-k", "4", "--json", "--top", "7").out
    assert [line for line in pieces.splitlines() if "seconds" not in line] == [
        line for line in whole.splitlines() if "seconds" not in line
    ]


def test_columns_separators_and_formats(run: Run, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id;person;friend\n1;Ada;Grace\n2;Grace;Alan\n3;Alan;Ada\n")
    assert "Ada - Alan" in run("count", "people.csv", "-k", "2", "--columns", "person,friend", "--sep", ";").out
    (tmp_path / "tabs.data").write_text("0\t1\tx\n1\t2\ty\n2\t0\tz\n")
    table = ("--format", "edgelist", "--columns", "1,2", "--sep", "tab")
    assert "3 nodes, 3 edges" in run("count", "tabs.data", "-k", "2", *table).out
    for name in (("paths", "people.csv", "Ada", "Grace"), ("cycles", "people.csv")):
        assert "Alan" in run(*name, "-k", "2", "--columns", "person,friend").out
    wrong = run("count", "people.csv", "-k", "2", "--columns", "person,enemy")
    assert wrong.code == 1 and one_sentence(wrong.err) and "id, person, friend" in wrong.err


def test_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(text: str | bytes, *arguments: str) -> Ran:
        given = text if isinstance(text, bytes) else text.encode()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
        return run("count", "-", "-k", "2", *arguments)

    assert "standard input: 3 nodes, 3 edges" in read("a b\nb c\nc a\n").out
    matrix = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"
    assert "3 nodes, 2 edges" in read(matrix, "--format", "mtx").out
    broken = read("a\n")
    assert broken.code == 1 and broken.err.startswith("detours: standard input, line 1: a line must hold two nodes")
    if find_spec("rdkit") is not None:
        assert "standard input: 3 nodes, 3 edges" in read("C1CC1\n", "--format", "molecule").out
        assert "note: standard input holds several" in read("C1CC1\nCC\n", "--format", "molecule").err
    packed = read(gzip.compress(b"a b\n"))
    assert packed.err == "detours: standard input: this is gzip-compressed; pipe it through `gzip -dc` first.\n"


def test_shell_completion() -> None:
    environment = {**os.environ, "_DETOURS_COMPLETE": "complete_bash", "COMP_WORDS": "detours co", "COMP_CWORD": "1"}
    result = subprocess.run(command(), env=environment, capture_output=True, text=True, check=False)
    assert result.stdout.split() == ["count", "compare"]


def test_a_huge_k_is_refused(run: Run) -> None:
    code, _, err = run("count", "g1.txt", "-k", "99999999")
    assert code == 2 and "k must be at most 100000 here, but it is 99999999; use a smaller one" in err


@pytest.mark.parametrize("more", [(), ("--out", "x.gexf"), ("--out", "x.npz"), ("--out", "folder")])
def test_once_needs_a_table(run: Run, more: tuple[str, ...]) -> None:
    code, _, err = run("count", "g1.txt", "-k", "2", "--once", *more)
    assert code == 1 and "--once needs --out FILE.csv or, without --memory, --out FILE.parquet" in err
