"""graph6 and sparse6: one graph per line of printable characters (McKay's formats)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from detours.atomic import replacing
from detours.errors import FileFormatError, InputError, warn_caller
from detours.graph.convert import listed_once
from detours.graph.edges import Ints, Listed
from detours.graph.files.source import read_text

if TYPE_CHECKING:
    from detours.graph import Graph

Bits = NDArray[np.uint8]

_HEADERS = (b">>graph6<<", b">>sparse6<<")
_LARGEST_DENSE = 20_000  # nodes; graph6 takes n²/12 bytes whatever the edges


def read(path: Path) -> Listed:
    """The first graph of a file, with a warning if there are more."""
    lines = _lines(path)
    first = next(lines, None)
    if first is None:
        raise FileFormatError("the file holds no graph.", path)
    if next(lines, None) is not None:
        warn_caller(f"{path} holds several graphs; only the first is read.", UserWarning)
    return decode(first[1], path, first[0])


def read_all(path: Path) -> Iterator[Listed]:
    """Every graph of a file, in order."""
    none = True
    for number, line in _lines(path):
        none = False
        yield decode(line, path, number)
    if none:
        raise FileFormatError("the file holds no graph.", path)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that hold a graph, without headers, each with its number."""
    for number, line in enumerate(read_text(path).split(b"\n"), 1):
        line = line.strip(b" \t\r")
        for header in _HEADERS:
            line = line.removeprefix(header)
        if line:
            yield number, line


def decode(line: bytes, path: Path, number: int) -> Listed:
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
        return Listed(_sparse_edges(bits, num_nodes), num_nodes, meaning="edges")
    wanted = num_nodes * (num_nodes - 1) // 2
    if len(codes) != (wanted + 5) // 6:
        raise FileFormatError(
            f"a graph6 line of {num_nodes} nodes has {(wanted + 5) // 6} characters after its size, "
            f"but {len(codes)} are here; the file is cut off or damaged.",
            path,
            number,
        )
    return Listed(_dense_edges(bits[:wanted]), num_nodes, meaning="edges")


def _take_size(codes: Bits, path: Path, number: int) -> tuple[int, Bits]:
    """N(n) of the format: one, four or eight characters."""
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


def _dense_edges(bits: Bits) -> Ints:
    """Bit (i, j) of the upper triangle, column after column, lies at j(j-1)/2 + i."""
    at = np.flatnonzero(bits).astype(np.int64)
    column = ((1 + np.sqrt(1 + 8 * at.astype(np.float64))) / 2).astype(np.int64)
    # The root may be off by one in the last place.
    column -= column * (column - 1) // 2 > at
    column += (column + 1) * column // 2 <= at
    return np.stack((at - column * (column - 1) // 2, column))


def _sparse_edges(bits: Bits, num_nodes: int) -> Ints:
    """Units of a bit and a number x: the bit moves v on by one; x > v jumps to x, else x-v is an edge."""
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


def write(graph: Graph, path: Path, *, sparse: bool) -> None:
    if graph.directed:
        raise InputError("graph6 and sparse6 hold undirected graphs only; call to_undirected() first.")
    if not sparse and graph.num_nodes > _LARGEST_DENSE:
        raise InputError(
            f"graph6 takes {graph.num_nodes**2 // 12:,} bytes for {graph.num_nodes} nodes; write .s6 instead."
        )
    line = b":" + _encode_sparse(graph) if sparse else encode(graph)
    with replacing(path) as file:
        file.write(line + b"\n")


def _size_codes(num_nodes: int) -> list[int]:
    if num_nodes < 63:
        return [num_nodes]
    length = 3 if num_nodes < 63 << 12 else 6
    digits = [num_nodes >> 6 * place & 63 for place in range(length - 1, -1, -1)]
    return [63] * (1 if length == 3 else 2) + digits


def _packed(num_nodes: int, bits: Bits) -> bytes:
    rows = np.concatenate((bits, np.zeros(-len(bits) % 6, dtype=np.uint8))).reshape(-1, 6)
    codes = np.packbits(rows, axis=1).ravel() >> 2
    return bytes(code + 63 for code in _size_codes(num_nodes)) + (codes + 63).tobytes()


def encode(graph: Graph) -> bytes:
    n = graph.num_nodes
    bits = np.zeros(n * (n - 1) // 2, dtype=np.uint8)
    i, j = listed_once(graph)
    bits[j * (j - 1) // 2 + i] = 1
    return _packed(n, bits)


def _encode_sparse(graph: Graph) -> bytes:
    n = graph.num_nodes
    width = max(n - 1, 0).bit_length()
    low, high = listed_once(graph)
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
    room = -len(bits) % 6
    # Padding is all ones, except where that would read as one more edge of the last node.
    padding = np.ones(room, dtype=np.uint8)
    if width < 6 and n == 1 << width and room > width and v < n - 1:
        padding[0] = 0
    return _packed(n, np.concatenate((bits, padding)))
