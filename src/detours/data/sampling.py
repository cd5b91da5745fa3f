"""`NeighborSampler`: batches of nodes with a sample of their neighbourhoods, for large graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from detours.arrays import Int64
from detours.checks import check_integer
from detours.errors import InputError, short_repr
from detours.graph import Graph
from detours.graph.edges import check_edge_index


class Sampled(NamedTuple):
    """A sampled subgraph in PyG's conventions: messages flow from row 0 of `edge_index` to row 1.

    >>> from detours.data import NeighborSampler
    >>> triangle = Graph.from_edges([(0, 1), (1, 2), (2, 0)])
    >>> part = NeighborSampler(triangle, sizes=(2,)).sample([0])
    >>> part.batch_size, sorted(part.n_id.tolist())
    (1, [0, 1, 2])
    """

    n_id: Int64
    """The nodes as indices in the full graph: the seeds first, then hop by hop in the order found."""
    edge_index: Int64
    """int64 [2, arcs]: sources and targets as indices in `n_id`."""
    e_id: Int64
    """The arcs as indices in the full graph: columns of the given `edge_index`, or of `graph.to_edge_index()`."""
    batch_size: int
    """The number of seeds."""


class NeighborSampler:
    """Batches of seeds, each with at most `sizes[h]` in-neighbours of every node found in hop h.

    A node's neighbours are drawn at random without replacement, once per batch; all are taken if there are no more than
    requested, or if the size is -1. A batch depends only on `seed`, the index of the epoch and the index of the batch:
    iterators may run in parallel threads, and a resumed run continues with the same batches.

    Args:
        graph: A `Graph`, whose arcs are taken as stored, or two rows of sources and targets.
        sizes: The number of neighbours to draw in each hop.
        batch_size: The number of seeds of a batch; the last one may have fewer.
        seed: The random seed.
        num_nodes: The number of nodes, if the rows of sources and targets do not determine it.

    >>> star = Graph.from_edge_index([[1, 2, 3, 0, 0, 0], [0, 0, 0, 1, 2, 3]])
    >>> batch = NeighborSampler(star, sizes=(2,)).sample([0])
    >>> len(batch.n_id), batch.edge_index.tolist(), batch.batch_size
    (3, [[1, 2], [0, 0]], 1)
    """

    def __init__(
        self,
        graph: Graph | Any,
        sizes: Sequence[int] = (15, 10),
        batch_size: int = 256,
        *,
        seed: int = 0,
        num_nodes: int | None = None,
    ) -> None:
        self.sizes = tuple(check_integer("Each of sizes, the neighbours to draw,", size, minimum=-1) for size in sizes)
        if not self.sizes or 0 in self.sizes:
            raise InputError(
                f"sizes must be one number for each hop, 1 or more or -1 for all, not {short_repr(sizes)}."
            )
        self.batch_size = check_integer("batch_size", batch_size, minimum=1)
        self.seed = check_integer("seed", seed, minimum=0)
        self._next_epoch = 0
        edge_index, self.num_nodes = _arcs(graph, num_nodes)
        # Arcs sorted by target; the arc in slot p is _arc[p].
        self._arc = np.argsort(edge_index[1], kind="stable")
        self._source = edge_index[0][self._arc].astype(np.int32)
        self._indptr = np.zeros(self.num_nodes + 1, np.int64)
        np.cumsum(np.bincount(edge_index[1], minlength=self.num_nodes), out=self._indptr[1:])
        self._degree = np.diff(self._indptr)

    def __repr__(self) -> str:
        graph = f"{self.num_nodes:,} nodes, {len(self._arc):,} arcs"
        return f"NeighborSampler({graph}, sizes={self.sizes}, batch_size={self.batch_size})"

    def __len__(self) -> int:
        """The number of batches of an epoch over all nodes."""
        return -(-self.num_nodes // self.batch_size)

    def __iter__(self) -> Iterator[Sampled]:
        """Yield the batches of the next epoch over all nodes: epoch 0 the first time, then 1, and so on."""
        self._next_epoch += 1
        return self.epoch(self._next_epoch - 1)

    def epoch(self, number: int, seeds: Any = None, *, shuffle: bool = True) -> Iterator[Sampled]:
        """Yield the batches of an epoch over all nodes, or the given seeds, in a different random order each epoch.

        With shuffle=False the order is kept; neighbours are still drawn at random.
        """
        number = check_integer("The number of an epoch", number, minimum=0)
        nodes = np.arange(self.num_nodes) if seeds is None else self._check_seeds(seeds)
        if shuffle:
            nodes = nodes[np.argsort(np.random.PCG64([self.seed, number]).random_raw(len(nodes)), kind="stable")]
        return self._batches(nodes, number)

    def sample(self, seeds: Any, *, epoch: int = 0, batch: int = 0) -> Sampled:
        """Return one batch with exactly these seeds."""
        return self._sampled(self._check_seeds(seeds), epoch, batch, _Buffers(self))

    def _batches(self, nodes: Int64, epoch: int) -> Iterator[Sampled]:
        buffers = _Buffers(self)
        for batch, start in enumerate(range(0, len(nodes), self.batch_size)):
            yield self._sampled(nodes[start : start + self.batch_size], epoch, batch, buffers)

    def _sampled(self, seeds: Int64, epoch: int, batch: int, buffers: _Buffers) -> Sampled:
        from detours.data.sampling_numba import sample_hop

        n_id, start, found = seeds, 0, len(seeds)
        local_index, drawn = buffers.local_index, buffers.drawn
        local_index[seeds] = np.arange(found)
        sources, targets, slots = [], [], []
        keys = np.random.SeedSequence([self.seed, epoch, batch]).generate_state(len(self.sizes), np.uint64)
        for size, key in zip(self.sizes, keys, strict=True):
            degree = self._degree[n_id[start:found]]
            arcs = int((degree if size < 0 else np.minimum(degree, size)).sum())
            n_id = np.concatenate([n_id[:found], np.empty(arcs, np.int64)])
            source, target, slot = np.empty((3, arcs), np.int64)
            total = sample_hop(
                self._indptr, self._source, size, key, n_id, start, found, local_index, drawn, source, target, slot
            )
            start, found = found, total
            sources.append(source)
            targets.append(target)
            slots.append(slot)
        n_id = n_id[:found].copy()
        local_index[n_id] = -1
        edge_index = np.stack([np.concatenate(sources), np.concatenate(targets)])
        return Sampled(n_id, edge_index, self._arc[np.concatenate(slots)], len(seeds))

    def _check_seeds(self, seeds: Any) -> Int64:
        nodes = np.asarray(seeds)
        if nodes.dtype == bool and nodes.shape == (self.num_nodes,):
            nodes = np.flatnonzero(nodes)
        if nodes.ndim != 1 or (nodes.size and nodes.dtype.kind not in "iu"):
            raise InputError(
                f"seeds must be a list of node indices or a mask of all nodes, but they are {short_repr(seeds)}."
            )
        nodes = nodes.astype(np.int64)
        outside = (nodes < 0) | (nodes >= self.num_nodes)
        if outside.any():
            raise InputError(f"seeds must be in 0 .. {self.num_nodes - 1:,}, but {nodes[outside][0]} is among them.")
        if len(np.unique(nodes)) != len(nodes):
            raise InputError("Seeds must be distinct, but some are repeated; give each once.")
        return nodes


class _Buffers:
    """Work space of the compiled loop, reset after every batch; each iterator has its own."""

    def __init__(self, sampler: NeighborSampler) -> None:
        self.local_index = np.full(sampler.num_nodes, -1, np.int32)
        self.drawn = np.full(int(sampler._degree.max(initial=0)), -1, np.int64)


def _arcs(graph: Any, num_nodes: int | None) -> tuple[Int64, int]:
    if isinstance(graph, Graph):
        return graph.to_edge_index(), graph.num_nodes
    edges = check_edge_index(graph, num_nodes)
    return edges.edge_index, edges.num_nodes
