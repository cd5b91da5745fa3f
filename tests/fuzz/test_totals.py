"""The totals in docs/reliability.md are those of the summaries in results/fuzz."""

from fuzz.totals import PAGE, WHAT, read_runs, table, updated


def test_the_page_has_the_totals_of_the_runs() -> None:
    page, runs = PAGE.read_text("utf-8"), read_runs()
    assert runs and table(runs) in page, "run: python -m fuzz.totals"
    assert updated(page, runs) == page


def test_totals_add_up() -> None:
    one = {"what": "soak", "seed": 1, "jobs": 2, "seconds": 1800, "tried": {"cases": 1000}, "failed": {"loss": 1}}
    other = {**one, "seed": 2, "tried": {"cases": 234}, "failed": {}}
    (row,) = [line for line in table([one, other]).splitlines() if "soak" in line]
    assert row == f"| `fuzz.soak`: {WHAT['soak']} | 1,234 | 2.00 | 1, 2 | 1 loss |"
