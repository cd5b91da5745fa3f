"""Graphs in files: the kind is told by the ending of the name, and the content must agree."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from detours.checks import check_choice
from detours.errors import FileFormatError
from detours.graph.edges import Listed

if TYPE_CHECKING:
    from detours.graph import Graph

__all__ = ["is_saved_graph", "read", "read_many", "write"]

FORMATS = {
    "edgelist": ("edgelist", "edges", "edge", "el", "txt", "csv", "tsv", "dat", "list", "links", "ncol"),
    "mtx": ("mtx",),
    "graphml": ("graphml",),
    "gml": ("gml",),
    "g6": ("g6", "graph6"),
    "s6": ("s6", "sparse6"),
    "npz": ("npz",),
}
_BY_ENDING = {ending: kind for kind, endings in FORMATS.items() for ending in endings}


def is_saved_graph(path: str | os.PathLike[str]) -> bool:
    """Whether this is a folder written by `Graph.save`."""
    from detours.graph.files import saved as store

    return store.is_saved_graph(Path(path))


def _ending(path: Path) -> str:
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return plain.suffix.lower().removeprefix(".")


def _kind(path: Path, format: str | None) -> str:
    """The kind of file; a name without an ending is an edge list."""
    if format is not None:
        check_choice("format", format, FORMATS)
        return format
    ending = _ending(path)
    kind = _BY_ENDING.get(ending) if ending else "edgelist"
    if kind is None:
        raise FileFormatError(
            f"the ending .{ending} is not known; it may be .{', .'.join(_BY_ENDING)}, each also with .gz.",
            path,
        )
    return kind


def read(path: str | os.PathLike[str], *, format: str | None = None) -> Listed:
    """The edges in a file; of a file with several graphs the first, with a warning."""
    path = Path(path)
    if not os.path.exists(path):
        raise FileFormatError("there is no such file.", path)
    kind = "edgelist" if path.is_dir() else _kind(path, format)  # a folder is refused when it is opened
    if kind == "edgelist":
        from detours.graph.files import edgelist

        return edgelist.read(path)
    if kind == "mtx":
        from detours.graph.files import matrix_market

        return matrix_market.read(path)
    if kind == "graphml" or kind == "gml":
        from detours.graph.files import markup

        return markup.read(path, kind)
    if kind == "npz":
        from detours.graph.files import npz

        return npz.read(path)
    from detours.graph.files import graph6

    return graph6.read(path)


def read_many(path: str | os.PathLike[str], *, directed: bool | None = None, strict: bool = False) -> Iterator[Graph]:
    """Every graph of a graph6 or sparse6 file, in order; any other file has one."""
    from detours.graph import Graph
    from detours.graph.files import graph6

    path = Path(path)
    if is_saved_graph(path) or _kind(path, None) not in ("g6", "s6"):
        yield Graph.read(path, directed=directed, strict=strict)
        return
    for listed in graph6.read_all(path):
        yield Graph._from_listed(listed, directed, strict)


def write(graph: Graph, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a graph in the format that the ending of the name asks for."""
    path = Path(path)
    kind = _kind(path, format)
    if kind == "edgelist":
        from detours.graph.files import edgelist

        edgelist.write(graph, path, {"csv": ",", "tsv": "\t"}.get(_ending(path), " "))
    elif kind == "mtx":
        from detours.graph.files import matrix_market

        matrix_market.write(graph, path)
    elif kind == "graphml" or kind == "gml":
        from detours.graph.files import markup

        markup.write(graph, path, kind)
    elif kind == "npz":
        from detours.graph.files import npz

        npz.write(graph, path)
    else:
        from detours.graph.files import graph6

        graph6.write(graph, path, sparse=kind == "s6")
