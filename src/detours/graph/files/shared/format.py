"""The interface of a file format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from detours.graph.edges import EdgeList


class Format(NamedTuple):
    """A format of graph files; to add one, write a module that defines a `Format` and list it in `files.FORMATS`."""

    endings: tuple[str, ...]
    """The endings of file names, without the dot; each may be followed by .gz."""
    read: Callable[[Path], EdgeList]
    """Return the edges of a file, or raise `FileFormatError`; `source.open_file` opens and decompresses it."""
    write: Callable[[EdgeList, Path], None]
    """Write an edge list that has every arc; `atomic.atomic_write` opens and compresses the file."""


def ending(path: Path) -> str:
    """Return the ending of a file name, ignoring .gz, in lower case and without the dot."""
    uncompressed = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return uncompressed.suffix.lower().removeprefix(".")
