"""graph6 and sparse6: one graph per line of printable characters (McKay's formats)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from detours.arrays import Int64, UInt8
from detours.atomic import atomic_write
from detours.errors import FileFormatError, InputError, warn_caller
from detours.graph.edges import EdgeList
from detours.graph.files.shared.format import Format
from detours.graph.files.shared.source import read_text

_LARGEST_DENSE = 20_000  # nodes; graph6 takes n²/12 bytes whatever the edges


def read(path: Path) -> EdgeList:
    """Return the first graph of a file, with a warning if there are more."""
    lines = _lines(path)
    first = next(lines, None)
    if first is None:
        raise FileFormatError("the file holds no graph.", path)
    if next(lines, None) is not None:
        warn_caller(f"{path} holds several graphs; only the first is read.", UserWarning)
    return decode(first[1], path, first[0])


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that hold a graph, without headers, each with its number."""
    for number, line in enumerate(read_text(path).split(b"\n"), 1):
        if line := strip_header(line.strip(b" \t\r")):
            yield number, line


def strip_header(line: bytes) -> bytes:
    """Return a line without the optional header of a graph6 or sparse6 file."""
    return line.removeprefix(b">>graph6<<").removeprefix(b">>sparse6<<")


def decode(line: bytes, path: Path, number: int) -> EdgeList:
    """Return the graph in line `number` of the file."""
    sparse = line.startswith(b":")
    if line[:1] in (b"&", b";"):
        kind = "digraph6" if line.startswith(b"&") else "incremental sparse6"
        raise FileFormatError(f"this line is {kind}, which is not supported; give graph6 or sparse6.", path, number)
    codes = np.frombuffer(line[1:] if sparse else line, dtype=np.uint8)
    if not len(codes) or codes.min() < 63 or codes.max() > 126:
        raise FileFormatError("this line is neither graph6 nor sparse6.", path, number)
    num_nodes, codes = _take_size(codes - 63, path, number)
    bits = np.unpackbits((codes << 2).astype(np.uint8)[:, None], axis=1, count=6).ravel()
    if sparse:
        return EdgeList(_sparse_edges(bits, num_nodes), num_nodes, meaning="edges")
    num_pairs = num_nodes * (num_nodes - 1) // 2
    if len(codes) != (num_pairs + 5) // 6:
        raise FileFormatError(
            f"a graph6 line of {num_nodes} nodes has {(num_pairs + 5) // 6} characters after its size, "
            f"but here there are {len(codes)}; the file is cut off or damaged.",
            path,
            number,
        )
    return EdgeList(_dense_edges(bits[:num_pairs]), num_nodes, meaning="edges")


def _take_size(codes: UInt8, path: Path, number: int) -> tuple[int, UInt8]:
    """Return the number of nodes, stored in one, four or eight characters, and the remaining codes."""
    start, length = (0, 1) if codes[0] < 63 else (1, 3) if len(codes) > 1 and codes[1] < 63 else (2, 6)
    digits = codes[start : start + length].tolist()
    if len(digits) < length:
        raise FileFormatError("the line is cut off within its size.", path, number)
    size = 0
    for digit in digits:
        size = size << 6 | digit
    if size >= 2**31:
        raise FileFormatError(f"a graph may have up to {2**31 - 1} nodes, not {size}.", path, number)
    return size, codes[start + length :]


def _dense_edges(bits: UInt8) -> Int64:
    """Return the edges of the upper triangle, whose bit (i, j) is at j(j-1)/2 + i."""
    index = np.flatnonzero(bits).astype(np.int64)
    column = ((1 + np.sqrt(1 + 8 * index.astype(np.float64))) / 2).astype(np.int64)
    # The rounded root may be off by one.
    column -= column * (column - 1) // 2 > index
    column += (column + 1) * column // 2 <= index
    return np.stack((index - column * (column - 1) // 2, column))


def _sparse_edges(bits: UInt8, num_nodes: int) -> Int64:
    """Return the edges of units (bit, x): the bit advances v by one; x > v sets v to x, else x-v is an edge."""
    width = max(num_nodes - 1, 0).bit_length()
    units = bits[: len(bits) // (width + 1) * (width + 1)].reshape(-1, width + 1).astype(np.int64)
    values = units[:, 1:] @ (1 << np.arange(width - 1, -1, -1, dtype=np.int64))
    edges: list[tuple[int, int]] = []
    v = 0
    for step, x in zip(units[:, 0].tolist(), values.tolist(), strict=True):
        v += step
        if x >= num_nodes or v >= num_nodes:  # the padding at the end
            break
        if x > v:
            v = x
        else:
            edges.append((x, v))
    return np.ascontiguousarray(np.array(edges, dtype=np.int64).reshape(-1, 2).T)


def write_graph6(edges: EdgeList, path: Path) -> None:
    """Write an undirected graph as one line of n²/12 characters."""
    _check_undirected(edges)
    if edges.num_nodes > _LARGEST_DENSE:
        raise InputError(
            f"graph6 takes {edges.num_nodes**2 // 12:,} bytes for {edges.num_nodes} nodes; write .s6 instead."
        )
    _write_line(path, encode(edges.num_nodes, edges.once()))


def write_sparse6(edges: EdgeList, path: Path) -> None:
    """Write an undirected graph as one line of about log2(n) / 6 characters per edge."""
    _check_undirected(edges)
    _write_line(path, b":" + _encode_sparse(edges.num_nodes, edges.once()))


def _check_undirected(edges: EdgeList) -> None:
    if edges.directed:
        raise InputError("graph6 and sparse6 hold undirected graphs only; call to_undirected() first.")


def _write_line(path: Path, line: bytes) -> None:
    with atomic_write(path) as file:
        file.write(line + b"\n")


def _size_codes(num_nodes: int) -> list[int]:
    if num_nodes < 63:
        return [num_nodes]
    length = 3 if num_nodes < 63 << 12 else 6
    digits = [num_nodes >> 6 * i & 63 for i in range(length - 1, -1, -1)]
    return [63] * (1 if length == 3 else 2) + digits


def _pack(num_nodes: int, bits: UInt8) -> bytes:
    rows = np.concatenate((bits, np.zeros(-len(bits) % 6, dtype=np.uint8))).reshape(-1, 6)
    codes = np.packbits(rows, axis=1).ravel() >> 2
    return bytes(code + 63 for code in _size_codes(num_nodes)) + (codes + 63).tobytes()


def encode(n: int, edges: Int64) -> bytes:
    """Return the graph6 line of n nodes and edges i < j, each once."""
    bits = np.zeros(n * (n - 1) // 2, dtype=np.uint8)
    i, j = edges
    bits[j * (j - 1) // 2 + i] = 1
    return _pack(n, bits)


def _encode_sparse(n: int, edges: Int64) -> bytes:
    width = max(n - 1, 0).bit_length()
    low, high = edges
    order = np.lexsort((low, high))
    units: list[tuple[int, int]] = []
    v = 0
    for x, node in zip(low[order].tolist(), high[order].tolist(), strict=True):
        if node == v:
            units.append((0, x))
        elif node == v + 1:
            units.append((1, x))
        else:
            units += [(1, node), (0, x)]
        v = node
    table = np.array(units, dtype=np.int64).reshape(-1, 2)
    shifts = np.arange(width - 1, -1, -1, dtype=np.int64)
    bits = np.concatenate((table[:, :1], table[:, 1:] >> shifts & 1), axis=1).ravel().astype(np.uint8)
    num_padding = -len(bits) % 6
    # Padding is all ones, except where that would read as another edge of the last node.
    padding = np.ones(num_padding, dtype=np.uint8)
    if width < 6 and n == 1 << width and num_padding > width and v < n - 1:
        padding[0] = 0
    return _pack(n, np.concatenate((bits, padding)))


GRAPH6 = Format(("g6", "graph6"), read, write_graph6)
SPARSE6 = Format(("s6", "sparse6"), read, write_sparse6)
