"""Counts as tables, and tables as files: the same columns and the same names of nodes in every format."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from detours.errors import InputError, printable
from detours.graph.arcs import locate

if TYPE_CHECKING:
    from detours.counting.result import Detours
    from detours.graph import Graph

ROWS = 1 << 17
"""Rows of a table made at a time: counts may be more than fits in memory, and Ctrl-C is answered in between."""

Columns = dict[str, NDArray[Any]]


def node_names(graph: Graph) -> NDArray[Any] | None:
    """Return the names of all nodes as one column, or None where nodes are numbered from 0.

    Integers stay integers (int64) and strings stay strings. Names of any other type, or of several types, become the
    strings that `str` makes of them, since most table formats hold one type in a column.
    """
    names = graph.names
    if names is None or isinstance(names, np.ndarray):
        return names
    if all(_is_int64(name) for name in names):
        return np.array(names, np.int64)
    return np.array([str(name) for name in names], object)


def _is_int64(name: object) -> bool:
    return isinstance(name, int | np.integer) and not isinstance(name, bool) and -(2**63) <= int(name) < 2**63


def edge_tables(result: Detours) -> Iterator[Columns]:
    """Yield the rows of `Detours.to_pandas`, some at a time; there is at least one table."""
    graph = result.graph
    total = graph.num_arcs if graph.edges_in_csr_order else graph.edge_index.shape[1]
    for begin in range(0, max(total, 1), ROWS):
        yield edge_columns(result, begin, min(begin + ROWS, total))


def edge_columns(result: Detours, begin: int, end: int) -> Columns:
    """Return the edges begin .. end - 1 in the caller's order: source, target, den, length_2 .. length_k."""
    graph = result.graph
    if graph.edges_in_csr_order:
        source = np.searchsorted(graph.indptr, np.arange(begin, end), side="right") - 1
        target = np.asarray(graph.indices[begin:end], np.int64)
        counts = result.arc_by_length[begin:end]
    else:
        ends = np.ascontiguousarray(graph.edge_index[:, begin:end])
        ends.flags.writeable = False  # as the caller's edges are: the search is then compiled once
        (source, target), arc = ends, locate(graph.indptr, graph.indices, ends)
        kept = arc >= 0
        counts = np.zeros((len(arc), result.k - 1), np.int64)
        counts[kept] = result.arc_by_length[arc[kept]]
    columns = {"source": result.names_of(source), "target": result.names_of(target), "den": result.totals(counts)}
    return columns | {f"length_{length}": counts[:, length - 2] for length in range(2, result.k + 1)}


def node_tables(result: Detours) -> Iterator[Columns]:
    """Yield one table with a row per node: node, phi."""
    yield {"node": result.names_of(np.arange(result.graph.num_nodes)), "phi": result.node}


def write_csv(file: IO[bytes], tables: Iterable[Columns]) -> None:
    """Write tables with the same columns one below the other; names are written so that a spreadsheet shows them."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    for number, columns in enumerate(tables):
        if number == 0:
            writer.writerow(columns)
        writer.writerows(zip(*map(_cells, columns.values()), strict=True))
    text.detach()  # flushes, and leaves closing the file to whoever opened it


def _cells(column: NDArray[Any]) -> list[Any]:
    values: list[Any] = column.tolist()
    return values if column.dtype.kind in "iu" else [csv_text(str(value)) for value in values]


def csv_text(text: str) -> str:
    """Return a name as CSV files have it: no control characters, and an apostrophe before what would be a formula.

    A spreadsheet takes what begins with =, +, - or @ as a formula, which can send the other cells to a stranger.

    >>> csv_text("=HYPERLINK(A1)"), csv_text("a=b")
    ("'=HYPERLINK(A1)", 'a=b')
    """
    return f"'{printable(text)}" if text[:1] in ("=", "+", "-", "@") and len(text) > 1 else printable(text)


def check_pyarrow(path: str | Path) -> None:
    """Refuse to write a Parquet file where pyarrow is missing."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise InputError(f"cannot write {path}: parquet needs pyarrow; run: pip install pyarrow") from None


def write_parquet(file: IO[bytes], tables: Iterable[Columns]) -> None:
    """Write tables with the same columns one below the other, each as a row group."""
    import pyarrow
    import pyarrow.parquet

    writer = None
    for columns in tables:
        table = pyarrow.table(columns)
        writer = writer or pyarrow.parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def write_npz(file: IO[bytes], result: Detours) -> None:
    """Write edges, nodes and totals as arrays by name."""
    lengths, counts = list(result.cycles), list(result.cycles.values())
    arrays: dict[str, Any] = {
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
    names = node_names(result.graph)
    if names is not None:
        arrays["names"] = names if names.dtype == np.int64 else names.astype(str)
    np.savez(file, **arrays)
