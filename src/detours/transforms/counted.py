"""`Counted`: one graph inside a PyG data object with its detours, and how to write on it so that batches come apart."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data, HeteroData

from detours.arrays import Int64
from detours.counting.result import Detours


class Counted(NamedTuple):
    """A graph inside a data object, and its part of what was counted."""

    data: Data | HeteroData
    arcs: Any
    """The store that holds `edge_index`: the `Data` itself, or the `HeteroData` at an edge type."""
    nodes: Any
    """The store of its nodes."""
    detours: Detours
    """Of all graphs that were counted together."""
    own_arcs: slice
    own_nodes: slice

    @property
    def edge_index(self) -> Tensor:
        return self.arcs.edge_index

    @property
    def num_nodes(self) -> int:
        return int(self.own_nodes.stop - self.own_nodes.start)

    @property
    def edge(self) -> Int64:
        """k-DeN of every column of `edge_index`."""
        return self.detours.edge[self.own_arcs]

    @property
    def by_length(self) -> Int64:
        """The same by length, [edges, k - 1]."""
        return self.detours.by_length[self.own_arcs]

    @property
    def node(self) -> Int64:
        """The sum of k-DeN over the (outgoing) edges of every node."""
        return self.detours.node[self.own_nodes]

    def put_arcs(self, name: str, values: Tensor) -> None:
        """Write one value per column of `edge_index`."""
        self.arcs[name] = values.to(self.edge_index.device)
        if (divided := self._divided(self.arcs)) is not None:
            self._divide(self.arcs, name, divided["edge_index"])

    def put_nodes(self, name: str, values: Tensor) -> None:
        """Write one value per node."""
        self.nodes[name] = values.to(self.edge_index.device)
        if self._divided(self.nodes) is not None:
            self._divide(self.nodes, name, self.nodes.ptr.cpu())

    def put_tokens(self, name: str, values: Tensor, target: Tensor) -> None:
        """Write one value per token; `target` holds the node of each, ascending."""
        self.arcs[name] = values
        if self._divided(self.arcs) is not None:
            self._divide(self.arcs, name, torch.searchsorted(target, self.nodes.ptr).cpu())

    def _divided(self, store: Any) -> dict[str, Tensor] | None:
        """Where the attributes of a store pass from one graph of a batch to the next; None unless it is a batch."""
        try:
            slices: dict[Any, Any] = self.data._slice_dict
        except (AttributeError, KeyError):  # of a Data, of a HeteroData
            return None
        return slices if store is self.data else slices.get(store._key, {})

    def _divide(self, store: Any, name: str, slices: Tensor) -> None:
        # PyG forgets what is added to a batch when it takes the batch apart, unless it is told where to cut. The
        # dictionaries are shared with the batch this one was copied from, so they are replaced, not changed.
        incs = self.data._inc_dict if store is self.data else self.data._inc_dict.get(store._key, {})
        steps = incs["edge_index"] if "index" in name else torch.zeros(len(slices) - 1, dtype=torch.long)
        for kept, value in (("_slice_dict", slices), ("_inc_dict", steps)):
            known = getattr(self.data, kept)
            if store is self.data:
                known = known | {name: value}
            else:
                known = known | {store._key: known.get(store._key, {}) | {name: value}}
            setattr(self.data, kept, known)
