"""A count in a folder: a manifest, which describes the count and its division into blocks, and finished blocks.

Every block is one file that appears complete or not at all, so a run that is killed loses only the blocks in progress;
the next run with the same graph, k, engine and version resumes after them; any other is refused.
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

FORM = 4  # the version of the folder's layout; to be increased when blocks are divided or written differently
MAX_BLOCKS = 1 << 26  # of a stage; a manifest with more is damaged
LOCK = ".lock"
SHARED = ".graph"  # where a graph that is not on disk is saved for workers to open
_TEMPORARY = (SHARED, ".reverse-*", ".*.part", f".{MANIFEST}.*")
"""What a count needs only while it runs, or leaves incomplete when it is killed."""
_DIFFERENCES = {
    "directed": "another way to take the arcs (directed or not)",
    "graph": "another graph",
    "k": "k = {}",
    "engine": "engine = {!r}",
    "version": "version {} of detours",
    "form": "another form of the folder",
}
"""How the message for a folder of another count names the first difference; `directed` is part of "graph" too."""


def reverse_folder(folder: Path, graph: str) -> Path:
    """Return the folder for the reversed arcs of the directed graph with this fingerprint, written before the count."""
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
        """Start the count in an empty folder, or resume it.

        If several processes start at the same time, one writes the manifest and the others use it.
        """
        expected = {**key, "version": __version__, "form": FORM}
        if not (folder / MANIFEST).exists():
            _check_empty(folder, reverse_folder(folder, key["graph"]))
            manifest = {"format": "detours count", **expected, "identity": secrets.token_hex(8), **layout()}
            job = cls(folder, manifest)
            if job.publish():
                return job
        manifest = _read(folder)
        for name, description in _DIFFERENCES.items():
            if manifest.get(name) != expected[name]:
                other = description.format(manifest.get(name))
                raise InputError(f"{folder} holds a count of {other}; give an empty folder or remove this one.")
        return cls(folder, manifest)

    def publish(self) -> bool:
        """Write the manifest unless the folder has one; return False if another process was first."""
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            return write_new(self.folder / MANIFEST, self._manifest_text())

    def write_manifest(self) -> None:
        with writing(self.folder), atomic_file(self.folder / MANIFEST) as file:
            file.write(self._manifest_text())

    def _manifest_text(self) -> bytes:
        return json.dumps(self.manifest, indent=1).encode() + b"\n"

    def update(self, **more: Any) -> None:
        """Update the manifest."""
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

    def mark_started(self, stage: int, block: int) -> None:
        with writing(self.folder):
            (self.folder / "begun").mkdir(exist_ok=True)
            (self.folder / "begun" / f"{stage}-{block}.{os.getpid()}-{secrets.token_hex(4)}").touch()

    def redone(self) -> int:
        """Return how often blocks were started again."""
        started = [file.stem for file in (self.folder / "begun").glob("*.*")]
        return len(started) - len(set(started))

    def save(self, stage: int, block: int, arrays: Arrays) -> None:
        """Write a finished block."""
        with writing(self.folder):
            (self.folder / "blocks").mkdir(exist_ok=True)
            with atomic_file(self._file(stage, block)) as file:
                np.savez(file, *arrays)
            self._partial_file(block).unlink(missing_ok=True)

    def save_partial(self, block: int, arrays: Arrays) -> None:
        """Write the counts so far of a part that takes long."""
        with writing(self.folder):
            (self.folder / "blocks").mkdir(exist_ok=True)
            with atomic_file(self._partial_file(block)) as file:
                np.savez(file, *arrays)

    def load_partial(self, block: int) -> Arrays:
        """Read the counts of a part that an earlier run saved; an empty tuple if none can be read."""
        file = self._partial_file(block)
        try:
            arrays = read_archive(file.read_bytes(), file)
            return tuple(arrays[f"arr_{index}"] for index in range(len(arrays)))
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
            arrays = read_archive(content, file)
            return tuple(arrays[f"arr_{index}"] for index in range(len(arrays)))
        except (FileFormatError, KeyError):
            raise self.damaged(stage, block) from None

    def damaged(self, stage: int, block: int) -> InputError:
        """Remove a damaged block, and return the error to raise."""
        file = self._file(stage, block)
        with writing(self.folder):
            file.unlink(missing_ok=True)
        return InputError(f"{file} was damaged and is removed; run the same count again.")

    def clear(self) -> None:
        """Remove the blocks, once the counts are written, and what killed runs left behind."""
        for name in ("blocks", "begun"):
            with suppress(OSError):  # if there are other files inside
                for file in (self.folder / name).glob("*[0-9]-[0-9]*"):
                    file.unlink(missing_ok=True)
                (self.folder / name).rmdir()
        for path in [path for pattern in _TEMPORARY for path in self.folder.glob(pattern)]:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with suppress(OSError):
                    path.unlink()

    def _file(self, stage: int, block: int) -> Path:
        return self.folder / "blocks" / f"{stage}-{block:06d}.npz"

    def _partial_file(self, block: int) -> Path:
        return self.folder / "blocks" / f"begun-0-{block:06d}.npz"  # parts have one stage


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn an `OSError` into an `InputError` that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InputError(
                f"the disk of {folder} is full; make room and run the same count again: finished blocks are kept in a "
                "folder given as out=."
            ) from None
        raise InputError(f"{folder} cannot be written ({error.strerror or error}).") from None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder; refuse one in which another process is counting. The lock of a killed process is released."""
    created = not folder.exists()
    if created:
        with writing(folder):
            folder.mkdir(parents=True)
    try:
        with exclusive(folder / LOCK) as acquired:
            if not acquired:
                raise InputError(f"another process is counting in {folder}; wait for its end, or give another folder.")
            yield
    finally:
        if created:
            with suppress(OSError):  # not empty, as it should be
                folder.rmdir()


def _check_empty(folder: Path, reverse: Path) -> None:
    """Refuse a folder with anything but a count or the remains of a run that was killed before its manifest."""
    if folder.exists():
        if folder.is_dir():
            known = (LOCK, f".{MANIFEST}.")
            others = [path for path in folder.iterdir() if not path.name.startswith(known)]
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
    if manifest is None or manifest.get("format") != "detours count" or not _has_valid_layout(manifest):
        raise InputError(f"{folder / MANIFEST} does not describe a count; give another folder.")
    return manifest


def _has_valid_layout(manifest: Mapping[str, Any]) -> bool:
    """Whether the stages are numbers of blocks; the rest of a manifest is checked where it is used."""
    stages = manifest.get("stages")
    valid = isinstance(stages, list) and all(type(blocks) is int and 0 <= blocks <= MAX_BLOCKS for blocks in stages)
    return valid and manifest.get("way") in ("whole", "parts")


def check_cuts(cuts: Any, blocks: int, last: int) -> list[int]:
    """Return the bounds of the blocks; raise `ValueError` unless they go from 0 to `last` without decreasing."""
    valid = isinstance(cuts, list) and all(type(cut) is int for cut in cuts) and len(cuts) == blocks + 1
    if not valid or cuts[0] != 0 or cuts[-1] != last or any(end < begin for begin, end in pairwise(cuts)):
        raise ValueError("its blocks do not fit the graph")
    return list(cuts)
