"""Tables of whole numbers in text files, read by NumPy, with the file and line of whatever is wrong."""

from __future__ import annotations

import re
import warnings
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from detours.errors import FileFormatError

Ints = NDArray[np.int64]


def existing(path: Path) -> Path:
    """The path itself, or one sentence that says what to do about a missing file."""
    if not path.is_file():
        raise FileFormatError("there is no such file; give the folder that holds the raw data sets.", path)
    return path


def integers(path: Path, columns: int, *, separator: str | None = ",", header: bool = False) -> Ints:
    """The rows of a file as int64 [rows, columns]; blank lines do not count.

    Args:
        path: The file.
        columns: How many numbers every line must hold.
        separator: What stands between two numbers; None for any blanks.
        header: Whether the first line holds names instead of numbers.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "loadtxt: input contained no data")
        try:
            table = np.loadtxt(
                existing(path), dtype=np.int64, delimiter=separator, skiprows=int(header), ndmin=2, comments=None
            )
        except UnicodeDecodeError:
            raise FileFormatError("this is not text; it should hold whole numbers.", path) from None
        except ValueError as error:
            raise _refusal(str(error), path, columns, header) from None
    if not table.size:
        raise FileFormatError("the file holds no numbers.", path)
    if table.shape[1] != columns:
        line = _line_of_row(0, path, header)
        raise FileFormatError(f"a line should hold {_asked(columns)}, but it holds {table.shape[1]}.", path, line)
    return table


def _refusal(said: str, path: Path, columns: int, header: bool) -> FileFormatError:
    # NumPy counts rows from 0 where it met no number, and from 1 where a row is longer or shorter than the first.
    wrong = re.search(r"convert string (.+) to int64 at row (\d+)", said)
    if wrong:
        word, line = wrong[1].strip("' "), _line_of_row(int(wrong[2]), path, header)
        return FileFormatError(f"a line should hold {_asked(columns)}, but {word!r} is none.", path, line)
    ragged = re.search(r"from \d+ to (\d+) at row (\d+)", said)
    if ragged:
        line = _line_of_row(int(ragged[2]) - 1, path, header)
        return FileFormatError(f"a line should hold {_asked(columns)}, but it holds {ragged[1]}.", path, line)
    return FileFormatError(f"every line should hold {_asked(columns)} ({said}).", path)


def _asked(columns: int) -> str:
    return "one whole number" if columns == 1 else f"{columns} whole numbers"


def _line_of_row(row: int, path: Path, header: bool) -> int | None:
    with open(path, encoding="latin-1") as lines:
        filled = (number for number, line in enumerate(lines, 1) if line.strip() and number > header)
        return next(islice(filled, row, None), None)
