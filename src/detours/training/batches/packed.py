"""A whole data set as flat tensors on one device, and batches that are put together there.

All sizes are known on the host, so that nothing waits for the device; a batch costs a dozen gathers, whatever its
number of graphs, and no Python per graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from detours.arrays import Int64
from detours.nn.tokens import Tokens
from detours.training.batches.inputs import Inputs
from detours.training.devices import sent


class Batch:
    """What a network is given for one step, and what it should answer.

    No dataclass and no tuple, so that no library takes it apart to move or cast what is inside: it lies where and as
    it should.
    """

    fixed = False
    """Whether the next step has this object again, with other numbers in the same tensors."""

    def __init__(
        self,
        x: Tensor,
        edge_index: Tensor,
        arc_features: Tensor | None,
        pe: Tensor | None,
        y: Tensor,
        *,
        batch: Tensor | None = None,
        num_graphs: int = 1,
        ids: Tensor,
        tokens: Tokens | None = None,
        rows: Tensor | None = None,
        real: Tensor | None = None,
    ) -> None:
        self.x = x
        self.edge_index = edge_index
        self.arc_features = arc_features
        self.pe = pe
        self.y = y
        """The targets of the graphs or nodes that are asked about."""
        self.ids = ids
        """Which graphs or nodes of the data set these are."""
        self.batch = batch
        self.num_graphs = num_graphs
        self.tokens = tokens
        self.rows = rows
        """The nodes or graphs of the batch that are asked about; None for all of them."""
        self.real = real
        """[nodes] which are no padding, where the nodes of one graph are padded; None for all."""

    def assembled(self) -> Batch:
        """Return itself: other batches are put together only in the step that uses them."""
        return self


class Packed:
    """The graphs of a data set on one device.

    Args:
        inputs: The graphs as flat arrays.
        device: Where to keep them and to put batches together.
        dtype: Of features, detour numbers and eigenvectors.
        tokens: Whether batches come with the tokens of MDNN.
    """

    def __init__(
        self,
        inputs: Inputs,
        device: torch.device | str = "cpu",
        *,
        dtype: torch.dtype = torch.float32,
        tokens: bool = True,
    ) -> None:
        self.device = torch.device(device)
        self.x, self.arc_features, self.pe = (
            torch.from_numpy(np.ascontiguousarray(values)).to(self.device, dtype)
            for values in (inputs.x, inputs.arc_features, inputs.pe)
        )
        self.edge_index, y = (torch.from_numpy(each.copy()).to(self.device) for each in (inputs.edge_index, inputs.y))
        self.y = y.to(dtype) if y.is_floating_point() else y
        self.nodes, self.arcs = inputs.nodes, inputs.arcs
        first = np.repeat(inputs.nodes[:-1], np.diff(inputs.arcs))
        self.source = torch.from_numpy(inputs.edge_index[0] + first).to(self.device)
        """[arcs] the node of the data set that each arc comes from."""
        in_arcs = np.bincount(inputs.edge_index[1] + first, minlength=inputs.nodes[-1])
        self.first_arcs = np.cumsum(in_arcs) - in_arcs
        """[nodes] the first arc of each node: arcs lie by target."""
        self.node_sizes = 1 + in_arcs
        """[nodes] the tokens of each, itself and its arcs in."""
        self.set_sizes = _set_sizes(inputs, self.node_sizes) if tokens else None

    def __len__(self) -> int:
        return len(self.nodes) - 1

    def batch(self, ids: Int64) -> Batch:
        """These graphs, in this order, as one batch."""
        return next(self.batches([ids]))

    def batches(self, groups: Sequence[Int64], *, signs: Tensor | None = None) -> Iterator[Batch]:
        """A batch of each group of graphs.

        Args:
            groups: The numbers of the graphs of each batch.
            signs: [graphs, eigenvectors] of 1 and -1, by which the eigenvectors of each graph are multiplied.
        """
        if not groups:
            return
        # One transfer for all batches: small ones would each make the device wait.
        table = sent(np.concatenate([self._places(ids) for ids in groups], axis=1), self.device)
        start = 0
        for ids in groups:
            yield self._gathered(ids, table[:, start : start + len(ids)], signs)
            start += len(ids)

    def _places(self, ids: Int64) -> Int64:
        """For each graph: its number, its first node in the batch, how far its nodes and arcs move, how many it has."""
        nodes, arcs = (ends[ids + 1] - ends[ids] for ends in (self.nodes, self.arcs))
        first_node, first_arc = (np.cumsum(sizes) - sizes for sizes in (nodes, arcs))
        moved_nodes, moved_arcs = self.nodes[ids] - first_node, self.arcs[ids] - first_arc
        return np.stack([ids, first_node, moved_nodes, moved_arcs, nodes, arcs])

    def _gathered(self, ids: Int64, places: Tensor, signs: Tensor | None) -> Batch:
        graph, first_node, moved_nodes, moved_arcs, nodes, arcs = places
        num_nodes, num_arcs = (int((ends[ids + 1] - ends[ids]).sum()) for ends in (self.nodes, self.arcs))
        number = torch.arange(len(ids), device=self.device)
        batch = torch.repeat_interleave(number, nodes, output_size=num_nodes)
        node = torch.arange(num_nodes, device=self.device) + moved_nodes[batch]
        of_arc = torch.repeat_interleave(number, arcs, output_size=num_arcs)
        arc = torch.arange(num_arcs, device=self.device) + moved_arcs[of_arc]
        edge_index = self.edge_index[:, arc] + first_node[of_arc]
        pe = self.pe[node]
        if signs is not None:
            pe = pe * signs[graph][batch]
        return Batch(
            self.x[node],
            edge_index,
            self.arc_features[arc],
            pe,
            self.y[graph],
            batch=batch,
            num_graphs=len(ids),
            ids=graph,
            tokens=self._tokens(ids, edge_index, num_nodes),
        )

    def _tokens(self, ids: Int64, edge_index: Tensor, num_nodes: int) -> Tokens | None:
        if self.set_sizes is None:
            return None
        tokens: Tokens = Tokens.of(edge_index, num_nodes, sizes=self.set_sizes[ids].sum(axis=0).tolist())
        return tokens


def _set_sizes(inputs: Inputs, sizes: Int64) -> Int64:
    """int64 [graphs, largest + 1]: how many nodes of each graph have m tokens."""
    width = int(sizes.max(initial=0)) + 1
    graph_of_node = np.repeat(np.arange(inputs.num_graphs), np.diff(inputs.nodes))
    counted = np.bincount(graph_of_node * width + sizes, minlength=inputs.num_graphs * width)
    return counted.reshape(inputs.num_graphs, width).astype(np.int64)
