"""`detours bench`: its options, and the need for a checkout."""

import sys
from pathlib import Path

import pytest

from tests.cli.programs import Run, one_sentence


def test_bench_passes_its_options_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = pytest.importorskip("benchmarks.run")
    given: list[str] = []
    monkeypatch.setattr(bench, "main", lambda arguments: given.extend(arguments))
    assert run("bench", "--quick", "--case", "x").code == 0
    assert given == ["--quick", "--case", "x"]


def test_bench_without_a_checkout(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = sys.modules["detours.cli.bench"]
    monkeypatch.setattr(module, "__file__", str(tmp_path / "lib" / "detours" / "cli" / "bench.py"))
    ran = run("bench")
    assert ran.code == 1 and "checkout" in ran.err and one_sentence(ran.err)
