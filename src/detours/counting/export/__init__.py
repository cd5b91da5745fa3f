"""Counts as tables, with the same columns and node names in every format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int64
from detours.counting.export.columns import Columns, edge_columns, node_columns
from detours.errors import InputError, short_repr
from detours.graph.arcs import locate
from detours.graph.convert import library

if TYPE_CHECKING:
    from detours.counting.result import Detours
    from detours.graph import Graph

ROWS = 1 << 17
"""Rows of a table built at a time: counts may not fit in memory, and Ctrl-C is handled in between."""


def node_names(graph: Graph) -> NDArray[Any] | None:
    """Return the names of all nodes as one column, or None if nodes are numbered from 0.

    Integers stay integers (int64) and strings stay strings. Names of any other type, or of several types, become
    strings by `str`, since most table formats hold one type in a column; raise `InputError` if two become the same.
    """
    names = graph.names
    if names is None or isinstance(names, np.ndarray):
        return names
    if all(_is_int64(name) for name in names):
        return np.array(names, np.int64)
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        text = next(text for text, times in Counter(texts).items() if times > 1)
        one, other, *_ = (name for name in names if str(name) == text)
        raise InputError(
            f"the nodes {short_repr(one)} and {short_repr(other)} have the same name in a table, {text!r}; "
            "rename one of them and count again."
        )
    return np.array(texts, object)


def _is_int64(name: object) -> bool:
    return isinstance(name, int | np.integer) and not isinstance(name, bool) and -(2**63) <= int(name) < 2**63


def check_names(graph: Graph) -> None:
    """Raise `InputError` if the names cannot be a column of a Parquet file: to be called before long work."""
    names = node_names(graph)
    if names is not None and names.dtype == object:
        with names_as_utf8():
            for name in names:
                name.encode()


@contextmanager
def names_as_utf8() -> Iterator[None]:
    """Raise `InputError` if a name is no valid text, as one of a file in another encoding."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InputError(
            f"the node name {short_repr(error.object)} cannot be written as UTF-8; rename the node and count again."
        ) from None


def edge_tables(result: Detours, once: bool = False) -> Iterator[Columns]:
    """Yield the rows of `Detours.to_pandas`, some at a time; there is at least one table."""
    graph = result.graph
    selected = _first_rows(graph) if once else None
    num_edges = graph.num_arcs if graph.edges_in_csr_order else graph.edge_index.shape[1]
    total = num_edges if selected is None else len(selected)
    for start in range(0, max(total, 1), ROWS):
        rows = slice(start, min(start + ROWS, total))
        yield _edge_rows(result, rows if selected is None else selected[rows])


def _first_rows(graph: Graph) -> Int64:
    """Return the first row of each edge in the caller's order, without loops."""
    low, high = graph.edge_index
    if not graph.directed:
        low, high = np.minimum(low, high), np.maximum(low, high)
    first = np.unique(low * graph.num_nodes + high, return_index=True)[1]
    first.sort()
    rows: Int64 = first[low[first] != high[first]]
    return rows


def _edge_rows(result: Detours, rows: slice | Int64) -> Columns:
    """Return some edges in the caller's order."""
    graph = result.graph
    arcs: slice | Int64 = rows
    if graph.edges_in_csr_order:
        index = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        source = np.searchsorted(graph.indptr, index, side="right") - 1
        target = np.asarray(graph.indices[rows], np.int64)
    else:
        ends = np.ascontiguousarray(graph.edge_index[:, rows])
        ends.flags.writeable = False  # like the caller's edges, so that `locate` is compiled for one type
        (source, target), arcs = ends, locate(graph.indptr, graph.indices, ends)
    return {"source": result.names_of(source), "target": result.names_of(target), **edge_columns(result, arcs)}


def node_tables(result: Detours) -> Iterator[Columns]:
    """Yield one table, the rows of `Detours.nodes_to_pandas`."""
    yield {"node": result.names_of(np.arange(result.graph.num_nodes)), **node_columns(result)}


def as_pandas(tables: Iterable[Columns]) -> Any:
    """Concatenate tables with the same columns into a pandas DataFrame."""
    pandas = library("pandas", "'detours[tables]'")
    with names_as_utf8():
        return pandas.DataFrame(_concatenate(tables))


def as_arrow(tables: Iterable[Columns]) -> Any:
    """Concatenate tables with the same columns into an Arrow table."""
    pyarrow = library("pyarrow", "pyarrow")
    with names_as_utf8():
        return pyarrow.table(_concatenate(tables))


def _concatenate(tables: Iterable[Columns]) -> Columns:
    first, *more = tables
    return {name: np.concatenate([first[name], *(each[name] for each in more)]) for name in first} if more else first
