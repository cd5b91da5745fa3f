"""Batches of graphs that all have one shape, so that a training step can be a CUDA graph.

Every batch is padded to the same number of nodes and arcs, by nodes of a graph that counts nowhere. What differs
follows on the device from three rows of numbers: the graphs and the nodes of a batch, and how many arcs end at each
node. Where all tokens of a set ask each other, sets of one size are computed together: then every batch is padded to
the same number of nodes with m tokens, for each m, and its nodes are numbered by the size of their sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from detours.arrays import Int64
from detours.nn.fused.groups import ends, tell_groups
from detours.nn.tokens import Tokens
from detours.nn.tokens.buckets import bucketed
from detours.nn.tokens.layout import Layout, laid_out
from detours.training.batches.packed import Batch, Packed
from detours.training.batches.streams import GraphBatches, epoch_groups, epoch_signs
from detours.training.devices import sent

SPARE = 64
"""Where sizes differ, one node of so many is padding in every batch, and takes the arcs that are."""
ROUND = 32
"""Large numbers of nodes and arcs are multiples of this one: products divide them into equal parts."""
LARGE = 16 * ROUND
WASTE = 3.5
"""How many times the tokens are worth it with padding: without CUDA graphs the GPU waits nine tenths of the time."""


class FixedBatches:
    """Batches as those of `GraphBatches`, padded to one shape.

    Args:
        plain: The batches without padding.
        epochs: The most epochs; the shape fits the batches of all of them.
        by_size: Whether the number of nodes with m tokens is the same in all batches, for each m.
    """

    fixed = True

    def __init__(self, plain: GraphBatches, epochs: int, *, by_size: bool = True) -> None:
        self.plain, self.steps = plain, plain.steps
        self.packed = packed = plain.packed
        self.by_size = by_size
        if by_size:
            self.sizes = largest(packed, packed.sizes_of_graphs, plain.steps, epochs)
            self.shape = Shape(self.sizes, packed.device, packed.set_sizes is not None)
            self.num_nodes, self.num_arcs = self.shape.nodes, self.shape.arcs
        else:
            numbers = np.stack([np.diff(packed.nodes), np.diff(packed.arcs)], axis=1)
            nodes, arcs = largest(packed, numbers, plain.steps, epochs).tolist()
            self.num_nodes, self.num_arcs = _rounded(nodes + 1 + nodes // SPARE), _rounded(arcs)
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
        self.rows = torch.arange(self.graphs, device=device)
        self.nodes = torch.full((self.num_nodes,), nodes, device=device)
        self.degrees = torch.zeros(self.num_nodes, dtype=torch.long, device=device)
        self.place_of_graph = torch.zeros(number + 1, dtype=torch.long, device=device)
        self.place_of_node = torch.zeros(nodes + 1, dtype=torch.long, device=device)

    def waste(self) -> float:
        """Return the tokens with padding over those without."""
        tokens = self.packed.den.size(0) + self.packed.x.size(0)
        return float(self.steps * (self.num_nodes + self.num_arcs) / max(1, tokens))

    def training(self, epoch: int) -> Iterator[FixedBatches]:
        """Put the numbers of each batch where `assembled` finds them."""
        groups = epoch_groups(self.packed, epoch, self.steps)
        self.signs[:-1].copy_(epoch_signs(self.packed, epoch))
        ids = np.full((self.steps, self.graphs), len(self.packed))
        for row, group in zip(ids, groups, strict=True):
            row[: len(group)] = group
        nodes, degrees = (self._by_size(groups), None) if self.by_size else self._one_by_one(groups)
        sent_ids, sent_nodes = (sent(each, self.packed.device) for each in (ids, nodes))
        sent_degrees = None if degrees is None else sent(degrees, self.packed.device)
        for step in range(self.steps):
            self.ids.copy_(sent_ids[step])
            self.nodes.copy_(sent_nodes[step])
            if sent_degrees is not None:
                self.degrees.copy_(sent_degrees[step])
            yield self

    def evaluation(self) -> list[Batch]:
        return self.plain.evaluation()

    def _by_size(self, groups: list[Int64]) -> Int64:
        """[steps, nodes] the nodes of each batch by the size of their token sets."""
        packed, width = self.packed, len(self.sizes)
        node, step = self._listed(groups)
        kind = step * width + packed.node_sizes[node]
        found = np.bincount(kind, minlength=self.steps * width)
        within = np.arange(len(node)) - np.repeat(np.cumsum(found) - found, found)
        before = np.cumsum(self.sizes) - self.sizes
        begin = (np.arange(self.steps)[:, None] * self.num_nodes + before).reshape(-1)
        table = np.full(self.steps * self.num_nodes, len(packed.x))
        table[np.repeat(begin, found) + within] = node[np.argsort(kind, kind="stable")]
        return table.reshape(self.steps, -1)

    def _one_by_one(self, groups: list[Int64]) -> tuple[Int64, Int64]:
        """[steps, nodes] the nodes of each batch, graph by graph, and how many arcs end at each."""
        packed = self.packed
        node, step = self._listed(groups)
        found = np.bincount(step, minlength=self.steps)
        within = np.arange(len(node)) - np.repeat(np.cumsum(found) - found, found)
        place = step * self.num_nodes + within
        nodes = np.full(self.steps * self.num_nodes, len(packed.x))
        nodes[place] = node
        # arcs that no node of the batch has end at the nodes that are padding, as many at each
        degree = packed.node_sizes[node] - 1
        arcs = self.num_arcs - np.bincount(step, degree, self.steps).astype(np.int64)
        each, rest = np.divmod(arcs, self.num_nodes - found)
        degrees = each[:, None] + (np.arange(self.num_nodes) - found[:, None] < rest[:, None])
        degrees.reshape(-1)[place] = degree
        return nodes.reshape(self.steps, -1), degrees

    def _listed(self, groups: list[Int64]) -> tuple[Int64, Int64]:
        """The nodes of all batches, graph by graph, and the step of each."""
        packed, order = self.packed, np.concatenate(groups)
        number = np.diff(packed.nodes)[order]
        node = np.repeat(packed.nodes[order] - (np.cumsum(number) - number), number) + np.arange(number.sum())
        return node, np.repeat(np.repeat(np.arange(self.steps), [len(group) for group in groups]), number)

    def assembled(self) -> Batch:
        """Return the batch whose numbers `training` has put there; nothing waits for the device."""
        node, shape = self.nodes, self.shape if self.by_size else None
        arranged = Arrangement.of(self.degrees, self.num_arcs) if shape is None else shape.arrangement
        graph = self.graph_of_node[node]
        added = graph == len(self.packed)
        self.place_of_graph.index_copy_(0, self.ids, self.rows)
        self.place_of_node.index_copy_(0, node, arranged.places)
        of_added = added[arranged.target]
        arc = torch.where(of_added, len(self.den) - 1, self.first_arc[node][arranged.target] + arranged.number)
        source = torch.where(of_added, arranged.target, self.place_of_node[self.source[arc]])
        tokens = self.packed.set_sizes is not None
        edge_index = torch.stack([source, arranged.target])
        tell_groups(ends(edge_index)[1], arranged.begins)
        batch = torch.where(added, self.graphs, self.place_of_graph[graph])
        if shape is None:  # nodes are listed graph by graph
            each = torch.arange(self.graphs + 2, device=batch.device)
            tell_groups(batch, torch.searchsorted(batch, each))
        return Batch(
            self.x[node],
            edge_index,
            self.den[arc],
            self.pe[node] * self.signs[graph],
            self.y[self.ids],
            batch=batch,
            num_graphs=self.graphs + 1,
            ids=self.ids,
            tokens=arranged.tokens(source, None if shape is None else shape.layout) if tokens else None,
            rows=self.rows,
        )


class Arrangement(NamedTuple):
    """Where arcs end and how tokens lie, if so many arcs end at each node, those of the first node first."""

    places: Tensor
    """[nodes] counts them."""
    begins: Tensor
    """[nodes + 1] the first arc that ends at each node, and how many there are."""
    target: Tensor
    number: Tensor
    """[arcs] which arc of its node each is."""
    query: Tensor
    first: Tensor
    arc: Tensor
    """Of `Tokens`, as `query` and `first`."""

    @staticmethod
    def of(degrees: Tensor, arcs: int) -> Arrangement:
        """From the arcs that end at each node, [nodes], and how many these are together."""
        places, tokens = torch.arange(degrees.numel(), device=degrees.device), arcs + degrees.numel()
        each, token = (torch.arange(number, device=degrees.device) for number in (arcs, tokens))
        begins = F.pad(torch.cumsum(degrees, 0), (1, 0))
        target = torch.searchsorted(begins[1:], each, right=True)
        query = torch.searchsorted(begins[1:] + places + 1, token, right=True)  # every node has a self token as well
        first = begins[:-1] + places
        arc = torch.where(token == first[query], arcs, token - query - 1)
        tell_groups(query, F.pad(first, (0, 1), value=tokens))
        tell_groups(first, torch.searchsorted(first, torch.arange(tokens + 1, device=degrees.device)))
        tell_groups(places, torch.arange(degrees.numel() + 1, device=degrees.device))
        return Arrangement(places, begins, target, each - begins[target], query, first, arc)

    def tokens(self, source: Tensor, layout: Layout | None) -> Tokens:
        """The tokens of these arcs; without a layout, only self tokens can ask."""
        arcs = source.numel()
        ends = torch.cat([source, source.new_zeros(1)])
        key = torch.where(self.arc == arcs, self.query, ends[self.arc])
        return Tokens(self.query, key, self.arc, arcs, self.places, self.first, layout)


class Shape:
    """What is the same for all batches with ``sizes[m]`` nodes of m tokens."""

    def __init__(self, sizes: Int64, device: torch.device, tokens: bool) -> None:
        degrees = np.repeat(np.arange(len(sizes)), sizes) - 1
        self.nodes, self.arcs = len(degrees), int(degrees.sum())
        self.arrangement = Arrangement.of(torch.from_numpy(degrees).to(device), self.arcs)
        buckets = bucketed(sizes.tolist(), on_gpu=device.type == "cuda")
        self.layout = laid_out(buckets, self.arrangement.query, self.arrangement.first) if tokens else None


def largest(packed: Packed, of_graph: Int64, steps: int, epochs: int) -> Int64:
    """[numbers] the largest sums of `of_graph` [graphs, numbers] over the graphs of a batch, of any epoch."""
    found = np.zeros(of_graph.shape[1], np.int64)
    for epoch in range(1, epochs + 1):
        groups = epoch_groups(packed, epoch, steps)
        begins = np.cumsum([0, *(len(group) for group in groups[:-1])])
        found = np.maximum(found, np.add.reduceat(of_graph[np.concatenate(groups)], begins).max(axis=0))
    return found


def _rounded(number: int) -> int:
    return number if number < LARGE else -(-number // ROUND) * ROUND


def longer(values: Tensor) -> Tensor:
    """The values with a row of zeros behind them."""
    return torch.cat([values, values.new_zeros(1, *values.shape[1:])])
