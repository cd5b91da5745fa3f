"""Graphs that are hard to tell apart, constructed from their definitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, product
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.checks import check_integer
from detours.errors import InputError, short_repr
from detours.graph import Graph

CSL_SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)
"""One skip length for each isomorphism class of the 41-node graphs of Murphy et al., 2019."""

_LARGEST_CFI = 100_000  # nodes

Adjacency = NDArray[np.bool_]
Table = Sequence[Sequence[int]]


def from_edges(num_nodes: int, edges: Iterable[tuple[int, int]]) -> Graph:
    """Return the undirected graph with these edges, each listed once."""
    once = np.array(list(edges), dtype=np.int64).reshape(-1, 2).T
    return Graph.from_edge_index(np.concatenate((once, once[::-1]), axis=1), num_nodes)


def from_matrix(adjacency: Adjacency) -> Graph:
    """Return the undirected graph of a symmetric adjacency matrix; the diagonal is ignored."""
    return Graph.from_edge_index(np.stack(np.nonzero(adjacency & ~np.eye(len(adjacency), dtype=bool))), len(adjacency))


# ------------------------------------------------------------------------------------------------ regular graphs


def cycle(n: int) -> Graph:
    """The cycle of n >= 3 nodes."""
    return from_edges(n, ((i, (i + 1) % n) for i in range(n)))


def complete(n: int) -> Graph:
    """The complete graph of n nodes."""
    return from_edges(n, combinations(range(n), 2))


def cycle_unions(n: int) -> tuple[Graph, Graph]:
    """Two cycles of n nodes, and one of 2n: the simplest graphs that 1-WL cannot tell apart.

    >>> cycle_unions(3)
    (Graph(6 nodes, 6 edges), Graph(6 nodes, 6 edges))
    """
    if n < 3:
        raise InputError(f"A cycle has at least 3 nodes, but n is {short_repr(n)}.")
    return Graph.disjoint_union([cycle(n)] * 2)[0], cycle(2 * n)


def csl(n: int = 41, skip: int = 2) -> Graph:
    """Circular skip links: a cycle of n nodes, and a second cycle that steps along it by `skip`."""
    if not 2 <= skip <= n - 2 or gcd(n, skip) > 1:
        raise InputError(
            f"skip must be in 2 .. n-2 and have no factor in common with n = {n}, but it is {short_repr(skip)}."
        )
    return from_edges(n, ((i, (i + step) % n) for i in range(n) for step in (1, skip)))


def csl_classes() -> list[Graph]:
    """The ten classes of 41-node CSL graphs, no two of them isomorphic."""
    return [csl(41, skip) for skip in CSL_SKIPS]


def prism() -> Graph:
    """The triangular prism: two triangles, joined node by node."""
    return from_edges(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)])


def cube() -> Graph:
    """The graph of the eight corners of a cube."""
    return from_edges(8, ((i, i ^ bit) for i in range(8) for bit in (1, 2, 4) if i < i ^ bit))


def petersen() -> Graph:
    """The Petersen graph: pairs of five elements, joined if they are disjoint."""
    pairs = [set(pair) for pair in combinations(range(5), 2)]
    return from_edges(10, ((i, j) for i, j in combinations(range(10), 2) if not pairs[i] & pairs[j]))


# ---------------------------------------------------------------------------------------- strongly regular graphs


def rook(n: int = 4) -> Graph:
    """The squares of an n × n board, joined along rows and columns: strongly regular (n², 2n-2, n-2, 2)."""
    n = check_integer("n", n, minimum=1)
    squares = list(product(range(n), repeat=2))
    return from_edges(
        n * n, ((i, j) for i, j in combinations(range(n * n), 2) if any(map(int.__eq__, squares[i], squares[j])))
    )


def shrikhande() -> Graph:
    """Z4 × Z4, joined if they differ by ±(1, 0), ±(0, 1) or ±(1, 1): (16, 6, 2, 2), like the 4 × 4 rook's graph."""
    steps = ((1, 0), (0, 1), (1, 1))
    return from_edges(
        16, ((4 * a + b, (a + x) % 4 * 4 + (b + y) % 4) for a, b in product(range(4), repeat=2) for x, y in steps)
    )


def triangular(n: int = 8) -> Graph:
    """T(n), the line graph of the complete graph: pairs of n elements, joined if they share one."""
    return from_matrix(_triangular(check_integer("n", n, minimum=2)))


def chang() -> list[Graph]:
    """The three Chang graphs: strongly regular (28, 12, 6, 4) like T(8), by Seidel switching of T(8).

    The switched sets are the edges of four disjoint edges, of an octagon, and of a triangle with a pentagon in K8.
    """
    pairs = {frozenset(pair): at for at, pair in enumerate(combinations(range(8), 2))}
    matching = [(0, 1), (2, 3), (4, 5), (6, 7)]
    octagon = [(i, (i + 1) % 8) for i in range(8)]
    split_cycles = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 6), (6, 7), (7, 3)]
    return [
        from_matrix(_switched(_triangular(8), [pairs[frozenset(edge)] for edge in edges]))
        for edges in (matching, octagon, split_cycles)
    ]


def latin_square(table: Table) -> Graph:
    """The cells of a Latin square, joined in the same row or column or with the same symbol: (n², 3n-3, n, 6).

    Any n distinct symbols will do. The multiplication table of a group is an example.
    """
    symbols = np.asarray(table)
    alphabet = np.unique(symbols)
    n = len(alphabet)
    if symbols.shape != (n, n) or any((np.sort(lines) != alphabet).any() for lines in (symbols, symbols.T)):
        raise InputError(
            f"table must be a square with every symbol once in each row and each column, but it is {short_repr(table)}."
        )
    row, column = np.divmod(np.arange(n * n), n)
    symbol = symbols.ravel()
    return from_matrix(np.logical_or.reduce([mark[:, None] == mark for mark in (row, column, symbol)]))


def group_tables(order: int) -> dict[str, Table]:
    """Multiplication tables of groups of this order: products of cyclic groups, dihedral and dicyclic groups."""
    tables = {_product_name(factors): _product_table(factors) for factors in _factorings(order)}
    if order % 2 == 0 and order >= 6:
        tables[f"D{order // 2}"] = _semidirect_table(order // 2, square=0)
    if order % 4 == 0 and order >= 8:
        tables[f"Dic{order // 4}"] = _semidirect_table(order // 2, square=order // 4)
    return tables


def _triangular(n: int) -> Adjacency:
    ends = np.array(list(combinations(range(n), 2)))
    shared: Adjacency = (ends[:, None, :, None] == ends[None, :, None, :]).any(axis=(2, 3))
    return shared


def _switched(adjacency: Adjacency, nodes: Sequence[int]) -> Adjacency:
    """Seidel switching: edges and non-edges are exchanged between these nodes and all others."""
    inside = np.zeros(len(adjacency), dtype=bool)
    inside[nodes] = True
    switched: Adjacency = adjacency ^ inside[:, None] ^ inside[None, :]
    return switched


def _factorings(order: int) -> list[tuple[int, ...]]:
    """The abelian groups of this order as products of cyclic groups: each factor divides the next."""

    def chains(rest: int, divides: int) -> list[tuple[int, ...]]:
        if rest == 1:
            return [()]
        factors = (f for f in range(2, rest + 1) if rest % f == 0 and f % divides == 0)
        return [(f, *more) for f in factors for more in chains(rest // f, f)]

    return chains(order, 1)


def _product_name(factors: Sequence[int]) -> str:
    return "×".join(f"Z{factor}" for factor in factors) or "Z1"


def _product_table(factors: Sequence[int]) -> Table:
    elements = list(product(*map(range, factors)))
    index = {element: at for at, element in enumerate(elements)}

    def add(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
        return tuple((x + y) % factor for x, y, factor in zip(a, b, factors, strict=True))

    return [[index[add(a, b)] for b in elements] for a in elements]


def _semidirect_table(n: int, square: int) -> Table:
    """Elements r^i s^j, j = 0 or 1, with r^n = 1, s² = r^square and s r = r^-1 s."""

    def multiply(a: int, b: int) -> int:
        (flipped, turn), (flip, more) = divmod(a, n), divmod(b, n)
        turns = turn + (-more if flipped else more) + (square if flipped and flip else 0)
        return turns % n + n * (flipped ^ flip)

    return [[multiply(a, b) for b in range(2 * n)] for a in range(2 * n)]


# ------------------------------------------------------------------------------------------------------ CFI graphs


def cfi(base: Any, twisted: bool = False, *, edge: int = 0) -> Graph:
    """The graph of Cai, Fürer and Immerman over a connected base graph, in its small form.

    A node v of the base becomes one node for each even subset of its edges. Over an edge e, two of these are joined if
    both subsets contain e or neither does; over the twisted edge, if exactly one does. Which `edge` of the base is
    twisted does not matter: the graphs are isomorphic. The plain and the twisted graph are not
    isomorphic for any connected base, and k-FWL tells them apart if and only if k is at least the treewidth of the
    base (Roberson, 2022; Neuen, 2024): 1 for a tree, 2 for a cycle, 3 for K4, the prism and the cube.

    >>> cfi(cycle(3)), cfi(complete(4), twisted=True)
    (Graph(6 nodes, 6 edges), Graph(16 nodes, 48 edges))
    """
    graph = Graph.from_any(base, directed=False)
    source, target = graph.to_edge_index()
    edges = [(int(i), int(j)) for i, j in zip(source, target, strict=True) if i < j]
    if not edges or not is_connected(graph):
        raise InputError(f"The base of CFI graphs must be connected and have an edge, but {graph} was given.")
    size = sum(2 ** (int(degree) - 1) for degree in graph.degree)
    if size > _LARGEST_CFI:
        raise InputError(
            f"A CFI graph has 2^(d-1) nodes for each base node of degree d, here {size:,} in all; "
            f"take a base that needs at most {_LARGEST_CFI:,}."
        )
    if not 0 <= edge < len(edges):
        raise InputError(f"edge must be in 0 .. {len(edges) - 1}, the edges of the base, but it is {short_repr(edge)}.")
    incident: list[list[int]] = [[] for _ in range(graph.num_nodes)]
    for e, (i, j) in enumerate(edges):
        incident[i].append(e)
        incident[j].append(e)
    gadgets, first = [], 0
    for at_node in incident:
        subsets = [set(subset) for r in range(0, len(at_node) + 1, 2) for subset in combinations(at_node, r)]
        gadgets.append(list(enumerate(subsets, first)))
        first += len(subsets)
    joined = [
        (a, b)
        for e, (i, j) in enumerate(edges)
        for (a, left), (b, right) in product(gadgets[i], gadgets[j])
        if ((e in left) == (e in right)) != (twisted and e == edge)
    ]
    return from_edges(first, joined)


def cfi_pair(base: Any) -> tuple[Graph, Graph]:
    """The plain and the twisted CFI graph over a connected base; never isomorphic."""
    return cfi(base), cfi(base, twisted=True)


def is_connected(graph: Graph) -> bool:
    from scipy.sparse.csgraph import connected_components

    return bool(graph.num_nodes) and connected_components(graph.to_scipy(), directed=False)[0] == 1


# -------------------------------------------------------------------------------------------------- from NetworkX


def atlas(max_nodes: int = 7) -> list[Graph]:
    """All connected graphs with 1 .. max_nodes <= 7 nodes, from NetworkX's atlas; 996 of them."""
    if not 1 <= max_nodes <= 7:
        raise InputError(f"The atlas contains graphs of 1 to 7 nodes, but max_nodes is {short_repr(max_nodes)}.")
    try:
        from networkx import graph_atlas_g
    except ImportError:
        raise InputError(
            "The atlas of small graphs comes with NetworkX, which is not installed; install networkx."
        ) from None
    graphs = (Graph.from_networkx(graph) for graph in graph_atlas_g() if len(graph) <= max_nodes)
    return [graph for graph in graphs if is_connected(graph)]
