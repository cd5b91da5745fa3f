"""The compiled reader of integer edge lists; it takes the plain lines and leaves the others to Python."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_TAB, _LF, _CR, _SPACE, _HASH, _PERCENT = 9, 10, 13, 32, 35, 37
_PLUS, _COMMA, _MINUS, _DOT, _ZERO, _NINE = 43, 44, 45, 46, 48, 57
_BRACE, _A, _E, _N = 123, 97, 101, 110
_LIMIT = 2**31 - 1
_DIGITS = 10  # of the limit; a longer run may still be small (leading zeros) and is left to Python
# What the third column of a line is: any number but a plain zero, a plain zero, or not there (or a remark).
OTHER, ZERO, ABSENT = 0, 1, 2


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]  # Numba ships no types
def parse_lines(text: Any, at: int, src: Any, dst: Any, third: Any, edges: int) -> Any:
    """Read lines of `text` (which ends with a line feed) from byte `at` until one is not plain.

    Fills src, dst and third (OTHER, ZERO or ABSENT) from place `edges` on. Returns the edges there are
    now, the lines read, and the byte where it stopped: the start of a line for Python to judge, or the end.
    """
    lines = 0
    while at < len(text):
        start = at
        while text[at] == _SPACE or text[at] == _TAB:
            at += 1
        here = text[at]
        if here not in (_LF, _CR, _HASH, _PERCENT):
            # Written out twice: as a function it costs half the speed.
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
            at, weight = begin, np.int64(ABSENT)
            if text[at] != _LF:
                at, weight = _third(text, at)
            if u > _LIMIT or v > _LIMIT or weight < 0:
                return edges, lines, start
            src[edges] = u
            dst[edges] = v
            third[edges] = weight
            edges += 1
        elif here == _CR and text[at + 1] != _LF:
            return edges, lines, start
        while text[at] != _LF:
            at += 1
        at += 1
        lines += 1
    return edges, lines, at


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _gap(text: Any, at: int) -> Any:
    """Past blanks with at most one comma among them."""
    while text[at] == _SPACE or text[at] == _TAB:
        at += 1
    if text[at] == _COMMA:
        at += 1
        while text[at] == _SPACE or text[at] == _TAB:
            at += 1
    return at


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _third(text: Any, at: int) -> Any:
    """Past the third column: OTHER, ZERO or ABSENT, or -1 if it is not plain."""
    after = _gap(text, at)
    gap = after > at
    at = after
    here = text[at]
    if here == _LF or (here == _CR and text[at + 1] == _LF):
        return at, ABSENT
    if not gap:
        return at, -1
    if here in (_HASH, _PERCENT):
        return at, ABSENT
    if here == _BRACE:
        return at, (-1 if _says_nan(text, at) else ABSENT)
    at, weight = _number(text, at)
    if weight < 0:
        return at, -1
    here = text[at]
    if here in (_SPACE, _TAB, _COMMA, _LF) or (here == _CR and text[at + 1] == _LF):
        return at, weight
    return at, -1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _number(text: Any, at: int) -> Any:
    """Past a decimal number: ZERO if its digits are all 0, else OTHER; -1 if it is no plain number."""
    if text[at] == _PLUS or text[at] == _MINUS:
        at += 1
    digits = 0
    points = 0
    weight = ZERO
    while _ZERO <= text[at] <= _NINE or text[at] == _DOT:
        if text[at] == _DOT:
            points += 1
        else:
            digits += 1
            if text[at] != _ZERO:
                weight = OTHER
        at += 1
    # Numbers so long that they might be infinite are left to Python, as are long exponents.
    if digits == 0 or digits > 30 or points > 1:
        return at, -1
    if text[at] | 32 == _E:
        at += 1
        if text[at] == _PLUS or text[at] == _MINUS:
            at += 1
        begin = at
        while _ZERO <= text[at] <= _NINE:
            at += 1
        if at == begin or at - begin > 2:
            return at, -1
    return at, weight


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _says_nan(text: Any, at: int) -> Any:
    """Whether the rest of the line holds the letters nan."""
    while text[at] != _LF:
        if text[at] | 32 == _N and text[at + 1] | 32 == _A and text[at + 2] | 32 == _N:
            return True
        at += 1
    return False
