"""Batches of graphs that all have one shape, so that a training step can be a CUDA graph.

Every batch is padded to the same number of nodes and arcs, by nodes of a graph that counts nowhere. What differs
follows on the device from three rows of numbers: the graphs and the nodes of a batch, and how many arcs end at each
node.
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
from detours.training.batches.packed import Batch, Packed
from detours.training.batches.streams import Batches, GraphBatches, epoch_groups, epoch_signs
from detours.training.devices import sent

SPARE = 64
"""One node of so many is padding in every batch, and takes the arcs that are."""
ROUND = 32
"""Large numbers of nodes and arcs are multiples of this one: products divide them into equal parts."""
LARGE = 16 * ROUND
WASTE = 3.5
"""How many times the tokens are worth it with padding: without CUDA graphs the GPU waits nine tenths of the time."""


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
        self.num_nodes, self.num_arcs = room(*largest(packed, plain.steps, epochs))
        device, number, nodes = packed.device, len(packed), len(packed.x)
        graph_of_node = np.repeat(np.arange(number), np.diff(packed.nodes))
        self.graph_of_node = torch.from_numpy(np.append(graph_of_node, number)).to(device)
        self.first_arc = torch.from_numpy(np.append(packed.first_arcs, 0)).to(device)
        self.source = longer(packed.source)
        self.x, self.arc_features, self.pe = (longer(each) for each in (packed.x, packed.arc_features, packed.pe))
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
        tokens = self.packed.arc_features.size(0) + self.packed.x.size(0)
        return float(self.steps * (self.num_nodes + self.num_arcs) / max(1, tokens))

    def training(self, epoch: int) -> Iterator[FixedBatches]:
        """Put the numbers of each batch where `assembled` finds them."""
        groups = epoch_groups(self.packed, epoch, self.steps)
        self.signs[:-1].copy_(epoch_signs(self.packed, epoch))
        ids = np.full((self.steps, self.graphs), len(self.packed))
        for row, group in zip(ids, groups, strict=True):
            row[: len(group)] = group
        nodes, degrees = self._listed(groups)
        sent_ids, sent_nodes, sent_degrees = (sent(each, self.packed.device) for each in (ids, nodes, degrees))
        for step in range(self.steps):
            self.ids.copy_(sent_ids[step])
            self.nodes.copy_(sent_nodes[step])
            self.degrees.copy_(sent_degrees[step])
            yield self

    def evaluation(self) -> list[Batch]:
        return self.plain.evaluation()

    def keep_graphs(self, trained: Tensor | None, asked: Tensor) -> None:
        self.plain.keep_graphs(trained, asked)

    def _listed(self, groups: list[Int64]) -> tuple[Int64, Int64]:
        """[steps, nodes] the nodes of each batch, graph by graph, and how many arcs end at each."""
        packed, order = self.packed, np.concatenate(groups)
        number = np.diff(packed.nodes)[order]
        node = np.repeat(packed.nodes[order] - (np.cumsum(number) - number), number) + np.arange(number.sum())
        ends_of_batches = np.cumsum(number)[np.cumsum([len(group) for group in groups]) - 1]
        nodes = np.full((self.steps, self.num_nodes), len(packed.x))
        degrees = np.empty_like(nodes)
        for row, own in enumerate(np.split(node, ends_of_batches[:-1])):
            found, degree = len(own), packed.node_sizes[own] - 1
            nodes[row, :found], degrees[row, :found] = own, degree
            degrees[row, found:] = shared_out(self.num_arcs - int(degree.sum()), self.num_nodes - found)
        return nodes, degrees

    def assembled(self) -> Batch:
        """Return the batch whose numbers `training` has put there; nothing waits for the device."""
        node, arranged = self.nodes, Arrangement.of(self.degrees, self.num_arcs)
        graph = self.graph_of_node[node]
        added = graph == len(self.packed)
        self.place_of_graph.index_copy_(0, self.ids, self.rows)
        self.place_of_node.index_copy_(0, node, arranged.places)
        of_added = added[arranged.target]
        arc = torch.where(of_added, len(self.arc_features) - 1, self.first_arc[node][arranged.target] + arranged.number)
        source = torch.where(of_added, arranged.target, self.place_of_node[self.source[arc]])
        edge_index = torch.stack([source, arranged.target])
        tell_groups(ends(edge_index)[1], arranged.begins)
        batch = torch.where(added, self.graphs, self.place_of_graph[graph])
        # nodes are listed graph by graph
        tell_groups(batch, torch.searchsorted(batch, torch.arange(self.graphs + 2, device=batch.device)))
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

    def tokens(self, source: Tensor) -> Tokens:
        """The tokens of these arcs, in no order of size."""
        arcs = source.numel()
        ends = torch.cat([source, source.new_zeros(1)])
        key = torch.where(self.arc == arcs, self.query, ends[self.arc])
        return Tokens(self.query, key, self.arc, arcs, self.places, self.first, layout=None)


def largest(packed: Packed, steps: int, epochs: int) -> tuple[int, int]:
    """The most nodes and the most arcs of a batch, of any epoch."""
    of_graph = np.stack([np.diff(packed.nodes), np.diff(packed.arcs)], axis=1)
    found = np.zeros(2, np.int64)
    for epoch in range(1, epochs + 1):
        groups = epoch_groups(packed, epoch, steps)
        begins = np.cumsum([0, *(len(group) for group in groups[:-1])])
        found = np.maximum(found, np.add.reduceat(of_graph[np.concatenate(groups)], begins).max(axis=0))
    nodes, arcs = found.tolist()
    return nodes, arcs


def room(nodes: int, arcs: int) -> tuple[int, int]:
    """How many nodes and arcs batches are padded to that have at most so many: at least one node is padding."""
    return _rounded(nodes + 1 + nodes // SPARE), _rounded(arcs)


def shared_out(arcs: int, nodes: int) -> Int64:
    """[nodes] how many of these arcs end at each node that is padding: nearly as many at each."""
    each, rest = divmod(arcs, nodes)
    return each + (np.arange(nodes) < rest)


def _rounded(number: int) -> int:
    return number if number < LARGE else -(-number // ROUND) * ROUND


def longer(values: Tensor) -> Tensor:
    """The values with a row of zeros behind them."""
    return torch.cat([values, values.new_zeros(1, *values.shape[1:])])
