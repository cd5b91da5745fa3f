"""The compiled reader of integer edge lists, which parses plain lines and leaves the others to Python."""

from __future__ import annotations

import numpy as np

from detours.arrays import Int64, UInt8
from detours.compiled import compiled

_TAB, _LF, _CR, _SPACE, _HASH, _PERCENT = 9, 10, 13, 32, 35, 37
_PLUS, _COMMA, _MINUS, _DOT, _ZERO, _NINE = 43, 44, 45, 46, 48, 57
_BRACE, _A, _E, _N = 123, 97, 101, 110
_DIGITS = 19  # as 2⁶³ has, whose overflow is negative; longer runs, with leading zeros perhaps, are left to Python


@compiled
def parse_lines(text: UInt8, at: int, source: Int64, target: Int64, edges: int) -> tuple[int, int, int]:
    """Parse lines of `text` (which ends with a line feed) from byte `at` until one is not plain.

    Fills `source` and `target` from position `edges` on. Returns the position after the last edge, the number of
    lines parsed, and the byte where it stopped: the start of a line for Python to parse, or the end.
    """
    lines = 0
    while at < len(text):
        start = at
        while text[at] == _SPACE or text[at] == _TAB:
            at += 1
        here = text[at]
        if here not in (_LF, _CR, _HASH, _PERCENT):
            # Written out twice: a function would be half as fast.
            u = np.int64(0)
            begin = at
            digit = np.int64(text[at]) - _ZERO
            while 0 <= digit <= 9:
                u = u * 10 + digit
                at += 1
                digit = np.int64(text[at]) - _ZERO
            used = at - begin
            middle = _gap(text, at)
            v = np.int64(0)
            begin = middle
            digit = np.int64(text[begin]) - _ZERO
            while 0 <= digit <= 9:
                v = v * 10 + digit
                begin += 1
                digit = np.int64(text[begin]) - _ZERO
            if not (0 < used <= _DIGITS and middle > at and 0 < begin - middle <= _DIGITS):
                return edges, lines, start
            at = begin
            if text[at] != _LF:
                at = _past_weight(text, at)
            if u < 0 or v < 0 or at < 0:
                return edges, lines, start
            source[edges] = u
            target[edges] = v
            edges += 1
        elif here == _CR and text[at + 1] != _LF:
            return edges, lines, start
        while text[at] != _LF:
            at += 1
        at += 1
        lines += 1
    return edges, lines, at


@compiled
def _gap(text: UInt8, at: int) -> int:
    """Return the byte after a gap: blanks with at most one comma."""
    while text[at] == _SPACE or text[at] == _TAB:
        at += 1
    if text[at] == _COMMA:
        at += 1
        while text[at] == _SPACE or text[at] == _TAB:
            at += 1
    return at


@compiled
def _past_weight(text: UInt8, at: int) -> int:
    """Return the byte after the third column, or -1 if it is not plain."""
    after = _gap(text, at)
    gap = after > at
    at = after
    here = text[at]
    if here == _LF or (here == _CR and text[at + 1] == _LF):
        return at
    if not gap:
        return -1
    if here in (_HASH, _PERCENT):
        return at
    if here == _BRACE:
        return -1 if _says_nan(text, at) else at
    at = past_number(text, at)
    if at < 0:
        return -1
    here = text[at]
    if here in (_SPACE, _TAB, _COMMA, _LF) or (here == _CR and text[at + 1] == _LF):
        return at
    return -1


@compiled
def past_number(text: UInt8, at: int) -> int:
    """Return the byte after a decimal number, or -1 if it is not plain."""
    if text[at] == _PLUS or text[at] == _MINUS:
        at += 1
    digits = 0
    points = 0
    while _ZERO <= text[at] <= _NINE or text[at] == _DOT:
        if text[at] == _DOT:
            points += 1
        else:
            digits += 1
        at += 1
    # Numbers long enough to overflow are left to Python, as are long exponents.
    if digits == 0 or digits > 30 or points > 1:
        return -1
    if text[at] | 32 == _E:
        at += 1
        if text[at] == _PLUS or text[at] == _MINUS:
            at += 1
        begin = at
        while _ZERO <= text[at] <= _NINE:
            at += 1
        if at == begin or at - begin > 2:
            return -1
    return at


@compiled
def _says_nan(text: UInt8, at: int) -> bool:
    """Return whether the rest of the line contains nan."""
    while text[at] != _LF:
        if text[at] | 32 == _N and text[at + 1] | 32 == _A and text[at + 2] | 32 == _N:
            return True
        at += 1
    return False
