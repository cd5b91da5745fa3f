"""A count in a folder: a manifest, which says what is counted and how it is divided into blocks, and finished blocks.

Every block is one file that appears complete or not at all, so a run that is killed loses only the blocks in progress;
the next run with the same graph, k, engine and version resumes after them, any other is refused.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours import __version__
from detours.atomic import atomic_file, exclusive, write_new
from detours.containers import read_archive, read_manifest
from detours.counting.finished import MANIFEST
from detours.errors import FileFormatError, InputError

Arrays = tuple[NDArray[Any], ...]

FORM = 4  # the version of this layout of the folder; to be increased when blocks are divided or written in another way
MOST_BLOCKS = 1 << 26  # of a stage; more would be no layout of ours
LOCK = ".lock"
SHARED = ".graph"  # where a graph without a folder of its own is saved for workers to open
_LEFT = (SHARED, ".reverse-*", ".*.part", f".{MANIFEST}.*")
"""What a count needs while it runs, or leaves incomplete when it is killed."""
_WORDS = {
    "graph": "another graph",
    "directed": "another way to take the arcs (directed or not)",
    "k": "k = {}",
    "engine": "engine = {!r}",
    "version": "version {} of detours",
    "form": "another form of the folder",
}
"""How the message for a folder of another count names the difference."""


def reverse_in(folder: Path, graph: str) -> Path:
    """Return where the reversed arcs of the directed graph with this fingerprint are, made before the count begins."""
    return folder / f".reverse-{graph[:16]}"


class Job:
    """The folder of one count."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self.folder, self.manifest = folder, manifest

    @classmethod
    def open(cls, folder: Path) -> Job:
        """Open the count in a folder."""
        return cls(folder, _read(folder))

    @classmethod
    def begin(cls, folder: Path, key: Mapping[str, Any], layout: Callable[[], dict[str, Any]]) -> Job:
        """Begin the count in an empty folder, or resume it.

        If several processes begin at the same time, one writes the manifest and the others use it.
        """
        wanted = {**key, "version": __version__, "form": FORM}
        if not (folder / MANIFEST).exists():
            _check_empty(folder, reverse_in(folder, key["graph"]))
            made = {"format": "detours count", **wanted, "identity": secrets.token_hex(8), **layout()}
            job = cls(folder, made)
            if job.publish():
                return job
        manifest = _read(folder)
        for name, sentence in _WORDS.items():
            if manifest.get(name) != wanted[name]:
                theirs = sentence.format(manifest.get(name))
                raise InputError(f"{folder} holds a count of {theirs}; give an empty folder or remove this one.")
        return cls(folder, manifest)

    def publish(self) -> bool:
        """Write the first manifest of the folder; return False if another process was first."""
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            return write_new(self.folder / MANIFEST, self._manifest_text())

    def write_manifest(self) -> None:
        with writing(self.folder), atomic_file(self.folder / MANIFEST) as file:
            file.write(self._manifest_text())

    def _manifest_text(self) -> bytes:
        return json.dumps(self.manifest, indent=1).encode() + b"\n"

    def note(self, **more: Any) -> None:
        """Add to the manifest."""
        self.manifest = {**self.manifest, **more}
        self.write_manifest()

    @property
    def stages(self) -> list[int]:
        """The number of blocks of each stage; a stage needs all blocks of the stages before it."""
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
        """Return how often a block was begun again."""
        begun = [file.stem for file in (self.folder / "begun").glob("*.*")]
        return len(begun) - len(set(begun))

    def keep(self, stage: int, block: int, arrays: Arrays) -> None:
        """Write a finished block."""
        with writing(self.folder):
            (self.folder / "blocks").mkdir(exist_ok=True)
            with atomic_file(self._file(stage, block)) as file:
                np.savez(file, *arrays)
            self._begun_file(block).unlink(missing_ok=True)

    def keep_begun(self, block: int, arrays: Arrays) -> None:
        """Write what is found of a part that takes long."""
        with writing(self.folder):
            (self.folder / "blocks").mkdir(exist_ok=True)
            with atomic_file(self._begun_file(block)) as file:
                np.savez(file, *arrays)

    def load_begun(self, block: int) -> Arrays:
        """Read what an earlier run found of a part; nothing if there is none that can be read."""
        file = self._begun_file(block)
        try:
            held = read_archive(file.read_bytes(), file)
            return tuple(held[f"arr_{number}"] for number in range(len(held)))
        except (OSError, FileFormatError, KeyError):
            return ()

    def load(self, stage: int, block: int) -> Arrays:
        """Read a finished block."""
        file = self._file(stage, block)
        try:
            content = file.read_bytes()
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"{file} cannot be read ({reason}); run the same count again.") from None
        try:
            held = read_archive(content, file)
            return tuple(held[f"arr_{number}"] for number in range(len(held)))
        except (FileFormatError, KeyError):
            raise self.damaged(stage, block) from None

    def damaged(self, stage: int, block: int) -> InputError:
        """Remove a block that cannot be right, and return the error to raise."""
        file = self._file(stage, block)
        with writing(self.folder):
            file.unlink(missing_ok=True)
        return InputError(f"{file} was damaged and is removed; run the same count again.")

    def clear(self) -> None:
        """Remove the blocks, once the counts are written, and what killed runs left."""
        for name in ("blocks", "begun"):
            with suppress(OSError):  # as where there is something else inside
                for file in (self.folder / name).glob("*[0-9]-[0-9]*"):
                    file.unlink(missing_ok=True)
                (self.folder / name).rmdir()
        for left in [left for pattern in _LEFT for left in self.folder.glob(pattern)]:
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                with suppress(OSError):
                    left.unlink()

    def _file(self, stage: int, block: int) -> Path:
        return self.folder / "blocks" / f"{stage}-{block:06d}.npz"

    def _begun_file(self, block: int) -> Path:
        return self.folder / "blocks" / f"begun-0-{block:06d}.npz"  # parts have one stage


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn an `OSError` into an `InputError` that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InputError(
                f"the disk of {folder} is full; finished blocks are kept: make room and run the same count again."
            ) from None
        raise InputError(f"{folder} cannot be written ({error.strerror or error}).") from None


@contextmanager
def held_alone(folder: Path) -> Iterator[None]:
    """Refuse a folder in which another process counts; one that was killed does not count any more."""
    made = not folder.exists()
    if made:
        with writing(folder):
            folder.mkdir(parents=True)
    try:
        with exclusive(folder / LOCK) as alone:
            if not alone:
                raise InputError(f"another process is counting in {folder}; wait for its end, or give another folder.")
            yield
    finally:
        if made:
            with suppress(OSError):  # there is something inside, as there should be
                folder.rmdir()


def _check_empty(folder: Path, reverse: Path) -> None:
    """Refuse a folder that holds anything but a count, or the remains of a run that was killed before its manifest."""
    if folder.exists():
        if folder.is_dir():
            known = (LOCK, f".{MANIFEST}.")
            others = [held for held in folder.iterdir() if not held.name.startswith(known)]
            if others in ([], [reverse]) or (folder / MANIFEST).exists():
                return
        raise InputError(f"{folder} exists and holds no count; give a new or empty folder.")


def _read(folder: Path) -> dict[str, Any]:
    try:
        manifest = read_manifest(folder / MANIFEST)
    except FileNotFoundError:
        raise InputError(
            f"{folder} cannot be seen from here; a cluster needs a folder that all machines share."
        ) from None
    if manifest is None or manifest.get("format") != "detours count" or not _fits(manifest):
        raise InputError(f"{folder / MANIFEST} does not describe a count; give another folder.")
    return manifest


def _fits(manifest: Mapping[str, Any]) -> bool:
    """Whether the stages are numbers of blocks; the rest of a manifest is checked by those that use it."""
    stages = manifest.get("stages")
    some = isinstance(stages, list) and all(type(blocks) is int and 0 <= blocks <= MOST_BLOCKS for blocks in stages)
    return some and manifest.get("way") in ("whole", "parts")


def check_cuts(cuts: Any, blocks: int, last: int) -> list[int]:
    """Return where blocks begin and end; raise `ValueError` unless they go from 0 to `last` without a step back."""
    right = isinstance(cuts, list) and all(type(cut) is int for cut in cuts) and len(cuts) == blocks + 1
    if not right or cuts[0] != 0 or cuts[-1] != last or any(end < begin for begin, end in pairwise(cuts)):
        raise ValueError("its blocks do not fit the graph")
    return list(cuts)
