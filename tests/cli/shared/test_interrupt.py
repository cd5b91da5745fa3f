"""Ctrl-C and closed pipes: back at the prompt within a second, and no half-written file."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import combinations
from pathlib import Path

import pytest
import typer

from detours.cli.demo.graphs import hub_graph
from detours.cli.shared.command import PIPE_CLOSED, report_errors, run_app
from detours.cli.shared.interrupt import farewell, prompt_exit, resumable
from tests.cli.programs import command, interrupt, start


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_a_library_turns_into_another_error(
    capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    @report_errors
    def command() -> None:
        try:
            signal.raise_signal(number)
        except (KeyboardInterrupt, SystemExit):
            raise SystemError("a result with an exception set") from None

    with prompt_exit(lambda: None), pytest.raises(typer.Exit) as ended:
        command()
    assert ended.value.exit_code == 128 + number
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(typer.Exit) as failed:  # without an interrupt it is an ordinary error
        report_errors(lambda: 1 / 0)()
    assert failed.value.exit_code == 1 and "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), typer.Abort(), typer.Exit(130)])
def test_every_interrupt_is_reported_once(capsys: pytest.CaptureFixture[str], error: BaseException) -> None:
    app = typer.Typer()

    @app.command()
    def command() -> None:
        raise error

    assert run_app(app, []) == 130 and capsys.readouterr() == ("", "detours: interrupted\n")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(
    ("engine", "k", "jobs"),
    [
        ("search", "30", "1"),
        ("rows", "6", "2"),
        pytest.param("search", "30", "2", marks=pytest.mark.slow),
        pytest.param("rows", "6", "1", marks=pytest.mark.slow),
    ],
)
def test_interrupt_ends_a_count(tmp_path: Path, engine: str, k: str, jobs: str) -> None:
    # Takes minutes at least: closed forms on a large graph, or an astronomical number of cycles.
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
def test_interrupt_inside_a_library_call(tmp_path: Path) -> None:
    code = """
import ctypes, os, signal
from pathlib import Path
from detours import atomic
from detours.cli.shared import interrupt
with interrupt.prompt_exit(atomic.discard_unfinished):
    with atomic.atomic_write(Path("o.csv")) as file:
        signal.siginterrupt(signal.SIGINT, False)
        nothing, _ = os.pipe()
        print("ready", flush=True)
        ctypes.CDLL(None).read(nothing, ctypes.create_string_buffer(1), 1)  # keeps waiting when a signal arrives
"""
    program = start(sys.executable, "-c", code, cwd=tmp_path)
    assert program.stdout is not None and program.stdout.readline() == "ready\n"
    time.sleep(0.5)  # until it is inside the call
    interrupt(program)  # without the watcher thread it would wait forever
    assert program.returncode == 130 and list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    (tmp_path / "k12.txt").write_text("".join(f"{a} {b}\n" for a, b in combinations(range(12), 2)))
    program = start(*command("paths", "k12.txt", "0", "1", "-k", "8"), cwd=tmp_path)
    assert program.stdout is not None and program.stderr is not None
    assert program.stdout.readline() == "0 2 1\n"
    program.stdout.close()
    assert program.stderr.read() == "" and program.wait(20) == PIPE_CLOSED


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX shells close streams so")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_streams_that_are_closed_are_done_without(tmp_path: Path, closed: str) -> None:
    (tmp_path / "k3.txt").write_text("0 1\n1 2\n2 0\n")
    program = [*command("count", "k3.txt", "-k", "2", "--out", "k3.csv")]
    done = subprocess.run(f"{shlex.join(program)} {closed}", shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "bug" not in done.stdout + done.stderr
    assert (tmp_path / "k3.csv").read_text().count("\n") == 4


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_a_bar_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "k6.txt").write_text("".join(f"{a} {b}\n" for a, b in combinations(range(6), 2)))
    ours, theirs = os.openpty()
    arguments = command("count", "k6.txt", "-k", "4", "--json")
    program = subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    # The buffer of a terminal is limited: a bar that is never read would block the program.
    with suppress(OSError):
        while part := os.read(ours, 1 << 16):
            shown += part
    said, _ = program.communicate(timeout=60)
    assert program.returncode == 0 and json.loads(said)["cycles"] == 137
    assert "Counting, k = 4" in shown.decode()


def test_an_interrupted_command_says_whether_it_resumes(capsys: pytest.CaptureFixture[str]) -> None:
    app = typer.Typer()

    @app.command()
    def command(resumes: bool = False, error: bool = False) -> None:
        with resumable():
            if error:
                raise ValueError
            if resumes:
                raise KeyboardInterrupt
        raise KeyboardInterrupt

    for options, ending in (["--resumes"], "; repeat the command to resume"), ([], ""):
        with prompt_exit(lambda: None):
            assert run_app(app, options) == 130
        assert capsys.readouterr().err == f"detours: interrupted{ending}\n"
    with prompt_exit(lambda: None), pytest.raises(ValueError):
        run_app(app, ["--error"])
    assert farewell() == "interrupted"
