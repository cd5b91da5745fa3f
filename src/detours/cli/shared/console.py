"""Standard output: tables for people, JSON for programs."""

from collections.abc import Iterable
from math import isfinite
from numbers import Integral
from typing import TYPE_CHECKING, Any

from detours.errors import escape_control

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def print_json(value: Any) -> None:
    """Print a value as JSON, with null for NaN and infinities, which JSON does not have."""
    import json

    print(json.dumps(_replace_non_finite(value), indent=2))


def _replace_non_finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _replace_non_finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_non_finite(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def json_name(name: Any) -> int | str:
    """Return the name of a node for JSON: an integer if it is one, else a string.

    >>> json_name(7), json_name("a"), json_name((0, 1))
    (7, 'a', '(0, 1)')
    """
    return int(name) if isinstance(name, Integral) else str(name)


def standard_output() -> "Console":
    """Return a console that ends the command quietly when the reader of its output is gone."""
    from rich.console import Console

    class PipeConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return PipeConsole(highlight=False)


def plain_table(title: str | None = None, left: Iterable[str] = (), right: Iterable[str] = ()) -> "Table":
    """Return a table with a line below its headings and no other frame.

    Args:
        title: The title above it.
        left: The headings of the first columns, aligned left.
        right: The headings of the other columns, aligned right.
    """
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.show_edge = table.pad_edge = False
    for heading in left:
        table.add_column(heading)
    for heading in right:
        table.add_column(heading, justify="right")
    return table


def show(console: "Console", table: "Table") -> None:
    """Print a table at full width: on a narrow screen lines may wrap, but no digits are cut off."""
    screen = console.width
    needed = console.measure(table, options=console.options.update(width=10_000)).maximum
    console.width = max(screen, needed)  # a width given to `print` cannot exceed that of the console
    console.print(table)
    console.width = screen


def side_by_side(tables: Iterable["Table"]) -> "Table":
    """Return tables next to each other, aligned at the top."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 4))
    grid.add_row(*tables)
    return grid


def escape(text: str) -> str:
    """Return a text that Rich prints literally, with control characters escaped."""
    from rich.markup import escape

    return escape(escape_control(text))
