"""Columns of a line: what separates them, and whether a first line names them."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from detours.graph.files.shared.lines import is_decimal, is_integer

HEADERS = (("source", "target"), ("from", "to"), ("src", "dst"), ("node1", "node2"), ("node_1", "node_2"))
SEPARATORS = (",", ";", "\t", "|", " ")
_QUOTE = ord('"')  # many times faster to look for in bytes than b'"'
_OPAQUE = re.compile(rb"(?<![^\s,;|])\"(?:[^\"]|\"\")*\"|\s\{'.*")  # names in quotes, attributes of NetworkX
_TABS = re.compile(rb"(?<![^\s,;|])\"(?:[^\"\n]|\"\")*\"|\t{2,}")
_DECIMAL_COMMA = re.compile(rb"[^\s,]+ +[^\s,]+ +[+-]?\d+,\d+")  # two nodes and a weight
_WORD = re.compile(r'"((?:[^"]|"")*)"(?!\S)|(\S+)', re.ASCII)
_PLAIN_WORD = re.compile(r"\S+", re.ASCII)  # blanks of other kinds are a part of names

# ------------------------------------------------------------ separators


def guess_separator(line: str) -> str:
    """Return the separator that a line has most often, a blank if it has none.

    >>> guess_separator("Ada;Grace, Hopper;1952")
    ';'
    """
    signs = _signs(line.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")
    return max(SEPARATORS[:-1], key=signs.count) if any(map(signs.count, SEPARATORS[:-1])) else " "


def _signs(line: bytes) -> bytes:
    """Return a line without signs that separate no columns: in quotes, around a tab in front of others, or in a weight.

    >>> [_signs(line) for line in (b'"Hopper, Grace" Ada', b"Hopper, G.\\tAda", b"Ada,\\t\\tGrace", b"Ada Grace 0,5")]
    [b'"" Ada', b'HopperG.\\tAda', b'Ada,Grace', b'Ada Grace 05']
    """
    line = re.sub(rb"\s*([,;|])\s*", rb"\1", _OPAQUE.sub(b'""', line.strip()))
    for sign in (b",", b";", b"|"):
        if any(b"\t" in node for node in line.split(sign)[:2]):
            line = line.replace(sign, b"")
    return line.replace(b",", b"") if has_decimal_comma(line) else line


def has_decimal_comma(line: bytes) -> bool:
    """Return whether a line may be two nodes and a weight, with blanks between them and a comma in the weight."""
    return _DECIMAL_COMMA.fullmatch(line.strip()) is not None


def split_line(line: str, sep: str) -> list[str]:
    """Return the fields of a line, without quotes and outer blanks."""
    if sep == " ":
        return _words(line) if '"' in line else _PLAIN_WORD.findall(line)
    try:
        fields = next(csv.reader([quotes_first(line, sep)], delimiter=sep, skipinitialspace=True), [])
    except csv.Error:  # a carriage return within the line, say
        fields = line.split(sep)
    return [field.strip() for field in fields]


def _words(line: str) -> list[str]:
    """Return the fields of a line that blanks separate, unless they are in quotes, as R writes them."""
    return [(found[1] or "").replace('""', '"') or found[2] or "" for found in _WORD.finditer(line)]


def quotes_first(line: str, sep: str) -> str:
    """Return a line without the tabs in front of names in quotes, which `csv` would take for a part of them.

    >>> quotes_first('"Ada",\\t"Hopper, G."', ",")
    '"Ada","Hopper, G."'
    """
    if "\t" not in line or sep == "\t" or '"' not in line:
        return line
    return re.sub(rf'(^|{re.escape(sep)})[ \t]*("(?:[^"]|"")*"(?=\s*(?:{re.escape(sep)}|$)))', r"\1\2", line)


def one_tab(text: bytes) -> bytes:
    """Return a text in which one tab stands for several, unless they are in quotes.

    >>> one_tab(b'Ada\\t\\t"Hopper\\t\\tG."')
    b'Ada\\t"Hopper\\t\\tG."'
    """
    return _TABS.sub(lambda found: b"\t" if found[0][:1] == b"\t" else found[0], text)


def plain_separator(line: bytes) -> bytes | None:
    """Return what separates the nodes of a line that is no row of a table: a comma, else a tab, else blanks (None).

    A weight may have a comma for its decimal point.

    >>> plain_separator(b"Ada,Grace"), plain_separator(b"Ada Grace 0,5")
    (b',', None)
    """
    signs = _signs(line)
    return next((sign for sign in (b",", b"\t") if sign in signs), None)


def first_fields(line: bytes, separator: bytes | None) -> list[bytes]:
    """Return the first three fields of a line: two nodes, and what may be a weight.

    >>> first_fields(b'"Hopper, Grace",Ada,2,1952', b",")
    [b'Hopper, Grace', b'Ada', b'2']
    """
    if separator is None and _QUOTE not in line:
        return line.split(None, 2) or [line]  # blanks of other kinds alone
    line = line.strip(b" \t\r")
    if _QUOTE in line:
        fields = split_line(line.decode("utf-8", "surrogateescape"), " " if separator is None else separator.decode())
        return [field.encode("utf-8", "surrogateescape") for field in fields[:3]]
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
    if len(set(first)) < len(first) or any(not word or word[0] == "{" or _is_number(word) for word in first):
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
