"""The content of a page as plain data: positions, counts by length, detours, and the colours of refinement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from detours import wl
from detours.arrays import Float64, Int64
from detours.counting.result import Detours, den_name
from detours.graph import Graph
from detours.graph.edges import EdgeList
from detours.graph.graph import build_graph
from detours.viz.interactive.names import shown_name, shown_names
from detours.viz.interactive.part import LISTED_EACH, Part, first_detours
from detours.viz.layout import stress_layout
from detours.viz.pair import differing_colours
from detours.wl.refinement import refine_counted

EDGE_LENGTH, SPACING = 40, 16  # unzoomed pixels: mean edge length, and minimal typical distance of two nodes
LISTED_EDGES, LISTED_ARCS = 1_500, 2**25
"""The maximal number of edges whose detours are listed, the busiest ones, and of arcs scanned to find them."""
LISTED_NODES = 80_000
"""The maximum of nodes on all listed detours together, but for the last edge; it bounds the size of the page."""
MAX_ROUNDS = 8
MAX_REFINED_EDGES = 1_000_000  # edges; larger graphs have no colours
SAFE = 2**53


class Molecule(NamedTuple):
    """How to draw a molecule: what its graph does not contain."""

    points: Float64
    """float64 [atoms, 2], about one unit per bond."""
    symbols: list[str]
    bonds: dict[tuple[int, int], float]
    """The order of every bond, 1.5 if aromatic, by its atoms, the smaller first."""


def describe_graph(result: Detours, part: Part, name: str, molecule: Molecule | None = None) -> dict[str, Any]:
    """Return one graph as data for JSON; indices of nodes and edges are those of the part that is drawn."""
    graph = result.graph
    source, target = part.ends(graph)
    own_names = [str(graph.name(node)) for node in part.nodes]
    names = shown_names(own_names)
    numbering = _Numbering(part.nodes)
    inner = [
        None if paths is None else [[numbering.index(v) for v in path] for path in paths]
        for paths in _listed(result, part)
    ]
    points = _points(graph, part) if molecule is None else molecule.points[part.nodes]
    x, y = np.rint(points.T * _magnification(points)).astype(int).tolist()
    return {
        "name": shown_name(name),
        "directed": graph.directed,
        "chordless": result.chordless,
        "nodes_in_all": graph.num_nodes,
        "edges_in_all": graph.num_edges,
        "names": names + shown_names(graph.name(node) for node in numbering.added),
        "altered": [node for node, name in enumerate(own_names) if names[node] != name],
        "x": x,
        "y": [-value for value in y],  # the screen's y grows downwards
        "degree": graph.degree[part.nodes].tolist(),
        "phi": [_exact(_node_sums(graph, column, part.nodes)) for column in result.arc_by_length.T],
        "sources": source.tolist(),
        "targets": target.tolist(),
        "counts": [_exact(column.tolist()) for column in result.arc_by_length[part.arcs].T],
        "detours": inner,
        "symbols": None if molecule is None else [molecule.symbols[node] for node in part.nodes],
        "bonds": None if molecule is None else _bonds(molecule, part.nodes, source, target),
        "colours": {},
        "telling": None,
    }


def _bonds(molecule: Molecule, nodes: Int64, source: Int64, target: Int64) -> list[float]:
    ends = np.sort(np.stack([nodes[source], nodes[target]]), axis=0).T.tolist()
    return [molecule.bonds[u, v] for u, v in ends]


class _Numbering:
    """Indices of the nodes on detours: those drawn come first, others follow in order of appearance."""

    def __init__(self, drawn: Int64) -> None:
        self.indices = {node: index for index, node in enumerate(drawn.tolist())}
        self.added: list[int] = []

    def index(self, node: int) -> int:
        if node not in self.indices:
            self.indices[node] = len(self.indices)
            self.added.append(node)
        return self.indices[node]


def _points(graph: Graph, part: Part) -> Float64:
    return stress_layout(build_graph(EdgeList(part.ends(graph), len(part.nodes), meaning="edges")))


def _magnification(points: Float64) -> float:
    """Return the pixels per unit: edges get their usual length, or more if nodes would overlap."""
    if len(points) < 2:
        return EDGE_LENGTH
    from scipy.spatial import KDTree

    nearest = KDTree(points).query(points, k=2)[0][:, 1]
    return float(max(EDGE_LENGTH, SPACING / max(float(np.median(nearest)), 1e-3)))


def _exact(values: Sequence[int]) -> list[int] | list[str]:
    """Return integers that JavaScript reads exactly: as strings if one of them is too large for its numbers.

    An empty list stands for zeros, so that a large k does not make a large page.
    """
    if not any(values):
        return []
    return list(values) if max(values, default=0) < SAFE else [str(value) for value in values]


def _node_sums(graph: Graph, column: Int64, nodes: Int64) -> list[int]:
    """Return the sum of a column over the arcs of each node, as Python integers, since they may exceed 2^63."""
    sums: list[int] = []
    if not column.any():
        return sums
    for node in nodes:
        values = column[graph.indptr[node] : graph.indptr[node + 1]]
        safe = values.sum(dtype=np.float64) < 2**62
        sums.append(int(values.sum()) if safe else sum(values.tolist()))
    return sums


def listed_edges(edges: int, arcs: int) -> int:
    """Return the number of drawn edges whose detours are listed; listing those of one edge scans all arcs.

    >>> listed_edges(78, 156), listed_edges(5_000, 10_000), listed_edges(5_000, 200_000)
    (78, 1500, 167)
    """
    return min(edges, LISTED_EDGES, max(20, LISTED_ARCS // max(arcs, 1)))


def listed_each(edges: int, k: int) -> int:
    """Return the maximal number of detours listed per edge, if those of `edges` edges are listed.

    >>> listed_each(78, 4), listed_each(1500, 4), listed_each(1500, 12)
    (200, 10, 5)
    """
    return min(LISTED_EACH, max(5, LISTED_NODES // (max(edges, 1) * (k + 1))))


def _listed(result: Detours, part: Part) -> list[list[list[int]] | None]:
    """Return the inner nodes of the first detours of every edge drawn; None for an edge whose detours are not listed.

    Those of the busiest edges are listed, and most detours of edges between two nodes of `around`.
    """
    graph = result.graph
    source = np.searchsorted(graph.indptr, part.arcs, side="right") - 1
    target = graph.indices[part.arcs]
    den = result.arc_by_length[part.arcs].sum(axis=1, dtype=np.float64)
    requested = np.isin(source, part.around) & np.isin(target, part.around)
    edges = listed_edges(len(part.arcs), graph.num_arcs)
    most = listed_each(edges, result.k)
    busiest = np.argsort(-den, kind="stable")
    most_requested = max(most, listed_each(int(requested.sum()), result.k))
    chosen = [*busiest[requested[busiest]].tolist(), *busiest[~requested[busiest]][:edges].tolist()]
    listed: list[list[list[int]] | None] = [None if count else [] for count in den]
    room = LISTED_NODES
    for at in chosen:
        if room <= 0:
            break
        if den[at]:
            paths = first_detours(result, int(source[at]), int(target[at]), most_requested if requested[at] else most)
            room -= sum(map(len, paths))
            listed[at] = paths
    return listed


def add_colours(described: Sequence[dict[str, Any]], results: Sequence[Detours], parts: Sequence[Part]) -> None:
    """Add the colours of the nodes in every round, and for two graphs the colours of which one has more."""
    graphs = [result.graph for result in results]
    if sum(graph.num_edges for graph in graphs) > MAX_REFINED_EDGES or not all(graph.num_nodes for graph in graphs):
        return
    refined = {
        "degree": wl.refine(graphs, init="degree", rounds=MAX_ROUNDS),
        "den": refine_counted(results, rounds=MAX_ROUNDS),
    }
    for init, colours in refined.items():
        for which, (own, part) in enumerate(zip(described, parts, strict=True)):
            own["colours"][init] = colours[which][:, part.nodes].tolist()
        if len(results) == 2:
            telling = [
                differing_colours(*(colours.of(g, round) for g in (0, 1))).tolist()
                for round in range(colours.rounds + 1)
            ]
            for own in described:
                own["telling"] = {**(own["telling"] or {}), init: telling}


def compare_sentence(results: Sequence[Detours], described: Sequence[dict[str, Any]], budget: float) -> str:
    """Return a sentence that says which tests tell two graphs apart, and from which round on."""
    first = described[0]["telling"] or {}
    tests = {"degree": "1-WL from degrees", "den": f"refinement from {den_name(results[0])}"}
    clauses = []
    for init, telling in first.items():
        found = next((round for round, colours in enumerate(telling) if colours), None)
        clauses.append(
            f"{tests[init]} " + ("does not tell them apart" if found is None else f"differs from round {found} on")
        )
    decided = wl.separate(*(result.graph for result in results), budget=budget)
    verdict = {False: "Not isomorphic", True: "Isomorphic", None: "Not told apart"}[decided.same]
    by = f" (decided by {decided.rung})" if decided.rung else ""
    return f"{verdict}{by}: {'; '.join(clauses)}." if clauses else f"{verdict}{by}."
