"""The compiled reader of edge lists of names; it numbers the names of plain lines and leaves the others to Python."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Int64, UInt8
from detours.compiled import compiled
from detours.graph.files.shared.lines_numba import past_number

_TAB, _LF, _VT, _FF, _CR, _SPACE, _QUOTE, _HASH, _PERCENT = 9, 10, 11, 12, 13, 32, 34, 35, 37
_OFFSET, _PRIME = -3750763034362895579, 1099511628211  # of the 64-bit FNV-1a hash


class Names(NamedTuple):
    """The names of a text, each once, and where to find them."""

    begin: Int64
    end: Int64
    """[names] the bytes of each."""
    slots: Int64
    """[a power of two] the number of the name with such a hash, or of one that came before it; -1 for none."""


@compiled
def number_names(
    text: UInt8, at: int, separator: int, ends: Int64, edges: int, names: Names, known: int
) -> tuple[int, int, int, int]:
    """Number the names of lines of `text` (which ends with a line feed) from byte `at` until one is not plain.

    A plain line is two names, in quotes or not, with a separator between them (0 for blanks), and perhaps a decimal
    number behind another.
    Fills `ends` [2, lines] from position `edges` on and `names` from `known` on. Returns the number of edges now, the
    number of names, the number of lines passed, and the byte where it stopped: the start of a line for Python to parse,
    or the end.
    """
    lines = 0
    while at < len(text):
        if text[at] == _HASH or text[at] == _PERCENT:
            break
        one = _name(text, at, separator)
        after = _past_gap(text, one.after, separator)
        if after < 0:
            break
        other = _name(text, after, separator)
        last = other.after
        if last >= 0 and text[last] != _LF and text[last] != _CR:
            weight = _past_gap(text, last, separator)
            last = past_number(text, weight) if weight >= 0 else -1
        if last >= 0 and text[last] == _CR:
            last += 1
        if last < 0 or text[last] != _LF:
            break
        ends[0, edges] = _number(text, one, names, known)
        known += ends[0, edges] == known
        ends[1, edges] = _number(text, other, names, known)
        known += ends[1, edges] == known
        edges += 1
        lines += 1
        at = last + 1
    return edges, known, lines, at


class Name(NamedTuple):
    """The bytes of a name, without quotes; where what follows begins, -1 if it is not plain; and its hash."""

    begin: int
    end: int
    after: int
    key: np.int64


@compiled
def _name(text: UInt8, at: int, separator: int) -> Name:
    """Return the name that begins at a byte."""
    quoted = text[at] == _QUOTE
    begin = at + quoted
    at = begin
    key = np.int64(_OFFSET)
    here = text[at]
    while here not in (_LF, _CR, _QUOTE):
        if not quoted and (here == separator or (separator == 0 and here in (_SPACE, _TAB))):
            break
        if here in (0, _TAB, _VT, _FF):
            return Name(begin, at, -1, key)
        key = (key ^ np.int64(here)) * _PRIME
        at += 1
        here = text[at]
    if quoted != (here == _QUOTE) or at == begin or text[begin] == _SPACE or text[at - 1] == _SPACE:
        return Name(begin, at, -1, key)
    return Name(begin, at, at + quoted, key)


@compiled
def _past_gap(text: UInt8, at: int, separator: int) -> int:
    """Return the byte after a separator, or after blanks if it is 0; -1 if there is none."""
    if at < 0:
        return -1
    if separator != 0:
        return at + 1 if text[at] == separator else -1
    begin = at
    while text[at] == _SPACE or text[at] == _TAB:
        at += 1
    return at if at > begin else -1


@compiled
def _number(text: UInt8, name: Name, names: Names, known: int) -> int:
    """Return the number of a name; `known` if it is new, as which it is noted."""
    slot = (name.key ^ (name.key >> 32)) & (len(names.slots) - 1)
    number: int = names.slots[slot]
    while number >= 0 and not _same(text, name.begin, name.end, names.begin[number], names.end[number]):
        slot = (slot + 1) & (len(names.slots) - 1)
        number = names.slots[slot]
    if number < 0:
        number = known
        names.slots[slot] = number
        names.begin[number] = name.begin
        names.end[number] = name.end
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
