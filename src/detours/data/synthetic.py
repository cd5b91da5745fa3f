"""Tasks made in code, to try everything without a file: their classes differ in cycles and nothing else."""

from __future__ import annotations

import numpy as np

from detours.data.sets import GraphSet
from detours.errors import InputError
from detours.graph import Graph

RING_SIZES = (3, 4, 5, 6)


def rings(graphs: int = 200, *, sizes: tuple[int, ...] = RING_SIZES, seed: int = 0) -> GraphSet:
    """Two rings, or one twice as long? Class 0 has two rings with equal branches, class 1 one ring that repeats them.

    The rings are decorated with random trees and hang on one common node. For every graph of class 0 there is one of
    class 1 with the same degrees, the same trees and the same neighbourhoods: 1-WL, and with it any message passing,
    cannot tell these two apart, whatever the number of rounds. Detours can: a ring of s nodes gives its edges one of
    s - 1 edges.

    >>> task = rings(6)
    >>> task.y.tolist(), [graph.num_edges - graph.num_nodes for graph in task.graphs]
    ([0, 1, 0, 1, 0, 1], [1, 1, 1, 1, 1, 1])
    """
    if graphs < 2 or graphs % 2:
        raise InputError(
            f"rings makes graphs in pairs, one of each class, but {graphs} were asked for; give an even number."
        )
    if not sizes or min(sizes) < 3:
        raise InputError(f"A ring has at least 3 nodes, but sizes={sizes!r}; give larger ones.")
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(graphs // 2):
        size = int(rng.choice(sizes))
        parents = _trees(size, rng)
        made += [_doubled(size, parents, crossed=False), _doubled(size, parents, crossed=True)]
    return GraphSet("rings", made, np.arange(graphs) % 2)


def _trees(size: int, rng: np.random.Generator) -> list[int]:
    """Random trees on a ring: the parent of each further node, the first of which has number `size`."""
    return [int(rng.integers(size + added)) for added in range(int(rng.integers(2, 2 * size + 1)))]


def _doubled(size: int, parents: list[int], crossed: bool) -> Graph:
    """Two copies of a ring with its trees, hung on one node; crossed over at one edge, the two rings become one."""
    copy = size + len(parents)
    edges = [(side * copy + parent, side * copy + size + at) for side in (0, 1) for at, parent in enumerate(parents)]
    edges += [(side * copy + v, side * copy + v + 1) for side in (0, 1) for v in range(size - 1)]
    edges += [(side * copy + size - 1, (side ^ crossed) * copy) for side in (0, 1)]
    edges += [(side * copy, 2 * copy) for side in (0, 1)]
    ends = np.array(edges).T
    return Graph.from_edge_index(np.hstack([ends, ends[::-1]]), num_nodes=2 * copy + 1)
