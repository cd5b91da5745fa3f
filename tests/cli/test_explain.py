"""`detours explain`: the plan of a count."""

import json
from itertools import combinations
from pathlib import Path

from tests.cli.programs import Run


def test_explain(run: Run) -> None:
    ran = run("explain", "k6.txt", "-k", "4")
    assert ran.code == 0 and ran.err == "" and ("rows" in ran.out or "search" in ran.out)
    found = json.loads(run("explain", "k6.txt", "-k", "4", "--json").out)
    assert set(found) == {"engine", "seconds", "bytes", "reason"}


def test_an_endless_search_has_no_time_estimate(run: Run) -> None:
    Path("k25.txt").write_text("".join(f"{a} {b}\n" for a, b in combinations(range(25), 2)))
    assert "unknown beforehand" in run("explain", "k25.txt", "-k", "24").out
    assert json.loads(run("explain", "k25.txt", "-k", "24", "--json").out)["seconds"] is None
