"""progress=True in a log and on a terminal."""

import sys
from types import SimpleNamespace

import networkx as nx
import pytest

import detours
from detours import progress as module
from detours.errors import InputError
from detours.progress import as_report


@pytest.fixture(autouse=True)
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a count may take seconds, which change what is printed."""
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 1000.0))


def test_true_prints_and_a_function_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    graph, calls = nx.gnp_random_graph(60, 0.2, seed=0), []
    detours.count(graph, 4, progress=True)
    assert capsys.readouterr().err == "Counting detours: 100% after 0 s\n"
    detours.count_many([graph, graph], 4, progress=True)
    assert "Counting detours: 100%" in capsys.readouterr().err
    detours.count(graph, 4, progress=lambda done, total: calls.append((done, total)))
    assert calls and calls[-1][0] == calls[-1][1]
    detours.count(graph, 4, progress=False)
    detours.wl.certificate(nx.cycle_graph(9), init="degree", individualise="mark", progress=True)
    assert "Comparing copies: 100%" in capsys.readouterr().err


def test_one_line_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    report = as_report(True, "Counting")
    assert report is not None
    for done in (0, 1, 2, 4, 4):
        report(done, 4)
    assert capsys.readouterr().err == "\rCounting: 0% after 0 s\rCounting: 100% after 0 s\n"


def test_other_values_are_refused() -> None:
    with pytest.raises(InputError, match="progress must be True, False, None or a function"):
        detours.count(nx.path_graph(3), 2, progress="yes")  # type: ignore[arg-type]
