"""Write the totals of the long runs in results/fuzz into docs/reliability.md."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "results" / "fuzz"
PAGE = ROOT / "docs" / "reliability.md"
WHAT = {
    "differential": "counts compared with a plain search",
    "mutation": "changed files, folders and arguments",
    "soak": "kills, each followed by a resumed run",
}
_TABLE = re.compile(r"(<!-- totals of results/fuzz -->\n).*?(<!-- end -->)", re.DOTALL)


def read_runs(folder: Path = RUNS) -> list[dict[str, Any]]:
    """Return the summaries in a folder."""
    return [json.loads(file.read_text("utf-8")) for file in sorted(folder.glob("*.json"))]


def table(runs: list[dict[str, Any]]) -> str:
    """Return the totals as a Markdown table with one row per program."""
    lines = ["| | cases | core-hours | seeds | failed |", "|---|---|---|---|---|"]
    for program, description in WHAT.items():
        own = [run for run in runs if run["what"] == program]
        cases = sum(run["tried"].get("cases", 0) for run in own)
        hours = sum(run["jobs"] * run["seconds"] for run in own) / 3600
        failed = sum((Counter(run["failed"]) for run in own), Counter())
        failures = ", ".join(f"{count} {kind}" for kind, count in sorted(failed.items())) or "0"
        seeds = ", ".join(str(run["seed"]) for run in own) or "none"
        lines.append(f"| `fuzz.{program}`: {description} | {cases:,} | {hours:.2f} | {seeds} | {failures} |")
    return "\n".join(lines) + "\n"


def updated(page: str, runs: list[dict[str, Any]]) -> str:
    """Return the page with the table of these runs."""
    return _TABLE.sub(lambda match: match[1] + table(runs) + match[2], page)


if __name__ == "__main__":
    before = PAGE.read_text("utf-8")
    after = updated(before, read_runs())
    PAGE.write_text(after, "utf-8")
    print("Unchanged" if before == after else f"Updated {PAGE}", file=sys.stderr)
