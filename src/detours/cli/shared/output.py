"""Writing counts to files, atomically."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from detours.atomic import atomic_write
from detours.cli.shared.targets import check_writable
from detours.counting import export
from detours.counting.export import files as table_files
from detours.counting.export.attributes import write_markup
from detours.errors import InputError
from detours.graph.convert import library

if TYPE_CHECKING:
    from detours.counting.export.columns import Columns
    from detours.counting.result import Detours

TABLES = (".csv", ".parquet", ".npz")
ONE_ROW_PER_EDGE = (".csv", ".parquet")
"""Formats that can hold each edge once."""
TARGETS = (*TABLES, ".gexf", ".graphml")


def check_output(path: str | Path, allowed: tuple[str, ...] = TARGETS) -> Path:
    """Return the resolved path of an output file, or raise `InputError` if it cannot be written.

    >>> check_output("results.xls")
    Traceback (most recent call last):
        ...
    detours.errors.InputError: cannot write results.xls: the name must end in .csv, .parquet, .npz, .gexf or .graphml
    """
    target = Path(path).resolve()
    if target.suffix.lower() not in allowed:
        endings = " or ".join(filter(None, (", ".join(allowed[:-1]), allowed[-1])))
        raise InputError(f"cannot write {path}: the name must end in {endings}")
    check_writable(Path(path))
    if target.suffix.lower() == ".parquet":
        table_files.check_parquet(path)
    if target.suffix.lower() not in TABLES:
        library("networkx", "networkx")
    return target


def is_folder(out: Path | None) -> bool:
    """Whether an output path is a folder: its name has no extension."""
    return out is not None and (not out.suffix or (out.is_dir() and out.suffix.lower() not in TARGETS))


def write_result(
    result: "Detours", *, edges: Path | None = None, nodes: Path | None = None, once: bool = False
) -> None:
    """Write one row per edge, one row per node, or both; .npz, .gexf and .graphml hold everything in any case."""
    with ExitStack() as files:
        # Both files are complete before the first is renamed.
        for target, tables in ((edges, partial(export.edge_tables, once=once)), (nodes, export.node_tables)):
            if target is not None:
                _write(files.enter_context(atomic_write(target)), target.suffix.lower(), result, tables)


def _write(file: IO[bytes], suffix: str, result: "Detours", tables: "Callable[[Detours], Iterator[Columns]]") -> None:
    if suffix == ".npz":
        table_files.write_npz(file, result)
    elif suffix in (".gexf", ".graphml"):
        write_markup(file, result, suffix.removeprefix("."))
    else:
        write = table_files.write_csv if suffix == ".csv" else table_files.write_parquet
        write(file, tables(result))
