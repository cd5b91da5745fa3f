"""`detours demo`: the paper's graphs and what they show."""

from pathlib import Path

import pytest

from detours.cli.demo.graphs import PAPER_GRAPHS, detour_lists
from tests.cli.programs import Run


def test_demo(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("detours.cli.demo.graphs.HUBS", {"nodes": 200, "links": 10})
    monkeypatch.setattr("detours.cli.demo.training.EPOCHS", 2)
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
    assert "two triangles, a hexagon no yes yes yes yes yes".split() in lines  # a larger k sees no less
    assert "rook's, Shrikhande's no no yes yes no yes".split() in lines
    assert "CFI over the prism no no no no no yes".split() in lines
    # A URL is printed on one line, however long, so that terminals turn it into a link.
    assert max(len(line) for line in ran.out.splitlines() if "file://" not in line) <= 80
    assert " cycles in " in ran.out
    # Two epochs are too few to learn, but plain message passing stays at chance in any case.
    plain = next(line for line in lines if line[:2] == ["plain", "GIN"])
    assert plain[-2] == "50.0" and any(line[:1] == ["MDNN-GIN"] for line in lines)
    assert (tmp_path / "results" / "demo" / "learning.png").stat().st_size > 1000
    assert "detours.html" in ran.out and '"names":["0","1"' in (tmp_path / "results/demo/detours.html").read_text(
        "utf-8"
    )


def test_demo_lists_are_the_appendix_of_the_paper() -> None:
    appendix = {
        "G1": "acdb; abdc; bacd; cabd ced cfd; cde cfde; cdf cedf; dce dfce; dcf decf",
        "G2": "acdb; abdc; bacd; cabd cefd; cdfe; dcef; ecdf",
        "G3": "acb; abc; bac; ; dfe; def; edf",
    }
    for name in PAPER_GRAPHS:
        assert list(detour_lists(name).values()) == [words.split() for words in appendix[name].split(";")]
