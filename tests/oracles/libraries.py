"""The same counts from NetworkX and rustworkx, which have no notion of detours."""

import networkx as nx
import rustworkx as rx

from tests.oracles.brute import Arcs, ByArc


def _networkx_graph(num_nodes: int, arcs: Arcs, directed: bool) -> nx.Graph:
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(range(num_nodes))
    graph.add_edges_from(arcs)
    return graph


def with_networkx(num_nodes: int, arcs: Arcs, k: int) -> ByArc:
    """`all_simple_paths` for every arc, the way the paper's authors counted."""
    graph = _networkx_graph(num_nodes, arcs, directed=True)
    counts = {arc: [0] * (k - 1) for arc in arcs}
    for i, j in counts:
        for path in nx.all_simple_paths(graph, i, j, cutoff=k):
            if len(path) > 2:
                counts[i, j][len(path) - 3] += 1
    return counts


def cycles_by_networkx(num_nodes: int, arcs: Arcs, k: int, directed: bool) -> dict[int, int]:
    totals = dict.fromkeys(range(3, k + 2), 0)
    for cycle in nx.simple_cycles(_networkx_graph(num_nodes, arcs, directed), length_bound=k + 1):
        if len(cycle) >= 3:  # in a directed graph NetworkX also lists the 2-cycles
            totals[len(cycle)] += 1
    return totals


def with_rustworkx(num_nodes: int, arcs: Arcs, k: int) -> ByArc:
    graph = rx.PyDiGraph()
    graph.add_nodes_from(range(num_nodes))
    graph.add_edges_from_no_data(list(arcs))
    counts = {arc: [0] * (k - 1) for arc in arcs}
    for i, j in counts:
        # min_depth and cutoff count nodes, not arcs
        for path in rx.all_simple_paths(graph, i, j, min_depth=3, cutoff=k + 1):
            counts[i, j][len(path) - 3] += 1
    return counts
