"""`detours explain`: the plan of a count."""

import json
from itertools import combinations, product
from pathlib import Path

from tests.cli.programs import Run


def test_explain(run: Run) -> None:
    ran = run("explain", "k6.txt", "-k", "4")
    assert ran.code == 0 and ran.err == "" and ("rows" in ran.out or "search" in ran.out)
    told = json.loads(run("explain", "k6.txt", "-k", "4", "--json").out)
    assert set(told) == {"engine", "seconds", "bytes", "reason"}


def test_a_search_without_end_is_not_given_a_time(run: Run) -> None:
    Path("sides.txt").write_text("".join(f"{a} {15 + b}\n" for a, b in product(range(15), repeat=2)))
    assert "cannot be told" in run("explain", "sides.txt", "-k", "29").out
    assert json.loads(run("explain", "sides.txt", "-k", "29", "--json").out)["seconds"] is None


def test_a_count_that_cannot_be_is_told_before_the_work(run: Run) -> None:
    Path("k25.txt").write_text("".join(f"{a} {b}\n" for a, b in combinations(range(25), 2)))
    assert "the counts for k = 24 pass 2^63, as 23 nodes are all joined" in run("explain", "k25.txt", "-k", "24").err
