"""Counts as attributes of the nodes and edges of a NetworkX graph, in addition to those it has."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from detours.counting.export.columns import Columns, edge_columns, node_columns
from detours.errors import InputError
from detours.graph.arcs import locate
from detours.graph.convert import library
from detours.graph.files.markup import check_xml_names, xml_text

if TYPE_CHECKING:
    from detours.arrays import Int64
    from detours.counting.result import Detours
    from detours.graph import Graph


def to_networkx(result: Detours, attributes: bool) -> Any:
    """Return a copy of the graph that was given, or with ``attributes=False`` the simple graph, with the counts."""
    graph = result.graph
    if not attributes or graph.origin is None:
        target = graph.to_networkx()
    else:
        target = graph.origin()
        if target.number_of_edges() != graph.edge_index.shape[1]:
            raise _changed()
        if target.is_directed() != graph.directed:
            target = target.to_directed() if graph.directed else target.to_undirected()
    columns = edge_columns(result, _arcs_of(target, graph))
    for (_, _, attrs), row in zip(target.edges(data=True), _rows(columns), strict=True):
        attrs.update(zip(columns, row, strict=True))
    columns = node_columns(result)
    for name, row in zip(graph.name_list(), _rows(columns), strict=True):
        target.nodes[name].update(zip(columns, row, strict=True))
    return target


def write_markup(file: IO[bytes], result: Detours, format: str) -> None:
    """Write a GEXF or GraphML file with all attributes and counts; unsupported values are written as strings."""
    check_xml_names(result.graph.name_list(), "GEXF" if format == "gexf" else "GraphML")
    graph = to_networkx(result, attributes=True)
    of_nodes = [attrs for _, attrs in graph.nodes(data=True)]
    of_edges = [attrs for _, _, attrs in graph.edges(data=True)]
    for attrs in chain(of_nodes, of_edges):
        for name, value in list(attrs.items()):
            if value is None:
                del attrs[name]
            elif not isinstance(value, str | int | float | bool) and not (format == "gexf" and name == "viz"):
                attrs[name] = xml_text(str(value))
            elif isinstance(value, str):
                attrs[name] = xml_text(value)
    if format == "gexf":
        times = () if graph.graph.get("mode") == "dynamic" else ("start", "end")  # of a graph that changes
        _fit_gexf(of_nodes, ("id", "parents", "spells", "slices", *times))
        ids = [str(attrs["id"]) for attrs in of_edges if "id" in attrs]
        repeated = ("id",) if len(set(ids)) < len(ids) else ()
        _fit_gexf(of_edges, (*repeated, "type", "spells", "slices", *times))
    graph.graph = {name: value for name, value in graph.graph.items() if isinstance(value, str | int | float | bool)}
    nx = library("networkx", "networkx")
    (nx.write_gexf if format == "gexf" else nx.write_graphml)(graph, file)


def _fit_gexf(rows: list[dict[str, Any]], reserved: tuple[str, ...]) -> None:
    """Give attributes one type each, and another name, with a _ appended, to those that would be taken for something
    else: an `id` for the name of the node, a `weight` for a number."""
    for name in dict.fromkeys(chain.from_iterable(rows)):
        having = [attrs for attrs in rows if name in attrs]
        types = {type(attrs[name]) for attrs in having}
        if len(types) > 1 and name != "viz":
            one_type = float if types <= {int, float} else str
            for attrs in having:
                attrs[name] = one_type(attrs[name])
        text = types & {str, bool} if name == "weight" else types - {dict} if name == "viz" else set()
        if name in reserved or text:
            other = f"{name}_"
            while any(other in attrs for attrs in rows):
                other += "_"
            for attrs in having:
                attrs[other] = attrs.pop(name)


def _rows(columns: Columns) -> Iterator[tuple[Any, ...]]:
    """Return the rows of a table as plain Python values."""
    return zip(*(column.tolist() for column in columns.values()), strict=True)


def _arcs_of(target: Any, graph: Graph) -> Int64:
    """Return the index in the CSR of every edge of a NetworkX graph, -1 for a loop."""
    node_index = {name: index for index, name in enumerate(graph.name_list())}
    if node_index.keys() != set(target):
        raise _changed()
    flat = [node_index[name] for name in chain.from_iterable((u, v) for u, v, *_ in target.edges)]
    ends = np.array(flat, np.int64).reshape(-1, 2).T.copy()
    ends.flags.writeable = False  # like the caller's edges, so that `locate` is compiled for one type
    arcs = locate(graph.indptr, graph.indices, ends)
    found = (arcs < graph.indptr[ends[0] + 1]) & (np.append(graph.indices, -1)[arcs] == ends[1])
    if not (found | (arcs < 0)).all():
        raise _changed()
    return arcs


def _changed() -> InputError:
    return InputError(
        "The graph has changed since it was counted; count it again, or use to_networkx(attributes=False)."
    )
