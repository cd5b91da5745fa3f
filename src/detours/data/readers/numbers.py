"""Tables of numbers in text files, read by NumPy; errors name the file and the line."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Float32, Float64, Int64
from detours.errors import FileFormatError

LARGEST = 2**63 - 1


def check_file(path: Path) -> Path:
    """Return the path of a file, or raise `FileFormatError` if it does not exist."""
    if not path.is_file():
        raise FileFormatError("there is no such file; give the folder that contains the raw data sets.", path)
    return path


def read_integers(path: Path, columns: int, *, separator: str | None = ",", header: bool = False) -> Int64:
    """Return the rows of a file as int64 [rows, columns]; blank lines are skipped.

    Args:
        path: The file.
        columns: The number of integers on every line.
        separator: The separator of two numbers; None for any whitespace.
        header: Whether the first line is a header.
    """
    expected = "one integer" if columns == 1 else f"{columns} integers"
    table = _table(path, np.int64, expected, separator, header)
    if table.shape[1] != columns:
        line = line_of_row(0, path, header)
        raise FileFormatError(f"a line should contain {expected}, but it contains {table.shape[1]}.", path, line)
    return table


def read_decimals(path: Path) -> Float32:
    """Return the rows of a file of numbers separated by commas as float32 [rows, columns], all finite."""
    return _decimals(path, np.float32)


def read_targets(path: Path) -> Float64:
    """Return the same as float64, for regression targets, which may need more precision than float32."""
    return _decimals(path, np.float64)


def _decimals(path: Path, dtype: type) -> NDArray[Any]:
    table = _table(path, np.float64, "as many numbers as the first", ",", header=False)
    with np.errstate(over="ignore"):
        values: NDArray[Any] = table.astype(dtype)
    wrong = ~np.isfinite(values).all(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        column = int(np.argmin(np.isfinite(values[row])))
        raise FileFormatError(
            f"attributes must be finite, but number {column + 1} is {table[row, column]:g}.",
            path,
            line_of_row(row, path, header=False),
        )
    return values


def line_of_row(row: int, path: Path, header: bool) -> int | None:
    """Return the line number of a row, which differs from its index because of blank lines."""
    return next(islice((number for number, _ in _rows(path, header)), row, None), None)


def _rows(path: Path, header: bool) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, and their numbers."""
    with open(path, encoding="latin-1") as lines:
        yield from ((number, line) for number, line in enumerate(lines, 1) if line.strip() and number > header)


def _table(path: Path, dtype: type, expected: str, separator: str | None, header: bool) -> NDArray[Any]:
    check_file(path)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "loadtxt: input contained no data")
        warnings.filterwarnings("error", "loadtxt", DeprecationWarning)  # before NumPy 2: for 0.5 read as an integer
        load = partial(np.loadtxt, dtype=dtype, delimiter=separator, ndmin=2, comments=None)
        try:
            try:
                table: NDArray[Any] = load(path, skiprows=int(header))
            except UnicodeDecodeError:
                raise FileFormatError("this is not text; the file should contain numbers.", path) from None
            except ValueError:  # perhaps because of a line of whitespace, which NumPy takes for a row
                table = load([line for _, line in _rows(path, header)])
        except ValueError as error:
            raise _format_error(str(error), path, expected, header) from None
    if not table.size:
        raise FileFormatError("the file contains no numbers.", path)
    return table


def _format_error(numpy_message: str, path: Path, expected: str, header: bool) -> FileFormatError:
    # NumPy counts rows from 0 if it cannot parse a number, and from 1 if a row is longer or shorter than the first.
    unparsed = re.search(r"convert string (.+) to \w+ at row (\d+)", numpy_message)
    if unparsed:
        kind = "not an integer" if "integer" in expected else "not a number"
        word, line = unparsed[1].strip("' "), line_of_row(int(unparsed[2]), path, header)
        return FileFormatError(f"a line should contain {expected}, but {word!r} is {kind}.", path, line)
    ragged = re.search(r"from \d+ to (\d+) at row (\d+)", numpy_message)
    if ragged:
        line = line_of_row(int(ragged[2]) - 1, path, header)
        return FileFormatError(f"a line should contain {expected}, but it contains {ragged[1]}.", path, line)
    return FileFormatError(f"every line should contain {expected} ({numpy_message}).", path)
