"""Matrix Market (.mtx) coordinate files, through SciPy."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Bool, Int64
from detours.atomic import atomic_write
from detours.errors import FileFormatError
from detours.graph.convert import library
from detours.graph.edges import MAX_NODES, EdgeList
from detours.graph.files.shared.format import Format
from detours.graph.files.shared.lines import quoted
from detours.graph.files.shared.source import check_size, read_text

_FIELDS = {"pattern", "real", "integer", "unsigned-integer", "double"}
_SYMMETRIES = {"general", "symmetric", "skew-symmetric"}
_BANNER = "%%MatrixMarket matrix coordinate pattern|real|integer general|symmetric|skew-symmetric"
_SHORTEST = len("1 1")  # the shortest entry
_KIND = np.full(256, 3, np.uint8)  # of each byte: 0 blank, 1 in an index, 2 in a value, 3 in neither
_KIND[list(b".eEnNaAiIfFtTyY")] = 2
_KIND[list(b"0123456789+-")] = 1
_KIND[list(b" \t\r\n\v\f")] = 0


class _Header(NamedTuple):
    rows: int
    columns: int
    entries: int
    format: str
    field: str
    symmetry: str


def read(path: Path) -> EdgeList:
    """Return the edges of a square matrix; row i is the node named i, so names begin with 1 as in the file."""
    text = read_text(path)
    # SciPy reads beyond the end of an unterminated last line and past zero bytes, which may crash the process.
    if b"\0" in text:
        raise FileFormatError("this is not text: it holds binary data.", path)
    text = text if text.endswith(b"\n") else text + b"\n"
    io = library("scipy.io", "scipy")
    header = _header(io, text, path)
    if header.entries > len(text) // _SHORTEST:  # SciPy would allocate memory for all of them
        raise _cut_off(header, text.count(b"\n"), path)
    _check_entries(text, header, path)
    try:
        matrix = io.mmread(BytesIO(text))
    except (ValueError, OverflowError) as error:
        raise _entry_error(str(error), header, text, path) from None
    # SciPy appends the other triangle of a symmetric matrix, after the entries of the file in their order.
    edges = np.empty((2, header.entries), np.int64)
    edges[0], edges[1] = matrix.row[: header.entries], matrix.col[: header.entries]
    if header.field != "pattern":
        edges = edges[:, _nonzero(matrix.data[: header.entries], edges, path)]
    names = np.arange(1, header.rows + 1, dtype=np.int64)
    return EdgeList(edges, header.rows, names, "arcs" if header.symmetry == "general" else "edges")


def _nonzero(values: NDArray[Any], edges: Int64, path: Path) -> Bool:
    finite = np.isfinite(values)
    if not finite.all():
        entry = int(np.argmin(finite))
        row, column = edges[:, entry] + 1
        raise FileFormatError(f"the entry ({row}, {column}) is {values[entry]}, but values must be finite.", path)
    nonzero: Bool = values != 0
    return nonzero


def _header(io: Any, text: bytes, path: Path) -> _Header:
    first = text[: text.find(b"\n")].strip()
    try:
        header = _Header(*io.mminfo(BytesIO(text)))
    except (ValueError, OverflowError) as error:
        if "Premature EOF" in str(error):
            message = "the file is cut off: the line with the size of the matrix is missing."
            raise FileFormatError(message, path) from None
        if "anner" in str(error) or "header element" in str(error):
            message = f"{quoted(first)} is not the header of a Matrix Market file; it must be {_BANNER!r}."
            raise FileFormatError(message, path, 1) from None
        raise FileFormatError("the size of the matrix must be three integers: rows, columns, entries.", path) from None
    if header.format != "coordinate" or header.field not in _FIELDS or header.symmetry not in _SYMMETRIES:
        raise FileFormatError(f"{quoted(first)} is not supported; it must be {_BANNER!r}.", path, 1)
    if header.rows != header.columns:
        size = f"{header.rows} by {header.columns}"
        raise FileFormatError(f"an adjacency matrix must be square, but this one is {size}.", path)
    if header.rows > MAX_NODES:
        raise FileFormatError(f"a graph may have up to {MAX_NODES} nodes, not {header.rows}.", path)
    check_size(header.rows, 0, path)  # before its names are allocated
    return header


def _check_entries(text: bytes, header: _Header, path: Path) -> None:
    """Refuse lines with more than an entry: SciPy ignores the rest of a line."""
    head = re.search(rb"\A(?:[ \t]*(?:%[^\n]*)?\n)*[^\n]*\n", text)  # comments and empty lines, then the size
    assert head is not None
    kind = _KIND[np.frombuffer(text, np.uint8)[head.end() - 1 :]]
    words = int(np.count_nonzero((kind[:-1] == 0) & (kind[1:] != 0)))
    width = 2 if header.field == "pattern" else 3
    if words <= width * header.entries and kind.max() <= width - 1:
        return
    first = text.count(b"\n", 0, head.end()) + 1
    for number, line in enumerate(text[head.end() :].split(b"\n"), first):
        if len(line.split()) > width or _KIND[np.frombuffer(line, np.uint8)].max(initial=0) >= width:
            raise _bad_entry(line, "there is more in the line", header, path, number)


def _entry_error(reason: str, header: _Header, text: bytes, path: Path) -> FileFormatError:
    """Return our error for SciPy's complaint about an entry."""
    if missing := re.search(r"Expected another (\d+) lines", reason):
        return _cut_off(header, header.entries - int(missing[1]), path)
    if "Too many lines" in reason or "File too long" in reason:
        return FileFormatError(f"the file is damaged: it declares {header.entries} entries but holds more.", path)
    at_line = re.match(r"Line (\d+): (.*)", reason)
    if at_line is None:
        return FileFormatError(f"the matrix cannot be read ({reason}).", path)
    line = int(at_line[1])
    return _bad_entry(text.split(b"\n", line)[line - 1], at_line[2], header, path, line)


def _bad_entry(entry: bytes, why: str, header: _Header, path: Path, line: int) -> FileFormatError:
    allowed = f"two integers from 1 to {header.rows}" + (", and a number" if header.field != "pattern" else "")
    return FileFormatError(f"an entry must be {allowed}, but it is {quoted(entry.strip())} ({why}).", path, line)


def _cut_off(header: _Header, found: int, path: Path) -> FileFormatError:
    return FileFormatError(f"the file is cut off: it declares {header.entries} entries but holds {found}.", path)


def write(edges: EdgeList, path: Path) -> None:
    """Write a pattern matrix, its lower triangle only if undirected; row and column i + 1 are node i."""
    io, sparse = library("scipy.io", "scipy"), library("scipy.sparse", "scipy")
    # In the lower triangle the larger node comes first.
    rows, columns = edges.once() if edges.directed else edges.once()[::-1]
    shape = (edges.num_nodes, edges.num_nodes)
    matrix = sparse.coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=shape)
    with atomic_write(path) as file:
        io.mmwrite(file, matrix, field="pattern", symmetry="general" if edges.directed else "symmetric")


FORMAT = Format(("mtx",), read, write)
