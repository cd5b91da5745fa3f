"""Tables in Markdown documents that are made from the store: a block between two markers is rewritten by a command.

    <!-- results: kernels -->
    …
    <!-- end of results -->

`detours report --update FILE` rewrites the blocks of a file, and a test fails where a block is not what the store says.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from detours.atomic import replacing
from detours.errors import FileFormatError
from detours.experiments.kernels.rows import DATA as KERNEL_DATA
from detours.experiments.kernels.rows import REPEATS, ROWS
from detours.experiments.kernels.table import signed_rank
from detours.experiments.networks.entries import DATA
from detours.experiments.networks.tables import accuracy_table, of_table, with_spread
from detours.experiments.paper import paper_tables
from detours.experiments.report.finished import Finished, Kernels, Networks, read_finished
from detours.experiments.report.page import as_markdown
from detours.experiments.report.rivals import rivals, rivals_table
from detours.experiments.report.sections import SECTIONS, Section

BLOCK = re.compile(r"(<!-- results: ([a-z-]+) -->\n)(.*?)(<!-- end of results -->)", re.DOTALL)
SHORT = ("WL-subtree", "WL-DeN", "best of ours")
NOTHING = "*There are no finished results yet.*\n"


def update_document(path: Path, folder: Path) -> bool:
    """Rewrite the blocks of a Markdown file from a folder of results, and return whether anything changed."""
    text = path.read_text("utf-8")
    if not BLOCK.search(text):
        raise FileFormatError(
            "there is no table to rewrite; mark its place by two lines, <!-- results: kernels --> and "
            "<!-- end of results -->.",
            path,
        )
    new = updated(text, folder, path)
    if new != text:
        with replacing(path) as file:
            file.write(new.encode())
    return new != text


def updated(text: str, folder: Path, path: Path) -> str:
    """Return a text with its blocks rewritten from a folder of results."""
    blocks = _blocks(read_finished(folder))

    def rewritten(found: re.Match[str]) -> str:
        if found[2] not in blocks:
            known = ", ".join(blocks)
            raise FileFormatError(f"there are no results named {found[2]}; choose from {known}.", path)
        return f"{found[1]}\n{blocks[found[2]]() or NOTHING}\n{found[4]}"

    return BLOCK.sub(rewritten, text)


def _blocks(finished: Finished) -> dict[str, Callable[[], str]]:
    """Return what makes the block of each name: a section of the report, or a shorter table in its place."""

    def section(make: Callable[[Finished], Section]) -> str:
        return as_markdown(make(finished), 4)

    def table(name: str) -> str:
        own = of_table(name, finished.networks)
        return accuracy_table(name, own).markdown().split("\n", 2)[2] if own else ""

    return {
        **{name: partial(section, make) for name, make in SECTIONS.items()},
        **{name: partial(table, name) for name in DATA},
        "kernels": partial(kernel_block, finished.kernels),
        "kernels-short": partial(short_kernel_block, finished.kernels),
        "networks-short": partial(short_network_block, finished.networks),
    }


def kernel_block(found: Kernels) -> str:
    """Return the table of kernels, with the paper's numbers below ours, and what is to be said about it in numbers."""
    return "\n".join([*_kernel_lines(found), "", *_kernel_sentences(found)]) if found else ""


def short_kernel_block(found: Kernels) -> str:
    """Return the table of kernels for a first page: without and with detours, our best, and the paper's best."""
    wanted = ("| |", "|---", *(f"| {row} |" for row in SHORT), "| *best of the paper*")
    return "\n".join([line for line in _kernel_lines(found) if line.startswith(wanted)]) + "\n" if found else ""


def short_network_block(found: Networks) -> str:
    """Return the table of networks for a first page: plain and MDNN, and the paper's best."""
    chosen = rivals(found)
    return rivals_table(chosen).markdown().split("\n", 2)[2] if chosen else ""


def _kernel_lines(found: Kernels) -> list[str]:
    paper = paper_tables()["graph_classification"]["kernel"]
    lines = [f"| | {' | '.join(KERNEL_DATA)} |", f"|{'---|' * (len(KERNEL_DATA) + 1)}"]
    for row in ROWS:
        ours = [found.get((row, data)) for data in KERNEL_DATA]
        texts = ["–" if own is None else with_spread(own.mean, own.over_repeats) for own in ours]
        lines.append(f"| {row} | {' | '.join(texts)} |")
        if row in paper:
            theirs = [paper[row][data] for data in KERNEL_DATA]
            texts = ["out of memory" if each is None else with_spread(each["mean"], each["std"]) for each in theirs]
            lines.append(f"| *paper* | {' | '.join(texts)} |")
    best = [max(each[data]["mean"] for each in paper.values() if each[data]) for data in KERNEL_DATA]
    return [*lines, f"| *best of the paper* | {' | '.join(f'{each:.2f}' for each in best)} |"]


def _kernel_sentences(found: Kernels) -> list[str]:
    fewer = [
        f"{row} on {data} ({len(own.repeats)})" for (row, data), own in found.items() if len(own.repeats) < REPEATS
    ]
    tests = []
    for data in KERNEL_DATA:
        own, base = found.get(("WL-DeN", data)), found.get(("WL-SP", data))
        if own is not None and base is not None:
            p = signed_rank(own, base)
            tests.append(f"{data} {own.mean - base.mean:+.2f}{'' if p is None else f' (p = {p:.2g})'}")
    totals = {name: sum(getattr(own, name) for own in found.values()) for name in ("fits", "skipped", "unconverged")}
    minutes = sum(own.cpu_seconds for own in found.values()) / 60
    compared = "WL-DeN against WL-SP, in points, with the p of Wilcoxon's signed-rank test over folds"
    return [
        f"Every entry has {REPEATS} repeats{', except ' if fewer else ''}{', '.join(fewer)}.",
        "",
        f"{compared}: {'; '.join(tests)}.",
        "",
        f"{totals['fits']:,} fits, of which {totals['unconverged']:,} did not converge, took {minutes:.0f} minutes of "
        f"CPU time without the Gram matrices; {totals['skipped']:,} more were not needed (see below).",
        "",
    ]
