"""Files and folders that are written completely or not at all.

Each is written under a hidden name, `.<name>.<token>.part`, in the same folder, flushed to the disk, and renamed when
it is complete. A reader never sees an incomplete file; after a failure or an interrupt the old one is still there.
"""

from __future__ import annotations

import ctypes
import gzip
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

from detours.errors import InputError

_unfinished: set[Path] = set()


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that replaces `path` when the block succeeds; a disk error becomes an `InputError`.

    Links are followed: the file is replaced, not the link to it. It is compressed if the name ends in .gz.
    """
    check_target(path)
    with disk_errors_named(path), atomic_file(Path(os.path.realpath(path))) as raw:
        if path.suffix.lower() == ".gz":
            # No name or time in the header: the same graph always gives the same bytes.
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as compressed:
                yield cast(IO[bytes], compressed)
        else:
            yield raw


def check_target(path: Path) -> None:
    """Raise `InputError` if a file of this name would replace something else."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file to write.")
    if path.exists() and not path.is_file():  # such as /dev/null
        raise InputError(f"{path} is a device; give the name of a file to write.")


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """As `atomic_write`, for a folder: yield an empty one that replaces `folder` when the block succeeds."""
    with disk_errors_named(folder), _unfinished_path(folder) as part:
        part.mkdir(parents=True)
        yield part
        for file in part.iterdir():
            _flush(file)
        _flush(part)
        if not (folder.exists() and _exchanged(part, folder)):  # `part` is then the old folder, which is removed
            _rename_over(part, folder)
        _flush(folder.parent)


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """As `atomic_write`, for callers that handle `OSError` themselves."""
    with _unfinished_path(path) as part:
        with _synced(part) as file:
            yield file
        if path.exists():
            shutil.copymode(path, part)
        os.replace(part, path)
        _flush(path.parent)


def write_new(path: Path, data: bytes) -> bool:
    """Write a file unless it exists; of several processes that try, one returns True, the others False."""
    with _unfinished_path(path) as part:
        with _synced(part) as file:
            file.write(data)
        try:
            os.link(part, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without hard links
            if path.exists():
                return False
            os.replace(part, path)
        _flush(path.parent)
    return True


def make_folder(folder: Path) -> None:
    """Create a folder if needed, and raise `InputError` unless it is writable: to be called before long work."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be made ({error.strerror}); choose another.") from None
    try:
        with _unfinished_path(folder / "folder") as part, open(part, "xb"):
            pass
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be written ({error.strerror}); choose another.") from None


@contextmanager
def exclusive(path: Path) -> Iterator[bool]:
    """Yield whether this process holds the lock file `path`, which is removed when the block ends.

    The system releases the lock of a process however it ends, so a killed one leaves nothing to clean up. Where the
    file system has no locks, or cannot be written, the result is always True.
    """
    while True:
        try:
            file = open(path, "ab")  # noqa: SIM115
        except OSError:
            yield True
            return
        with file:
            try:
                _lock(file)
            except BlockingIOError:
                yield False
                return
            except OSError:
                yield True
                return
            if not _is_file(file, path):  # the process that held it has removed it in the meantime
                continue
            try:
                yield True
            finally:
                with suppress(OSError):
                    path.unlink()
            return


def _lock(file: IO[bytes]) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_file(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except OSError:
        return False


def discard_unfinished() -> None:
    """Remove the files this process is writing: for a process that must end without unwinding its stack."""
    for part in list(_unfinished):
        _remove(part)


@contextmanager
def disk_errors_named(path: Path) -> Iterator[None]:
    """Turn an `OSError` into an `InputError` that names the path that could not be written."""
    try:
        yield
    except FileNotFoundError as error:
        missing = f": the folder {path.parent} does not exist; make it first."
        reason = f" ({error.strerror or error})." if path.parent.is_dir() else missing
        raise InputError(f"{path} cannot be written{reason}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror or error}).") from None


@contextmanager
def _synced(part: Path) -> Iterator[IO[bytes]]:
    with open(part, "xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _unfinished_path(path: Path) -> Iterator[Path]:
    part = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    _unfinished.add(part)
    try:
        yield part
    except OSError as error:
        if error.filename == str(part):
            error.filename = str(path)  # the name that the caller knows
        raise
    finally:
        _remove(part)  # already renamed if all went well
        _unfinished.discard(part)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange the names of two folders in one step; return False if the system cannot. Only Linux can."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    in_working_folder, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux
    return bool(rename(in_working_folder, os.fsencode(one), in_working_folder, os.fsencode(other), exchange) == 0)


def _rename_over(part: Path, folder: Path) -> None:
    """Replace a folder in two renames; a process that is killed between them leaves both under temporary names."""
    old = part.with_suffix(".old")
    try:
        if folder.exists():
            os.rename(folder, old)
        os.rename(part, folder)
    finally:
        if old.exists() and not folder.exists():
            os.rename(old, folder)
        _remove(old)


def _remove(part: Path) -> None:
    with suppress(OSError):
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Flush a file or the entries of a folder to the disk; not every system can do the latter."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
