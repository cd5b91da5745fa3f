"""Standard output: tables for people, JSON for programs."""

from collections.abc import Iterable
from math import isfinite
from numbers import Integral
from typing import TYPE_CHECKING, Any

from detours.errors import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def print_json(value: Any) -> None:
    """Print a value as JSON; a number that JSON does not have (NaN, infinite) is null."""
    import json

    print(json.dumps(_in_json(value), indent=2))


def _in_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _in_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_in_json(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def json_name(name: Any) -> int | str:
    """Return the name of a node as JSON has it: an integer if it is one, else a string.

    >>> json_name(7), json_name("a"), json_name((0, 1))
    (7, 'a', '(0, 1)')
    """
    return int(name) if isinstance(name, Integral) else str(name)


def standard_output() -> "Console":
    """Return a console that ends the command quietly when nobody reads its output any more."""
    from rich.console import Console

    class PipeConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return PipeConsole(highlight=False)


def plain_table(title: str | None = None, left: Iterable[str] = (), right: Iterable[str] = ()) -> "Table":
    """Return a table with a line under its heading and no other frame.

    Args:
        title: The title above it.
        left: The headings of the first columns, of text.
        right: The headings of the columns after them, of numbers.
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
    """Print a table in its full width: on a narrow screen lines may wrap, but no number loses its digits."""
    screen = console.width
    needed = console.measure(table, options=console.options.update(width=10_000)).maximum
    console.width = max(screen, needed)  # a width given to `print` cannot pass that of the console
    console.print(table)
    console.width = screen


def side_by_side(tables: Iterable["Table"]) -> "Table":
    """Return tables next to each other, their tops in line."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 4))
    grid.add_row(*tables)
    return grid


def escape(text: str) -> str:
    """Return a text that rich prints as it is, control characters as their codes."""
    from rich.markup import escape

    return escape(printable(text))
