"""Temporary folders, which are removed even where a process must end without unwinding its stack."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from detours.errors import InputError

SCRATCH = "DETOURS_SCRATCH"
"""The environment variable with the parent of temporary folders, which all machines of a cluster must share."""

_in_use: set[Path] = set()


@contextmanager
def shared_scratch() -> Iterator[Path]:
    """Yield a temporary folder under `DETOURS_SCRATCH`."""
    parent = os.environ.get(SCRATCH)
    try:
        folder = tempfile.mkdtemp(prefix="detours-", dir=parent)
    except OSError as error:
        raise InputError(f"{SCRATCH}={parent!r} is not a folder to write to ({error.strerror}).") from None
    with _removed(Path(folder)):
        yield Path(folder)


@contextmanager
def local_scratch(prefix: str) -> Iterator[Path]:
    """Yield a temporary folder on this machine."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    with _removed(folder):
        yield folder


@contextmanager
def _removed(folder: Path) -> Iterator[None]:
    _in_use.add(folder)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _in_use.discard(folder)


def discard_scratch() -> None:
    """Remove all temporary folders of this process."""
    while _in_use:
        shutil.rmtree(_in_use.pop(), ignore_errors=True)
