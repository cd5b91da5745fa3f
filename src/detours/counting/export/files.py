"""Tables as files: CSV, Parquet and .npz."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from detours.counting.export import names_as_utf8, node_names
from detours.counting.export.columns import Columns, npz_arrays
from detours.errors import InputError, escape_control

if TYPE_CHECKING:
    from detours.counting.result import Detours


def write_csv(file: IO[bytes], tables: Iterable[Columns]) -> None:
    """Write tables with the same columns as one; names are escaped so that spreadsheets show them as text."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    for index, columns in enumerate(tables):
        if index == 0:
            writer.writerow(columns)
        writer.writerows(zip(*map(_cells, columns.values()), strict=True))
    text.detach()  # flushes; the caller closes the file


def _cells(column: NDArray[Any]) -> list[Any]:
    values: list[Any] = column.tolist()
    return values if column.dtype.kind in "biuf" else [csv_text(str(value)) for value in values]


def csv_text(text: str) -> str:
    """Return a name for a CSV file: no hidden characters, and an apostrophe before what would be a formula.

    Spreadsheets run text that begins with =, +, - or @ as a formula, which can send the other cells to a stranger.

    >>> csv_text("=HYPERLINK(A1)"), csv_text("a=b")
    ("'=HYPERLINK(A1)", 'a=b')
    """
    return f"'{escape_control(text)}" if text[:1] in ("=", "+", "-", "@") and len(text) > 1 else escape_control(text)


def check_parquet(path: str | Path) -> None:
    """Refuse to write a Parquet file with another suffix, or without pyarrow."""
    if Path(path).suffix.lower() not in ("", ".parquet", ".pq"):
        raise InputError(
            f"cannot write {path}: to_parquet writes Parquet files, whose names end in .parquet; for others use "
            "to_pandas(), as in to_pandas().to_csv(...)."
        )
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise InputError(f"cannot write {path}: parquet needs pyarrow; run: pip install pyarrow") from None


def write_parquet(file: IO[bytes], tables: Iterable[Columns]) -> None:
    """Write tables with the same columns as one, each as a row group."""
    import pyarrow
    import pyarrow.parquet

    writer = None
    for columns in tables:
        with names_as_utf8():
            table = pyarrow.table(columns)
        writer = writer or pyarrow.parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def write_npz(file: IO[bytes], result: Detours) -> None:
    """Write edges, nodes and totals as named arrays."""
    lengths, counts = list(result.cycles), list(result.cycles.values())
    arrays: dict[str, Any] = {
        "edge_index": result.graph.edge_index,
        **npz_arrays(result),
        "cycle_length": lengths,
        # A total may exceed 2^63 where no single edge does; the totals are then written as decimal strings.
        "cycles": counts if max(counts) < 2**63 else [str(count) for count in counts],
        "k": result.k,
        "directed": result.directed,
        "num_nodes": result.graph.num_nodes,
    }
    names = node_names(result.graph)
    if names is not None:
        arrays["names"] = names if names.dtype == np.int64 else names.astype(str)
    np.savez(file, **arrays)
