"""What was seen, as tables for the terminal, Markdown for people and JSON for machines."""

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
    """A titled table that both the terminal and Markdown can show."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)

    def show(self, console: Console) -> None:
        """To the terminal."""
        table = Table(title=self.title, title_justify="left", title_style="bold")
        for number, column in enumerate(self.columns):
            table.add_column(column, justify="right" if 0 < number < 4 else "left")
        for row in self.rows:
            table.add_row(*row)
        console.print(table)
        for note in self.notes:
            console.print(f"  {note}", highlight=False)
        console.print()

    def markdown(self) -> str:
        """As a Markdown section."""
        lines = [f"## {self.title}", "", f"| {' | '.join(self.columns)} |", "|---" * len(self.columns) + "|"]
        lines += [f"| {' | '.join(row)} |" for row in self.rows]
        lines += ["", *(f"- {note}" for note in self.notes), ""]
        return "\n".join(lines)


def case_sheet(result: Result) -> Sheet:
    """Contenders by time, with how many times longer than us each takes."""
    rows = [["detours", result.ours.text(), duration(result.ours.wall), "1", ""]]
    for name, timing in sorted(result.rivals.items(), key=lambda item: item[1].seconds):
        ratio = "" if timing.how == "failed" else _SIGN[timing.how] + times(result.ratio(name))
        same = {True: "same answer", False: "OTHER ANSWER"}.get(result.same.get(name, None), "")
        wall = duration(timing.wall) if timing.how == "measured" else ""
        rows.append([name, timing.text(), wall, ratio, "; ".join(filter(None, [timing.detail, same]))])
    title = f"{result.case.title}: {result.nodes:,} nodes, {result.edges:,} edges"
    return Sheet(title, ["", "CPU", "wall", "times ours", ""], rows, _case_notes(result))


def _case_notes(result: Result) -> list[str]:
    notes = []
    for what, bar, reached, met in result.goals():
        show = megabytes if "bytes" in what else times
        notes.append(f"{'met' if met else 'MISSED'}: {what}, {show(reached)}, the bar is {show(bar)}")
    if result.expected:
        expected = result.expected
        notes.append(
            f"explain ({expected['engine']}): expected / measured time "
            f"{expected['seconds expected / measured']:.2f}, "
            f"memory {expected['bytes expected / measured']:.2f}; "
            f"peak extra memory {megabytes(result.peak or 0)}"
        )
    cycles = ", ".join(f"{number:,} of length {length}" for length, number in result.cycles.items())
    return [*notes, f"cycles: {cycles}"]


def summary_sheet(results: list[Result]) -> Sheet:
    """One line a case: the fastest rival of each kind in multiples of our time, and the plan beside it."""
    rows = []
    for result in results:
        best = [_best_of(result, group) for group in GROUPS]
        expected = result.expected
        wanted = [times(expected[f"{what} expected / measured"]) for what in ("seconds", "bytes")]
        goals = ["met" if met else "MISSED" for *_, met in result.goals()]
        row = [result.case.title, result.ours.text(), *best, megabytes(result.peak or 0), *wanted]
        rows.append([*row, ", ".join(goals)])
    columns = ["", "detours", "SciPy A @ A", "formulas", "ORCA", "listers", "extra memory"]
    columns += ["explain: time", "explain: memory", "bars"]
    notes = ["columns of rivals: the fastest of its kind, in multiples of our time (~ extrapolated, > lower bound)"]
    return Sheet("Summary", columns, rows, [*notes, "explain: expected / measured"])


def _best_of(result: Result, group: str) -> str:
    name = result.fastest(group)
    if name is None:
        return ""
    return _SIGN[result.rivals[name].how] + times(result.ratio(name))


def start_sheet(seen: dict[str, float]) -> Sheet:
    """Import, compile, warm start."""
    bars = {
        "import ratio": 2.5,
        "first count, a sparse graph": 10.0,
        "first count, a thick graph": 10.0,
        "new process: import and count a small graph": 1.5,
    }
    rows = []
    for name, value in seen.items():
        bar = bars.get(name)
        verdict = "" if bar is None else f"{'met' if value <= bar else 'MISSED'}: at most {bar}"
        rows.append([name, f"{value:.2f}" if "ratio" in name else duration(value), verdict])
    return Sheet("Start-up", ["", "", ""], rows)


def threads_sheet(seen: dict[str, Any]) -> Sheet:
    """Two threads against one."""
    verdict = "met" if seen["speed-up"] >= 1.7 and seen["same bits"] else "MISSED"
    row = [
        seen["graph"],
        duration(seen["one thread"]),
        duration(seen["two threads"]),
        f"{seen['speed-up']:.2f}",
        f"same bits: {'yes' if seen['same bits'] else 'NO'}",
    ]
    place = f"here {seen['cores']} cores with a load of {seen['load']:.1f}"
    note = f"{verdict}: at least 1.7 on two free cores; {place}"
    return Sheet("Threads", ["", "one", "two", "speed-up", ""], [row], [note])


def sizes_sheet(rows: list[dict[str, Any]]) -> Sheet:
    """Time and memory against nodes."""
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
        f"{family}: seconds grow with nodes to the power {scaling.exponent(rows, family):.2f}"
        for family in dict.fromkeys(row["family"] for row in rows)
    ]
    notes.append(f"memory_limit={scaling.MEMORY_LIMIT!r}; the extra memory holds the answer too")
    columns = ["", "nodes", "CPU", "a node", "extra memory", "expected / measured time"]
    return Sheet("Growth with the graph", columns, table, notes)


def lengths_sheet(rows: list[dict[str, Any]]) -> Sheet:
    """Time against k, one line a graph."""
    every = sorted({row["k"] for row in rows})
    table = []
    for name in dict.fromkeys(row["graph"] for row in rows):
        known = {row["k"]: row["seconds"] for row in rows if row["graph"] == name}
        table.append([name, *(duration(known[k]) if k in known else "" for k in every)])
    return Sheet("Growth with k", ["", *(f"k = {k}" for k in every)], table)


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "python": sys.version.split()[0],
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": [round(value, 2) for value in os.getloadavg()],
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
    }


def write(folder: Path, sheets: list[Sheet], data: dict[str, Any]) -> None:
    """benchmarks.json and benchmarks.md, each whole or not at all."""
    place = data["machine"]
    packages = ", ".join(f"{name} {found}" for name, found in place["packages"].items())
    head = [
        "# Benchmarks",
        "",
        "One process, one thread, CPU time, the fastest of several calls. "
        f"Python {place['python']}, {place['cores']} cores, load {place['load'][0]} before; {packages}.",
        "",
        "`~` extrapolated from a random sample, `>` a lower bound.",
        "",
    ]
    _write(folder / "benchmarks.md", "\n".join(head) + "\n" + "\n".join(sheet.markdown() for sheet in sheets))
    _write(folder / "benchmarks.json", json.dumps(data, indent=1) + "\n")


def _write(path: Path, text: str) -> None:
    draft = path.with_name(path.name + ".part")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def times(value: float) -> str:
    """A ratio with the digits that matter."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def megabytes(value: float) -> str:
    """Bytes in MB."""
    return f"{value / 1e6:,.0f} MB" if value >= 1e7 else f"{value / 1e6:.1f} MB"


def ratio_or_dash(expected: float, measured: float) -> str:
    """expected / measured, or a dash when the plan gave no figure."""
    return f"{expected / measured:.2f}" if expected else "–"
