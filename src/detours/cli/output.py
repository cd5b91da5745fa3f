"""Results written to files, whole or not at all.

A file is written under another name in the same folder and renamed when it is complete, so a reader never
sees half a file and a failure or an interrupt leaves nothing behind.
"""

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from detours.errors import InputError

if TYPE_CHECKING:
    from detours.counting.result import Detours

FORMATS = (".csv", ".parquet", ".npz")
CSV_ROWS = 100_000  # rows turned into Python objects at a time: bounds the memory, and Ctrl-C is answered in between

Columns = dict[str, Any]

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
    if target.suffix.lower() == ".parquet" and find_spec("pyarrow") is None:
        raise InputError(f"cannot write {path}: parquet needs pyarrow; run: pip install pyarrow")
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
        for target, columns in ((edges, edge_columns), (nodes, node_columns)):
            if target is not None:
                _write(files.enter_context(atomic(target)), target.suffix.lower(), result, columns)


def edge_columns(result: "Detours") -> Columns:
    """As `Detours.to_pandas`: ends, k-DeN, detours by length, in the caller's own order of edges."""
    source, target = result.graph.edge_index
    columns = {"source": names_of(result, source), "target": names_of(result, target), "den": result.edge}
    for column in range(result.by_length.shape[1]):
        columns[f"length_{column + 2}"] = result.by_length[:, column]
    return columns


def node_columns(result: "Detours") -> Columns:
    """Node and Φ, the detours of its edges: twice the number of cycles through it when undirected."""
    nodes = np.arange(result.graph.num_nodes)
    return {"node": names_of(result, nodes), "phi": result.node}


def names_of(result: "Detours", nodes: npt.NDArray[np.int64]) -> Any:
    """The caller's names of these nodes: an array of integers, or a list of strings."""
    names = result.graph.names
    if names is None:
        return nodes
    if isinstance(names, np.ndarray):
        return names[nodes]
    return [str(names[node]) for node in nodes]


def _write(file: IO[bytes], suffix: str, result: "Detours", columns: "Callable[[Detours], Columns]") -> None:
    if suffix == ".csv":
        _write_csv(file, columns(result))
    elif suffix == ".parquet":
        _write_parquet(file, columns(result))
    else:
        _write_npz(file, result)


def _write_csv(file: IO[bytes], columns: Columns) -> None:
    import csv
    import io

    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    rows = max(map(len, columns.values()))
    for start in range(0, rows, CSV_ROWS):
        writer.writerows(_rows(columns.values(), start, start + CSV_ROWS))
    text.detach()  # flushes, and leaves closing the file to whoever opened it


def _rows(columns: Iterable[Any], start: int, stop: int) -> Iterator[tuple[Any, ...]]:
    return zip(*(_plain(column[start:stop]) for column in columns), strict=True)


def _plain(values: Any) -> Sequence[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else values  # type: ignore[no-any-return]


def _write_parquet(file: IO[bytes], columns: Columns) -> None:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(columns), file)


def _write_npz(file: IO[bytes], result: "Detours") -> None:
    lengths = sorted(result.cycles)
    counts = [result.cycles[length] for length in lengths]
    arrays: Columns = {
        "edge_index": result.graph.edge_index,
        "edge": result.edge,
        "node": result.node,
        "by_length": result.by_length,
        "cycle_length": lengths,
        # A total may pass 2^63 where no single edge does; then they are written as decimal strings.
        "cycles": counts if max(counts) < 2**63 else [str(count) for count in counts],
        "k": result.k,
        "directed": result.directed,
        "num_nodes": result.graph.num_nodes,
    }
    if result.graph.names is not None:
        arrays["names"] = names_of(result, np.arange(result.graph.num_nodes))
    np.savez(file, **arrays)
