"""Generated tables in Markdown documents: `detours report --update FILE` rewrites the blocks between two markers.

    <!-- results: kernels -->
    …
    <!-- end of results -->

They come from a results folder, and a test fails if a block of the documentation is out of date.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from detours.atomic import atomic_write
from detours.errors import FileFormatError
from detours.experiments.kernels.rows import DATA as KERNEL_DATA
from detours.experiments.kernels.rows import REPEATS, ROWS
from detours.experiments.kernels.table import WITHOUT_DETOURS, resampled_p
from detours.experiments.networks.entries import DATA
from detours.experiments.networks.tables import accuracy_table, of_table
from detours.experiments.paper import paper_tables
from detours.experiments.report.finished import Finished, Kernels, Networks, read_finished
from detours.experiments.report.page import as_markdown
from detours.experiments.report.rivals import rivals, rivals_table
from detours.experiments.report.sections import SECTIONS, Section
from detours.experiments.tables import with_spread

BLOCK = re.compile(r"(<!-- results: ([a-z-]+) -->\n)(.*?)(<!-- end of results -->)", re.DOTALL)
SHORT = ("WL-SP", "WL-DeN", "best without detours", "best of ours")
NOTHING = "*There are no finished results yet.*\n"


def update_document(path: Path, folder: Path) -> bool:
    """Rewrite the blocks of a Markdown file from a results folder, and return whether anything changed."""
    if not path.is_file():
        raise FileFormatError("there is no such file; give an existing page.", path)
    text = path.read_text("utf-8")
    if not BLOCK.search(text):
        raise FileFormatError(
            "there is no table to rewrite; mark where it goes by two lines, <!-- results: kernels --> and "
            "<!-- end of results -->.",
            path,
        )
    new = update_blocks(text, folder, path)
    if new != text:
        with atomic_write(path) as file:
            file.write(new.encode())
    return new != text


def update_blocks(text: str, folder: Path, path: Path) -> str:
    """Return a text with its blocks rewritten from a results folder."""
    blocks = _blocks(read_finished(folder))

    def block(match: re.Match[str]) -> str:
        if match[2] not in blocks:
            known = ", ".join(blocks)
            raise FileFormatError(f"there are no results named {match[2]}; choose from {known}.", path)
        return f"{match[1]}\n{blocks[match[2]]() or NOTHING}\n{match[4]}"

    return BLOCK.sub(block, text)


def _blocks(finished: Finished) -> dict[str, Callable[[], str]]:
    """Return the functions that write the blocks, by name.

    They are the sections of the report; but where a section is a table of networks or that of the kernels, a block of
    its name has a table for documents instead.
    """

    def section(make: Callable[[Finished], Section]) -> str:
        return as_markdown(make(finished), 4)

    def table(name: str) -> str:
        results = of_table(name, finished.networks)
        return accuracy_table(name, results).markdown(0) if results else ""

    return {
        **{name: partial(section, make) for name, make in SECTIONS.items()},
        **{name: partial(table, name) for name in DATA},
        "kernels": partial(kernel_block, finished.kernels),
        "kernels-short": partial(short_kernel_block, finished.kernels),
        "networks-short": partial(short_network_block, finished.networks),
    }


def kernel_block(kernels: Kernels) -> str:
    """Return the table of kernels, with the paper's results below ours, and a few sentences about it."""
    return "\n".join([*_kernel_lines(kernels), "", *_kernel_sentences(kernels)]) if kernels else ""


def short_kernel_block(kernels: Kernels) -> str:
    """Return a short table of kernels: without and with detours, our best, and the paper's best."""
    wanted = ("| |", "|---", *(f"| {row} |" for row in SHORT), "| *best of the paper*")
    return "\n".join([line for line in _kernel_lines(kernels) if line.startswith(wanted)]) + "\n" if kernels else ""


def short_network_block(networks: Networks) -> str:
    """Return a short table of networks: plain, MDNN, and the paper's best."""
    chosen = rivals(networks)
    return rivals_table(chosen).markdown(0) if chosen else ""


def _kernel_lines(kernels: Kernels) -> list[str]:
    paper = paper_tables()["graph_classification"]["kernel"]
    lines = [f"| | {' | '.join(KERNEL_DATA)} |", f"|{'---|' * (len(KERNEL_DATA) + 1)}"]
    for row in ROWS:
        ours = [kernels.get((row, data)) for data in KERNEL_DATA]
        texts = ["–" if accuracy is None else with_spread(accuracy.mean, accuracy.over_repeats) for accuracy in ours]
        lines.append(f"| {row} | {' | '.join(texts)} |")
        if row in paper:
            theirs = [paper[row][data] for data in KERNEL_DATA]
            texts = ["out of memory" if each is None else with_spread(each["mean"], each["std"]) for each in theirs]
            lines.append(f"| *paper* | {' | '.join(texts)} |")
    best = [max(each[data]["mean"] for each in paper.values() if each[data]) for data in KERNEL_DATA]
    return [*lines, f"| *best of the paper* | {' | '.join(f'{each:.2f}' for each in best)} |"]


def _differences(kernels: Kernels, name: str, plain: str) -> str:
    found = []
    for data in KERNEL_DATA:
        accuracy, baseline = kernels.get((name, data)), kernels.get((plain, data))
        if accuracy is not None and baseline is not None:
            p = resampled_p(accuracy, baseline)
            found.append(f"{data} {accuracy.mean - baseline.mean:+.2f}{'' if p is None else f' (p = {p:.2g})'}")
    return "; ".join(found) or "–"


def _kernel_sentences(kernels: Kernels) -> list[str]:
    fewer = [
        f"{row} on {data} ({len(accuracy.repeats)})"
        for (row, data), accuracy in kernels.items()
        if len(accuracy.repeats) < REPEATS
    ]
    totals = {name: sum(getattr(row, name) for row in kernels.values()) for name in ("fits", "skipped", "unconverged")}
    minutes = sum(row.cpu_seconds for row in kernels.values()) / 60
    return [
        f"Every entry has {REPEATS} repeats{', except ' if fewer else ''}{', '.join(fewer)}.",
        "",
        "In points, with the p of a corrected resampled t-test over all folds:",
        "",
        *(f"- {name} minus {plain}: {_differences(kernels, name, plain)}." for name, plain in WITHOUT_DETOURS.items()),
        "",
        f"{totals['fits']:,} fits, of which {totals['unconverged']:,} did not converge, took {minutes:.0f} minutes of "
        f"CPU time, not counting the Gram matrices; another {totals['skipped']:,} were not needed (see below).",
        "",
    ]
