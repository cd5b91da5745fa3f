"""Lines of integers: read fast where they are plain, told in a clear sentence where they are broken."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.errors import FileFormatError
from detours.graph.edges import Ints

MAX_ID = 2**31 - 1
OTHER, ZERO, ABSENT = 0, 1, 2  # the third column; see parse_kernel

_PIECE = 1 << 23
_SMALL = 1 << 19  # bytes below which Python is done before Numba is imported
_GAP = rb"(?:[ \t]*,[ \t]*|[ \t]+)"
_PLAIN = re.compile(rb"[ \t]*(\d+)" + _GAP + rb"(\d+)(?:" + _GAP + rb"(.*))?", re.DOTALL)
_BEGINS = re.compile(rb"[ \t]*-?\d+" + _GAP + rb"-?\d+(?:" + _GAP + rb".*)?\r?", re.DOTALL)
_GAPS = re.compile(_GAP)
_INTEGER = re.compile(rb"-?\d+")
_DECIMAL = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NAN = re.compile(rb"\bnan\b", re.IGNORECASE)

Line = tuple[int, int, int]


class Columns(NamedTuple):
    src: Ints
    dst: Ints
    third: NDArray[np.uint8]


def pieces(file: IO[bytes]) -> Iterator[bytes]:
    """The file in pieces of some megabytes that end with a line feed, so that no line is cut."""
    rest = b""
    while block := file.read(_PIECE):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield rest + block[:cut]
            rest = block[cut:]
        else:
            rest += block
    if rest:
        yield rest + b"\n"


def is_data(line: bytes) -> bool:
    return line.strip(b" \t\r")[:1] not in (b"", b"#", b"%")


def begins_with_integers(line: bytes) -> bool:
    return _BEGINS.fullmatch(line) is not None


def is_integer(field: bytes) -> bool:
    return _INTEGER.fullmatch(field) is not None


def is_decimal(field: bytes) -> bool:
    return _DECIMAL.fullmatch(field) is not None


def quoted(field: bytes) -> str:
    text = field.decode("utf-8", "replace")
    return f'"{text}"' if len(text) <= 40 else f'"{text[:37]}..."'


def read_integers(text: Iterable[bytes], path: Path, first_line: int = 1) -> Columns:
    """All lines of two integers and, maybe, a number and more; pieces end with a line feed."""
    parts = []
    line = first_line
    fast = False
    for piece in text:
        fast = fast or len(piece) >= _SMALL
        parts.append(_parse_fast(piece, line, path) if fast else _parse_slowly(piece, line, path))
        line += piece.count(b"\n")
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return _columns([])
    src, dst, third = zip(*parts, strict=True)
    return Columns(np.concatenate(src), np.concatenate(dst), np.concatenate(third))


def _columns(lines: list[Line]) -> Columns:
    table = np.array(lines, dtype=np.int64).reshape(-1, 3)
    return Columns(table[:, 0].copy(), table[:, 1].copy(), table[:, 2].astype(np.uint8))


def _parse_slowly(piece: bytes, line: int, path: Path) -> Columns:
    judged = (judge(text, number, path) for number, text in enumerate(piece.split(b"\n"), line))
    return _columns([found for found in judged if found is not None])


def _parse_fast(piece: bytes, line: int, path: Path) -> Columns:
    from detours.graph.files.lines_numba import parse_lines

    text = np.frombuffer(piece, dtype=np.uint8)
    room = piece.count(b"\n")
    columns = Columns(np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.uint8))
    edges = at = 0
    while at < len(piece):
        edges, lines, at = parse_lines(text, at, *columns, edges)
        line += lines
        if at < len(piece):
            end = piece.index(b"\n", at)
            found = judge(piece[at:end], line, path)
            if found is not None:
                columns.src[edges], columns.dst[edges], columns.third[edges] = found
                edges += 1
            at, line = end + 1, line + 1
    return Columns(columns.src[:edges], columns.dst[:edges], columns.third[:edges])


def judge(text: bytes, line: int, path: Path) -> Line | None:
    """The two ids and the kind of third column of a line, None if it is blank or a comment."""
    text = text.removesuffix(b"\r")
    match = _PLAIN.fullmatch(text)
    if match is None:
        if not is_data(text):
            return None
        raise FileFormatError(_complaint(text), path, line)
    u, v = int(match[1]), int(match[2])
    if max(u, v) > MAX_ID:
        raise FileFormatError(_complaint(text), path, line)
    return u, v, check_third(match[3] or b"", line, path)


def check_third(rest: bytes, line: int, path: Path) -> int:
    """The kind of third column, from the text after the second; it must be a finite number if it is there."""
    rest = rest.strip(b" \t\r")
    if rest[:1] in (b"", b"#", b"%"):
        return ABSENT
    if rest[:1] == b"{":  # NetworkX writes a dictionary of edge attributes here
        if _NAN.search(rest):
            raise FileFormatError("the edge has a weight of NaN (not a number).", path, line)
        return ABSENT
    field = _GAPS.split(rest, maxsplit=1)[0]
    if not field:
        return ABSENT
    try:
        value = float(field)
    except ValueError:
        raise FileFormatError(
            f"the third column is the weight of the edge and must be a number, not {quoted(field)}.",
            path,
            line,
        ) from None
    if not math.isfinite(value):
        raise FileFormatError(f"the weight of the edge must be a finite number, not {quoted(field)}.", path, line)
    return ZERO if value == 0 else OTHER


def _complaint(text: bytes) -> str:
    fields = _GAPS.split(text.strip(b" \t"))
    if len(fields) < 2:
        return f"a line must hold two node ids, but there is only {quoted(fields[0])}."
    for field in fields[:2]:
        if not field:
            return "a node id is missing; a line must hold two node ids."
        if not is_integer(field):
            why = "node ids must be whole numbers" if is_decimal(field) else "node ids must be whole numbers here"
            return f"{quoted(field)} is not a node id; {why}."
        if field.startswith(b"-"):
            return f"the node id {field.decode()} is negative; ids must be 0 or larger."
        if len(field) > 18 or int(field) > MAX_ID:
            return f"the node id {quoted(field)[1:-1]} is too large; ids may go up to {MAX_ID}."
    return f"a line must hold two node ids, but it is {quoted(text)}."
