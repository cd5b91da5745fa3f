"""Results as tables for the terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import scaling
from benchmarks.contest import Result
from benchmarks.measure import duration
from benchmarks.rivals import GROUPS

PACKAGES = "numpy scipy numba networkx rustworkx igraph python-graphblas suitesparse-graphblas orbit-count".split()
_SIGN = {"measured": "", "at least": "> ", "extrapolated": "~ "}


@dataclass
class Sheet:
    """A table with a title and notes, for the terminal and Markdown."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)

    def show(self, console: Console) -> None:
        """Print to the terminal."""
        table = Table(title=self.title, title_justify="left", title_style="bold")
        for i, column in enumerate(self.columns):
            table.add_column(column, justify="right" if 0 < i < 4 else "left")
        for row in self.rows:
            table.add_row(*row)
        console.print(table)
        for note in self.notes:
            console.print(f"  {note}", highlight=False)
        console.print()

    def markdown(self) -> str:
        """Return a Markdown section."""
        lines = [f"## {self.title}", "", f"| {' | '.join(self.columns)} |", "|---" * len(self.columns) + "|"]
        lines += [f"| {' | '.join(row)} |" for row in self.rows]
        lines += ["", *(f"- {note}" for note in self.notes), ""]
        return "\n".join(lines)


def case_sheet(result: Result) -> Sheet:
    """Contenders sorted by time, also as multiples of ours."""
    rows = [["detours", result.ours.text(), duration(result.ours.wall), "1", ""]]
    for name, timing in sorted(result.rivals.items(), key=lambda item: item[1].seconds):
        ratio = "" if timing.how == "failed" else _SIGN[timing.how] + times(result.ratio(name))
        same = {True: "same result", False: "DIFFERENT RESULT"}.get(result.same.get(name, None), "")
        wall = duration(timing.wall) if timing.how == "measured" else ""
        rows.append([name, timing.text(), wall, ratio, "; ".join(filter(None, [timing.detail, same]))])
    title = f"{result.case.title}: {result.nodes:,} nodes, {result.edges:,} edges"
    return Sheet(title, ["", "CPU", "wall", "times ours", ""], rows, _case_notes(result))


def _case_notes(result: Result) -> list[str]:
    notes = []
    for what, goal, reached, met in result.goals():
        show = megabytes if "bytes" in what else times
        notes.append(f"{'met' if met else 'MISSED'}: {what}, {show(reached)}, the goal is {show(goal)}")
    if result.expected:
        expected = result.expected
        notes.append(
            f"explain ({expected['engine']}): expected / measured time "
            f"{expected['seconds expected / measured']:.2f}, "
            f"memory {expected['bytes expected / measured']:.2f}; "
            f"peak extra memory {megabytes(result.peak or 0)}"
        )
    cycles = ", ".join(f"{count:,} of length {length}" for length, count in result.cycles.items())
    return [*notes, f"cycles: {cycles}"]


def summary_sheet(results: list[Result]) -> Sheet:
    """One row per case: the fastest rival of each kind, and estimates against measurements."""
    rows = []
    for result in results:
        best = [_best_of(result, group) for group in GROUPS]
        expected = result.expected
        estimates = [times(expected[f"{what} expected / measured"]) for what in ("seconds", "bytes")]
        goals = ["met" if met else "MISSED" for *_, met in result.goals()]
        row = [result.case.title, result.ours.text(), *best, megabytes(result.peak or 0), *estimates]
        rows.append([*row, ", ".join(goals)])
    columns = ["", "detours", "SciPy A @ A", "formulas", "ORCA", "listers", "extra memory"]
    columns += ["explain: time", "explain: memory", "goals"]
    notes = ["columns of rivals: the fastest of its kind, as a multiple of our time (~ extrapolated, > lower bound)"]
    return Sheet("Summary", columns, rows, [*notes, "explain: expected / measured"])


def _best_of(result: Result, group: str) -> str:
    name = result.fastest(group)
    if name is None:
        return ""
    return _SIGN[result.rivals[name].how] + times(result.ratio(name))


def start_sheet(measured: dict[str, float]) -> Sheet:
    """Import, compile, warm start."""
    goals = {
        "import ratio": 2.5,
        "first count, a sparse graph": 10.0,
        "first count, a thick graph": 10.0,
        "new process: import and count a small graph": 1.5,
    }
    rows = []
    for name, value in measured.items():
        goal = goals.get(name)
        verdict = "" if goal is None else f"{'met' if value <= goal else 'MISSED'}: at most {goal}"
        rows.append([name, f"{value:.2f}" if "ratio" in name else duration(value), verdict])
    return Sheet("Start-up", ["", "", ""], rows)


def threads_sheet(measured: dict[str, Any]) -> Sheet:
    """Two threads against one."""
    verdict = "met" if measured["speed-up"] >= 1.7 and measured["same bits"] else "MISSED"
    row = [
        measured["graph"],
        duration(measured["one thread"]),
        duration(measured["two threads"]),
        f"{measured['speed-up']:.2f}",
        f"same bits: {'yes' if measured['same bits'] else 'NO'}",
    ]
    load = f"this machine has {measured['cores']} cores and a load of {measured['load']:.1f}"
    note = f"{verdict}: at least 1.7 on two idle cores; {load}"
    return Sheet("Threads", ["", "one", "two", "speed-up", ""], [row], [note])


def sizes_sheet(rows: list[dict[str, Any]]) -> Sheet:
    """Time and memory against the number of nodes."""
    table = [
        [
            f"{row['family']}, k = {row['k']} ({row['engine']})",
            f"{row['nodes']:,}",
            duration(row["seconds"]),
            f"{row['seconds'] / row['nodes'] * 1e6:.2f} µs",
            megabytes(row["bytes"]),
            ratio_or_dash(row["plan seconds"], row["seconds"]),
        ]
        for row in rows
    ]
    notes = [
        f"{family}: time grows as nodes to the power {scaling.exponent(rows, family):.2f}"
        for family in dict.fromkeys(row["family"] for row in rows)
    ]
    notes.append(f"memory_limit={scaling.MEMORY_LIMIT!r}; the extra memory includes the result")
    columns = ["", "nodes", "CPU", "per node", "extra memory", "expected / measured time"]
    return Sheet("Growth with the graph", columns, table, notes)


def lengths_sheet(rows: list[dict[str, Any]]) -> Sheet:
    """Time against k, one row per graph."""
    ks = sorted({row["k"] for row in rows})
    table = []
    for name in dict.fromkeys(row["graph"] for row in rows):
        seconds = {row["k"]: row["seconds"] for row in rows if row["graph"] == name}
        table.append([name, *(duration(seconds[k]) if k in seconds else "" for k in ks)])
    return Sheet("Growth with k", ["", *(f"k = {k}" for k in ks)], table)


def machine() -> dict[str, Any]:
    """The machine and the packages that were measured."""
    return {
        "python": sys.version.split()[0],
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": [round(value, 2) for value in os.getloadavg()],
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
    }


def write(folder: Path, sheets: list[Sheet], data: dict[str, Any]) -> None:
    """Write benchmarks.json and benchmarks.md, both atomically."""
    machine = data["machine"]
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    head = [
        "# Benchmarks",
        "",
        "One process, one thread, CPU time, the fastest of several calls. "
        f"Python {machine['python']}, {machine['cores']} cores, load {machine['load'][0]} at the start; {packages}.",
        "",
        "`~` extrapolated from a random sample, `>` a lower bound.",
        "",
    ]
    _write(folder / "benchmarks.md", "\n".join(head) + "\n" + "\n".join(sheet.markdown() for sheet in sheets))
    _write(folder / "benchmarks.json", json.dumps(data, indent=1) + "\n")


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def times(value: float) -> str:
    """Format a ratio with three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def megabytes(value: float) -> str:
    """Format bytes as MB."""
    return f"{value / 1e6:,.0f} MB" if value >= 1e7 else f"{value / 1e6:.1f} MB"


def ratio_or_dash(expected: float, measured: float) -> str:
    """expected / measured, or a dash if the plan had no estimate."""
    return f"{expected / measured:.2f}" if expected else "–"
