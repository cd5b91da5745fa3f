"""Counts written as a Parquet file, some edges at a time: they may be more than the memory holds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from detours.errors import InputError
from detours.graph.arcs import locate

if TYPE_CHECKING:
    from detours.counting.result import Detours

ROWS = 1 << 18
"""Edges in a row group."""


def check_pyarrow(path: Path) -> None:
    """Refuse to write such a file where that cannot be done."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise InputError(f"cannot write {path}: parquet needs pyarrow; run: pip install pyarrow") from None


def write_parquet(result: Detours, path: Path) -> None:
    """One row per edge in the caller's order: source, target, den, length_2 .. length_k; whole or not at all."""
    check_pyarrow(path)
    import pyarrow
    import pyarrow.parquet

    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    total = result.graph.num_arcs if result.graph.edges_in_csr_order else result.graph.edge_index.shape[1]
    writer = None
    try:
        for begin in range(0, max(total, 1), ROWS):
            table = pyarrow.table(_columns(result, begin, min(begin + ROWS, total)))
            writer = writer or pyarrow.parquet.ParquetWriter(beside, table.schema)
            writer.write_table(table)
        assert writer is not None
        writer.close()
        os.replace(beside, path)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror or error}).") from None
    finally:
        beside.unlink(missing_ok=True)


def _columns(result: Detours, begin: int, end: int) -> dict[str, Any]:
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
    columns = {"source": _names(result, source), "target": _names(result, target), "den": result.totals(counts)}
    return columns | {f"length_{length}": counts[:, length - 2] for length in range(2, result.k + 1)}


def _names(result: Detours, nodes: Any) -> Any:
    names = result.graph.names
    if names is None or isinstance(names, np.ndarray):
        return nodes if names is None else names[nodes]
    return [str(names[node]) for node in nodes]
