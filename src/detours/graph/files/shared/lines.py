"""Lines of integers: compiled code reads the plain ones, Python all others and small files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from detours.arrays import Int64
from detours.errors import FileFormatError

MAX_ID = 2**63 - 1  # ids are names; nodes are renumbered

_PIECE = 1 << 23
SMALL = 1 << 19  # bytes below which Python is done before Numba is imported
_GAP = rb"(?:[ \t]*,[ \t]*|[ \t]+)"
_PLAIN = re.compile(rb"[ \t]*(\d+)" + _GAP + rb"(\d+)(?:" + _GAP + rb"(.*))?", re.DOTALL)
_BEGINS = re.compile(rb"[ \t]*-?\d+" + _GAP + rb"-?\d+(?:" + _GAP + rb".*)?\r?", re.DOTALL)
_QUOTED = re.compile(rb'(?<![^\s,])"(\d+)"(?![^\s,])')
_GAPS = re.compile(_GAP)
_INTEGER = re.compile(rb"-?\d+")
_DECIMAL = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NAN = re.compile(rb"\bnan\b", re.IGNORECASE)


class NoWeight(FileFormatError):
    """The third column of a line is not a number; below a header it need not be one."""


def pieces(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the file in pieces of a few megabytes that end with a line feed; a small file is one piece.

    In files with bare carriage returns, as of old Macs, these become line feeds.
    """
    block, rest = file.read(_PIECE), b""
    bare_returns = b"\r" in block and b"\n" not in block
    while block:
        following = file.read(_PIECE)
        block = block.replace(b"\r", b"\n") if bare_returns else block
        if not following and not block.endswith(b"\n"):
            block += b"\n"
        cut = block.rfind(b"\n") + 1
        if cut:
            yield rest + block[:cut]
            rest = block[cut:]
        else:
            rest += block
        block = following


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


def read_integers(text: Iterable[bytes], path: Path) -> Int64:
    """Return int64 [2, lines], the first two integers of every line; all pieces end with a line feed."""
    parts = [np.empty((2, 0), np.int64)]
    line = 1
    fast = False
    for piece in text:
        fast = fast or len(piece) >= SMALL
        parts.append(_parse_fast(piece, line, path) if fast else _parse_slow(piece, line, path))
        line += piece.count(b"\n")
    return parts[1] if len(parts) == 2 else np.concatenate(parts, axis=1)


def _parse_slow(piece: bytes, line: int, path: Path) -> Int64:
    parsed = (_parse_line(text, number, path) for number, text in enumerate(piece.split(b"\n"), line))
    return np.array([pair for pair in parsed if pair is not None], dtype=np.int64).reshape(-1, 2).T.copy()


def _parse_fast(piece: bytes, line: int, path: Path) -> Int64:
    from detours.graph.files.shared.lines_numba import parse_lines

    text = np.frombuffer(piece, dtype=np.uint8)
    pairs = np.empty((2, piece.count(b"\n")), np.int64)
    edges = position = 0
    while position < len(piece):
        edges, lines, position = parse_lines(text, position, pairs[0], pairs[1], edges)
        line += lines
        if position < len(piece):
            end = piece.index(b"\n", position)
            pair = _parse_line(piece[position:end], line, path)
            if pair is not None:
                pairs[:, edges] = pair
                edges += 1
            position, line = end + 1, line + 1
    return pairs[:, :edges]


def _parse_line(text: bytes, line: int, path: Path) -> tuple[int, int] | None:
    """Return the two ids of a line, None if it is blank or a comment."""
    text = text.removesuffix(b"\r")
    match = _PLAIN.fullmatch(_QUOTED.sub(rb"\1", text) if b'"' in text else text)
    if match is None:
        if not is_data(text):
            return None
        raise FileFormatError(_refusal(text), path, line)
    u, v = id_of(match[1]), id_of(match[2])
    if max(u, v) > MAX_ID:
        raise FileFormatError(_refusal(text), path, line)
    check_weight(match[3] or b"", line, path)
    return u, v


def id_of(digits: bytes) -> int:
    """Return the integer that digits spell; if it exceeds `MAX_ID`, the result does too, but may differ.

    >>> id_of(b"007"), id_of(b"9" * 5000) > MAX_ID
    (7, True)
    """
    return int(digits.lstrip(b"0")[:20] or b"0")


def check_weight(rest: bytes, line: int, path: Path) -> None:
    """Raise `FileFormatError` if what follows the two nodes begins with a weight that is not a finite number."""
    rest = rest.strip(b" \t\r")
    if rest[:1] in (b"", b"#", b"%"):
        return
    if rest[:1] == b"{":  # NetworkX writes a dictionary of edge attributes here
        if _NAN.search(rest):
            raise FileFormatError("the weight of the edge is NaN.", path, line)
        return
    field = _GAPS.split(rest, maxsplit=1)[0]
    if not field:
        return
    try:
        weight = float(field)
    except ValueError:
        raise NoWeight(
            f"the third column is the weight of the edge and must be a number, not {quoted(field)}; "
            "if it is not a weight, name the columns of nodes, as in columns=(1, 2) or by their names in a header; "
            'lists of neighbours are read with format="adjlist".',
            path,
            line,
        ) from None
    if not math.isfinite(weight):
        raise FileFormatError(f"the weight of the edge must be a finite number, not {quoted(field)}.", path, line)


def _refusal(text: bytes) -> str:
    """Return what is wrong with the two ids of a line."""
    fields = _GAPS.split(text.strip(b" \t"))
    if len(fields) < 2:
        return (
            f"a line must hold two node ids, but there is only {quoted(fields[0])}; lists of neighbours are read with "
            'format="adjlist".'
        )
    for field in fields[:2]:
        if not field:
            return "a node id is missing; a line must hold two node ids."
        if not is_integer(field):
            return (
                f"{quoted(field)} is not a node id; the node ids of this file must be integers, unless columns=(1, 2) "
                "makes them all names."
            )
        if field.startswith(b"-"):
            return (
                f"the node id {field.decode()} is negative; ids must be 0 or larger, unless columns=(1, 2) makes them "
                "all names."
            )
        if id_of(field) > MAX_ID:
            return (
                f"the node id {quoted(field)[1:-1]} is too large; ids must be at most {MAX_ID}, but with "
                "columns=(1, 2) longer ones are read as names."
            )
    return f"a line must hold two node ids, but it is {quoted(text)}."
