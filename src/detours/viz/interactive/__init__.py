"""The interactive page: one HTML file that draws a graph or two, with the detours of every edge."""

from __future__ import annotations

import html
import os
import tempfile
import webbrowser
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from detours.atomic import atomic_write
from detours.checks import check_integer, check_path
from detours.counting.count import count
from detours.counting.result import Detours
from detours.errors import InputError, short_repr
from detours.graph import Graph
from detours.graph.pairs import is_of_library
from detours.viz.interactive.assemble import assemble
from detours.viz.interactive.content import Molecule, add_colours, compare_sentence, describe_graph
from detours.viz.interactive.molecules import drawing_of
from detours.viz.interactive.names import shown_name
from detours.viz.interactive.part import MOST_AROUND, MOST_EDGES, Part, choose_part

__all__ = ["Molecule", "Page", "page"]

FRAME_HEIGHT = 720
LOG_FROM = 1_000
"""From this k-DeN on, the initial scale of the page is logarithmic."""


class Page:
    """An interactive page; in a notebook it displays itself.

    >>> import detours
    >>> triangle = detours.viz.page([(0, 1), (1, 2), (2, 0)], k=2)
    >>> triangle.html.startswith("<!doctype html>")
    True
    """

    def __init__(self, text: str) -> None:
        self.html = text
        """The page as one self-contained HTML file."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to an .html file, completely or not at all, and return its path."""
        target = check_path("path", path)
        if target.suffix.lower() not in (".html", ".htm"):
            raise InputError(
                f"a page is an HTML file, so the name must end in .html, but it is {short_repr(str(path))}."
            )
        with atomic_write(target) as file:
            file.write(self.html.encode())
        return target

    def open(self) -> Path:
        """Write the page to a temporary file, open it in the web browser, and return its path."""
        path = self.save(Path(tempfile.mkdtemp(prefix="detours-"), "detours.html"))
        webbrowser.open(path.as_uri())
        return path

    def _repr_html_(self) -> str:
        # A frame with an opaque origin: nothing in the page can access the notebook. The page is stored in the notebook
        # itself, so it needs no kernel, no extension and no network when the notebook is opened again.
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;height:{FRAME_HEIGHT}px;border:1px solid #8884" title="detours"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Page({len(self.html.encode()) / 1000:,.0f} kB; save(path) writes it, open() opens it in a browser)"


def page(
    graphs: Any,
    k: int = 4,
    *,
    names: Sequence[str] | None = None,
    directed: bool | None = None,
    chordless: bool = False,
    molecules: Sequence[Molecule | None] | None = None,
    around: Sequence[Any] | None = None,
    most_edges: int | None = None,
    budget: float = 5.0,
) -> Page:
    """Return an interactive page of one graph, or of two side by side.

    Edges are coloured and thickened by their k-DeN, nodes by Φ or by the colours of refinement, round by round. The
    page lists and draws the detours of the edge that the user clicks.

    Args:
        graphs: A graph of any kind that `detours.count` takes, a `Detours`, or a pair of these.
        k: The largest number of edges of a detour; a `Detours` has its own.
        names: A name for each graph, shown above it.
        directed: Whether to count directed detours. Default: as the graph says.
        chordless: Count and list only detours that form chordless cycles.
        molecules: Positions, symbols and bonds of graphs to draw as molecules, None for other graphs. Default: RDKit
            molecules, and files of them, are drawn as such.
        around: Nodes of a single graph, such as the two ends of an edge. Only these, the nodes on detours between
            them, and their neighbours are drawn.
        most_edges: The maximal number of edges drawn of a graph, by default 5,000, or 1,000 with `around`. Of larger
            graphs, the neighbourhoods of the busiest edges are drawn; of more than 10,000 nodes, only those with edges.
        budget: Seconds for deciding whether two graphs are isomorphic.

    >>> import networkx as nx
    >>> page(nx.karate_club_graph(), k=3)  # doctest: +ELLIPSIS
    Page(... kB; save(path) writes it, open() opens it in a browser)
    """
    given = list(graphs) if _is_pair(graphs) else [graphs]
    if isinstance(graphs, tuple | list) and len(graphs) > 2 and all(map(_is_graph, graphs)):
        raise InputError(f"graphs must be one graph or two, but {len(graphs)} are given.")
    titles = list(names) if names is not None else ["graph"] if len(given) == 1 else ["first graph", "second graph"]
    if len(titles) != len(given):
        raise InputError(f"names has {len(titles)} names for {len(given)} graph{'s' * (len(given) != 1)}")
    results = [_counted(graph, k, directed, chordless) for graph in given]
    if len({(one.k, one.directed, one.chordless) for one in results}) > 1:
        raise InputError(
            "both graphs must be counted with the same k, both directed or both undirected, both chordless or neither"
        )
    if most_edges is not None:
        check_integer("most_edges", most_edges, minimum=1, otherwise="None for the default")
    most = most_edges if most_edges is not None else MOST_EDGES if around is None else MOST_AROUND
    parts = [choose_part(result, most, _nodes(result, around, len(given))) for result in results]
    drawn = molecules if molecules is not None else [drawing_of(result.graph) for result in results]
    described = [describe_graph(*each) for each in zip(results, parts, titles, drawn, strict=True)]
    return Page(assemble(_content(results, parts, described, titles, budget)))


def _content(
    results: list[Detours], parts: list[Part], described: list[dict[str, Any]], titles: list[str], budget: float
) -> dict[str, Any]:
    k = results[0].k
    add_colours(described, results, parts)
    most = max((int(result.arc_by_length.max(initial=0)) for result in results), default=0)
    kind = "chordless detours" if results[0].chordless else "detours"
    notes = [_note(result, part) for result, part in zip(results, parts, strict=True)]
    return {
        "title": " and ".join(map(shown_name, titles)),
        "subtitle": f"{'Directed' if results[0].directed else 'Undirected'}; {kind} of at most {k} edges.",
        "note": " ".join(filter(None, notes)),
        "verdict": compare_sentence(results, described, budget) if len(results) == 2 else "",
        "k": k,
        "scale": "log" if most >= LOG_FROM else "linear",
        "graphs": described,
        "chosen": _chosen(results[0].graph, parts[0]),
    }


def _note(result: Detours, part: Part) -> str:
    if len(part.nodes) == result.graph.num_nodes and not part.around:
        return ""
    nodes = f"{len(part.nodes):,} of {result.graph.num_nodes:,} nodes"
    edges = f"{len(part.arcs):,} of {result.graph.num_edges:,} edges"
    if part.seeds is None and not part.around:
        return f"Shown: {nodes} and {edges}; the other nodes have no edges; all counts are those of the whole graph."
    if part.around:
        names = " and ".join(shown_name(result.graph.name(node)) for node in part.around)
        of = f"{names}, with the nodes on detours between them" if len(part.around) > 1 else names
    else:
        of = "the busiest edge" if part.seeds == 1 else f"the {part.seeds:,} busiest edges"
    return f"Shown: {nodes} and {edges}, the neighbourhood of {of}; all counts are those of the whole graph."


def _chosen(graph: Graph, part: Part) -> dict[str, Any] | None:
    """Return the initial selection: the edge between the first two nodes of `around`, if there is one, or the first of
    them."""
    if not part.around:
        return None
    first, *others = np.searchsorted(part.nodes, part.around[:2]).tolist()
    for second in others:
        for u, v in ((first, second), (second, first)):
            found = np.flatnonzero((part.ends(graph) == [[u], [v]]).all(axis=0))
            if found.size:
                return {"kind": "link", "at": int(found[0])}
    return {"kind": "node", "at": first}


def _nodes(result: Detours, around: Sequence[Any] | None, graphs: int) -> list[int]:
    """Return the indices of the nodes to draw around, or an empty list to draw everything."""
    if around is None:
        return []
    if isinstance(around, str) or not isinstance(around, Iterable):
        raise InputError(
            f"around must be a list of nodes, such as [{short_repr(around)}], but it is {short_repr(around)}."
        )
    if graphs > 1:
        raise InputError("around is for the page of one graph, but two were given.")
    return list(dict.fromkeys(result.graph.node(name) for name in around))


def _is_graph(item: Any) -> bool:
    return isinstance(item, Detours | Graph | str) or is_of_library(item)


def _is_pair(given: Any) -> bool:
    """Whether two graphs were given: two items, unless they are the two rows of an edge_index."""
    return isinstance(given, tuple | list) and len(given) == 2 and not all(_is_row(item) for item in given)


def _is_row(item: Any) -> bool:
    if isinstance(item, tuple | list):
        return all(isinstance(entry, int | np.integer) for entry in item)
    return getattr(item, "ndim", None) == 1


def _counted(graph: Any, k: int, directed: bool | None, chordless: bool) -> Detours:
    return graph if isinstance(graph, Detours) else count(graph, k, directed=directed, chordless=chordless)
