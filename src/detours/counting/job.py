"""A count in a folder: what is counted and how it is cut into blocks (the manifest), and the blocks that are finished.

Every block is one file that appears whole or not at all, so a run that was killed at any moment loses only the blocks
under way; the next run with the same graph, k, engine and version goes on behind them, any other is refused.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from detours import __version__
from detours.errors import InputError

Arrays = tuple[NDArray[Any], ...]

MANIFEST = "manifest.json"
FORM = 1
"""Part of every key: to be raised when blocks are cut or written in another way."""
_SIDE = ("graph", "reverse")
"""Folders with what is made ready before a count begins."""
_WORDS = {
    "graph": "another graph",
    "directed": "another way to take the arcs (directed or not)",
    "k": "k = {}",
    "engine": "engine = {!r}",
    "version": "version {} of detours",
    "form": "another form of the folder",
}
"""How a difference between a folder and what is asked for is told."""


class Run(NamedTuple):
    """How a count in blocks went."""

    blocks: int
    resumed: int
    """Blocks that an earlier run had finished."""
    redone: int
    """Blocks begun again because whoever was at work on them was lost."""


class Job:
    """The folder of one count."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self.folder, self.manifest = folder, manifest

    @classmethod
    def open(cls, folder: Path) -> Job:
        """The count of a folder, for whoever is to work on it."""
        return cls(folder, _read(folder))

    @classmethod
    def begin(cls, folder: Path, key: Mapping[str, Any], layout: Callable[[], dict[str, Any]]) -> Job:
        """Begin the count in an empty folder, or go on with it where it was left."""
        wanted = {**key, "version": __version__, "form": FORM}
        if (folder / MANIFEST).exists():
            manifest = _read(folder)
            for name, sentence in _WORDS.items():
                if manifest.get(name) != wanted[name]:
                    theirs = sentence.format(manifest.get(name))
                    raise InputError(f"{folder} holds a count of {theirs}; give an empty folder or remove this one.")
            return cls(folder, manifest)
        if folder.exists() and (not folder.is_dir() or any(held.name not in _SIDE for held in folder.iterdir())):
            raise InputError(f"{folder} exists and holds no count; give a new or empty folder.")
        manifest = {"format": "detours count", **wanted, "identity": secrets.token_hex(8), **layout()}
        job = cls(folder, manifest)
        job.write_manifest()
        return job

    def write_manifest(self) -> None:
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            part = self.folder / f".{MANIFEST}.{secrets.token_hex(4)}"
            part.write_text(json.dumps(self.manifest, indent=1) + "\n", encoding="utf-8")
            os.replace(part, self.folder / MANIFEST)

    def note(self, **more: Any) -> None:
        """Add to the manifest."""
        self.manifest = {**self.manifest, **more}
        self.write_manifest()

    @property
    def stages(self) -> list[int]:
        """How many blocks each stage has; a stage needs all blocks of those before."""
        return list(self.manifest["stages"])

    @property
    def finished(self) -> bool:
        return "run" in self.manifest

    def has(self, stage: int, block: int) -> bool:
        return self._file(stage, block).exists()

    def missing(self, stage: int) -> list[int]:
        done = {file.name for file in (self.folder / "blocks").glob(f"{stage}-*.npz")}
        return [block for block in range(self.stages[stage]) if self._file(stage, block).name not in done]

    def mark_begun(self, stage: int, block: int) -> None:
        with writing(self.folder):
            (self.folder / "begun").mkdir(exist_ok=True)
            (self.folder / "begun" / f"{stage}-{block}.{os.getpid()}-{secrets.token_hex(4)}").touch()

    def redone(self) -> int:
        """How many times a block was begun again."""
        begun = [file.stem for file in (self.folder / "begun").glob("*.*")]
        return len(begun) - len(set(begun))

    def keep(self, stage: int, block: int, arrays: Arrays) -> None:
        """Write a finished block. One that a failing machine leaves half on its disk is found out when it is read."""
        with writing(self.folder):
            (self.folder / "blocks").mkdir(exist_ok=True)
            part = self.folder / "blocks" / f".{stage}-{block}.{secrets.token_hex(4)}"
            try:
                with open(part, "xb") as file:
                    np.savez(file, *arrays)
                os.replace(part, self._file(stage, block))
            finally:
                part.unlink(missing_ok=True)

    def load(self, stage: int, block: int) -> Arrays:
        """Read a finished block."""
        file = self._file(stage, block)
        try:
            with np.load(file, allow_pickle=False) as held:
                return tuple(held[f"arr_{number}"] for number in range(len(held.files)))
        except (OSError, ValueError, EOFError, KeyError, BadZipFile):
            file.unlink(missing_ok=True)
            raise InputError(f"{file} was damaged and is removed; run the same count again.") from None

    def clear(self) -> None:
        """Remove the blocks, once the whole is written."""
        for name in ("blocks", "begun", *_SIDE):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def _file(self, stage: int, block: int) -> Path:
        return self.folder / "blocks" / f"{stage}-{block:06d}.npz"


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Trouble with the disk becomes one sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InputError(
                f"the disk of {folder} is full; finished blocks are kept: make room and run the same count again."
            ) from None
        raise InputError(f"{folder} cannot be written ({error.strerror or error}).") from None


def _read(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        right = manifest["format"] == "detours count"
    except FileNotFoundError:
        raise InputError(
            f"{folder} cannot be seen from here; a cluster needs a folder that all machines share."
        ) from None
    except (OSError, ValueError, KeyError, TypeError):
        right = False
    if not right:
        raise InputError(f"{folder / MANIFEST} does not describe a count; give another folder.")
    return dict(manifest)
