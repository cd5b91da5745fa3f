"""GraphML and GML, through NetworkX."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from detours.atomic import replacing
from detours.errors import FileFormatError, InputError
from detours.graph.convert import from_networkx, library, to_networkx
from detours.graph.edges import EdgeList
from detours.graph.files.format import Format
from detours.graph.files.source import read_text


def read_graphml(path: Path) -> EdgeList:
    """Return the edges of a GraphML file."""
    text = read_text(path, xml=True)
    if b"<graphml" not in text[:100_000]:
        raise FileFormatError("this is no GraphML: there is no <graphml> in it.", path)
    return _read(partial(_parse_graphml, text), "GRAPHML", path)


def read_gml(path: Path) -> EdgeList:
    """Return the edges of a GML file."""
    return _read(partial(_parse_gml, read_text(path, xml=True)), "GML", path)


def _read(parse: Callable[[Any], Any], kind: str, path: Path) -> EdgeList:
    from xml.etree.ElementTree import ParseError  # slow to import

    nx = library("networkx", "networkx")
    try:
        graph = parse(nx)
    except ParseError as error:
        raise FileFormatError(f"the GraphML is cut off or damaged ({error}).", path, error.position[0]) from None
    except Exception as error:
        # The parsers let KeyError, AttributeError, RecursionError and more escape on files of another kind.
        reason = str(error) or type(error).__name__
        raise FileFormatError(f"this cannot be read as {kind} ({reason}).", path) from None
    try:
        return _with_integer_names(graph, nx)
    except InputError as error:
        raise FileFormatError(str(error), path) from None


def _parse_graphml(text: bytes, nx: Any) -> Any:
    return nx.read_graphml(BytesIO(text))


def _parse_gml(text: bytes, nx: Any) -> Any:
    try:
        return nx.read_gml(BytesIO(text))
    except nx.NetworkXError:
        # Labels are optional and may repeat; ids are neither.
        return nx.read_gml(BytesIO(text), label="id")


def _with_integer_names(graph: Any, nx: Any) -> EdgeList:
    """Return the edges with integer names, ascending as in an edge list, if all names spell integers."""
    edges = from_networkx(graph)
    if edges.names is None:
        return edges
    numbers = [_integer(name) for name in edges.names]
    values = [number for number in numbers if number is not None]
    if len(values) < len(numbers) or len(set(values)) < len(values):
        return edges
    names = np.array(values, dtype=np.int64)
    order = np.argsort(names)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    plain = np.array_equal(names[order], np.arange(len(names)))
    origin = partial(nx.relabel_nodes, graph, dict(zip(graph, values, strict=True)))
    return replace(edges, edge_index=rank[edges.edge_index], names=None if plain else names[order], origin=origin)


def _integer(name: Hashable) -> int | None:
    if isinstance(name, int):
        return name
    text = str(name)
    spelled = text.isascii() and text.isdigit() and len(text) <= 18 and str(int(text)) == text
    return int(text) if spelled else None


def write_graphml(edges: EdgeList, path: Path) -> None:
    """Write a GraphML file."""
    _write(edges, path, lambda nx, graph, file: nx.write_graphml(graph, file))


def write_gml(edges: EdgeList, path: Path) -> None:
    """Write a GML file."""
    _write(edges, path, lambda nx, graph, file: nx.write_gml(graph, file, stringizer=str))


def _write(edges: EdgeList, path: Path, write: Callable[[Any, Any, Any], None]) -> None:
    nx = library("networkx", "networkx")
    graph = to_networkx(edges)
    if len({str(name) for name in graph}) < len(graph):
        raise InputError("Two nodes have the same name when written as text; write .npz or rename them.")
    with replacing(path) as file:
        write(nx, graph, file)


GRAPHML = Format(("graphml",), read_graphml, write_graphml)
GML = Format(("gml",), read_gml, write_gml)
