"""Cycles from NetworkX, chordless cycles by definition, shortest cycles by breadth-first search."""

from collections import deque
from collections.abc import Iterable
from itertools import pairwise

import networkx as nx

from tests.oracles.brute import Arc, Arcs, successors

Cycle = tuple[int, ...]


def canonical(cycle: Iterable[int], directed: bool = False) -> Cycle:
    """Return the smallest of the tuples that represent the same cycle."""
    nodes = tuple(cycle)
    orientations = [nodes] if directed else [nodes, nodes[::-1]]
    return min(each[start:] + each[:start] for each in orientations for start in range(len(nodes)))


def edges_of(cycle: Cycle) -> list[Arc]:
    return list(pairwise((*cycle, cycle[0])))


def simple_cycles(graph: nx.Graph, longest: int) -> list[Cycle]:
    """All cycles of 3 to ``longest`` edges by NetworkX, sorted; a pair of opposite arcs is not a cycle here."""
    directed = graph.is_directed()
    found = nx.simple_cycles(graph, length_bound=longest)
    return sorted(canonical(cycle, directed) for cycle in found if len(cycle) > 2)


def chordless_cycles(graph: nx.Graph, longest: int) -> list[Cycle]:
    """All chordless cycles by NetworkX, sorted."""
    return sorted(map(canonical, nx.chordless_cycles(graph, length_bound=longest)))


def is_chordless(graph: nx.Graph, cycle: Cycle) -> bool:
    """The definition: the only edges between nodes of the cycle are those of the cycle."""
    return graph.subgraph(cycle).number_of_edges() == len(cycle)


def shortest_cycle(num_nodes: int, arcs: Arcs, arc: Arc, longest: int) -> int:
    """The length of the shortest cycle of three or more edges through an arc, 0 if it is above ``longest``.

    Breadth-first search from the head of the arc to its tail, without the arc between them in the other direction.
    """
    tail, head = arc
    following = successors(num_nodes, [one for one in arcs if one != (head, tail)])
    distance, queue = {head: 0}, deque([head])
    while queue:
        node = queue.popleft()
        for other in following[node]:
            if other not in distance:
                distance[other] = distance[node] + 1
                queue.append(other)
    length = distance.get(tail, longest) + 1
    return length if length <= longest else 0
