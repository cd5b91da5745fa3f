"""Batches of graphs that all have one shape, so that a training step can be a CUDA graph.

Every batch is padded to the same number of nodes and arcs, with the nodes of one extra graph that does not count.
The device derives all else from three arrays: the graphs of a batch, its nodes, and their in-degrees.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from detours.arrays import Int64
from detours.nn.fused.groups import declare_groups, ends
from detours.nn.tokens import Tokens
from detours.training.batches.packed import Batch, Packed
from detours.training.batches.streams import Batches, GraphBatches, epoch_groups, epoch_signs
from detours.training.devices import sent

SPARE = 64
"""One node in this many is padding in every batch; the padding arcs end at these nodes."""
ROUND = 32
"""Large node and arc counts are multiples of this one, so that products divide them into equal parts."""
LARGE = 16 * ROUND
WASTE = 3.5
"""Padding pays up to this many times the tokens: without CUDA graphs the GPU idles nine tenths of the time."""


class FixedBatches(Batches):
    """Batches as those of `GraphBatches`, padded to one shape.

    Args:
        plain: The batches without padding.
        epochs: The most epochs; the shape fits the batches of all of them.
    """

    fixed = True

    def __init__(self, plain: GraphBatches, epochs: int) -> None:
        self.plain, self.steps = plain, plain.steps
        self.packed = packed = plain.packed
        self.num_nodes, self.num_arcs = padded_sizes(*largest(packed, plain.steps, epochs))
        device, num_graphs, num_nodes = packed.device, len(packed), len(packed.x)
        # indices that are one too large mean padding: every tensor of the data set gets a row for it
        graph_of_node = np.repeat(np.arange(num_graphs), np.diff(packed.nodes))
        self.graph_of_node = torch.from_numpy(np.append(graph_of_node, num_graphs)).to(device)
        self.first_arc = torch.from_numpy(np.append(packed.first_arcs, 0)).to(device)
        self.source = with_zero_row(packed.source)
        self.x, self.arc_features, self.pe, self.y = (
            with_zero_row(each) for each in (packed.x, packed.arc_features, packed.pe, packed.y)
        )
        self.signs = packed.pe.new_zeros(num_graphs + 1, packed.pe.size(1))
        self.graphs = -(-num_graphs // plain.steps)
        """Graphs of a batch, without the one of padding."""
        self.ids = torch.full((self.graphs,), num_graphs, device=device)
        self.rows = torch.arange(self.graphs, device=device)
        self.nodes = torch.full((self.num_nodes,), num_nodes, device=device)
        self.degrees = torch.zeros(self.num_nodes, dtype=torch.long, device=device)
        self.graph_position = torch.zeros(num_graphs + 1, dtype=torch.long, device=device)
        """[graphs + 1] the position in the batch of each graph of the data set."""
        self.node_position = torch.zeros(num_nodes + 1, dtype=torch.long, device=device)

    def waste(self) -> float:
        """Return the ratio of tokens with padding to tokens without."""
        tokens = self.packed.arc_features.size(0) + self.packed.x.size(0)
        return float(self.steps * (self.num_nodes + self.num_arcs) / max(1, tokens))

    def training(self, epoch: int) -> Iterator[FixedBatches]:
        """Write the indices of each batch into the static tensors that `assemble` reads."""
        groups = epoch_groups(self.packed, epoch, self.steps)
        self.signs[:-1].copy_(epoch_signs(self.packed, epoch))
        ids = np.full((self.steps, self.graphs), len(self.packed))
        for row, group in zip(ids, groups, strict=True):
            row[: len(group)] = group
        nodes, degrees = self._nodes_and_degrees(groups)
        sent_ids, sent_nodes, sent_degrees = (sent(each, self.packed.device) for each in (ids, nodes, degrees))
        for step in range(self.steps):
            self.ids.copy_(sent_ids[step])
            self.nodes.copy_(sent_nodes[step])
            self.degrees.copy_(sent_degrees[step])
            yield self

    def evaluation(self) -> list[Batch]:
        return self.plain.evaluation()

    def keep_graphs(self, trained: Tensor | None, evaluated: Tensor) -> None:
        self.plain.keep_graphs(trained, evaluated)

    def _nodes_and_degrees(self, groups: list[Int64]) -> tuple[Int64, Int64]:
        """[steps, nodes] the nodes of each batch, graph by graph, and their in-degrees."""
        packed, order = self.packed, np.concatenate(groups)
        sizes = np.diff(packed.nodes)[order]
        node = np.repeat(packed.nodes[order] - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
        batch_ends = np.cumsum(sizes)[np.cumsum([len(group) for group in groups]) - 1]
        nodes = np.full((self.steps, self.num_nodes), len(packed.x))
        degrees = np.empty_like(nodes)
        for step, real in enumerate(np.split(node, batch_ends[:-1])):
            num_real, degree = len(real), packed.node_sizes[real] - 1
            nodes[step, :num_real], degrees[step, :num_real] = real, degree
            degrees[step, num_real:] = padding_degrees(self.num_arcs - int(degree.sum()), self.num_nodes - num_real)
        return nodes, degrees

    def assemble(self) -> Batch:
        """Return the batch whose indices `training` has written, without synchronising."""
        node, arranged = self.nodes, Arrangement.of(self.degrees, self.num_arcs)
        graph = self.graph_of_node[node]
        padding = graph == len(self.packed)
        self.graph_position.index_copy_(0, self.ids, self.rows)
        self.node_position.index_copy_(0, node, arranged.nodes)
        padding_arc = padding[arranged.target]
        arc = self.first_arc[node][arranged.target] + arranged.rank
        arc = torch.where(padding_arc, len(self.arc_features) - 1, arc)
        source = torch.where(padding_arc, arranged.target, self.node_position[self.source[arc]])  # loops at padding
        edge_index = torch.stack([source, arranged.target])
        declare_groups(ends(edge_index)[1], arranged.offsets)
        batch = torch.where(padding, self.graphs, self.graph_position[graph])
        # nodes are listed graph by graph
        declare_groups(batch, torch.searchsorted(batch, torch.arange(self.graphs + 2, device=batch.device)))
        return Batch(
            self.x[node],
            edge_index,
            self.arc_features[arc],
            self.pe[node] * self.signs[graph],
            self.y[self.ids],
            batch=batch,
            num_graphs=self.graphs + 1,
            ids=self.ids,
            tokens=None if self.packed.set_sizes is None else arranged.tokens(source),
            rows=self.rows,
        )


class Arrangement(NamedTuple):
    """The order of arcs and tokens that follows from the in-degrees of nodes: by target, self tokens first."""

    nodes: Tensor
    """[nodes] their indices, 0, 1, …"""
    offsets: Tensor
    """[nodes + 1] the first arc that ends at each node, and the number of arcs."""
    target: Tensor
    """[arcs]"""
    rank: Tensor
    """[arcs] the index of each arc among those with its target."""
    query: Tensor
    first: Tensor
    arc: Tensor
    """As in `Tokens`, like `query` and `first`."""

    @staticmethod
    def of(degrees: Tensor, num_arcs: int) -> Arrangement:
        """Return the arrangement for in-degrees [nodes], whose sum is `num_arcs`."""
        num_tokens, device = num_arcs + degrees.numel(), degrees.device
        nodes, arcs, tokens = (torch.arange(size, device=device) for size in (degrees.numel(), num_arcs, num_tokens))
        offsets = F.pad(torch.cumsum(degrees, 0), (1, 0))
        target = torch.searchsorted(offsets[1:], arcs, right=True)
        query = torch.searchsorted(offsets[1:] + nodes + 1, tokens, right=True)  # every node has a self token as well
        first = offsets[:-1] + nodes
        arc = torch.where(tokens == first[query], num_arcs, tokens - query - 1)
        declare_groups(query, F.pad(first, (0, 1), value=num_tokens))
        declare_groups(first, torch.searchsorted(first, torch.arange(num_tokens + 1, device=device)))
        declare_groups(nodes, torch.arange(degrees.numel() + 1, device=device))
        return Arrangement(nodes, offsets, target, arcs - offsets[target], query, first, arc)

    def tokens(self, source: Tensor) -> Tokens:
        """Return the tokens of arcs with these sources; token sets are not sorted by size."""
        num_arcs = source.numel()
        padded = torch.cat([source, source.new_zeros(1)])
        key = torch.where(self.arc == num_arcs, self.query, padded[self.arc])
        return Tokens(self.query, key, self.arc, num_arcs, self.nodes, self.first, layout=None)


def largest(packed: Packed, steps: int, epochs: int) -> tuple[int, int]:
    """Return the most nodes and the most arcs of a batch, over all epochs."""
    sizes = np.stack([np.diff(packed.nodes), np.diff(packed.arcs)], axis=1)
    most = np.zeros(2, np.int64)
    for epoch in range(1, epochs + 1):
        groups = epoch_groups(packed, epoch, steps)
        starts = np.cumsum([0, *(len(group) for group in groups[:-1])])
        most = np.maximum(most, np.add.reduceat(sizes[np.concatenate(groups)], starts).max(axis=0))
    nodes, arcs = most.tolist()
    return nodes, arcs


def padded_sizes(nodes: int, arcs: int) -> tuple[int, int]:
    """Return the node and arc counts to which batches of at most these sizes are padded: at least one padding node."""
    return _rounded(nodes + 1 + nodes // SPARE), _rounded(arcs)


def padding_degrees(arcs: int, nodes: int) -> Int64:
    """Return the in-degrees of padding nodes that share these arcs evenly, [nodes]."""
    each, rest = divmod(arcs, nodes)
    return each + (np.arange(nodes) < rest)


def _rounded(size: int) -> int:
    return size if size < LARGE else -(-size // ROUND) * ROUND


def with_zero_row(values: Tensor) -> Tensor:
    """Return the values with a row of zeros appended."""
    return torch.cat([values, values.new_zeros(1, *values.shape[1:])])
