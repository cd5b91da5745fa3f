"""Exceptions of this library; every message says what was given, what is allowed and what to do."""

from __future__ import annotations

import os
import sys
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


class DetoursError(Exception):
    """Base of all exceptions of this library (except the built-in ``OverflowError``)."""


class InputError(DetoursError, ValueError):
    """An argument, a graph or a file that cannot be used."""


class FileFormatError(InputError):
    """A file that is not what its name says; `path` and, where there is one, `line` say where."""

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
    """A limit set by the caller was reached; `found` is what was found so far, `reason` names the limit."""

    def __init__(self, message: str, found: Any = None, reason: str = ""):
        super().__init__(message)
        self.found = found
        self.reason = reason


class EngineError(DetoursError):
    """The engine asked for cannot do what was asked."""


class DroppedEdgesWarning(UserWarning):
    """Loops were dropped, repeated edges merged or one-way arcs completed while a graph was read."""


def shown(value: object) -> str:
    """Return the `repr` of a value on one line, cut to fit into a sentence."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def printable(text: str) -> str:
    """Return a text as a terminal may show it: control characters and marks of direction as Python escapes them.

    >>> printable("wipe \\x1b[2J, β")
    'wipe \\\\x1b[2J, β'
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line outside this package that called it: Python shows a warning once per line."""
    level = 1
    frame = sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "detours":
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
