"""The compiled reader of columns of names; it numbers those of plain lines and leaves the others to Python."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Int64, UInt8
from detours.compiled import compiled
from detours.graph.files.shared.lines_numba import past_number

_TAB, _LF, _CR, _SPACE, _QUOTE, _HASH, _PERCENT = 9, 10, 13, 32, 34, 35, 37
_OFFSET, _PRIME = -3750763034362895579, 1099511628211  # of the 64-bit FNV-1a hash
_LONGEST = 1 << 16  # bytes of a field, well below the limit of `csv`


class Layout(NamedTuple):
    """Where a line has what."""

    separator: int
    """The sign between two columns; a space stands for any blanks."""
    columns: Int64
    """Those whose names are numbered."""
    weight: int
    """The column that holds decimal numbers or nothing; -1 for none."""


class Names(NamedTuple):
    """The names of a text, each once, and where to find them."""

    begin: Int64
    end: Int64
    """[names] the bytes of each."""
    slots: Int64
    """[a power of two] the number of the name with such a hash, or of one that came before it; -1 for none."""


@compiled
def number_names(
    text: UInt8, at: int, layout: Layout, ends: Int64, edges: int, names: Names, known: int
) -> tuple[int, int, int]:
    """Number the names of lines of `text` (which ends with a line feed) from byte `at` until one is not plain.

    In a plain line, fields are in quotes or not, with a separator between them and perhaps spaces around it.
    Fills `ends` [columns, lines] from position `edges` on and `names` from `known` on. Returns the number of edges now,
    the number of names, and the byte where it stopped: the start of a line for Python to parse, or the end.
    """
    fields = np.empty((len(layout.columns), 3), np.int64)
    while at < len(text):
        after = _past_line(text, at, layout, fields)
        if after < 0:
            break
        for column in range(len(fields)):
            number = _number(text, fields[column, 0], fields[column, 1], fields[column, 2], names, known)
            known += number == known
            ends[column, edges] = number
        edges += 1
        at = after
    return edges, known, at


@compiled
def _past_line(text: UInt8, at: int, layout: Layout, fields: Int64) -> int:
    """Return the byte behind the line that begins at a byte, -1 if it is not plain; fill `fields` [columns, 3]."""
    if text[_past_blanks(text, at, _SPACE)] in (_HASH, _PERCENT):  # a comment, behind a tab, too
        return -1
    at = _past_blanks(text, at, layout.separator)
    place = found = 0
    while True:
        begin, end, at, key = _field(text, at, layout.separator)
        if at < 0 or (place == layout.weight and begin < end and past_number(text, begin) != end):
            return -1
        for column in range(len(fields)):
            if place == layout.columns[column] and begin < end:
                fields[column, 0], fields[column, 1], fields[column, 2] = begin, end, key
                found += 1
        if _separates(text[at], layout.separator):
            at = _past_blanks(text, at + 1, layout.separator)
            place += 1
            if layout.separator != _SPACE or not (text[at] == _LF or text[at] == _CR):
                continue
        at += text[at] == _CR
        return at + 1 if text[at] == _LF and found == len(fields) else -1


@compiled
def _field(text: UInt8, at: int, separator: int) -> tuple[int, int, int, np.int64]:
    """Return where a field begins and ends, without quotes, the byte behind it, -1 if it is not plain, and its hash."""
    quoted = text[at] == _QUOTE
    begin = at + quoted
    at = end = begin
    key = hashed = np.int64(_OFFSET)
    here = text[at]
    while here >= _SPACE and here != _QUOTE and (quoted or not _separates(here, separator)):
        hashed = (hashed ^ np.int64(here)) * _PRIME
        at += 1
        if quoted or here != _SPACE:
            end, key = at, hashed
        here = text[at]
    after = at + (here == _QUOTE)
    plain = quoted == (here == _QUOTE) and (text[after] in (_LF, _CR) or _separates(text[after], separator))
    if begin < end:
        blank = text[begin] == _SPACE or text[end - 1] == _SPACE or _may_be_blank(text, begin)
        plain = plain and not (blank or _may_be_blank(text, end - 2) or _may_be_blank(text, end - 3))
    return begin, end, after if plain and at - begin < _LONGEST else -1, key


@compiled
def _separates(sign: int, separator: int) -> bool:
    return sign == separator or (separator == _SPACE and sign == _TAB)


@compiled
def _past_blanks(text: UInt8, at: int, separator: int) -> int:
    while text[at] == _SPACE or (separator == _SPACE and text[at] == _TAB):
        at += 1
    return at


@compiled
def _may_be_blank(text: UInt8, at: int) -> bool:
    """Return whether a blank beyond ASCII, which Python strips, may begin at a byte."""
    if at < 0 or text[at] < 0xC2:
        return False
    pair = np.int64(text[at]) << 8 | np.int64(text[at + 1])
    return pair in (0xC285, 0xC2A0, 0xE19A, 0xE280, 0xE281, 0xE380)


@compiled
def _number(text: UInt8, begin: int, end: int, key: int, names: Names, known: int) -> int:
    """Return the number of a name; `known` if it is new, as which it is noted."""
    slot = (key ^ (key >> 32)) & (len(names.slots) - 1)
    number: int = names.slots[slot]
    while number >= 0 and not _same(text, begin, end, names.begin[number], names.end[number]):
        slot = (slot + 1) & (len(names.slots) - 1)
        number = names.slots[slot]
    if number < 0:
        number = known
        names.slots[slot] = number
        names.begin[number] = begin
        names.end[number] = end
    return number


@compiled
def _same(text: UInt8, begin: int, end: int, other: int, other_end: int) -> bool:
    """Return whether two parts of a text are equal."""
    if end - begin != other_end - other:
        return False
    while begin < end and text[begin] == text[other]:
        begin += 1
        other += 1
    return begin == end
