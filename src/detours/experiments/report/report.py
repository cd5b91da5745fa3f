"""The report: all tables next to the paper's, from a results folder only."""

from __future__ import annotations

from pathlib import Path

from detours.atomic import atomic_write
from detours.errors import InputError
from detours.experiments.report.finished import read_finished
from detours.experiments.report.page import html, markdown
from detours.experiments.report.sections import SECTIONS, Section


def report_sections(folder: Path) -> list[Section]:
    """Return the sections of the report on a results folder, without empty ones."""
    finished = read_finished(folder)
    kept = [section for make in SECTIONS.values() if not (section := make(finished)).empty]
    if not kept:
        others = ", ".join(sorted({str(cell.key["experiment"]) for cell in finished.cells}))
        found = f"only finished results of {others}" if others else "no finished results"
        raise InputError(f"{folder} has {found}; the report needs those of `detours reproduce`, so run it first.")
    return kept


def write_report(folder: Path, out: Path) -> list[Path]:
    """Write the report as Markdown and as HTML, `<out>.md` and `<out>.html`, and return both files."""
    sections = report_sections(folder)
    written = []
    for ending, text in ((".md", markdown(sections)), (".html", html(sections))):
        written.append(out.with_suffix(ending))
        with atomic_write(written[-1]) as file:
            file.write(text.encode())
    return written
