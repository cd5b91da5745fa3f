"""Columns of a line: their separator, and whether the first line is a header."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from detours.graph.files.shared.lines import is_decimal, is_integer

HEADERS = (("source", "target"), ("from", "to"), ("src", "dst"), ("node1", "node2"), ("node_1", "node_2"))
SEPARATORS = (",", ";", "\t", "|", " ")
_QUOTE = ord('"')  # much faster to search for in bytes than b'"'
_OPAQUE = re.compile(rb"(?<![^\s,;|])\"(?:[^\"]|\"\")*\"|\s\{'.*")  # names in quotes, attributes of NetworkX
_TABS = re.compile(rb"(?<![^\s,;|])\"(?:[^\"\n]|\"\")*\"|\t{2,}")
_DECIMAL_COMMA = re.compile(rb"[^\s,]+ +[^\s,]+ +[+-]?\d+,\d+")  # two nodes and a weight
_WORD = re.compile(r'"((?:[^"]|"")*)"(?!\S)|(\S+)', re.ASCII)
_PLAIN_WORD = re.compile(r"\S+", re.ASCII)  # non-ASCII blanks are part of a name

# ------------------------------------------------------------ separators


def guess_separator(line: str) -> str:
    """Return the most frequent separator in a line, a blank if there is none.

    >>> guess_separator("Ada;Grace, Hopper;1952")
    ';'
    """
    plain = _plain(line.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")
    return max(SEPARATORS[:-1], key=plain.count) if any(map(plain.count, SEPARATORS[:-1])) else " "


def _plain(line: bytes) -> bytes:
    """Return a line without characters that only look like separators: in quotes, next to a tab, or as a decimal comma.

    >>> [_plain(line) for line in (b'"Hopper, Grace" Ada', b"Hopper, G.\\tAda", b"Ada,\\t\\tGrace", b"Ada Grace 0,5")]
    [b'"" Ada', b'HopperG.\\tAda', b'Ada,Grace', b'Ada Grace 05']
    """
    line = re.sub(rb"\s*([,;|])\s*", rb"\1", _OPAQUE.sub(b'""', line.strip()))
    for char in (b",", b";", b"|"):
        if any(b"\t" in node for node in line.split(char)[:2]):
            line = line.replace(char, b"")
    return line.replace(b",", b"") if has_decimal_comma(line) else line


def has_decimal_comma(line: bytes) -> bool:
    """Return whether a line may be two nodes and a weight, separated by blanks, with a decimal comma in the weight."""
    return _DECIMAL_COMMA.fullmatch(line.strip()) is not None


def split_line(line: str, sep: str) -> list[str]:
    """Return the fields of a line, without quotes and surrounding blanks."""
    if sep == " ":
        return _words(line) if '"' in line else _PLAIN_WORD.findall(line)
    try:
        fields = next(csv.reader([quotes_first(line, sep)], delimiter=sep, skipinitialspace=True), [])
    except csv.Error:  # such as a carriage return within the line
        fields = line.split(sep)
    return [field.strip() for field in fields]


def _words(line: str) -> list[str]:
    """Return the fields of a line separated by blanks, with fields in quotes as R writes them."""
    return [(found[1] or "").replace('""', '"') or found[2] or "" for found in _WORD.finditer(line)]


def quotes_first(line: str, sep: str) -> str:
    """Return a line without tabs before quoted names, which `csv` would read as part of the names.

    >>> quotes_first('"Ada",\\t"Hopper, G."', ",")
    '"Ada","Hopper, G."'
    """
    if "\t" not in line or sep == "\t" or '"' not in line:
        return line
    return re.sub(rf'(^|{re.escape(sep)})[ \t]*("(?:[^"]|"")*"(?=\s*(?:{re.escape(sep)}|$)))', r"\1\2", line)


def one_tab(text: bytes) -> bytes:
    """Return a text with repeated tabs merged, except in quotes.

    >>> one_tab(b'Ada\\t\\t"Hopper\\t\\tG."')
    b'Ada\\t"Hopper\\t\\tG."'
    """
    return _TABS.sub(lambda match: b"\t" if match[0][:1] == b"\t" else match[0], text)


def plain_separator(line: bytes) -> bytes | None:
    """Return the separator of the nodes in a line: a comma, else a tab, else blanks (None).

    The line is not the row of a table; a weight may have a decimal comma.

    >>> plain_separator(b"Ada,Grace"), plain_separator(b"Ada Grace 0,5")
    (b',', None)
    """
    plain = _plain(line)
    return next((char for char in (b",", b"\t") if char in plain), None)


def first_fields(line: bytes, separator: bytes | None) -> list[bytes]:
    """Return the first three fields of a line: two nodes and perhaps a weight.

    >>> first_fields(b'"Hopper, Grace",Ada,2,1952', b",")
    [b'Hopper, Grace', b'Ada', b'2']
    """
    if separator is None and _QUOTE not in line:
        return line.split(None, 2) or [line]  # nothing but form feeds, for example
    line = line.strip(b" \t\r")
    if _QUOTE in line:
        fields = split_line(line.decode("utf-8", "surrogateescape"), " " if separator is None else separator.decode())
        return [field.encode("utf-8", "surrogateescape") for field in fields[:3]]
    return [field.strip() for field in line.split(separator)[:3]]


# ------------------------------------------------------------ headers


def known_header(fields: Sequence[str]) -> tuple[int, int] | None:
    """Return the positions of the columns of nodes in a header with common names, None if there are none.

    >>> known_header(["Id", "Source", "Target", "Weight"])
    (1, 2)
    """
    names = [field.strip().lower() for field in fields]
    for source, target in HEADERS:
        if source in names and target in names:
            return names.index(source), names.index(target)
    return None


def words_above_numbers(rows: Sequence[Sequence[str]], nodes: Sequence[int] = (0, 1)) -> bool:
    """Return whether the first row is a header: distinct words, one of them above a column of numbers other than nodes.

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
    """Return whether the first row is a header: none of its nodes is an integer, but both of the second row are.

    >>> words_above_integers([["who", "whom"], ["1", "2"]], nodes=(0, 1))
    True
    """
    if len(rows) < 2:
        return False
    above, below = ([is_integer(row[i].encode()) for i in nodes if i < len(row)] for row in rows[:2])
    return all(below) and not any(above)
