"""GraphML and GML, through NetworkX."""

from __future__ import annotations

from collections.abc import Hashable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

import numpy as np

from detours.atomic import replacing
from detours.errors import FileFormatError, InputError
from detours.graph.convert import library, listed_networkx
from detours.graph.edges import Listed
from detours.graph.files.source import read_text

if TYPE_CHECKING:
    from detours.graph import Graph


def read(path: Path, kind: str) -> Listed:
    text = read_text(path, xml=True)
    nx = library("networkx", "networkx")
    if kind == "graphml" and b"<graphml" not in text[:100_000]:
        raise FileFormatError("this is no GraphML: there is no <graphml> in it.", path)
    try:
        found = _graphml(nx, text) if kind == "graphml" else _gml(nx, text)
    except ParseError as error:
        raise FileFormatError(f"the GraphML is cut off or damaged ({error}).", path, error.position[0]) from None
    except Exception as error:
        # The parsers let KeyError, AttributeError, RecursionError and more escape on files of another kind.
        reason = str(error) or type(error).__name__
        raise FileFormatError(f"this cannot be read as {kind.upper()} ({reason}).", path) from None
    try:
        return _with_integer_names(listed_networkx(found))
    except InputError as error:
        raise FileFormatError(str(error), path) from None


def _graphml(nx: Any, text: bytes) -> Any:
    return nx.read_graphml(BytesIO(text))


def _gml(nx: Any, text: bytes) -> Any:
    try:
        return nx.read_gml(BytesIO(text))
    except nx.NetworkXError:
        # Labels are optional and may repeat; ids are neither.
        return nx.read_gml(BytesIO(text), label="id")


def _with_integer_names(listed: Listed) -> Listed:
    """Names that all spell integers become these, in ascending order, as in an edge list."""
    if listed.names is None:
        return listed
    numbers = [_integer(name) for name in listed.names]
    values = [number for number in numbers if number is not None]
    if len(values) < len(numbers) or len(set(values)) < len(values):
        return listed
    names = np.array(values, dtype=np.int64)
    order = np.argsort(names)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    plain = np.array_equal(names[order], np.arange(len(names)))
    return Listed(rank[listed.edge_index], listed.num_nodes, None if plain else names[order], listed.meaning)


def _integer(name: Hashable) -> int | None:
    if isinstance(name, int):
        return name
    text = str(name)
    spelled = text.isascii() and text.isdigit() and len(text) <= 18 and str(int(text)) == text
    return int(text) if spelled else None


def write(graph: Graph, path: Path, kind: str) -> None:
    nx = library("networkx", "networkx")
    made = graph.to_networkx()
    texts = {str(name) for name in made}
    if len(texts) < len(made):
        raise InputError("Two nodes have the same name once written as text; write .npz or rename them.")
    with replacing(path) as file:
        if kind == "graphml":
            nx.write_graphml(made, file)
        else:
            nx.write_gml(made, file, stringizer=str)
