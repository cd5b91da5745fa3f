"""The compiled reader of columns of names, which indexes those of plain lines and leaves the others to Python."""

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
    """The columns of a line."""

    separator: int
    """The character between two columns; a space stands for any run of blanks."""
    columns: Int64
    """The columns of names."""
    weight: int
    """The column that holds decimal numbers or nothing; -1 if there is none."""


class Names(NamedTuple):
    """The distinct names of a text, as a hash table."""

    begin: Int64
    end: Int64
    """[names] the first byte of each, and the byte after it."""
    slots: Int64
    """[a power of two] the index of the name in each slot, with linear probing; -1 if empty."""


@compiled
def index_names(
    text: UInt8, at: int, layout: Layout, ids: Int64, num_rows: int, names: Names, num_names: int
) -> tuple[int, int, int]:
    """Index the names in lines of `text` (which ends with a line feed) from byte `at` until one is not plain.

    In a plain line, fields are in quotes or not, with a separator between them and perhaps spaces around it.
    Fills `ids` [columns, rows] from row `num_rows` on and `names` from `num_names` on. Returns the new counts of rows
    and names, and the byte where it stopped: the start of a line for Python to parse, or the end.
    """
    fields = np.empty((len(layout.columns), 3), np.int64)
    while at < len(text):
        after = _past_line(text, at, layout, fields)
        if after < 0:
            break
        for column in range(len(fields)):
            index = _index_of(text, fields[column, 0], fields[column, 1], fields[column, 2], names, num_names)
            num_names += index == num_names
            ids[column, num_rows] = index
        num_rows += 1
        at = after
    return num_rows, num_names, at


@compiled
def _past_line(text: UInt8, at: int, layout: Layout, fields: Int64) -> int:
    """Return the byte after the line that starts at `at`, -1 if it is not plain; fill `fields` [columns, 3]."""
    if text[_past_blanks(text, at, _SPACE)] in (_HASH, _PERCENT):  # a comment, perhaps after a tab
        return -1
    at = _past_blanks(text, at, layout.separator)
    column = found = 0
    while True:
        begin, end, at, key = _field(text, at, layout.separator)
        if at < 0 or (column == layout.weight and begin < end and past_number(text, begin) != end):
            return -1
        for i in range(len(fields)):
            if column == layout.columns[i] and begin < end:
                fields[i, 0], fields[i, 1], fields[i, 2] = begin, end, key
                found += 1
        if _separates(text[at], layout.separator):
            at = _past_blanks(text, at + 1, layout.separator)
            column += 1
            if layout.separator != _SPACE or not (text[at] == _LF or text[at] == _CR):
                continue
        at += text[at] == _CR
        return at + 1 if text[at] == _LF and found == len(fields) else -1


@compiled
def _field(text: UInt8, at: int, separator: int) -> tuple[int, int, int, np.int64]:
    """Return the start and end of a field without quotes, the byte after it (-1 if it is not plain), and its hash."""
    quoted = text[at] == _QUOTE
    begin = at + quoted
    at = end = begin
    key = running = np.int64(_OFFSET)
    here = text[at]
    while here >= _SPACE and here != _QUOTE and (quoted or not _separates(here, separator)):
        running = (running ^ np.int64(here)) * _PRIME
        at += 1
        if quoted or here != _SPACE:
            end, key = at, running
        here = text[at]
    after = at + (here == _QUOTE)
    plain = quoted == (here == _QUOTE) and (text[after] in (_LF, _CR) or _separates(text[after], separator))
    if begin < end:
        blank = text[begin] == _SPACE or text[end - 1] == _SPACE or _may_be_blank(text, begin)
        plain = plain and not (blank or _may_be_blank(text, end - 2) or _may_be_blank(text, end - 3))
    return begin, end, after if plain and at - begin < _LONGEST else -1, key


@compiled
def _separates(char: int, separator: int) -> bool:
    return char == separator or (separator == _SPACE and char == _TAB)


@compiled
def _past_blanks(text: UInt8, at: int, separator: int) -> int:
    while text[at] == _SPACE or (separator == _SPACE and text[at] == _TAB):
        at += 1
    return at


@compiled
def _may_be_blank(text: UInt8, at: int) -> bool:
    """Return whether a non-ASCII blank, which Python strips, may begin at a byte."""
    if at < 0 or text[at] < 0xC2:
        return False
    pair = np.int64(text[at]) << 8 | np.int64(text[at + 1])
    return pair in (0xC285, 0xC2A0, 0xE19A, 0xE280, 0xE281, 0xE380)


@compiled
def _index_of(text: UInt8, begin: int, end: int, key: int, names: Names, num_names: int) -> int:
    """Return the index of a name; a new name is added with the index `num_names`."""
    slot = (key ^ (key >> 32)) & (len(names.slots) - 1)
    index: int = names.slots[slot]
    while index >= 0 and not _same(text, begin, end, names.begin[index], names.end[index]):
        slot = (slot + 1) & (len(names.slots) - 1)
        index = names.slots[slot]
    if index < 0:
        index = num_names
        names.slots[slot] = index
        names.begin[index] = begin
        names.end[index] = end
    return index


@compiled
def _same(text: UInt8, begin: int, end: int, other: int, other_end: int) -> bool:
    """Return whether two slices of a text are equal."""
    if end - begin != other_end - other:
        return False
    while begin < end and text[begin] == text[other]:
        begin += 1
        other += 1
    return begin == end
