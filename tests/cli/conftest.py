"""Fixtures of the command line: the command in this process, in a folder with a few small graphs."""

from itertools import combinations
from pathlib import Path

import pytest

from detours import cli
from tests.cli.programs import Ran, Run

G1 = "ab ac bd cd ce cf de df"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in this process, without data sets or caches."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DETOURS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "g1.txt").write_text("".join(f"{a} {b}\n" for a, b in G1.split()))
    (tmp_path / "untidy.txt").write_text("# untidy\n0 1\n1 2\n2 0\n2 0\n1 1\n")
    (tmp_path / "k6.txt").write_text("".join(f"{a},{b}\n" for a, b in combinations(range(6), 2)))

    def run(*arguments: str) -> Ran:
        code = cli.run(list(arguments))
        return Ran(code, *capsys.readouterr())

    return run
