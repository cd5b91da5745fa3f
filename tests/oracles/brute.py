"""Detours and cycles straight from the definitions, in plain Python."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from itertools import pairwise, permutations

Arc = tuple[int, int]
Arcs = Collection[Arc]
ByArc = dict[Arc, list[int]]


def successors(num_nodes: int, arcs: Arcs) -> list[list[int]]:
    following: list[list[int]] = [[] for _ in range(num_nodes)]
    for tail, head in sorted(arcs):
        following[tail].append(head)
    return following


def simple_paths(num_nodes: int, arcs: Arcs, i: int, j: int, k: int) -> list[tuple[int, ...]]:
    """All simple paths i -> j of 2..k arcs, by length and then lexicographic, as `detours.paths` promises."""
    following = successors(num_nodes, arcs)

    def extend(path: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if path[-1] == j:
            yield path
        elif len(path) <= k:
            for node in following[path[-1]]:
                if node not in path:
                    yield from extend((*path, node))

    return sorted((path for path in extend((i,)) if len(path) > 2), key=lambda path: (len(path), path))


def by_recursion(num_nodes: int, arcs: Arcs, k: int) -> ByArc:
    """List the detours of every arc and count them."""
    counts = {arc: [0] * (k - 1) for arc in arcs}
    for i, j in counts:
        for path in simple_paths(num_nodes, arcs, i, j, k):
            counts[i, j][len(path) - 3] += 1
    return counts


def by_permutations(num_nodes: int, arcs: Arcs, k: int) -> ByArc:
    """Try every ordered choice of inner nodes; no search, no pruning."""
    present = set(arcs)

    def count(i: int, j: int, length: int) -> int:
        others = [node for node in range(num_nodes) if node not in (i, j)]
        chains = ((i, *inner, j) for inner in permutations(others, length - 1))
        return sum(all(step in present for step in pairwise(chain)) for chain in chains)

    return {(i, j): [count(i, j, length) for length in range(2, k + 1)] for i, j in present}


def by_subsets(num_nodes: int, arcs: Arcs, k: int, between: Arcs | None = None) -> ByArc:
    """Held–Karp: ways[visited set, last node], one root at a time; fast enough for K9.

    Counts the paths between the ends of every arc, or of the pairs in `between`.
    """
    following = successors(num_nodes, arcs)
    counts = {pair: [0] * (k - 1) for pair in (arcs if between is None else between)}
    for root in range(num_nodes):
        ways = {(1 << root, root): 1}
        for length in range(1, k + 1):
            longer: dict[tuple[int, int], int] = defaultdict(int)
            for (visited, last), count in ways.items():
                for node in following[last]:
                    if not visited >> node & 1:
                        longer[visited | 1 << node, node] += count
            ways = longer
            for (_, last), count in ways.items():
                if length >= 2 and (root, last) in counts:
                    counts[root, last][length - 2] += count
    return counts


def cycles_through_nodes(num_nodes: int, arcs: Arcs, k: int, directed: bool) -> list[dict[int, int]]:
    """The number of simple cycles through every node, by length 3..k+1."""
    present = set(arcs)
    through: list[dict[int, int]] = [dict.fromkeys(range(3, k + 2), 0) for _ in range(num_nodes)]
    for cycle in _cycles(num_nodes, present, k + 1, directed):
        for node in cycle:
            through[node][len(cycle)] += 1
    return through


def cycles_by_rotation(num_nodes: int, arcs: Arcs, k: int, directed: bool) -> dict[int, int]:
    """The number of simple cycles of the graph, by length 3..k+1."""
    totals = dict.fromkeys(range(3, k + 2), 0)
    for cycle in _cycles(num_nodes, set(arcs), k + 1, directed):
        totals[len(cycle)] += 1
    return totals


def _cycles(num_nodes: int, present: set[Arc], longest: int, directed: bool) -> set[tuple[int, ...]]:
    """Cycles as tuples that start at their smallest node; undirected ones also have second < last."""
    following = successors(num_nodes, present)
    cycles: set[tuple[int, ...]] = set()

    def extend(path: tuple[int, ...]) -> None:
        if len(path) >= 3 and (path[-1], path[0]) in present:
            reverse = (path[0], *reversed(path[1:]))
            cycles.add(path if directed else min(path, reverse))
        if len(path) < longest:
            for node in following[path[-1]]:
                if node > path[0] and node not in path:
                    extend((*path, node))

    for root in range(num_nodes):
        extend((root,))
    return cycles
