"""Small graphs of the kinds that break counting engines, from a seed."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations
from random import Random
from typing import NamedTuple

import numpy as np

Arc = tuple[int, int]


class Case(NamedTuple):
    """A graph as a caller may pass it: columns in any order, with loops and duplicates."""

    num_nodes: int
    columns: list[Arc]
    directed: bool
    k: int

    def edge_index(self) -> np.ndarray:
        return np.array(self.columns, np.int64).reshape(-1, 2).T

    def arcs(self) -> list[Arc]:
        """The arcs without loops and duplicates; both of every edge if undirected."""
        arcs = {(i, j) for i, j in self.columns if i != j}
        return sorted(arcs if self.directed else arcs | {(j, i) for i, j in arcs})


def random_case(random: Random, k: int, directed: bool) -> Case:
    """Return a random case that is small enough for a plain search with this k."""
    edges = random.choice(FAMILIES)(random, 13 - k if k > 4 else 12)
    num_nodes = 1 + max((max(edge) for edge in edges), default=0)
    num_nodes += random.choice((0, 0, 0, 1, 3))
    if len(edges) > 3 * num_nodes and k > 6 and num_nodes > 8:  # a plain search would be slow
        edges = random.sample(edges, 3 * num_nodes)
    new_name = list(range(num_nodes))
    random.shuffle(new_name)
    columns = []
    for i, j in edges:
        arc = (new_name[i], new_name[j])
        if directed:
            direction = random.random()
            columns += [arc, arc[::-1]] if direction < 0.3 else [arc] if direction < 0.65 else [arc[::-1]]
        else:
            columns += random.choice(([arc], [arc[::-1]], [arc, arc[::-1]]))
    if columns and random.random() < 0.2:
        columns += random.choices(columns, k=2)
    if num_nodes and random.random() < 0.2:
        columns.append((node := random.randrange(num_nodes), node))
    if random.random() < 0.7:
        random.shuffle(columns)
    return Case(num_nodes, columns, directed, k)


def _any_density(random: Random, most: int) -> list[Arc]:
    n, p = random.randint(1, most), random.random() ** 1.5
    return [edge for edge in combinations(range(n), 2) if random.random() < p]


def _sparse(random: Random, most: int) -> list[Arc]:
    n = random.randint(4, 2 * most)
    return list({tuple(sorted(random.sample(range(n), 2))) for _ in range(random.randint(n // 2, n + 4))})  # type: ignore


def _clique(random: Random, most: int) -> list[Arc]:
    return list(combinations(range(random.randint(2, min(most, 7))), 2))


def _bipartite(random: Random, most: int) -> list[Arc]:
    left, right = random.randint(1, 4), random.randint(1, 4)
    return [(i, left + j) for i in range(left) for j in range(right)]


def _cycle_with_chords(random: Random, most: int) -> list[Arc]:
    n = random.randint(3, 10)
    chords = random.sample(list(combinations(range(n), 2)), random.randint(0, 3))
    return list({*pairwise(range(n)), (0, n - 1), *chords})


def _theta(random: Random, most: int) -> list[Arc]:
    """Two nodes connected by several chains."""
    edges, new = [], 2
    for _ in range(random.randint(2, 4)):
        length = random.randint(1, 5)
        chain = [0, *range(new, new + length - 1), 1]
        new += length - 1
        edges += list(pairwise(chain))
    return list({tuple(sorted(edge)) for edge in edges})  # type: ignore


def _subdivided(random: Random, most: int) -> list[Arc]:
    """A small graph whose edges are replaced by chains."""
    edges, base = [], _any_density(random, 5)
    new = 5
    for i, j in base:
        length = random.choice((1, 1, 2, 3))
        edges += list(pairwise([i, *range(new, new + length - 1), j]))
        new += length - 1
    return edges


def _glued(random: Random, most: int) -> list[Arc]:
    """Blocks that share a node, with trees attached."""
    edges: list[Arc] = []
    shared, new = 0, 1
    for _ in range(random.randint(2, 3)):
        block = random.choice((_clique, _cycle_with_chords, _bipartite))(random, 5)
        size = 1 + max(max(edge) for edge in block)
        new_name = [shared, *range(new, new + size - 1)]
        edges += [(new_name[i], new_name[j]) for i, j in block]
        new += size - 1
        shared = random.randrange(new)
    for _ in range(random.randint(0, 3)):
        edges.append((random.randrange(new), new))
        new += 1
    return edges


def _hub(random: Random, most: int) -> list[Arc]:
    """A wheel or a fan: one node is adjacent to all others."""
    n = random.randint(3, min(most, 9))
    rim = list(pairwise(range(1, n)))
    return [(0, i) for i in range(1, n)] + random.sample(rim, random.randint(0, len(rim)))


def _disconnected(random: Random, most: int) -> list[Arc]:
    first, second = _any_density(random, 5), _cycle_with_chords(random, 5)
    return first + [(i + 6, j + 6) for i, j in second]


def _grid(random: Random, most: int) -> list[Arc]:
    rows, columns = random.choice(((2, 4), (3, 3), (2, 5), (3, 4)))
    across = [(r * columns + c, r * columns + c + 1) for r in range(rows) for c in range(columns - 1)]
    return across + [(r * columns + c, (r + 1) * columns + c) for r in range(rows - 1) for c in range(columns)]


def _circulant(random: Random, most: int) -> list[Arc]:
    n, steps = random.randint(5, 9), random.sample(range(1, 4), random.randint(1, 2))
    return list({tuple(sorted((i, (i + step) % n))) for i in range(n) for step in steps})  # type: ignore


def _tournament(random: Random, most: int) -> list[Arc]:
    n = random.randint(3, 6)
    return [pair for pair in permutations(range(n), 2) if random.random() < 0.6]


FAMILIES = (
    _any_density,
    _any_density,
    _sparse,
    _clique,
    _bipartite,
    _cycle_with_chords,
    _theta,
    _subdivided,
    _glued,
    _hub,
    _disconnected,
    _grid,
    _circulant,
    _tournament,
)
