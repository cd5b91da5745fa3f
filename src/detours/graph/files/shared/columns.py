"""Columns of a line: what separates them, and whether a first line names them."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from detours.graph.files.shared.lines import is_decimal, is_integer

HEADERS = (("source", "target"), ("from", "to"), ("src", "dst"), ("node1", "node2"), ("node_1", "node_2"))
SEPARATORS = (",", ";", "\t", "|", " ")
_DECIMAL_COMMA = re.compile(rb"[^\s,]+[ \t]+[^\s,]+[ \t]+[+-]?\d+,\d+")  # two nodes and a weight
_WORD = re.compile(r'"((?:[^"]|"")*)"(?!\S)|(\S+)')

# ------------------------------------------------------------ separators


def guess_separator(line: str) -> str:
    """Return the separator that a line has most often, a blank if it has none.

    >>> guess_separator("Ada;Grace, Hopper;1952")
    ';'
    """
    line = line.replace(",", "") if _DECIMAL_COMMA.fullmatch(line.strip().encode()) else line
    return max(SEPARATORS[:-1], key=line.count) if any(map(line.count, SEPARATORS[:-1])) else " "


def split_line(line: str, sep: str) -> list[str]:
    """Return the fields of a line, without quotes and outer blanks."""
    if sep == " ":
        return _words(line) if '"' in line else line.split()
    try:
        fields = next(csv.reader([line], delimiter=sep), [])
    except csv.Error:  # a carriage return within the line, say
        fields = line.split(sep)
    return [field.strip() for field in fields]


def _words(line: str) -> list[str]:
    """Return the fields of a line that blanks separate, unless they are in quotes, as R writes them."""
    return [(found[1] or "").replace('""', '"') or found[2] or "" for found in _WORD.finditer(line)]


def plain_separator(line: bytes) -> bytes | None:
    """Return what separates the nodes of a line that is no row of a table: a comma, else a tab, else blanks (None).

    A weight may have a comma for its decimal point.

    >>> plain_separator(b"Ada,Grace"), plain_separator(b"Ada Grace 0,5")
    (b',', None)
    """
    line = line.strip()
    if b"," in line and line.count(b"\t") <= line.count(b",") and not _DECIMAL_COMMA.fullmatch(line):
        return b","
    return b"\t" if b"\t" in line else None


def first_fields(line: bytes, separator: bytes | None) -> list[bytes]:
    """Return the first three fields of a line: two nodes, and what may be a weight.

    >>> first_fields(b'"Hopper, Grace",Ada,2,1952', b",")
    [b'Hopper, Grace', b'Ada', b'2']
    """
    line = line.strip(b" \t\r")
    if b'"' in line:
        fields = split_line(line.decode("utf-8", "surrogateescape"), " " if separator is None else separator.decode())
        return [field.encode("utf-8", "surrogateescape") for field in fields[:3]]
    if separator is None:
        return line.split(None, 2) or [line]  # blanks of other kinds alone
    return [field.strip() for field in line.split(separator)[:3]]


# ------------------------------------------------------------ headers


def known_header(fields: Sequence[str]) -> tuple[int, int] | None:
    """Return the positions of the columns of nodes in a header with usual names, None if it is none.

    >>> known_header(["Id", "Source", "Target", "Weight"])
    (1, 2)
    """
    names = [field.strip().lower() for field in fields]
    for source, target in HEADERS:
        if source in names and target in names:
            return names.index(source), names.index(target)
    return None


def words_above_numbers(rows: Sequence[Sequence[str]], nodes: Sequence[int] = (0, 1)) -> bool:
    """Return whether the first row is a header: distinct words, one of them above a column of numbers beside the nodes.

    >>> words_above_numbers([["sender", "receiver", "letters"], ["Ada", "Grace", "7"]])
    True
    """
    first, below = rows[0], rows[1:]
    if len(set(first)) < len(first) or any(not word or _is_number(word) for word in first):
        return False
    for column in set(range(len(first))).difference(nodes):
        fields = [row[column] for row in below if len(row) > column and row[column]]
        if fields and all(map(_is_number, fields)):
            return True
    return False


def _is_number(field: str) -> bool:
    """Return whether this is a number, with a decimal point or a comma."""
    return is_decimal(field.replace(",", ".").encode())


def words_above_integers(rows: Sequence[Sequence[str]], nodes: Sequence[int]) -> bool:
    """Return whether the first row is a header: no node of it is an integer, but both of the second row are.

    >>> words_above_integers([["who", "whom"], ["1", "2"]], nodes=(0, 1))
    True
    """
    if len(rows) < 2:
        return False
    above, below = ([is_integer(row[place].encode()) for place in nodes if place < len(row)] for row in rows[:2])
    return all(below) and not any(above)
