"""Tables of pandas, Polars and Arrow, with the same column names and meanings as table files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.errors import InputError, short_repr
from detours.graph.edges import EdgeList, refuse_nan
from detours.graph.files.shared.columns import known_header
from detours.graph.pairs import from_ends, is_frame

ENDS = ("source", "target")


def from_frame(frame: Any, source: str = ENDS[0], target: str = ENDS[1]) -> EdgeList:
    """Return the edges of a table with these columns of nodes, or else those of a known header.

    As in a file, the graph is directed if a column Type, which Gephi writes, says Directed in every row.
    """
    if not is_frame(frame):
        raise InputError(f"from_pandas takes a table of pandas, Polars or Arrow, but {short_repr(frame)} was given.")
    columns = list(getattr(frame, "column_names", frame.columns))
    names = [str(column) for column in columns]
    if (source, target) == ENDS and not set(ENDS) <= set(columns) and (known := known_header(names)) is not None:
        source, target = (columns[i] for i in known)
    for column in (source, target):
        if column not in columns:
            raise InputError(
                f"the table has no column {column!r}, only {', '.join(names[:8])}; "
                "name the two columns of nodes: Graph.from_pandas(table, source=..., target=...)."
            )
        if columns.count(column) > 1:
            raise InputError(f"the table has {columns.count(column)} columns {column!r}; rename or drop all but one.")
    edges = from_ends(np.asarray(frame[source]), np.asarray(frame[target]))
    lower = [name.strip().lower() for name in names]
    for column, name in zip(columns, lower, strict=True):
        if name == "weight":
            _refuse_nan(np.asarray(frame[column]))
    if "type" not in lower:
        return edges
    return replace(edges, directed=_says_directed(np.asarray(frame[columns[lower.index("type")]])))


def _refuse_nan(weights: NDArray[Any]) -> None:
    """Raise `InputError` for NaN, as which columns of numbers also hold missing values; None among objects is accepted,
    as empty cells of files are."""
    if weights.dtype == object:
        weights = np.array([value for value in weights.tolist() if isinstance(value, float)])
    refuse_nan(weights, "The column of weights")


def _says_directed(column: Any) -> bool:
    kinds = {str(kind).strip().lower() for kind in column.tolist()}
    if {"directed", "undirected"} <= kinds:
        raise InputError("some edges are of type Directed and some Undirected; keep only one of the two.")
    return kinds == {"directed"}
