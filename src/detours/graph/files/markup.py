"""GraphML, GML, GEXF, Pajek and adjacency lists, read and written through NetworkX."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from detours.atomic import atomic_write
from detours.errors import FileFormatError, InputError
from detours.graph.convert import from_networkx, library, to_networkx
from detours.graph.edges import EdgeList
from detours.graph.files.shared.doubts import warn_of_direction
from detours.graph.files.shared.format import Format
from detours.graph.files.shared.lines import is_data
from detours.graph.files.shared.name_index import sorted_by_name
from detours.graph.files.shared.other_lists import refuse_matrix
from detours.graph.files.shared.source import read_text

_GRAPH = re.compile(rb"<(?:\w+:)?graph[\s>]")
_WORD = re.compile(r'"([^"]*)"|(\S+)')
_COMMENT = re.compile(rb"(?m)(?:^|(?<=\s))#.*$|#(?:[^\S\n].*)?$")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MAX_IMPLICIT = 100_000  # vertices of a Pajek network without lines
_SECTIONS = ("network", "arcs", "edges", "arcslist", "edgeslist")


def read_graphml(path: Path) -> EdgeList:
    """Return the edges of a GraphML file."""
    text = read_text(path, xml=True)
    if b"<graphml" not in text[:100_000]:
        raise FileFormatError("this is not GraphML: there is no <graphml> in it.", path)
    if len(_GRAPH.findall(text)) > 1:
        raise FileFormatError("it holds several graphs, or a group of nodes with its own graph; keep only one.", path)
    return _read(lambda nx: nx.read_graphml(BytesIO(text)), "GraphML", path)


def read_gml(path: Path) -> EdgeList:
    """Return the edges of a GML file."""
    return _read(partial(_parse_gml, read_text(path, xml=True)), "GML", path)


def read_gexf(path: Path) -> EdgeList:
    """Return the edges of a GEXF file."""
    text = read_text(path, xml=True)
    if b"<gexf" not in text[:100_000]:
        raise FileFormatError("this is not GEXF: there is no <gexf> in it.", path)
    return _read(lambda nx: nx.read_gexf(BytesIO(text)), "GEXF", path)


def read_pajek(path: Path) -> EdgeList:
    """Return the edges of a Pajek network; if it has *Arcs, an edge is read as two of them."""
    text = read_text(path)
    if b"*vertices" not in text[:100_000].lower():
        raise FileFormatError("this is not a Pajek network: there is no *Vertices in it.", path)
    return _read(partial(_parse_pajek, text), "Pajek", path)


def read_adjlist(path: Path) -> EdgeList:
    """Return the edges of an adjacency list: each line is a node and its neighbours."""
    text = read_text(path)
    refuse_matrix(text, path, lists=True)
    lines = [line.split() for line in text.split(b"\n") if is_data(line)]
    if all(len(line) == 1 for line in lines) and any(b"," in name for line in lines for name in line):
        raise FileFormatError(
            "the nodes of an adjacency list must be separated by blanks, but here they are by commas.", path
        )
    if any(name.startswith(b"{") for line in lines for name in line):
        raise FileFormatError(
            "this is a multi-line adjacency list, with attributes; read it with networkx.read_multiline_adjlist.", path
        )
    # NetworkX would cut names such as C#1, and fails on lines of blanks.
    text = b"\n".join(line for line in _COMMENT.sub(b"", text).split(b"\n") if line.strip())
    edges = _read(
        lambda nx: nx.read_adjlist(BytesIO(text), comments="\0", create_using=nx.DiGraph), "adjacency list", path
    )
    # One of its ends may list an edge, or both.
    if isinstance(edges.names, tuple):
        return sorted_by_name(edges.edge_index, edges.names)
    return replace(edges, meaning="lines", directed=False, origin=None)


def _read(parse: Callable[[Any], Any], kind: str, path: Path) -> EdgeList:
    from xml.etree.ElementTree import ParseError  # slow to import

    nx = library("networkx", "networkx")
    try:
        graph = parse(nx)
    except ParseError as error:
        raise FileFormatError(f"the {kind} is cut off or damaged ({error}).", path, error.position[0]) from None
    except UnicodeDecodeError as error:
        raise FileFormatError(f"the text is not UTF-8 ({error}); save the file as UTF-8.", path) from None
    except Exception as error:
        # On files of another kind the parsers raise KeyError, AttributeError, RecursionError and more.
        reason = f"KeyError: {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
        raise FileFormatError(f"this cannot be read as {kind} ({reason}).", path) from None
    try:
        return _with_names(graph, nx)
    except InputError as error:
        raise FileFormatError(str(error), path) from None


def _parse_gml(text: bytes, nx: Any) -> Any:
    # NetworkX expects other characters as XML entities, and allows repeated edges only in declared multigraphs.
    text = text.decode().encode("ascii", "xmlcharrefreplace")
    repeated = re.sub(rb"\bgraph\s*\[", b"graph [ multigraph 1", text, count=1)
    for given in (text, repeated):
        for label in ("label", "id"):  # labels are optional and may repeat; ids are neither
            try:
                return nx.read_gml(BytesIO(given), label=label)
            except nx.NetworkXError as error:
                failed = error
        if "duplicated" not in str(failed):
            break
    raise failed


def _parse_pajek(text: bytes, nx: Any) -> Any:
    """Return a multigraph of vertex labels, or of vertex numbers if labels repeat.

    NetworkX's own parser reads all sections after *Vertices alike.
    """
    section, num_vertices = "", 0
    labels: dict[int, str] = {}
    ends: dict[str, list[tuple[int, int, dict[str, float]]]] = {"arcs": [], "edges": []}
    lines = text.decode().splitlines()
    for number, line in enumerate(lines, 1):
        words = [quoted or plain for quoted, plain in _WORD.findall(line)]
        if not words or words[0].startswith("%"):
            continue
        if words[0].startswith("*"):
            section = words[0][1:].lower()
            if section == "vertices":
                num_vertices = _num_vertices(words, num_vertices, number, len(lines))
            elif section not in _SECTIONS:
                raise ValueError(f"line {number}: the section *{section} is unknown; give *Edges or *Arcs")
        elif section == "vertices":
            labels[int(words[0])] = next(filter(None, words[1:2]), words[0])
        elif section != "network":
            first, *others = map(int, words if section.endswith("list") else words[:2])
            if not others or not all(1 <= vertex <= num_vertices for vertex in (first, *others)):
                expected = f"an edge joins vertices 1 .. {num_vertices}"
                raise ValueError(f"line {number}: {expected}, but this is {line.strip()!r}")
            weight = {} if section.endswith("list") else _weight(words[2:3])
            ends[section.removesuffix("list")] += [(first, other, weight) for other in others]
    if unknown := [vertex for vertex in labels if not 1 <= vertex <= num_vertices]:
        raise ValueError(f"vertices are numbered 1 .. {num_vertices}, but there is a vertex {unknown[0]}")
    if section == "vertices" and 0 < len(labels) < num_vertices:
        where = f"it ends after {len(labels)} of {num_vertices} vertices"
        raise ValueError(f"{where}, without *Edges or *Arcs; check that it is complete")
    return _pajek_graph(num_vertices, labels, ends["arcs"], ends["edges"], nx)


def _num_vertices(words: list[str], previous: int, number: int, num_lines: int) -> int:
    """Return the count in the words of line `number`; `previous` is that of another network in the file, else 0."""
    if previous:
        raise ValueError(f"line {number}: the file holds several networks; keep only one")
    count = int(words[1])
    if count > max(_MAX_IMPLICIT, num_lines):
        raise ValueError(f"line {number}: it declares {count} vertices, but the file has {num_lines} lines")
    return count


def _weight(words: list[str]) -> dict[str, float]:
    """Return the weight of an edge as an attribute, if there is one: anything may follow the two vertices."""
    try:
        return {"weight": float(words[0])} if words else {}
    except ValueError:
        return {}


def _pajek_graph(num_vertices: int, labels: dict[int, str], arcs: list[Any], edges: list[Any], nx: Any) -> Any:
    names = [labels.get(vertex, str(vertex)) for vertex in range(1, num_vertices + 1)]
    if len(set(names)) < num_vertices:
        names = [str(vertex) for vertex in range(1, num_vertices + 1)]
    graph = nx.MultiDiGraph() if arcs else nx.MultiGraph()
    graph.add_nodes_from(names)
    reverse = [(v, u, weight) for u, v, weight in edges if u != v] if arcs else []
    graph.add_edges_from((names[u - 1], names[v - 1], weight) for u, v, weight in (*arcs, *edges, *reverse))
    return graph


def _with_names(graph: Any, nx: Any) -> EdgeList:
    """Return the edges; nodes that are only numbered get their labels, and integer names are sorted."""
    names = _labels(graph) or list(graph)
    values = [value for value in map(_integer, names) if value is not None]
    all_integers = len(values) == len(names) == len(set(values))
    names = values if all_integers else names
    edges = from_networkx(graph)
    if names == list(graph) and not all_integers:
        return edges
    origin = partial(nx.relabel_nodes, graph, dict(zip(graph, names, strict=True)))
    if not all_integers:
        return replace(edges, names=tuple(names), origin=origin)
    ids = np.array(values, dtype=np.int64)
    order = np.argsort(ids)
    rank = np.empty(len(ids), dtype=np.int64)
    rank[order] = np.arange(len(ids))
    plain = np.array_equal(ids[order], np.arange(len(ids)))
    return replace(edges, edge_index=rank[edges.edge_index], names=None if plain else ids[order], origin=origin)


def _labels(graph: Any) -> list[Any] | None:
    """Return the attribute "name" or "label" of all nodes if their ids are only numbers, as igraph and Gephi write."""
    if not all(re.fullmatch(r"n?\d+", str(node)) for node in graph):
        return None
    for attribute in ("name", "label"):
        labels = [label for _, label in graph.nodes(data=attribute)]
        if all(isinstance(label, str) and label.strip() for label in labels) and len(set(labels)) == len(labels):
            return labels
    return None


def _integer(name: Hashable) -> int | None:
    if isinstance(name, int):
        return name
    text = str(name)
    spells_integer = text.isascii() and text.isdigit() and len(text) <= 18 and str(int(text)) == text
    return int(text) if spells_integer else None


def write_graphml(edges: EdgeList, path: Path) -> None:
    """Write a GraphML file."""
    check_xml_names(edges.name_list(), "GraphML")
    _write(edges, path, lambda nx, graph, file: nx.write_graphml(graph, file))


def write_gml(edges: EdgeList, path: Path) -> None:
    """Write a GML file."""
    # NetworkX writes tuples and some floats in its own way, whatever the stringizer
    _write(edges, path, lambda nx, graph, file: nx.write_gml(nx.relabel_nodes(graph, str), file))


def write_gexf(edges: EdgeList, path: Path) -> None:
    """Write a GEXF file."""
    check_xml_names(edges.name_list(), "GEXF")
    _write(edges, path, lambda nx, graph, file: nx.write_gexf(graph, file))


def write_pajek(edges: EdgeList, path: Path) -> None:
    """Write a Pajek network; names with blanks are quoted."""
    _check_names(edges.name_list(), "a Pajek network", lambda name: '"' not in name and _is_word(name.replace(" ", "")))
    _write(edges, path, lambda nx, graph, file: nx.write_pajek(graph, file))


def write_adjlist(edges: EdgeList, path: Path) -> None:
    """Write an adjacency list; # and % start comments, { and < other kinds of files."""
    warn_of_direction(edges, "an adjacency list")
    _check_names(
        edges.name_list(), "an adjacency list", lambda name: _is_word(name) and "#" not in name and name[0] not in "%{<"
    )
    join = "\n".join  # without the comments of nx.write_adjlist, which hold the time
    _write(edges, path, lambda nx, graph, file: file.write((join(nx.generate_adjlist(graph)) + "\n").encode()))


def check_xml_names(names: Iterable[Hashable], kind: str) -> None:
    """Raise `InputError` if a name has a character that XML cannot hold."""
    _check_names(names, kind, _is_xml)


def xml_text(text: str) -> str:
    r"""Return a text with a backslash escape, as of Python, for each character that XML cannot hold.

    >>> xml_text("a\x07")
    'a\\x07'
    """
    return _NOT_XML.sub(lambda found: repr(found[0])[1:-1], text)


def _check_names(names: Iterable[Hashable], kind: str, is_read_back: Callable[[str], bool]) -> None:
    """Raise `InputError` if a name would be read back as another one, or not at all."""
    for name in names:
        if not is_read_back(str(name)):
            others = ".gml or .npz" if is_read_back is _is_xml else ".graphml or .npz"
            raise InputError(f"The node name {name!r} cannot be written to {kind}; write {others}.")


def _is_xml(text: str) -> bool:
    """Return whether XML can hold a text: most control characters and single surrogates have no representation."""
    return _NOT_XML.search(text) is None


def _is_word(text: str) -> bool:
    """Return whether a text is one word: not empty, without blanks and what is not text."""
    return bool(text) and _is_xml(text) and not any(char.isspace() for char in text)


def _write(edges: EdgeList, path: Path, write: Callable[[Any, Any, Any], None]) -> None:
    nx = library("networkx", "networkx")
    graph = to_networkx(edges)
    if len({str(name) for name in graph}) < len(graph):
        raise InputError("Two nodes have the same name when written as text; write .npz or rename them.")
    with atomic_write(path) as file:
        write(nx, graph, file)


GRAPHML = Format(("graphml",), read_graphml, write_graphml)
GML = Format(("gml",), read_gml, write_gml)
GEXF = Format(("gexf",), read_gexf, write_gexf)
PAJEK = Format(("net", "pajek", "paj"), read_pajek, write_pajek)
ADJLIST = Format(("adjlist", "adj"), read_adjlist, write_adjlist)
