"""Tables of pandas, Polars and Arrow, whose columns have the names and the meaning that they have in files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from detours.errors import InputError
from detours.graph.edges import EdgeList
from detours.graph.files.shared.columns import known_header
from detours.graph.pairs import from_ends

ENDS = ("source", "target")


def from_frame(frame: Any, source: str = ENDS[0], target: str = ENDS[1]) -> EdgeList:
    """Return the edges of a table, given the columns of their ends, or else those of a known header.

    As in a file, a column Type, as Gephi writes it, that says Directed in every row makes the graph a directed one.
    """
    columns = list(getattr(frame, "column_names", frame.columns))
    names = [str(column) for column in columns]
    if (source, target) == ENDS and not set(ENDS) <= set(columns) and (found := known_header(names)) is not None:
        source, target = (columns[place] for place in found)
    for column in (source, target):
        if column not in columns:
            raise InputError(
                f"the table has no column {column!r}, but {', '.join(names[:8])}; "
                "name the two columns of nodes: Graph.from_pandas(table, source=..., target=...)."
            )
    edges = from_ends(np.asarray(frame[source]), np.asarray(frame[target]))
    lower = [name.strip().lower() for name in names]
    if "type" not in lower:
        return edges
    return replace(edges, directed=_says_directed(np.asarray(frame[columns[lower.index("type")]])))


def _says_directed(column: Any) -> bool:
    kinds = {str(kind).strip().lower() for kind in column.tolist()}
    if {"directed", "undirected"} <= kinds:
        raise InputError("some edges are of the type Directed and some Undirected; keep one of both.")
    return kinds == {"directed"}
