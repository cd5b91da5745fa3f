"""The command line: what it prints, where, and with which exit code."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import typer

import detours
from detours import cli
from detours.cli.command import reported
from detours.cli.demo import PAPER_GRAPHS, detour_lists, hub_graph
from detours.cli.interrupt import prompt_exit

G1 = "ab ac bd cd ce cf de df"


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in this process, in an empty folder that also holds a few small graphs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g1.txt").write_text("".join(f"{a} {b}\n" for a, b in G1.split()))
    (tmp_path / "untidy.txt").write_text("# untidy\n0 1\n1 2\n2 0\n2 0\n1 1\n")
    (tmp_path / "k6.txt").write_text("".join(f"{a},{b}\n" for a, b in combinations(range(6), 2)))

    def run(*arguments: str) -> Ran:
        code = cli.run(list(arguments))
        return Ran(code, *capsys.readouterr())

    return run


def one_sentence(text: str) -> bool:
    return len(text.strip().splitlines()) == 1 and "Traceback" not in text


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from detours.cli import main; main()", *arguments]


def start(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(arguments, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def interrupt(program: subprocess.Popen[str]) -> tuple[str, str]:
    """Send Ctrl-C and return what the program printed; fail if it does not end, as work of hours would not."""
    program.send_signal(signal.SIGINT)
    try:
        return program.communicate(timeout=60)
    finally:
        program.kill()


# ---------------------------------------------------------------- help


def test_help_of_every_command_has_examples(run: Run) -> None:
    top = run("--help")
    assert top.code == 0 and "Examples:" in top.out and "detours demo" in top.out
    for name in ("count", "paths", "explain", "demo", "bench"):
        shown = run(name, "--help")
        assert shown.code == 0 and f"detours {name}" in shown.out.split("Examples:")[1], name


def test_no_command_shows_the_help(run: Run) -> None:
    assert run().out == run("--help").out


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"detours {detours.__version__}\n", "")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from detours import cli; cli.run(['count', '--help']);"
        "sys.exit(str({'numpy', 'scipy', 'numba', 'rich.progress', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stderr.strip() == "set()"


# ---------------------------------------------------------------- count


def test_count_shows_tables(run: Run) -> None:
    ran = run("count", "g1.txt", "-k", "3", "--top", "2")
    assert ran.code == 0 and ran.err == ""
    lines = [line.split() for line in ran.out.splitlines()]
    assert "6 nodes, 8 edges, undirected" in ran.out
    assert ["2", "6", "2", "3", "2"] in lines  # length 2: 6 detours, at most 2 on an edge, 2 triangles
    assert ["3", "8", "1", "4", "2"] in lines
    assert ["all", "14", "all", "4"] in lines
    assert any(line[:4] == ["c", "-", "d", "3"] for line in lines)


def test_no_number_is_cut_on_a_narrow_screen(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    out = run("count", "g1.txt", "-k", "3").out
    assert "…" not in out and ["all", "14", "all", "4"] in [line.split() for line in out.splitlines()]


def test_count_json_is_the_only_output(run: Run) -> None:
    ran = run("count", "g1.txt", "-k", "3", "--json", "--top", "1")
    assert ran.code == 0 and ran.err == ""
    told = json.loads(ran.out)
    assert (told["nodes"], told["edges"], told["k"], told["directed"]) == (6, 8, 3, False)
    assert (told["detours"], told["cycles"]) == (14, 4)
    assert [row["cycles"] for row in told["by_length"]] == [2, 2]
    assert told["busiest_edges"] == [{"source": "c", "target": "d", "detours": 3}]
    assert told["busiest_nodes"] == [{"node": "c", "detours": 8}]


def test_count_directed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "arcs.txt").write_text("0 1\n1 2\n0 2\n2 0\n")
    told = json.loads(run("count", "arcs.txt", "-k", "2", "--directed", "--json").out)
    assert told["directed"] and told["edges"] == 4
    assert told["detours"] == 1  # only 0 -> 1 -> 2 goes beside an arc
    assert told["cycles"] == 1  # 0 -> 1 -> 2 -> 0


def test_count_says_what_was_dropped(run: Run) -> None:
    ran = run("count", "untidy.txt", "-k", "2", "--json")
    assert ran.code == 0
    assert ran.err == "note: dropped 1 loop, merged 1 repeated edge\n"
    assert json.loads(ran.out)["dropped"] == {"loops": 1, "duplicates": 1, "one_way": 0}


def test_strict_refuses_what_would_be_dropped(run: Run) -> None:
    ran = run("count", "untidy.txt", "-k", "2", "--strict", "--out", "o.csv")
    assert ran.code == 1 and ran.out == "" and one_sentence(ran.err)
    assert not Path("o.csv").exists()


def test_quiet_says_nothing(run: Run) -> None:
    assert run("count", "untidy.txt", "-k", "2", "--quiet", "--out", "o.csv") == (0, "", "")
    assert Path("o.csv").exists()


@pytest.mark.parametrize(
    "options", [["--engine", "rows"], ["--engine", "search"], ["--jobs", "2"], ["--memory", "1GB"]]
)
def test_options_do_not_change_the_numbers(run: Run, options: list[str]) -> None:
    told = json.loads(run("count", "k6.txt", "-k", "4", "--json", *options).out)
    assert [row["cycles"] for row in told["by_length"]] == [20, 45, 72]


def test_progress_on_request_goes_to_stderr(run: Run) -> None:
    ran = run("count", "k6.txt", "-k", "4", "--json", "--progress")
    assert ran.code == 0 and json.loads(ran.out)["cycles"] == 137
    assert all(line.startswith("Counting, k = 4:") for line in ran.err.splitlines())


# ---------------------------------------------------------------- --out


def test_csv_has_a_row_per_line_of_the_file(run: Run) -> None:
    run("count", "untidy.txt", "-k", "2", "--out", "o.csv")
    with open("o.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["source", "target", "den", "length_2"],
        *[
            ["0", "1", "1", "1"],
            ["1", "2", "1", "1"],
            ["2", "0", "1", "1"],
            ["2", "0", "1", "1"],
            ["1", "1", "0", "0"],
        ],
    ]


def test_parquet_and_nodes(run: Run) -> None:
    import pyarrow.parquet

    assert run("count", "g1.txt", "-k", "3", "--out", "o.parquet", "--out-nodes", "n.csv").code == 0
    table = pyarrow.parquet.read_table("o.parquet").to_pydict()
    edges = dict(zip(map("".join, zip(table["source"], table["target"], strict=True)), table["den"], strict=True))
    assert edges == {"ab": 1, "ac": 1, "bd": 1, "cd": 3, "ce": 2, "cf": 2, "de": 2, "df": 2}
    assert Path("n.csv").read_text() == "node,phi\na,2\nb,2\nc,8\nd,8\ne,4\nf,4\n"


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
        ("o.xls", "must end in .csv, .parquet or .npz"),
        ("missing/o.csv", "does not exist"),
        ("folder.csv", "is a folder"),
    ],
)
def test_a_bad_target_is_told_before_the_work(
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
    assert (ran.code, ran.err) == (1, "detours: No space left on device\n")
    assert sorted(Path().iterdir()) == before


# ---------------------------------------------------------------- paths, explain, bench


def test_paths_one_a_line(run: Run) -> None:
    ran = run("paths", "g1.txt", "c", "d", "-k", "3")
    assert (ran.code, ran.out) == (0, "c e d\nc f d\nc a b d\n")
    assert ran.err == "3 detours of 2 to 3 edges from c to d\n"


def test_paths_json(run: Run) -> None:
    told = json.loads(run("paths", "k6.txt", "0", "5", "-k", "2", "--json").out)
    assert told["paths"] == [[0, 1, 5], [0, 2, 5], [0, 3, 5], [0, 4, 5]]
    assert told["complete"] and told["number"] == 4


def test_paths_cut_short(run: Run) -> None:
    ran = run("paths", "k6.txt", "0", "5", "-k", "5", "--max-paths", "3")
    assert ran.code == 1 and len(ran.out.splitlines()) == 3 and one_sentence(ran.err)
    ran = run("paths", "k6.txt", "0", "5", "-k", "5", "--max-paths", "3", "--json")
    told = json.loads(ran.out)
    assert ran.code == 1 and not told["complete"] and len(told["paths"]) == 3 and one_sentence(ran.err)


def test_paths_between_unknown_or_equal_nodes(run: Run) -> None:
    for ends in (["a", "z"], ["a", "a"], ["a", "7"]):
        ran = run("paths", "g1.txt", *ends, "-k", "3")
        assert ran.code == 1 and ran.out == "" and one_sentence(ran.err), ends


def test_a_device(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    file = tmp_path / "square.txt"
    file.write_text("0 1\n1 2\n2 3\n3 0\n0 2\n")
    on_device = run("count", str(file), "-k", "3", "--engine", "dense", "--device", "cpu", "--json")
    here, there = json.loads(run("count", str(file), "-k", "3", "--json").out), json.loads(on_device.out)
    assert {**there, "seconds": here["seconds"]} == here
    assert "on cpu" in run("explain", str(file), "-k", "3", "--engine", "dense", "--device", "cpu").out
    wrong = run("count", str(file), "-k", "3", "--device", "tpu")
    assert wrong.code == 1 and wrong.err.startswith("detours: device must be 'cpu', 'cuda'")


def test_explain(run: Run) -> None:
    ran = run("explain", "k6.txt", "-k", "4")
    assert ran.code == 0 and ran.err == "" and ("rows" in ran.out or "search" in ran.out)
    told = json.loads(run("explain", "k6.txt", "-k", "4", "--json").out)
    assert set(told) == {"engine", "seconds", "bytes", "reason"}


def test_bench_passes_its_options_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = pytest.importorskip("benchmarks.run")
    given: list[str] = []
    monkeypatch.setattr(bench, "main", lambda arguments: given.extend(arguments))
    assert run("bench", "--quick", "--case", "x").code == 0
    assert given == ["--quick", "--case", "x"]


def test_bench_without_a_checkout(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cli, "__file__", str(tmp_path / "lib" / "site-packages" / "detours" / "cli.py"))
    ran = run("bench")
    assert ran.code == 1 and "checkout" in ran.err and one_sentence(ran.err)


# ---------------------------------------------------------------- wrong usage, wrong input


@pytest.mark.parametrize("k", ["1", "0", "2.5", "four", "True", "", "1e3", "-3"])
def test_wrong_k_is_wrong_usage(run: Run, k: str) -> None:
    for arguments in (["count", "g1.txt"], ["paths", "g1.txt", "a", "b"], ["explain", "g1.txt"]):
        ran = run(*arguments, "-k", k)
        assert ran.code == 2 and ran.out == "" and one_sentence(ran.err) and "2" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["count"],
        ["count", "g1.txt"],
        ["count", "g1.txt", "-k"],
        ["count", "g1.txt", "-k", "3", "--nonsense"],
        ["count", "g1.txt", "-k", "3", "--engine", "magic"],
        ["count", "g1.txt", "-k", "3", "--jobs", "0"],
        ["count", "g1.txt", "-k", "3", "--memory", "lots"],
        ["count", "g1.txt", "-k", "3", "--top", "-1"],
        ["paths", "g1.txt", "a", "-k", "3"],
        ["paths", "g1.txt", "a", "b", "-k", "3", "--max-paths", "0"],
        ["nonsense"],
        ["--nonsense"],
    ],
)
def test_wrong_usage(run: Run, arguments: list[str]) -> None:
    ran = run(*arguments)
    assert ran.code == 2 and ran.out == "" and one_sentence(ran.err) and "--help" in ran.err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("missing.txt", None),
        ("empty.txt", b""),
        ("broken.txt", b"0 1\n1 2\n2 x\n"),
        ("picture.txt", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"),
        ("cut.txt.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00"),
        ("negative.txt", b"0 1\n-4 2\n"),
        ("large.txt", b"0 1\n1 99999999999\n"),
        ("cut.mtx", b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n"),
        ("other.npz", b"not a zip"),
    ],
)
@pytest.mark.parametrize("arguments", [["count", "--out", "o.csv"], ["explain"]])
def test_a_file_that_is_no_graph(run: Run, arguments: list[str], name: str, content: bytes | None) -> None:
    if content is not None:
        Path(name).write_bytes(content)
    ran = run(*arguments, name, "-k", "3")
    assert ran.code == 1 and ran.out == "" and one_sentence(ran.err) and name in ran.err
    assert not Path("o.csv").exists()


def test_a_broken_line_is_named(run: Run) -> None:
    Path("broken.txt").write_text("0 1\n1 2\n2 x\n")
    assert "line 3" in run("count", "broken.txt", "-k", "3").err


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (MemoryError(), "not enough memory"),
        (OverflowError("k = 9 passes 2^63"), "k = 9"),
        (PermissionError(13, "Permission denied", "g1.txt"), "g1.txt: Permission denied"),
        (ImportError("install networkx"), "install networkx"),
        (KeyError("oops"), "please report"),
    ],
)
def test_every_failure_is_one_sentence(run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception, says: str) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(detours, "count", fail, raising=False)
    ran = run("count", "g1.txt", "-k", "3", "--out", "o.csv")
    assert ran.code == 1 and says in ran.err and one_sentence(ran.err)
    assert not Path("o.csv").exists()


def test_traceback_on_request(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DETOURS_TRACEBACK", "1")
    with pytest.raises(detours.errors.InputError):
        run("count", "missing.txt", "-k", "3")


# ---------------------------------------------------------------- signals and pipes


def test_an_interrupt_that_a_library_makes_another_error_of(capsys: pytest.CaptureFixture[str]) -> None:
    @reported
    def command() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise SystemError("a result with an exception set") from None

    with prompt_exit(lambda: None), pytest.raises(typer.Exit) as ended:
        command()
    assert ended.value.exit_code == 130 and capsys.readouterr().err == "detours: interrupted\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(typer.Exit) as failed:  # without one, it is an error like any other
        reported(lambda: 1 / 0)()
    assert failed.value.exit_code == 1 and "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(("engine", "k"), [("search", "30"), ("rows", "6")])
def test_interrupt_ends_the_command(tmp_path: Path, engine: str, k: str, jobs: str) -> None:
    # Long enough for minutes: closed forms on a large graph, or more cycles than there are atoms in the room.
    graph = hub_graph(nodes=20_000, links=40) if engine == "rows" else hub_graph(nodes=40, links=200)
    graph.write(tmp_path / "graph.txt")
    options = ["-k", k, "--engine", engine, "--jobs", jobs, "--out", "o.csv", "--progress"]
    program = start(*command("count", "graph.txt", *options), cwd=tmp_path)
    time.sleep(4.0)
    assert program.poll() is None, program.communicate()
    out, err = interrupt(program)
    assert (program.returncode, out) == (130, "") and "Traceback" not in err and "interrupted" in err, err
    assert [path.name for path in tmp_path.iterdir()] == ["graph.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_interrupt_while_a_library_does_not_listen(tmp_path: Path) -> None:
    code = """
import ctypes, os, signal
from pathlib import Path
from detours import atomic
from detours.cli import interrupt
with interrupt.prompt_exit(atomic.discard_unfinished):
    with atomic.replacing(Path("o.csv")) as file:
        signal.siginterrupt(signal.SIGINT, False)
        nothing, _ = os.pipe()
        print("ready", flush=True)
        ctypes.CDLL(None).read(nothing, ctypes.create_string_buffer(1), 1)  # waits on when a signal comes
"""
    program = start(sys.executable, "-c", code, cwd=tmp_path)
    assert program.stdout is not None and program.stdout.readline() == "ready\n"
    time.sleep(0.5)  # from saying so to being there
    interrupt(program)  # without the watching thread it would wait for ever
    assert program.returncode == 130 and list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    (tmp_path / "k12.txt").write_text("".join(f"{a} {b}\n" for a, b in combinations(range(12), 2)))
    program = start(*command("paths", "k12.txt", "0", "1", "-k", "8"), cwd=tmp_path)
    assert program.stdout is not None and program.stderr is not None
    assert program.stdout.readline() == "0 2 1\n"
    program.stdout.close()
    assert program.stderr.read() == "" and program.wait(20) == cli.PIPE_CLOSED


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_a_bar_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "k6.txt").write_text("".join(f"{a} {b}\n" for a, b in combinations(range(6), 2)))
    ours, theirs = os.openpty()
    arguments = command("count", "k6.txt", "-k", "4", "--json")
    program = subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    # A terminal holds only so much: a bar that nobody reads would block the program in the end.
    with suppress(OSError):
        while part := os.read(ours, 1 << 16):
            shown += part
    said, _ = program.communicate(timeout=60)
    assert program.returncode == 0 and json.loads(said)["cycles"] == 137
    assert "Counting, k = 4" in shown.decode()


# ---------------------------------------------------------------- demo


def test_demo(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("detours.cli.demo.HUBS", {"nodes": 200, "links": 10})
    monkeypatch.setattr("detours.cli.demo_training.EPOCHS", 2)
    monkeypatch.setenv("COLUMNS", "80")
    ran = run("demo")
    assert ran.code == 0 and ran.err == ""
    lines = [line.split() for line in ran.out.splitlines()]
    # The three lists of the paper's appendix side by side; then 3-DeN, where edge cd has 3, 2 and 0 detours.
    assert "cd #1 cabd #2 ced #3 cfd cd #1 cabd #2 cefd cd none".split() in lines
    assert ["G1", *"1 1 · 1 3 2 2 2 2 ·".split()] in lines
    assert ["G2", *"1 1 · 1 2 1 · · 1 1".split()] in lines
    assert ["G3", *"1 1 1 · 0 · · 1 1 1".split()] in lines
    # 1-WL, 4-DeN, 7-DeN, 7-DeN on pairs, 3-WL, 3-FWL
    assert "rook's, Shrikhande's no no yes yes no yes".split() in lines
    assert "CFI over the prism no no no no no yes".split() in lines
    assert max(map(len, ran.out.splitlines())) <= 80
    assert " cycles in " in ran.out
    # Two epochs teach nobody anything; but plain message passing is at chance whatever happens.
    plain = next(line for line in lines if line[:2] == ["plain", "GIN"])
    assert plain[-2] == "50.0" and any(line[:1] == ["MDNN-GIN"] for line in lines)
    assert (tmp_path / "results" / "demo" / "learning.png").stat().st_size > 1000


def test_demo_lists_are_the_appendix_of_the_paper() -> None:
    appendix = {
        "G1": "acdb; abdc; bacd; cabd ced cfd; cde cfde; cdf cedf; dce dfce; dcf decf",
        "G2": "acdb; abdc; bacd; cabd cefd; cdfe; dcef; ecdf",
        "G3": "acb; abc; bac; ; dfe; def; edf",
    }
    for name in PAPER_GRAPHS:
        assert list(detour_lists(name).values()) == [words.split() for words in appendix[name].split(";")]


def test_a_search_without_end_is_not_given_a_time(run: Run) -> None:
    Path("k25.txt").write_text("".join(f"{a} {b}\n" for a, b in combinations(range(25), 2)))
    assert "cannot be told" in run("explain", "k25.txt", "-k", "24").out
    assert json.loads(run("explain", "k25.txt", "-k", "24", "--json").out)["seconds"] is None


def test_files_that_would_overwrite_each_other_are_refused(run: Run) -> None:
    before = Path("k6.txt").read_text()
    for arguments in (["--out", "k6.csv", "--out-nodes", "k6.csv"], ["--out", "k6.txt"]):
        ran = run("count", "k6.txt", "-k", "3", *arguments)
        assert ran.code == 1 and "different files" in ran.err
    assert Path("k6.txt").read_text() == before and not Path("k6.csv").exists()


def test_lengths_without_detours_are_told_in_one_line(run: Run) -> None:
    shown = run("count", "k6.txt", "-k", "40").out
    assert "6+" in shown and "39" not in shown
