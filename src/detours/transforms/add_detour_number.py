"""`AddDetourNumber`: k-DeN as an attribute of edges and, if wanted, of nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch_geometric.data.datapipes import functional_transform

from detours.counting.sums import sum_rows
from detours.transforms.base import DetourTransform, check_name, scaled
from detours.transforms.counted import Counted


@functional_transform("add_detour_number")
class AddDetourNumber(DetourTransform):
    r"""Adds the detour number k-DeN of every edge (functional name: `add_detour_number`).

    .. math::
        \mathrm{DeN}^k_{ij} = |\Omega^k_{ij}|,

    the number of simple paths of 2 to k edges between the ends of the edge ij. Values follow the columns of
    `edge_index`: both arcs of an undirected edge carry the same number, repeats of an edge too, and a loop carries 0.
    In a `HeteroData` every edge type within one node type is a graph of its own, and the others are left alone.

    Args:
        k: The longest detour counted, in edges; an integer >= 2.
        attr_name: Where the numbers go. Where nodes and edges are equally many, PyG takes an attribute for one of
            nodes unless its name contains "edge"; transforms that drop nodes or edges then need such a name.
        by_length: One column for each length 2 .. k instead of their sum.
        node_attr: Where, if anywhere, the sums over the (outgoing) edges of each node go; summed over the edge types
            of its own that a node type of a `HeteroData` has.
        log: float32 log1p of the counts; False for the exact int64 counts.
        directed: Count directed paths for every arc. Default: arcs are taken as undirected edges.

    Shapes:
        - **attr_name:** [edges], or [edges, k - 1] by length
        - **node_attr:** [nodes]

    >>> import torch
    >>> from torch_geometric.data import Data
    >>> triangle = Data(edge_index=torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]]), num_nodes=3)
    >>> AddDetourNumber(k=2, log=False)(triangle).den
    tensor([1, 1, 1, 1, 1, 1])
    """

    def __init__(
        self,
        k: int,
        attr_name: str = "den",
        by_length: bool = False,
        node_attr: str | None = None,
        log: bool = True,
        *,
        directed: bool = False,
    ) -> None:
        super().__init__(k, directed=directed)
        self.attr_name = check_name(attr_name, "attr_name")
        self.by_length = by_length
        self.node_attr = None if node_attr is None else check_name(node_attr, "node_attr")
        self.log = log

    def add(self, graphs: Sequence[Counted]) -> None:
        for graph in graphs:
            counts = graph.by_length if self.by_length else graph.edge
            graph.put_arcs(self.attr_name, scaled(counts, self.log))
        if self.node_attr is not None:
            self._add_to_nodes(graphs, self.node_attr)

    def _add_to_nodes(self, graphs: Sequence[Counted], name: str) -> None:
        totals: dict[object, np.ndarray] = {}
        for graph in graphs:
            earlier = totals.get(graph.nodes._key, np.zeros_like(graph.node))
            message = f"the detours around a node up to k = {self.k} pass 2^63 over its edge types"
            totals[graph.nodes._key] = total = sum_rows(np.stack([earlier, graph.node], axis=1), message)
            graph.put_nodes(name, scaled(total, self.log))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(k={self.k}, attr_name={self.attr_name!r})"
