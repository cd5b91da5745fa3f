"""Batches of graphs that all have one shape, so that a training step can be a CUDA graph.

Every batch is padded to the same number of nodes with m tokens, for each m, by nodes of a graph that counts nowhere.
The nodes of a batch are numbered by the size of their token sets. Then nearly all of its arrays are the same for every
batch: which nodes have how many arcs, where arcs end, how tokens lie in memory. What differs follows on the device from
two rows of numbers, the graphs and the nodes of the batch.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from detours.arrays import Int64
from detours.nn.tokens import Tokens
from detours.nn.tokens.buckets import bucketed
from detours.nn.tokens.layout import laid_out
from detours.training.batches.packed import Batch, Packed
from detours.training.batches.streams import GraphBatches, epoch_groups, epoch_signs
from detours.training.devices import sent

WASTE = 3.5
"""How many times the tokens are worth it with padding: without CUDA graphs the GPU waits nine tenths of the time."""


class FixedBatches:
    """Batches as those of `GraphBatches`, padded to one shape.

    Args:
        plain: The batches without padding.
        epochs: The most epochs; the shape fits the batches of all of them.
    """

    fixed = True

    def __init__(self, plain: GraphBatches, epochs: int) -> None:
        self.plain, self.steps = plain, plain.steps
        self.packed = packed = plain.packed
        self.sizes = largest_sizes(packed, plain.steps, epochs)
        self.shape = Shape(self.sizes, packed.device, packed.set_sizes is not None)
        self.size_of_node = packed.node_sizes
        device, number, nodes = packed.device, len(packed), len(packed.x)
        graph_of_node = np.repeat(np.arange(number), np.diff(packed.nodes))
        self.graph_of_node = torch.from_numpy(np.append(graph_of_node, number)).to(device)
        self.first_arc = torch.from_numpy(np.append(packed.first_arcs, 0)).to(device)
        self.source = longer(packed.source)
        self.x, self.den, self.pe = (longer(each) for each in (packed.x, packed.den, packed.pe))
        self.y = longer(packed.y)
        self.signs = packed.pe.new_zeros(number + 1, packed.pe.size(1))
        self.graphs = -(-number // plain.steps)
        self.ids = torch.full((self.graphs,), number, device=device)
        self.nodes = torch.full((self.shape.nodes,), nodes, device=device)
        self.place_of_graph = torch.zeros(number + 1, dtype=torch.long, device=device)
        self.place_of_node = torch.zeros(nodes + 1, dtype=torch.long, device=device)

    def waste(self) -> float:
        """Return the tokens with padding over those without."""
        tokens = self.packed.den.size(0) + self.packed.x.size(0)
        return float(self.steps * (self.shape.nodes + self.shape.arcs) / max(1, tokens))

    def training(self, epoch: int) -> Iterator[FixedBatches]:
        """Put the numbers of each batch where `assembled` finds them."""
        groups = epoch_groups(self.packed, epoch, self.steps)
        self.signs[:-1].copy_(epoch_signs(self.packed, epoch))
        ids = np.full((self.steps, self.graphs), len(self.packed))
        for row, group in zip(ids, groups, strict=True):
            row[: len(group)] = group
        ids, nodes = (sent(each, self.packed.device) for each in (ids, self._nodes(groups)))
        for step in range(self.steps):
            self.ids.copy_(ids[step])
            self.nodes.copy_(nodes[step])
            yield self

    def evaluation(self) -> list[Batch]:
        return self.plain.evaluation()

    def _nodes(self, groups: list[Int64]) -> Int64:
        """[steps, nodes] the nodes of each batch by the size of their token sets."""
        packed, width = self.packed, len(self.sizes)
        order = np.concatenate(groups)
        number = np.diff(packed.nodes)[order]
        node = np.repeat(packed.nodes[order] - (np.cumsum(number) - number), number) + np.arange(number.sum())
        step = np.repeat(np.repeat(np.arange(self.steps), [len(group) for group in groups]), number)
        kind = step * width + self.size_of_node[node]
        found = np.bincount(kind, minlength=self.steps * width)
        within = np.arange(len(node)) - np.repeat(np.cumsum(found) - found, found)
        before = np.cumsum(self.sizes) - self.sizes
        begin = (np.arange(self.steps)[:, None] * self.shape.nodes + before).reshape(-1)
        table = np.full(self.steps * self.shape.nodes, len(packed.x))
        table[np.repeat(begin, found) + within] = node[np.argsort(kind, kind="stable")]
        return table.reshape(self.steps, -1)

    def assembled(self) -> Batch:
        """Return the batch whose numbers `training` has put there; nothing waits for the device."""
        shape, node = self.shape, self.nodes
        graph = self.graph_of_node[node]
        added = graph == len(self.packed)
        self.place_of_graph.index_copy_(0, self.ids, torch.arange(self.graphs, device=node.device))
        self.place_of_node.index_copy_(0, node, shape.places)
        of_added = added[shape.target]
        arc = torch.where(of_added, len(self.den) - 1, self.first_arc[node][shape.target] + shape.number)
        source = torch.where(of_added, shape.target, self.place_of_node[self.source[arc]])
        return Batch(
            self.x[node],
            torch.stack([source, shape.target]),
            self.den[arc],
            self.pe[node] * self.signs[graph],
            self.y[self.ids],
            batch=torch.where(added, self.graphs, self.place_of_graph[graph]),
            num_graphs=self.graphs + 1,
            ids=self.ids,
            tokens=shape.tokens(source),
            rows=shape.places[: self.graphs],
        )


class Shape:
    """What is the same for all batches with ``sizes[m]`` nodes of m tokens."""

    def __init__(self, sizes: Int64, device: torch.device, tokens: bool) -> None:
        size_of_set = np.repeat(np.arange(len(sizes)), sizes)
        first = np.cumsum(size_of_set) - size_of_set
        set_of_token = np.repeat(np.arange(len(size_of_set)), size_of_set)
        number = np.arange(len(set_of_token)) - first[set_of_token]
        is_arc = number > 0
        self.nodes, self.arcs = len(size_of_set), int(is_arc.sum())
        self.places = torch.arange(self.nodes, device=device)
        self.target = torch.from_numpy(set_of_token[is_arc]).to(device)
        self.number = torch.from_numpy(number[is_arc] - 1).to(device)
        """Which arc of its node each is."""
        self.with_tokens = tokens
        self.query, self.first = (torch.from_numpy(each).to(device) for each in (set_of_token, first))
        self.arc = torch.from_numpy(np.where(is_arc, np.cumsum(is_arc) - 1, self.arcs)).to(device)
        self.is_arc = torch.from_numpy(is_arc).to(device)
        self.layout = laid_out(bucketed(sizes.tolist(), on_gpu=device.type == "cuda"), self.query, self.first)

    def tokens(self, source: Tensor) -> Tokens | None:
        if not self.with_tokens:
            return None
        ends = torch.cat([source, source.new_zeros(1)])
        key = torch.where(self.is_arc, ends[self.arc], self.query)
        return Tokens(self.query, key, self.arc, self.arcs, self.places, self.first, self.layout)


def largest_sizes(packed: Packed, steps: int, epochs: int) -> Int64:
    """[m] how many nodes with m tokens a batch of any epoch has at most."""
    of_graph = packed.sizes_of_graphs
    largest = np.zeros(of_graph.shape[1], np.int64)
    for epoch in range(1, epochs + 1):
        groups = epoch_groups(packed, epoch, steps)
        begins = np.cumsum([0, *(len(group) for group in groups[:-1])])
        largest = np.maximum(largest, np.add.reduceat(of_graph[np.concatenate(groups)], begins).max(axis=0))
    return largest


def longer(values: Tensor) -> Tensor:
    """The values with a row of zeros behind them."""
    return torch.cat([values, values.new_zeros(1, *values.shape[1:])])
