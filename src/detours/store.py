"""Finished cells of experiments: the store is the cache, the resume and the source of every table.

A cell is one number, or a few that are made together, with the key that defines it: the experiment, the data with a
digest of their content, the method and its parameters. Each is one small JSON file that appears whole or not at all,
so a run killed at any moment loses only the cell under way, and running again goes on behind it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from detours import __version__
from detours.atomic import replacing
from detours.errors import InputError

FORM = 1
"""Part of every key: to be raised when the library changes in a way that changes results."""

Key = Mapping[str, Any]
Value = dict[str, Any]


class Cell(NamedTuple):
    """A finished cell: what it is, what came out, and how long it took."""

    key: dict[str, Any]
    value: Value
    seconds: float


class Task(NamedTuple):
    """A cell to be made: what it is, and how to make it."""

    key: Key
    work: Callable[[], Value]


class Store:
    """A folder of finished cells, `<experiment>/<data>-<method>-<digest of the key>.json`.

    Keys and values are what JSON can hold; a key has at least "experiment". The version of this library is part of
    every key, so that another version starts afresh.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{folder} is a file; give a folder for the results.")

    def path(self, key: Key) -> Path:
        """The file of a cell, whether it is there or not."""
        text = json.dumps(_full(key), sort_keys=True)
        words = " ".join(str(key[name]) for name in ("data", "method") if name in key)
        slug = re.sub(r"[^A-Za-z0-9]+", "-", words).strip("-")[:60]
        return self.folder / str(key["experiment"]) / f"{slug}-{sha256(text.encode()).hexdigest()[:12]}.json"

    def find(self, key: Key) -> Cell | None:
        """The finished cell, or None; a damaged file counts as none."""
        found = _cell(self.path(key))
        return found if found is not None and found.key == _full(key) else None

    def keep(self, key: Key, value: Value, seconds: float) -> Cell:
        """Write a finished cell, and give it as it will be read again."""
        cell = Cell(_full(key), value, round(seconds, 6))
        file = self.path(key)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the folder {file.parent} cannot be made ({error.strerror}); choose another.") from None
        with replacing(file) as target:
            target.write(json.dumps(cell._asdict(), indent=1).encode() + b"\n")
        kept = _cell(file)
        assert kept is not None
        return kept

    def __iter__(self) -> Iterator[Cell]:
        """Every finished cell, in the order of the file names."""
        for file in sorted(self.folder.glob("*/*.json")):
            if (cell := _cell(file)) is not None:
                yield cell

    def run(self, tasks: Sequence[Task], progress: Callable[[float, float], None] | None = None) -> list[Cell]:
        """The cells of all tasks, in their order: those that are there are read, the others are made and kept."""
        cells = []
        for done, task in enumerate(tasks):
            if progress is not None:
                progress(done, len(tasks))
            cell = self.find(task.key)
            if cell is None:
                start = time.perf_counter()
                value = task.work()
                cell = self.keep(task.key, value, time.perf_counter() - start)
            cells.append(cell)
        if progress is not None:
            progress(len(tasks), len(tasks))
        return cells


def _full(key: Key) -> dict[str, Any]:
    # Through JSON, so that a key compares equal to itself read from a file (tuples become lists).
    full: dict[str, Any] = json.loads(json.dumps({**key, "version": __version__, "form": FORM}))
    return full


def _cell(file: Path) -> Cell | None:
    try:
        return Cell(**json.loads(file.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
