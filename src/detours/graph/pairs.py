"""Edges between nodes with arbitrary names, given as a list of pairs or as two columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int64
from detours.errors import InputError, short_repr
from detours.graph.edges import EdgeList, Names, as_numpy

_AMBIGUOUS = (
    "can be read both as two edges and as an edge_index (a row of sources above a row of targets); "
    "write Graph.from_edges(...) for edges, or Graph.from_edge_index(...)."
)


_NOT_PAIRS = (str, bytes, bytearray, memoryview, Mapping)
"""What may have two items that are not the two ends of an edge."""


def from_pairs(pairs: Iterable[Any], ordered: bool = False) -> EdgeList:
    """Return the edges of pairs of nodes, which may be sets unless `ordered`; each row of an array is a pair."""
    if hasattr(pairs, "dtype"):
        array = as_numpy(pairs, "edges")
        if array.ndim != 2 or array.shape[1] != 2:
            raise InputError(
                f"edges must have shape (number of edges, 2), but an array of shape {array.shape} was given."
            )
        return from_ends(array[:, 0], array[:, 1])
    try:
        pairs = list(pairs)
    except TypeError:
        raise InputError(f"edges must be pairs of nodes, but {short_repr(pairs)} was given.") from None
    not_pairs = (*_NOT_PAIRS, Set) if ordered else _NOT_PAIRS
    for pair in pairs:
        if isinstance(pair, not_pairs) or not hasattr(pair, "__len__") or len(pair) != 2 or hasattr(pair, "mask"):
            raise InputError(f"every edge must be a pair of nodes, such as ('a', 'b'), but one is {short_repr(pair)}.")
    return from_ends([u for u, _ in pairs], [v for _, v in pairs])


def is_frame(given: Any) -> bool:
    """Return whether this is a table of pandas, Polars or Arrow."""
    return hasattr(given, "columns") and (hasattr(given, "dtypes") or hasattr(given, "column_names"))


def is_of_library(given: Any) -> bool:
    """Return whether this is a graph or a molecule of another library, or a sparse matrix."""
    attributes = ("adj", "tocsr", "get_edgelist", "weighted_edge_list", "is_undirected", "GetBonds")
    return any(hasattr(given, attribute) for attribute in attributes)


def read_list(given: list[Any] | tuple[Any, ...]) -> EdgeList | None:
    """Return the edges of a list of pairs, None for an edge_index; raise `InputError` if it could be either.

    Two rows of two integers are ambiguous unless both readings give the same graph.

    >>> read_list([(0, 1), (1, 2), (2, 0)]).edge_index.tolist()
    [[0, 1, 2], [1, 2, 0]]
    """
    if not given or not all(isinstance(row, (list, tuple)) and len(row) == 2 for row in given):
        _refuse_other_lists(given)
        return None
    ids = _without_tensors([name for row in given for name in row]) if len(given) == 2 else []
    if not ids or not _are_integers(ids):
        return from_pairs(given)
    if ids[1] != ids[2] or set(ids) != set(range(len(set(ids)))):
        raise InputError(f"{short_repr(given)} {_AMBIGUOUS}")
    # the rows of an edge_index are usually lists; read as such, each edge would be a one-way arc
    return from_pairs(given) if all(isinstance(row, tuple) for row in given) else None


def is_edge_view(given: Any) -> bool:
    """Return whether this is the `edges` of a NetworkX graph, judged by its class: a node view may hold pairs too."""
    return type(given).__name__.endswith(("EdgeView", "EdgeDataView"))


def from_edge_view(view: Any) -> EdgeList:
    """Return the edges of a view, such as `G.edges`; those of a directed graph are arcs."""
    pairs = list(view)
    if not all(len(pair) == 2 for pair in pairs) or not pairs:
        _refuse_other_lists(pairs)
    return replace(from_pairs(pairs), directed=type(view).__name__.startswith(("Out", "In")))


def _refuse_other_lists(given: list[Any] | tuple[Any, ...]) -> None:
    """Raise `InputError` for common lists that are neither pairs nor an edge_index."""
    if not given:
        raise InputError("an empty list has no nodes; use Graph.from_edge_index([[], []], num_nodes=...).")
    if all(isinstance(row, str | os.PathLike) or is_of_library(row) or hasattr(row, "edge_index") for row in given):
        raise InputError("this is a list of graphs, but a single graph is expected; count_many takes a list.")
    if all(isinstance(row, (list, tuple)) and len(row) == 3 for row in given):
        _refuse_triples(given)
    if all(isinstance(row, (set, frozenset)) for row in given):
        raise InputError(
            f"an edge is a pair such as (0, 1), but one is {short_repr(given[0])}; give [tuple(e) for e in edges]."
        )


def _refuse_triples(given: list[Any] | tuple[Any, ...]) -> None:
    """Raise `InputError` unless triples are the two rows of an edge_index.

    Two rows of integers are, if they are lists, or tuples of the same nodes, as for a triangle.
    """
    tuples = all(isinstance(row, tuple) for row in given)
    rows_of_ids = len(given) == 2 and _are_integers([name for row in given for name in row])
    if len(given) != 2 or isinstance(given[0][2], dict) or (tuples and not rows_of_ids):
        raise InputError(
            f"these are triples, such as {short_repr(given[0])}, but an edge is a pair of nodes; "
            "give [(u, v) for u, v, _ in edges]."
        )
    if tuples and set(given[0]) != set(given[1]):
        raise InputError(
            f"{short_repr(given)} can be read both as two weighted edges and as an edge_index; "
            "write Graph.from_edges([(u, v) for u, v, _ in edges]) for edges, or give lists for an edge_index."
        )


def _are_integers(names: Iterable[Any]) -> bool:
    return all(isinstance(name, int | np.integer) for name in names)


def is_tensor(kind: type) -> bool:
    """Return whether this is a tensor type: two tensors with the same value would be different names."""
    return hasattr(kind, "dtype") and not issubclass(kind, np.generic)


def _without_tensors(names: list[Any]) -> list[Any]:
    """Return names with every tensor replaced by its value."""
    if not any(map(is_tensor, set(map(type, names)))):
        return names
    try:
        return [name.item() if is_tensor(type(name)) else name for name in names]
    except (RuntimeError, ValueError):
        raise InputError("a node is a tensor with several values; name each node by a single number.") from None


def from_ends(sources: Any, targets: Any) -> EdgeList:
    """Return the edges between the nodes in two columns, arrays or lists."""
    ends = [_column(sources), _column(targets)]
    if all(column.dtype.kind in "iu" for column in ends):
        ids = np.stack([column.astype(np.int64) for column in ends])
        edges, names, num_nodes = renumber(ids)
        return EdgeList(edges, num_nodes, names, "lines")
    return from_names(*(column.tolist() for column in ends))


def from_names(sources: list[Any], targets: list[Any]) -> EdgeList:
    """Return the edges between nodes with these names; nodes are sorted if all names are strings, as in a file."""
    index: dict[Any, int] = {}
    for pair in zip(sources, targets, strict=True):
        for name in pair:
            if is_missing(name):
                raise InputError(f"the edge {short_repr(pair)} lacks a node; remove it.")
            try:
                index.setdefault(name, len(index))
            except TypeError:
                raise InputError(f"{short_repr(name)} cannot be a node; use numbers, strings or tuples.") from None
    names: list[Any] = list(index)
    _refuse_mixed_types(names)
    if all(isinstance(name, str) for name in names):
        names.sort()
        index = {name: i for i, name in enumerate(names)}
    ends = [[index[name] for name in column] for column in (sources, targets)]
    return EdgeList(np.array(ends, np.int64).reshape(2, -1), len(names), tuple(names), "lines")


def is_missing(name: Any) -> bool:
    """Return whether this stands for no value: None, NaN and the like."""
    try:
        return name is None or bool(name != name)
    except TypeError:  # pandas.NA is neither equal nor unequal to itself
        return True


def _refuse_mixed_types(names: list[Any]) -> None:
    """Raise `InputError` for names such as 2 and "2", as from a table with integers in only one of its columns."""
    texts = {name for name in names if isinstance(name, str)}
    twin = next((name for name in names if texts and type(name) in (int, float) and str(name) in texts), None)
    if twin is not None:
        raise InputError(f"the nodes {twin!r} and {str(twin)!r} differ only in type; use one type for all names.")


def _column(values: Any) -> NDArray[Any]:
    """Return names as an array, of integers if possible, else of Python objects."""
    if not isinstance(values, np.ndarray):
        values = _without_tensors(values)
        integers = all(type(value) is int and -(2**63) <= value < 2**63 for value in values)
        return np.fromiter(values, np.int64 if integers else object, len(values))
    if values.dtype.kind == "f" and values.size and (np.abs(values, dtype=np.float64) < 2.0**63).all():
        ids = values.astype(np.int64)
        if np.array_equal(ids, values):
            return ids  # pandas converts integers to floats if a column ever had gaps
    if values.dtype.kind == "u" and values.size and int(values.max()) >= 2**63:
        return values.astype(object)
    if values.dtype.kind in "mM":
        return _times(values)
    if values.dtype.kind == "O":
        return np.fromiter(_without_tensors(values.tolist()), object, len(values))
    return values


def _times(values: NDArray[Any]) -> NDArray[Any]:
    """Return dates, times or durations as Python objects, which NumPy makes integers of nanoseconds; NaT is None."""
    finer = np.datetime_data(values.dtype)[0] in ("ns", "ps", "fs", "as")
    times = values.astype(f"{values.dtype.kind}8[us]") if finer else values
    objects = times.astype(object)
    lost = (times != values) & ~np.isnat(values)
    lost |= np.fromiter((type(time) is int for time in objects), np.bool_, len(objects))
    if lost.any():
        raise InputError(
            f"the node {values[lost][0]} is no time of Python, which has years 1 to 9999 and microseconds; "
            "convert such nodes to strings."
        )
    return objects


def renumber(ids: Int64) -> tuple[Int64, Names | None, int]:
    """Renumber ids from 0 in ascending order; return the edges, the ids (None if they are 0 .. n-1), and n."""
    if not ids.size:
        return ids, None, 0
    high = int(ids.max())
    if high > 8 * ids.size + 1_000_000 or int(ids.min()) < 0:
        names, index = np.unique(ids, return_inverse=True)
        return index.reshape(ids.shape).astype(np.int64, copy=False), names, len(names)
    occurs = np.zeros(high + 1, dtype=np.bool_)
    occurs[ids[0]] = True
    occurs[ids[1]] = True
    if occurs.all():
        return ids, None, high + 1
    index = np.cumsum(occurs, dtype=np.int32)
    index -= 1
    names = np.flatnonzero(occurs).astype(np.int64, copy=False)
    return index[ids].astype(np.int64), names, len(names)
