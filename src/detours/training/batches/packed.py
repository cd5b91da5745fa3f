"""A data set as flat tensors on one device, and batches that are collated there.

All sizes are known on the host, so that nothing synchronises with the device; a batch costs a dozen gathers, whatever
its number of graphs, and no Python per graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from detours.arrays import Int64
from detours.nn.tokens import Tokens
from detours.training.batches.inputs import Inputs
from detours.training.devices import sent


class Batch:
    """The inputs of a network for one step, and its targets.

    Neither a dataclass nor a tuple, so that no library traverses it to move or cast its tensors, which have the right
    device and dtype already.
    """

    fixed = False
    """Whether the next step gets this object again, with other values in the same tensors."""

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
        """The targets of the graphs or nodes in `ids`."""
        self.ids = ids
        """The indices in the data set of the graphs or nodes whose outputs are used."""
        self.batch = batch
        self.num_graphs = num_graphs
        self.tokens = tokens
        self.rows = rows
        """The rows of the output that belong to `ids`; None for all of them."""
        self.real = real
        """[nodes] mask of the nodes that are not padding, if the nodes of one graph are padded; None for all."""

    def assemble(self) -> Batch:
        """Return itself: only padded batches are assembled in the step that uses them."""
        return self


class Packed:
    """The graphs of a data set on one device.

    Args:
        inputs: The graphs as flat arrays.
        device: Where they are kept and batches are collated.
        dtype: The dtype of features, detour numbers and eigenvectors.
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
        """[nodes] the first arc that ends at each node: arcs are sorted by target."""
        self.node_sizes = 1 + in_arcs
        """[nodes] the number of tokens of each: itself and its incoming arcs."""
        self.set_sizes = _set_sizes(inputs, self.node_sizes) if tokens else None

    def __len__(self) -> int:
        return len(self.nodes) - 1

    def batch(self, ids: Int64) -> Batch:
        """Return these graphs, in this order, as one batch."""
        return next(self.batches([ids]))

    def batches(self, groups: Sequence[Int64], *, signs: Tensor | None = None) -> Iterator[Batch]:
        """Return a batch of each group of graphs.

        Args:
            groups: The indices of the graphs of each batch.
            signs: [graphs, eigenvectors] of 1 and -1, by which the eigenvectors of each graph are multiplied.
        """
        if not groups:
            return
        # One transfer for all batches: the device would wait for each of many small ones.
        table = sent(np.concatenate([self._layout(ids) for ids in groups], axis=1), self.device)
        start = 0
        for ids in groups:
            yield self._gathered(ids, table[:, start : start + len(ids)], signs)
            start += len(ids)

    def _layout(self, ids: Int64) -> Int64:
        """For each graph: its index, its first node in the batch, the shifts of its nodes and arcs, their counts."""
        nodes, arcs = (offsets[ids + 1] - offsets[ids] for offsets in (self.nodes, self.arcs))
        first_node, first_arc = (np.cumsum(sizes) - sizes for sizes in (nodes, arcs))
        node_shift, arc_shift = self.nodes[ids] - first_node, self.arcs[ids] - first_arc
        return np.stack([ids, first_node, node_shift, arc_shift, nodes, arcs])

    def _gathered(self, ids: Int64, layout: Tensor, signs: Tensor | None) -> Batch:
        graph, first_node, node_shift, arc_shift, nodes, arcs = layout
        num_nodes, num_arcs = (int((offsets[ids + 1] - offsets[ids]).sum()) for offsets in (self.nodes, self.arcs))
        index = torch.arange(len(ids), device=self.device)
        batch = torch.repeat_interleave(index, nodes, output_size=num_nodes)
        node = torch.arange(num_nodes, device=self.device) + node_shift[batch]
        graph_of_arc = torch.repeat_interleave(index, arcs, output_size=num_arcs)
        arc = torch.arange(num_arcs, device=self.device) + arc_shift[graph_of_arc]
        edge_index = self.edge_index[:, arc] + first_node[graph_of_arc]
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


def _set_sizes(inputs: Inputs, sizes: Int64) -> csr_array:
    """int64 [graphs, largest + 1]: the number of nodes of each graph that have m tokens; few of them are not 0."""
    graph_of_node = np.repeat(np.arange(inputs.num_graphs), np.diff(inputs.nodes))
    shape = (inputs.num_graphs, int(sizes.max(initial=0)) + 1)
    return csr_array((np.ones_like(sizes), (graph_of_node, sizes)), shape=shape)
