"""Graphs read from files, with progress and notes on standard error."""

import shutil
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import typer

from detours.errors import DroppedEdgesWarning, FileFormatError, escape_control

if TYPE_CHECKING:
    from detours.graph import Dropped, Graph


STANDARD_INPUT = "-"


def read_graph(
    file: str,
    *,
    directed: bool | None,
    strict: bool,
    quiet: bool,
    progress: bool | None = None,
    columns: str | None = None,
    sep: str | None = None,
    format: str | None = None,
) -> "Graph":
    """Read a graph from a file; a note on standard error says how many edges were dropped or merged."""
    from detours.cli.shared.progress import progress_bar
    from detours.graph import Graph

    options: dict[str, Any] = {"directed": directed, "strict": strict, "format": format}
    options |= {"columns": columns and columns.split(","), "sep": sep}
    with progress_bar(f"Reading {title(file)}", show=progress), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        graph = Graph.read(file, **options) if file != STANDARD_INPUT else _read_standard_input(options, caught)
    # A shorter note replaces the library's warning about dropped edges.
    notes = [str(warning.message) for warning in caught if not issubclass(warning.category, DroppedEdgesWarning)]
    for note in (*notes, dropped_note(graph.dropped)):
        if note and not quiet:
            print(f"note: {escape_control(note)}", file=sys.stderr)
    return graph


@contextmanager
def notes_unless(quiet: bool) -> Iterator[None]:
    """Suppress the notes printed while data are read, if `quiet`."""
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore")
        yield


def title(file: str) -> str:
    """Return the name of a file without its folders."""
    return "standard input" if file == STANDARD_INPUT else Path(file).name


def _read_standard_input(options: dict[str, Any], caught: list[warnings.WarningMessage]) -> "Graph":
    """Return the graph on standard input, an edge list unless a format is given; warnings do not name the copy."""
    from detours.graph import Graph

    with TemporaryDirectory() as folder:  # some formats are read twice
        copy = Path(folder) / "standard input"
        with open(copy, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            _refuse_gzip(copy)
            graph = Graph.read(copy, **options | {"format": options["format"] or "edgelist"})
        except FileFormatError as error:
            error.path = Path(copy.name)
            raise
        for warning in caught:
            warning.message = warning.category(str(warning.message).replace(str(copy), copy.name))
        return graph


def _refuse_gzip(copy: Path) -> None:
    with open(copy, "rb") as file:
        if file.read(2) == b"\x1f\x8b":
            raise FileFormatError("this is gzip-compressed; pipe it through `gzip -dc` first.", copy)


def check_one_input(files: Sequence[str]) -> None:
    """Raise a usage error if standard input is given for more than one graph, as it can be read only once."""
    if files.count(STANDARD_INPUT) > 1:
        raise typer.BadParameter("only one input can be - (standard input); write the others to files")


def dropped_note(dropped: "Dropped") -> str:
    """Return a note on the edges that were dropped, merged or made undirected; empty if there are none.

    >>> from detours.graph import Dropped
    >>> dropped_note(Dropped(loops=2, duplicates=1, one_way=0))
    'dropped 2 loops, merged 1 repeated edge'
    """
    parts = []
    if dropped.loops:
        parts.append(f"dropped {quantity(dropped.loops, 'loop')}")
    if dropped.duplicates:
        parts.append(f"merged {quantity(dropped.duplicates, 'repeated edge')}")
    if dropped.one_way:
        parts.append(f"made {quantity(dropped.one_way, 'one-way arc')} undirected")
    return ", ".join(parts)


def quantity(count: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural.

    >>> quantity(1200, "edge")
    '1,200 edges'
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
