"""Exceptions of this library; every message says what was given, what is allowed and what to do."""

from __future__ import annotations

import os
import sys
import unicodedata
import warnings
from pathlib import Path
from typing import Any

__all__ = [
    "BudgetExceeded",
    "DetoursError",
    "DroppedEdgesWarning",
    "EngineError",
    "FileFormatError",
    "InputError",
]


# Controls, format characters such as marks of direction, surrogates, and line breaks.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # part of ordinary words in some scripts, and of emoji


class DetoursError(Exception):
    """Base of all exceptions of this library (except the built-in ``OverflowError``).

    >>> issubclass(InputError, DetoursError), issubclass(EngineError, DetoursError)
    (True, True)
    """


class InputError(DetoursError, ValueError):
    """An argument, a graph or a file that cannot be used.

    >>> import detours
    >>> try:
    ...     detours.count([(0, 1), (1, 2), (2, 0)], k=1)
    ... except InputError as error:
    ...     print(error)
    k, the most edges a detour may have, must be an integer of at least 2, but it is 1.
    """


class FileFormatError(InputError):
    """A file that is missing, damaged or of another format; `path` and, if known, `line` locate the problem.

    >>> import detours
    >>> try:
    ...     detours.count("missing.txt", k=3)
    ... except FileFormatError as error:
    ...     print(error.path, "-", error)
    missing.txt - missing.txt: there is no such file.
    """

    def __init__(self, message: str, path: str | os.PathLike[str] | None = None, line: int | None = None):
        super().__init__(message)
        self.path = None if path is None else Path(path)
        self.line = line

    def __str__(self) -> str:
        where = "" if self.path is None else f"{self.path}"
        if self.line is not None:
            where += f", line {self.line}" if where else f"line {self.line}"
        message = str(self.args[0])
        return f"{where}: {message}" if where else message


class BudgetExceeded(DetoursError):
    """A limit set by the caller was exceeded; `found` holds the results so far, `reason` names the limit.

    >>> import detours
    >>> try:
    ...     list(detours.paths([(0, 1), (0, 2), (2, 1), (0, 3), (3, 1)], 0, 1, k=2, max_paths=1))
    ... except BudgetExceeded as error:
    ...     print(error.found)
    [(0, 2, 1)]
    """

    def __init__(self, message: str, found: Any = None, reason: str = ""):
        super().__init__(message)
        self.found = found
        self.reason = reason


class EngineError(DetoursError):
    """The given engine, device or memory limit does not allow this count.

    >>> import detours
    >>> try:
    ...     detours.count([(0, 1), (1, 2), (2, 0)], k=9, engine="rows")
    ... except EngineError:
    ...     print("the rows engine counts up to k = 6")
    the rows engine counts up to k = 6
    """


class DroppedEdgesWarning(UserWarning):
    """Loops were dropped, repeated edges merged or one-way arcs symmetrised while a graph was read.

    >>> import detours
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", DroppedEdgesWarning)
    ...     detours.Graph.from_edges([(0, 0), (0, 1), (1, 2)]).dropped.loops
    1
    """


def short_repr(value: object) -> str:
    """Return the `repr` of a value on one line, shortened to fit into a message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def escape_control(text: str) -> str:
    """Return a text that is safe to show: control, direction and other hidden characters are escaped as in Python.

    Everything else stays, so that names in a result are those of the input.

    >>> escape_control("wipe \\x1b[2J, β")
    'wipe \\\\x1b[2J, β'
    """
    if text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character in _JOINERS or unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape").decode()


def warn_caller(message: str, category: type[Warning]) -> None:
    """Attribute the warning to the calling line outside this package: Python shows a warning once per line."""
    level = 1
    frame = sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "detours":
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
