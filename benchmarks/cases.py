"""The benchmark graphs: real ones from ``DETOURS_DATA``, random ones from fixed seeds.

Every graph is a plain symmetric CSR, so that all contenders start from the same two arrays.
"""

from __future__ import annotations

import os
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.int64]


class MissingData(Exception):
    """A case needs real data that were not found on this machine."""


class Csr:
    """An undirected graph: both arcs of every edge, rows sorted, no loops, no duplicates."""

    def __init__(self, indptr: Array, indices: NDArray[np.int32]) -> None:
        self.indptr, self.indices = indptr, indices

    @classmethod
    def from_pairs(cls, pairs: NDArray[np.integer], n: int) -> Csr:
        """Build from any [E, 2] pairs: symmetrised, loops dropped, duplicates merged."""
        from scipy.sparse import coo_array

        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        ends = np.concatenate([pairs, pairs[:, ::-1]]).astype(np.int32)
        matrix = coo_array((np.ones(len(ends), np.int32), (ends[:, 0], ends[:, 1])), shape=(n, n)).tocsr()
        matrix.sum_duplicates()
        return cls(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32))

    def induced(self, nodes: Array) -> Csr:
        """The subgraph induced by these nodes, renumbered in their order."""
        new_index = np.full(self.num_nodes, -1)
        new_index[nodes] = np.arange(len(nodes))
        pairs = new_index[np.stack(self.upper, axis=1)]
        return Csr.from_pairs(pairs[(pairs >= 0).all(axis=1)], len(nodes))

    def breadth_first(self, seed: int) -> Array:
        """All nodes in breadth-first order from a random one: every prefix is a ball around it."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import breadth_first_order

        matrix = csr_array((np.ones(len(self.indices)), self.indices, self.indptr), shape=(self.num_nodes,) * 2)
        # a node drawn by degree is on a cycle more often than one drawn uniformly
        start = int(np.random.default_rng(seed).choice(self.indices))
        reached = breadth_first_order(matrix, start, directed=False, return_predecessors=False)
        rest = np.setdiff1d(np.arange(self.num_nodes), reached)
        return np.concatenate([reached, rest]).astype(np.int64)

    @property
    def num_nodes(self) -> int:
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        return len(self.indices) // 2

    @cached_property
    def degree(self) -> Array:
        return np.diff(self.indptr)

    @cached_property
    def upper(self) -> tuple[Array, Array]:
        """Endpoints (i, j) with i < j of every edge, in CSR order: the order of all counts here."""
        rows = np.repeat(np.arange(self.num_nodes), self.degree)
        above = rows < self.indices
        return rows[above], self.indices[above].astype(np.int64)

    @cached_property
    def edge_of_arc(self) -> Array:
        """For each arc of the CSR the index of its edge in ``upper``."""
        rows = np.repeat(np.arange(self.num_nodes), self.degree)
        low, high = np.minimum(rows, self.indices), np.maximum(rows, self.indices)
        i, j = self.upper
        return np.searchsorted(i * self.num_nodes + j, low * self.num_nodes + high)


def union(graphs: list[Csr]) -> Csr:
    """The disjoint union, nodes and arcs graph after graph."""
    node_offsets = np.cumsum([0, *(graph.num_nodes for graph in graphs)])
    arc_offsets = np.cumsum([0, *(len(graph.indices) for graph in graphs)])
    indices = [graph.indices + offset for graph, offset in zip(graphs, node_offsets, strict=False)]
    indptr = [graph.indptr[:-1] + offset for graph, offset in zip(graphs, arc_offsets, strict=False)]
    return Csr(np.concatenate([*indptr, arc_offsets[-1:]]), np.concatenate(indices).astype(np.int32))


def barabasi_albert(n: int, m: int, seed: int) -> Csr:
    """Preferential attachment: each new node joins m distinct older nodes, drawn by degree."""
    rng = np.random.default_rng(seed)
    draws = iter(rng.random(4 * n * m).tolist())
    ends: list[int] = []
    targets = set(range(m))
    for node in range(m, n):
        for target in targets:
            ends += (node, target)
        targets = set()
        while len(targets) < m:
            targets.add(ends[int(next(draws) * len(ends))])
    return Csr.from_pairs(np.array(ends).reshape(-1, 2), n)


def random_geometric(n: int, edges: int, seed: int) -> Csr:
    """Uniform points in the unit square, connected within the radius that gives exactly `edges` edges."""
    from scipy.spatial import cKDTree

    points = np.random.default_rng(seed).random((n, 2))
    guess = 1.1 * np.sqrt(2 * edges / (np.pi * n * (n - 1)))
    pairs = cKDTree(points).query_pairs(guess, output_type="ndarray")
    if len(pairs) < edges:
        raise ValueError(f"the radius guess gave {len(pairs)} of {edges} edges; give fewer edges or more nodes")
    squared = ((points[pairs[:, 0]] - points[pairs[:, 1]]) ** 2).sum(axis=1)
    return Csr.from_pairs(pairs[np.argsort(squared, kind="stable")[:edges]], n)


def grid(side: int) -> Csr:
    """A square lattice of side x side nodes."""
    ids = np.arange(side * side).reshape(side, side)
    across = np.stack([ids[:, :-1].ravel(), ids[:, 1:].ravel()], axis=1)
    down = np.stack([ids[:-1].ravel(), ids[1:].ravel()], axis=1)
    return Csr.from_pairs(np.concatenate([across, down]), side * side)


def erdos_renyi(n: int, edges: int, seed: int) -> Csr:
    """`edges` pairs drawn uniformly, minus loops and duplicates, so slightly fewer edges remain."""
    return Csr.from_pairs(np.random.default_rng(seed).integers(0, n, (edges, 2)), n)


def erdos_renyi_dense(n: int, p: float, seed: int) -> Csr:
    """Each pair of nodes is an edge with probability p."""
    chosen = np.triu(np.random.default_rng(seed).random((n, n)) < p, 1)
    return Csr.from_pairs(np.argwhere(chosen), n)


def power_law(n: int, edges: int, hub: int, seed: int) -> Csr:
    """A hub with exactly `hub` neighbours, and pairs whose ends are drawn with weights (i + 1)^-0.7."""
    rng = np.random.default_rng(seed)
    cumulative = np.cumsum((np.arange(n - 1) + 1.0) ** -0.7)
    ends = 1 + np.searchsorted(cumulative, rng.random((edges - hub, 2)) * cumulative[-1])
    spokes = rng.choice(np.arange(1, n), hub, replace=False)
    return Csr.from_pairs(np.concatenate([ends, np.stack([np.zeros_like(spokes), spokes], axis=1)]), n)


def copied_links(n: int, links: int, seed: int) -> Csr:
    """Pages that copy most of their links from an earlier, mostly nearby page: cliques, and hubs of all sizes."""
    rng = np.random.default_rng(seed)
    target = np.zeros((n, links), np.int64)
    target[:links] = np.arange(links)
    near, copy, local = rng.random(n) < 0.9, rng.random((n, links)) < 0.8, rng.random((n, links)) < 0.7
    uniform = rng.random((n, links + 1))
    for v in range(links, n):
        reach = min(v, 100) if near[v] else v
        model = v - 1 - int(uniform[v, links] * reach)
        new = v - 1 - (uniform[v, :links] * np.where(local[v], min(v, 100), v)).astype(np.int64)
        target[v] = np.where(copy[v], target[model], new)
    pages = np.repeat(np.arange(n), links)
    return Csr.from_pairs(np.stack([pages, target.ravel()], axis=1), n)


def small_graphs(count: int, seed: int) -> list[Csr]:
    """Random molecule-like graphs: connected rings of 5 or 6 nodes with a few pendant nodes."""
    rng = np.random.default_rng(seed)
    return [_rings(rng) for _ in range(count)]


def _rings(rng: np.random.Generator) -> Csr:
    pairs: list[tuple[int, int]] = []
    n = 1
    for size in rng.integers(5, 7, rng.integers(1, 5)).tolist():
        ring = [int(rng.integers(n)), *range(n, n + size - 1)]
        pairs += zip(ring, ring[1:] + ring[:1], strict=True)
        n += size - 1
    for _ in range(int(rng.integers(0, 8))):
        pairs.append((int(rng.integers(n)), n))
        n += 1
    return Csr.from_pairs(np.array(pairs), n)


def data_root() -> Path:
    """The folder of the real data: DETOURS_DATA, or ../shared/data next to the checkout."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("DETOURS_DATA", default))


def _data_file(*parts: str) -> Path:
    path = data_root().joinpath(*parts)
    if not path.is_file():
        raise MissingData(f"{path} does not exist; set DETOURS_DATA to the folder that contains {parts[0]}/")
    return path


def _geom_gcn(path: Path) -> Csr:
    pairs = np.loadtxt(path, dtype=np.int64, skiprows=1)
    return Csr.from_pairs(pairs, int(pairs.max()) + 1)


def wikipedia(name: str) -> Csr:
    """chameleon or squirrel, symmetrised and without loops."""
    return _geom_gcn(_data_file("WikipediaNetwork", name, "geom_gcn", "raw", "out1_graph_edges.txt"))


def actor() -> Csr:
    """Actor ("film"), symmetrised and without loops."""
    return _geom_gcn(_data_file("Actor", "raw", "out1_graph_edges.txt"))


def tu(name: str) -> list[Csr]:
    """All graphs of one TU data set, nodes numbered from 0 in each graph."""
    arcs_file = _data_file("TUDataset", name, "raw", f"{name}_A.txt")
    arcs = np.loadtxt(arcs_file, dtype=np.int64, delimiter=",") - 1
    graph_of = np.loadtxt(arcs_file.with_name(f"{name}_graph_indicator.txt"), dtype=np.int64) - 1
    node_offsets = np.searchsorted(graph_of, np.arange(graph_of[-1] + 2))
    arcs = arcs[np.argsort(arcs[:, 0], kind="stable")]
    arc_offsets = np.searchsorted(arcs[:, 0], node_offsets)
    return [
        Csr.from_pairs(arcs[start:end] - first, int(last - first))
        for (first, last), (start, end) in zip(pairwise(node_offsets), pairwise(arc_offsets), strict=True)
    ]
