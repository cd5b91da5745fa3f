"""The command in unusual environments: no assertions, warnings as errors, locales, closed pipes, narrow terminals."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

import detours
from tests.cli.programs import Run

NAMES = ["a b", "c\nd", "e\u202ef", "naïve", "中文", " ", "-k", "--help"]
NO_WARNINGS = ("-W", "error", "-W", "ignore::DeprecationWarning:typer")
"""Only for our modules: new releases of Click warn old ones of Typer."""


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A clique whose names have spaces, a line feed, a direction mark, letters beyond ASCII, and hyphens."""
    detours.Graph.from_networkx(nx.relabel_nodes(nx.complete_graph(len(NAMES)), dict(enumerate(NAMES)))).write(
        tmp_path / "odd name.npz"
    )
    return tmp_path / "odd name.npz"


def start(*arguments: str, flags: tuple[str, ...] = (), **environment: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, *flags, "-c", "from detours.cli import main; main()", *arguments]
    given = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHONUTF8"))}
    return subprocess.Popen(command, env={**given, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize(
    "flags, environment",
    [
        (("-O", *NO_WARNINGS), {"NO_COLOR": "1", "COLUMNS": "20", "LC_ALL": "C.UTF-8"}),
        (("-OO",), {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "FORCE_COLOR": ""}),
    ],
    ids=["no assertions, warnings are errors", "a locale without letters"],
)
def test_a_count(odd: Path, flags: tuple[str, ...], environment: dict[str, str]) -> None:
    out, err = (program := start("count", str(odd), "-k", "3", flags=flags, **environment)).communicate(timeout=120)
    assert (program.returncode, err) == (0, b""), err
    text = out.decode("ascii" if environment["LC_ALL"] == "C" else "utf-8")
    assert "\x1b" not in text and r"c\nd" in text and r"e\u202ef" in text and "--help" in text
    assert ("中文" in text) == (environment["LC_ALL"] != "C")


@pytest.mark.skipif(os.name != "posix", reason="needs SIGPIPE")
def test_a_reader_that_closes_the_pipe(odd: Path) -> None:
    """Like `| head -1`; the list is far longer than a pipe buffer."""
    program = start("cycles", str(odd), "-k", "7", "-q")
    assert program.stdout is not None and program.stderr is not None
    assert program.stdout.readline()
    program.stdout.close()
    assert program.stderr.read() == b""
    program.stderr.close()
    assert program.wait(60) in (141, -signal.SIGPIPE)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["count", "--help"], ["--version"], ["data", "list"]], ids=" ".join)
def test_an_output_that_cannot_be_written(arguments: list[str]) -> None:
    code = "from detours.cli import main; main()"
    with open("/dev/full", "w") as full:
        ran = subprocess.run([sys.executable, "-c", code, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (ran.returncode, ran.stderr) == (1, "detours: No space left on device\n")


@pytest.mark.skipif(os.name != "posix", reason="needs a folder that can be removed while it is used")
def test_a_working_directory_that_is_gone(odd: Path, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    code = "import os; os.chdir('gone'); os.rmdir('../gone'); from detours.cli import main; main()"
    command = [sys.executable, "-c", code, "count", str(odd), "-k", "3", "--out", "counts.csv"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    message = "detours: the working directory no longer exists; change to another one\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", message)


@pytest.mark.skipif(os.name != "posix", reason="needs pipes of POSIX")
def test_help_for_a_reader_that_is_gone() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    code = "from detours.cli import main; main()"
    ran = subprocess.run([sys.executable, "-c", code, "--help"], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (141, "")


@pytest.mark.parametrize("width", ["1", "10", "39"])
@pytest.mark.parametrize("command", [["count"], ["explain"], ["--help"], ["count", "--help"]], ids=" ".join)
def test_a_narrow_terminal_loses_no_digits(
    run: Run, odd: Path, monkeypatch: pytest.MonkeyPatch, width: str, command: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    given = [] if "--help" in command else [str(odd), "-k", "4"]
    ran = run(*command, *given)
    assert ran.code == 0 and ran.out and not ran.err
    if command == ["count"]:
        assert "4,368" in ran.out and "672" in ran.out  # 28 · 156 detours, 56 · 12 cycles of five nodes


@pytest.mark.parametrize("name", NAMES)
def test_names_are_found_as_they_are_written(run: Run, odd: Path, name: str) -> None:
    ran = run("paths", str(odd), "-k", "2", "-q", "--", name, "naïve" if name != "naïve" else "中文")
    assert ran.code == 0 and len(ran.out.splitlines()) == len(NAMES) - 2, ran.err


def test_commas_quotes_and_line_feeds_survive_csv(run: Run, odd: Path, tmp_path: Path) -> None:
    import csv

    assert run("count", str(odd), "-k", "2", "-q", "--out", str(tmp_path / "a.csv")).code == 0
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text("utf-8").splitlines()))
    assert {row["source"] for row in rows} == {"a b", r"c\nd", r"e\u202ef", "naïve", "中文", " ", "'-k", "'--help"}
