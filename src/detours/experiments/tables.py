"""Tables of results, with a heading and a format per column, for Markdown, JSON and the terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from detours.atomic import atomic_write
from detours.errors import InputError

COUNT, RATIO, SECONDS = ",d", ".3f", ".2f"
MISSING = "–"


class Column(NamedTuple):
    """A heading, and the format specification of its values ("" for text)."""

    name: str
    form: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of plain values; None is a missing cell, and strings are printed as they are in any column."""

    title: str
    columns: Sequence[Column]
    rows: list[list[Any]]
    notes: list[str] = field(default_factory=list)

    def written(self) -> list[list[str]]:
        """Return the rows as text.

        >>> Table("", [Column("set"), Column("ratio", RATIO)], [["EXP", 1.0], ["DD", None]]).written()
        [['EXP', '1.000'], ['DD', '–']]
        """
        return [[_format(value, column) for value, column in zip(row, self.columns, strict=True)] for row in self.rows]

    def markdown(self, level: int = 2) -> str:
        """Return a heading of this level (0: none), the table with aligned columns, and its notes."""
        rows = [[column.name for column in self.columns], *self.written()]
        rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
        widths = [max(3, *(len(row[index]) for row in rows)) for index in range(len(self.columns))]
        left = [not column.form for column in self.columns]
        rule = [
            "-" * width if is_left else "-" * (width - 1) + ":" for width, is_left in zip(widths, left, strict=True)
        ]
        lines = [_line(row, widths, left) for row in (rows[0], rule, *rows[1:])]
        heading = [f"{'#' * level} {self.title}", ""] if level else []
        return "\n".join([*heading, *lines, *(f"\n{note}" for note in self.notes), ""])

    def plain(self) -> dict[str, Any]:
        """Return the table for JSON, with one mapping per row and unformatted values."""
        names = [column.name for column in self.columns]
        rows = [dict(zip(names, row, strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows, "notes": self.notes}


def _format(value: Any, column: Column) -> str:
    if value is None:
        return MISSING
    if isinstance(value, str):
        return value
    text = format(value, column.form)
    return format(abs(value), column.form) if not text.strip("-0.") else text  # no negative zero


def _line(cells: Sequence[str], widths: Sequence[int], left: Sequence[bool]) -> str:
    columns = zip(cells, widths, left, strict=True)
    padded = (cell.ljust(width) if is_left else cell.rjust(width) for cell, width, is_left in columns)
    return f"| {' | '.join(padded)} |"


def with_spread(mean: float, spread: float | None) -> str:
    """Format a mean with its standard deviation.

    >>> with_spread(54.5, 2.06)
    '54.50 ± 2.06'
    """
    return f"{mean:.2f}" if spread is None else f"{mean:.2f} ± {spread:.2f}"


def write_tables(
    folder: Path, name: str, tables: Sequence[Table], about: Mapping[str, Any] | None = None
) -> list[Path]:
    """Write `<name>.md` and `<name>.json` into the folder, and return them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be made ({error.strerror}); choose another.") from None
    plain = {**(about or {}), "tables": [table.plain() for table in tables]}
    contents = {
        folder / f"{name}.md": "\n".join(table.markdown() for table in tables),
        folder / f"{name}.json": json.dumps(plain, indent=1, ensure_ascii=False) + "\n",
    }
    for path, text in contents.items():
        with atomic_write(path) as file:
            file.write(text.encode())
    return list(contents)
