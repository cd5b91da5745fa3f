"""Results written to files, whole or not at all.

A file is written under another name in the same folder and renamed when it is complete, so a reader never
sees half a file and a failure or an interrupt leaves nothing behind.
"""

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from detours.counting import export
from detours.errors import InputError

if TYPE_CHECKING:
    from detours.counting.export import Columns
    from detours.counting.result import Detours

FORMATS = (".csv", ".parquet", ".npz")

_unfinished: set[Path] = set()


def check_target(path: str | Path) -> Path:
    """The file a result may be written to, or an `InputError` that says why it cannot.

    To be called before the work, so that an hour of counting is not lost to a typing error.

    >>> check_target("results.xls")
    Traceback (most recent call last):
        ...
    detours.errors.InputError: cannot write results.xls: the name must end in .csv, .parquet or .npz
    """
    target = Path(path).resolve()  # a link is followed: the file it points to is replaced, not the link
    if target.suffix.lower() not in FORMATS:
        raise InputError(f"cannot write {path}: the name must end in .csv, .parquet or .npz")
    if target.is_dir():
        raise InputError(f"cannot write {path}: it is a folder; give the name of a file")
    if not target.parent.is_dir():
        raise InputError(f"cannot write {path}: the folder {target.parent} does not exist; make it first")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InputError(f"cannot write {path}: the folder {target.parent} is not writable")
    if target.suffix.lower() == ".parquet":
        export.check_pyarrow(path)
    return target


@contextmanager
def atomic(target: Path) -> Iterator[IO[bytes]]:
    """A binary file that appears as `target` when the block ends well, and not at all otherwise."""
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    _unfinished.add(part)
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, part)
        os.replace(part, target)
    finally:
        with suppress(OSError):  # gone already when the rename was reached
            part.unlink()
        _unfinished.discard(part)


def discard_unfinished() -> None:
    """Remove what is being written right now: the last thing done by a process that ends at once."""
    for part in list(_unfinished):
        with suppress(OSError):
            part.unlink()


def write_result(result: "Detours", *, edges: Path | None = None, nodes: Path | None = None) -> None:
    """Write a row per edge of the caller, a row per node, or both; an .npz file holds everything anyway."""
    with ExitStack() as files:
        # Both are complete before the first of them is renamed.
        for target, tables in ((edges, export.edge_tables), (nodes, export.node_tables)):
            if target is not None:
                _write(files.enter_context(atomic(target)), target.suffix.lower(), result, tables)


def _write(file: IO[bytes], suffix: str, result: "Detours", tables: "Callable[[Detours], Iterator[Columns]]") -> None:
    if suffix == ".npz":
        export.write_npz(file, result)
    else:
        write = export.write_csv if suffix == ".csv" else export.write_parquet
        write(file, tables(result))
