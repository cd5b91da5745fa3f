"""Counts as attributes of nodes and edges of a NetworkX graph, beside those that it has."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from detours.counting.export.columns import Columns, edge_columns, node_columns
from detours.errors import InputError
from detours.graph.arcs import locate
from detours.graph.convert import library

if TYPE_CHECKING:
    from detours.arrays import Int64
    from detours.counting.result import Detours
    from detours.graph import Graph


def to_networkx(result: Detours, attributes: bool) -> Any:
    """Return a copy of what was counted, or with ``attributes=False`` the simple graph, with the counts on it."""
    graph = result.graph
    if not attributes or graph.origin is None:
        made = graph.to_networkx()
    else:
        made = graph.origin()
        if made.number_of_edges() != graph.edge_index.shape[1]:
            raise _changed()
        if made.is_directed() != graph.directed:
            made = made.to_directed() if graph.directed else made.to_undirected()
    on_edges = edge_columns(result, _arcs_of(made, graph))
    for (_, _, known), row in zip(made.edges(data=True), _rows(on_edges), strict=True):
        known.update(zip(on_edges, row, strict=True))
    on_nodes = node_columns(result)
    for name, row in zip(graph.name_list(), _rows(on_nodes), strict=True):
        made.nodes[name].update(zip(on_nodes, row, strict=True))
    return made


def write_markup(file: IO[bytes], result: Detours, format: str) -> None:
    """Write a GEXF or GraphML file with all attributes and counts; of values that it cannot hold, their text."""
    made = to_networkx(result, attributes=True)
    for _, known in chain(made.nodes(data=True), (((u, v), known) for u, v, known in made.edges(data=True))):
        for name, value in list(known.items()):
            if value is None:
                del known[name]
            elif not isinstance(value, str | int | float | bool) and not (format == "gexf" and name == "viz"):
                known[name] = str(value)
    made.graph = {name: value for name, value in made.graph.items() if isinstance(value, str | int | float | bool)}
    nx = library("networkx", "networkx")
    (nx.write_gexf if format == "gexf" else nx.write_graphml)(made, file)


def _rows(columns: Columns) -> Iterator[tuple[Any, ...]]:
    """Return the rows of a table as plain Python numbers."""
    return zip(*(column.tolist() for column in columns.values()), strict=True)


def _arcs_of(made: Any, graph: Graph) -> Int64:
    """Return the position in the CSR of every edge of a NetworkX graph, -1 for a loop."""
    places = {name: place for place, name in enumerate(graph.name_list())}
    if places.keys() != set(made):
        raise _changed()
    flat = [places[name] for name in chain.from_iterable((u, v) for u, v, *_ in made.edges)]
    ends = np.array(flat, np.int64).reshape(-1, 2).T.copy()
    ends.flags.writeable = False  # as the caller's edges are: the search is then compiled once
    arcs = locate(graph.indptr, graph.indices, ends)
    found = (arcs < graph.indptr[ends[0] + 1]) & (np.append(graph.indices, -1)[arcs] == ends[1])
    if not (found | (arcs < 0)).all():
        raise _changed()
    return arcs


def _changed() -> InputError:
    return InputError(
        "The graph has changed since it was counted; count it again, or use to_networkx(attributes=False)."
    )
