"""Counts as tables, and tables as files: the same columns and the same names of nodes in every format."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int64
from detours.errors import InputError, printable
from detours.graph.arcs import locate
from detours.graph.convert import library

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


def length_names(result: Detours) -> list[str]:
    """Return the columns of detours by length."""
    return [f"length_{length}" for length in range(2, result.k + 1)]


def cycle_names(result: Detours) -> list[str]:
    """Return the columns of cycles by length."""
    return [f"cycle_{length}" for length in range(3, result.k + 2)]


def edge_tables(result: Detours, once: bool = False) -> Iterator[Columns]:
    """Yield the rows of `Detours.to_pandas`, some at a time; there is at least one table."""
    graph = result.graph
    chosen = _first_rows(graph) if once else None
    given = graph.num_arcs if graph.edges_in_csr_order else graph.edge_index.shape[1]
    total = given if chosen is None else len(chosen)
    for begin in range(0, max(total, 1), ROWS):
        rows = slice(begin, min(begin + ROWS, total))
        yield _edge_columns(result, rows if chosen is None else chosen[rows])


def _first_rows(graph: Graph) -> Int64:
    """Return the rows of the caller in which an edge is given for the first time; loops have none."""
    low, high = graph.edge_index
    if not graph.directed:
        low, high = np.minimum(low, high), np.maximum(low, high)
    first = np.unique(low * graph.num_nodes + high, return_index=True)[1]
    first.sort()
    rows: Int64 = first[low[first] != high[first]]
    return rows


def _edge_columns(result: Detours, rows: slice | Int64) -> Columns:
    """Return some edges in the caller's order."""
    graph = result.graph
    if graph.edges_in_csr_order:
        numbers = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        source = np.searchsorted(graph.indptr, numbers, side="right") - 1
        target = np.asarray(graph.indices[rows], np.int64)
        counts, cycles = (np.asarray(values[rows]) for values in (result.arc_by_length, result.arc_cycles))
    else:
        ends = np.ascontiguousarray(graph.edge_index[:, rows])
        ends.flags.writeable = False  # as the caller's edges are: the search is then compiled once
        (source, target), arc = ends, locate(graph.indptr, graph.indices, ends)
        counts, cycles = (_on_rows(values, arc) for values in (result.arc_by_length, result.arc_cycles))
    columns = {"source": result.names_of(source), "target": result.names_of(target), "den": result.totals(counts)}
    columns |= dict(zip(length_names(result), counts.T, strict=True))
    return columns | dict(zip(cycle_names(result), cycles.T, strict=True))


def _on_rows(values: Int64, arc: Int64) -> Int64:
    kept = arc >= 0
    found = np.zeros((len(arc), values.shape[1]), np.int64)
    found[kept] = values[arc[kept]]
    return found


def node_tables(result: Detours) -> Iterator[Columns]:
    """Yield one table, that of `Detours.nodes_to_pandas`."""
    cycles = dict(zip(cycle_names(result), result.node_cycles.T, strict=True))
    yield {"node": result.names_of(np.arange(result.graph.num_nodes)), **cycles, "phi": result.node}


def as_pandas(tables: Iterable[Columns]) -> Any:
    """Return tables with the same columns, one below the other, as one of pandas."""
    pandas = library("pandas", "'detours[tables]'")
    return pandas.DataFrame(_joined(tables))


def as_arrow(tables: Iterable[Columns]) -> Any:
    """Return tables with the same columns, one below the other, as one of Arrow."""
    return library("pyarrow", "pyarrow").table(_joined(tables))


def _joined(tables: Iterable[Columns]) -> Columns:
    first, *more = tables
    return {name: np.concatenate([first[name], *(each[name] for each in more)]) for name in first} if more else first


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
        "edge_cycles": result.edge_cycles,
        "node_cycles": result.node_cycles,
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
