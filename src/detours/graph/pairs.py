"""Edges given as pairs of nodes of any name: lists of pairs, and two columns of names."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int64
from detours.errors import InputError, shown
from detours.graph.edges import EdgeList, Names, as_numpy

_AMBIGUOUS = (
    "can be read as two edges and as an edge_index (a row of sources above a row of targets); "
    "write Graph.from_edges(...) for edges, or Graph.from_edge_index(...)."
)


def from_pairs(pairs: Iterable[Any]) -> EdgeList:
    """Return the edges of pairs of nodes; of an array, each row is a pair."""
    if hasattr(pairs, "dtype"):
        array = as_numpy(pairs, "edges")
        if array.ndim != 2 or array.shape[1] != 2:
            raise InputError(
                f"edges must have shape (number of edges, 2), but an array of shape {array.shape} was given."
            )
        return from_ends(array[:, 0], array[:, 1])
    try:
        listed = list(pairs)
    except TypeError:
        raise InputError(f"edges must be pairs of nodes, but {shown(pairs)} was given.") from None
    for pair in listed:
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise InputError(f"every edge must be a pair of nodes, such as ('a', 'b'), but one is {shown(pair)}.")
    return from_ends([u for u, _ in listed], [v for _, v in listed])


def is_frame(given: Any) -> bool:
    """Return whether this is a table of pandas, Polars or Arrow."""
    return hasattr(given, "columns") and (hasattr(given, "dtypes") or hasattr(given, "column_names"))


def is_of_library(given: Any) -> bool:
    """Return whether this is a graph or a molecule of another library, or a sparse matrix."""
    signs = ("adj", "tocsr", "get_edgelist", "weighted_edge_list", "is_undirected", "GetBonds")
    return any(hasattr(given, sign) for sign in signs)


def read_list(given: list[Any] | tuple[Any, ...]) -> EdgeList | None:
    """Return the edges of a list of pairs, None for an edge_index; raise `InputError` if it may be either.

    Two rows of two integers are both, unless the two readings give the same graph.

    >>> read_list([(0, 1), (1, 2), (2, 0)]).edge_index.tolist()
    [[0, 1, 2], [1, 2, 0]]
    """
    if not given or not all(isinstance(row, (list, tuple)) and len(row) == 2 for row in given):
        _refuse_others(given)
        return None
    ids = _without_tensors([name for row in given for name in row]) if len(given) == 2 else []
    if not ids or not _are_integers(ids):
        return from_pairs(given)
    if ids[1] != ids[2] or set(ids) != set(range(len(set(ids)))):
        raise InputError(f"{shown(given)} {_AMBIGUOUS}")
    return None


def is_edge_view(given: Any) -> bool:
    """Return whether this is the `edges` of a NetworkX graph, by its class: views of nodes may hold pairs as well."""
    return type(given).__name__.endswith(("EdgeView", "EdgeDataView"))


def from_edge_view(view: Any) -> EdgeList:
    """Return the edges of a view, such as `G.edges`; those of a directed graph are arcs."""
    pairs = list(view)
    if not all(len(pair) == 2 for pair in pairs) or not pairs:
        _refuse_others(pairs)
    return replace(from_pairs(pairs), directed=type(view).__name__.startswith(("Out", "In")))


def _refuse_others(given: list[Any] | tuple[Any, ...]) -> None:
    """Raise `InputError` for lists that are neither pairs nor an edge_index, but that people give."""
    if not given:
        raise InputError("an empty list has no nodes; give Graph.from_edge_index([[], []], num_nodes=...).")
    if all(isinstance(row, str | os.PathLike) or is_of_library(row) or hasattr(row, "edge_index") for row in given):
        raise InputError("this is a list of graphs, and one is expected; count_many takes a list.")
    if all(isinstance(row, (list, tuple)) and len(row) == 3 for row in given):
        _refuse_triples(given)
    if all(isinstance(row, (set, frozenset)) for row in given):
        raise InputError(
            f"an edge is a pair such as (0, 1), but one is {shown(given[0])}; give [tuple(e) for e in edges]."
        )


def _refuse_triples(given: list[Any] | tuple[Any, ...]) -> None:
    """Raise `InputError` unless triples are the two rows of an edge_index.

    Two rows of integers are, if they are no tuples, or tuples of the same nodes, as for a triangle.
    """
    tuples = all(isinstance(row, tuple) for row in given)
    rows_of_ids = len(given) == 2 and _are_integers([name for row in given for name in row])
    if len(given) != 2 or isinstance(given[0][2], dict) or (tuples and not rows_of_ids):
        raise InputError(
            f"these are triples, such as {shown(given[0])}, but an edge is a pair of nodes; "
            "give [(u, v) for u, v, _ in edges]."
        )
    if tuples and set(given[0]) != set(given[1]):
        raise InputError(
            f"{shown(given)} can be read as two edges with a weight each and as an edge_index; "
            "write Graph.from_edges([(u, v) for u, v, _ in edges]) for edges, or give lists for an edge_index."
        )


def _are_integers(names: Iterable[Any]) -> bool:
    return all(isinstance(name, int | np.integer) for name in names)


def is_tensor(kind: type) -> bool:
    """Return whether this is a type of tensors, of which two that hold the same number are different names."""
    return hasattr(kind, "dtype") and not issubclass(kind, np.generic)


def _without_tensors(names: list[Any]) -> list[Any]:
    """Return names with the number in place of every tensor that holds one."""
    if not any(map(is_tensor, set(map(type, names)))):
        return names
    try:
        return [name.item() if is_tensor(type(name)) else name for name in names]
    except (RuntimeError, ValueError):
        raise InputError("a node is a tensor of several numbers; name each node by one number.") from None


def from_ends(sources: Any, targets: Any) -> EdgeList:
    """Return the edges between the nodes of two columns, arrays or lists."""
    ends = [_column(sources), _column(targets)]
    if all(column.dtype.kind in "iu" for column in ends):
        ids = np.stack([column.astype(np.int64) for column in ends])
        edges, names, num_nodes = number_ids(ids)
        return EdgeList(edges, num_nodes, names, "lines")
    return from_names(*(column.tolist() for column in ends))


def from_names(sources: list[Any], targets: list[Any]) -> EdgeList:
    """Return the edges between nodes of these names; strings are sorted, as in a file."""
    values = [sources, targets]
    places: dict[Any, int] = {}
    for pair in zip(*values, strict=True):
        for name in pair:
            if name is None or name != name:
                raise InputError(f"the edge {shown(pair)} has no name at one end; remove it.")
            try:
                places.setdefault(name, len(places))
            except TypeError:
                raise InputError(f"the node {shown(name)} cannot be a name; use numbers, strings or tuples.") from None
    known: list[Any] = list(places)
    _refuse_twins(known)
    if all(isinstance(name, str) for name in known):
        known.sort()
        places = {name: place for place, name in enumerate(known)}
    flat = [[places[name] for name in column] for column in values]
    return EdgeList(np.array(flat, np.int64).reshape(2, -1), len(known), tuple(known), "lines")


def _refuse_twins(names: list[Any]) -> None:
    """Raise `InputError` for names as 2 and "2" in one graph, as where a table has integers in one column alone."""
    texts = {name for name in names if isinstance(name, str)}
    twin = next((name for name in names if texts and type(name) in (int, float) and str(name) in texts), None)
    if twin is not None:
        raise InputError(f"the nodes {twin!r} and {str(twin)!r} differ by their type alone; give all names one type.")


def _column(values: Any) -> NDArray[Any]:
    """Return names as an array: of integers if all are, else of Python objects."""
    if not isinstance(values, np.ndarray):
        values = _without_tensors(values)
        integers = all(type(value) is int and -(2**63) <= value < 2**63 for value in values)
        return np.fromiter(values, np.int64 if integers else object, len(values))
    if values.dtype.kind == "f" and values.size and (np.floor(values) == values).all():
        return values.astype(np.int64)  # pandas makes floats of integers where a column has had gaps
    if values.dtype.kind == "u" and values.size and int(values.max()) >= 2**63:
        return values.astype(object)
    if values.dtype.kind == "O":
        return np.fromiter(_without_tensors(values.tolist()), object, len(values))
    return values


def number_ids(ids: Int64) -> tuple[Int64, Names | None, int]:
    """Number the ids that occur, ascending, from 0; return the edges, the ids unless they are 0 .. n-1, and n."""
    if not ids.size:
        return ids, None, 0
    high = int(ids.max())
    if high > 8 * ids.size + 1_000_000 or int(ids.min()) < 0:
        names, numbers = np.unique(ids, return_inverse=True)
        return numbers.reshape(ids.shape).astype(np.int64, copy=False), names, len(names)
    occurs = np.zeros(high + 1, dtype=np.bool_)
    occurs[ids[0]] = True
    occurs[ids[1]] = True
    if occurs.all():
        return ids, None, high + 1
    number = np.cumsum(occurs, dtype=np.int32)
    number -= 1
    names = np.flatnonzero(occurs).astype(np.int64, copy=False)
    return number[ids].astype(np.int64), names, len(names)
