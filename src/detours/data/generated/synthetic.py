"""Synthetic tasks whose classes differ in cycles and nothing else.

All are based on coverings: several copies ("sheets") of one small graph, in which some edges lead from one sheet to
another. Whichever edges these are, 1-WL gives all copies of a node the same colour, and so does any message passing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from detours.checks import check_integer
from detours.data.graph_set import GraphSet
from detours.errors import InputError
from detours.graph import Graph

RING_SIZES = (3, 4, 5, 6)
LATTICE_SIZES = (4, 5, 6)
SHEETS = 4
"""Over every ring of the ring lattice, two sheets have a ring each, and two share one twice as long."""

Edge = tuple[int, int]


def rings(graphs: int = 200, *, sizes: tuple[int, ...] = RING_SIZES, seed: int = 0) -> GraphSet:
    """Two rings, or one twice as long? Class 0 has two rings with equal branches, class 1 one ring that repeats them.

    The rings are decorated with random trees and attached to one common node. For every graph of class 0 there is one
    of class 1 with the same degrees, the same trees and the same neighbourhoods: 1-WL, and thus any message passing,
    cannot tell these two apart after any number of rounds. Detours can: every edge of a ring of s nodes has a detour of
    s - 1 edges.

    >>> task = rings(6)
    >>> task.y.tolist(), [graph.num_edges - graph.num_nodes for graph in task.graphs]
    ([0, 1, 0, 1, 0, 1], [1, 1, 1, 1, 1, 1])
    """
    _check("rings", graphs, sizes)
    rng = np.random.default_rng(seed)
    generated = []
    for _ in range(graphs // 2):
        size = int(rng.choice(sizes))
        parents = _trees(size, rng)
        generated += [_doubled(size, parents, crossed=False), _doubled(size, parents, crossed=True)]
    return _paired("rings", generated)


def fused_rings(graphs: int = 200, *, sizes: tuple[int, ...] = RING_SIZES, seed: int = 0) -> GraphSet:
    """Fused or not? Both graphs of a pair have the same numbers of rings; in class 0, pairs of rings share an edge.

    A graph has four sheets of two rings that share an edge, with random trees, attached to one common node. In class 0,
    two sheets are unchanged, and the others are crossed over at the shared edge, which breaks both of their rings. In
    class 1, two sheets are crossed over in the first ring, which leaves them the second, and two in the second. 1-WL
    cannot tell the two graphs of a pair apart, nor can the number of rings: only where they meet differs. Detours up to
    k = largest size - 1 show it at the shared edge.

    >>> task = fused_rings(2, sizes=(5,))
    >>> import detours
    >>> [detours.count(graph, 4).cycles[5] for graph in task.graphs]
    [4, 4]
    """
    _check("fused_rings", graphs, sizes)
    rng = np.random.default_rng(seed)
    generated = []
    for _ in range(graphs // 2):
        first, second = (int(size) for size in rng.choice(sizes, 2))
        core = first + second - 2
        # The first ring is 0 .. first-1; the second has the shared edge (0, first-1) and the nodes from first on.
        edges = [(0, first - 1), *((v, v + 1) for v in range(core - 1)), (core - 1, 0)]
        parents = _trees(core, rng)
        shared, in_first, in_second = edges[0], edges[1], edges[-1]
        edges += [(parent, core + at) for at, parent in enumerate(parents)]
        generated += [_attached(core + len(parents), edges, crossed) for crossed in ([shared], [in_first, in_second])]
    return _paired("fused-rings", generated)


def ring_lattice(nodes: int = 2000, *, sizes: tuple[int, ...] = LATTICE_SIZES, seed: int = 0) -> GraphSet:
    """Which nodes are on a short ring? One large graph of linked rings; class 1 is on a ring of one of the `sizes`.

    A random tree of linked rings is covered by four sheets. Over each of its rings, two sheets have that ring (class 1)
    and two share one twice as long (class 0). So every 1-WL colour has equally many nodes of both classes, every node
    has two or three neighbours, and any other cycle is at least twice as long as the smallest ring. Up to k = largest
    size - 1, only nodes of class 1 have detours.

    Args:
        nodes: The minimum number of nodes; rings are added until it is reached.
        sizes: The sizes of the rings, the smallest more than half as large as the largest.
        seed: The random seed of the tree and its covering.

    >>> task = ring_lattice(100)
    >>> task, task.level, float(task.y.mean())
    (GraphSet(ring-lattice: 1 graph, 112 nodes, 2 classes), 'node', 0.5)
    """
    check_integer("nodes, the approximate size of the graph,", nodes, minimum=1)
    if not sizes or min(sizes) < 3 or 2 * min(sizes) <= max(sizes):
        raise InputError(
            f"A ring has at least 3 nodes, and one twice as long must not count as short, but sizes={sizes!r}; "
            "give sizes below twice the smallest."
        )
    rng = np.random.default_rng(seed)
    edges: list[Edge] = []
    permutations: list[Sequence[int]] = []
    bare: list[int] = []  # nodes with two neighbours, to which another ring may be linked
    on_short = np.zeros((0, SHEETS), np.int64)
    while SHEETS * len(on_short) < nodes or not _is_connected(permutations):
        size, start = int(rng.choice(sizes)), len(on_short)
        a, b = rng.permutation(SHEETS)[:2].tolist()
        swapped = list(range(SHEETS))
        swapped[a], swapped[b] = b, a
        ring = [(start + v, start + v + 1) for v in range(size - 1)]
        edges += [*ring, (start + size - 1, start)]
        permutations += [*([range(SHEETS)] * len(ring)), swapped]
        if start:
            edges.append((bare.pop(int(rng.integers(len(bare)))), start))
            permutations.append(range(SHEETS))
        bare += range(start + (start > 0), start + size)
        on_short = np.vstack([on_short, np.tile(np.equal(swapped, range(SHEETS)), (size, 1))])
    graph = _covering(len(on_short), edges, permutations)
    return GraphSet("ring-lattice", [graph], on_short.T.ravel(), level="node")


def _check(task: str, graphs: int, sizes: tuple[int, ...]) -> None:
    if check_integer("graphs", graphs) < 2 or graphs % 2:
        raise InputError(
            f"{task} creates graphs in pairs, one of each class, but graphs={graphs}; give an even number."
        )
    if not sizes or min(sizes) < 3:
        raise InputError(f"A ring has at least 3 nodes, but sizes={sizes!r}; give larger ones.")


def _paired(name: str, graphs: list[Graph]) -> GraphSet:
    """Return a `GraphSet` of graphs of class 0 and 1 in turn; graphs 2i and 2i + 1 are a pair."""
    pairs = [(at, at + 1) for at in range(0, len(graphs), 2)]
    return GraphSet(name, graphs, np.arange(len(graphs)) % 2, pairs=pairs)


def _trees(size: int, rng: np.random.Generator) -> list[int]:
    """Return random trees on a ring of `size` nodes: the parent of each node from `size` on."""
    return [int(rng.integers(size + added)) for added in range(int(rng.integers(2, 2 * size + 1)))]


def _doubled(size: int, parents: list[int], crossed: bool) -> Graph:
    """Two copies of a ring with its trees, attached to one node; crossed over at an edge, the two rings become one."""
    copy = size + len(parents)
    edges = [(side * copy + parent, side * copy + size + at) for side in (0, 1) for at, parent in enumerate(parents)]
    edges += [(side * copy + v, side * copy + v + 1) for side in (0, 1) for v in range(size - 1)]
    edges += [(side * copy + size - 1, (side ^ crossed) * copy) for side in (0, 1)]
    edges += [(side * copy, 2 * copy) for side in (0, 1)]
    return _undirected(edges, 2 * copy + 1)


def _attached(copy: int, edges: list[Edge], crossed: list[Edge]) -> Graph:
    """Four sheets, attached to one node by paths of two edges, so that no new cycle is shorter than 7.

    With one crossed edge, sheets 2 and 3 are crossed over there; with two, sheets 0 and 1 at the first, 2 and 3 at the
    second.
    """
    hub = SHEETS * (copy + 1)
    swaps = dict(zip(reversed(crossed), ([0, 1, 3, 2], [1, 0, 2, 3]), strict=False))
    joined = _lifted(copy, edges, [swaps.get(edge, range(SHEETS)) for edge in edges])
    stems = [(sheet * copy, SHEETS * copy + sheet) for sheet in range(SHEETS)]
    joined += stems + [(stem, hub) for _, stem in stems]
    return _undirected(joined, hub + 1)


def _covering(copy: int, edges: list[Edge], permutations: list[Sequence[int]]) -> Graph:
    return _undirected(_lifted(copy, edges, permutations), SHEETS * copy)


def _lifted(copy: int, edges: Iterable[Edge], permutations: Iterable[Sequence[int]]) -> list[Edge]:
    """The copies of every edge (u, v): from u on each sheet to v on the sheet that its permutation maps to."""
    return [
        (sheet * copy + u, to * copy + v)
        for (u, v), permutation in zip(edges, permutations, strict=True)
        for sheet, to in enumerate(permutation)
    ]


def _is_connected(permutations: Iterable[Sequence[int]]) -> bool:
    """Return whether the edges lead from every sheet to every other, so that the covering is connected."""
    reached = {0}
    for _ in range(SHEETS):
        reached |= {to for permutation in permutations for sheet, to in enumerate(permutation) if sheet in reached}
    return len(reached) == SHEETS


def _undirected(edges: list[Edge], num_nodes: int) -> Graph:
    ends = np.array(edges).T
    return Graph.from_edge_index(np.hstack([ends, ends[::-1]]), num_nodes=num_nodes)
