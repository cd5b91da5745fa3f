"""`AddDetourWeights`: k-DeN as the weights of convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from torch_geometric.data.datapipes import functional_transform

from detours.transforms.base import DetourTransform, check_name, scaled
from detours.transforms.counted import Counted


@functional_transform("add_detour_weights")
class AddDetourWeights(DetourTransform):
    """Sets the weight of every edge to its k-DeN (functional name: `add_detour_weights`), for `DetourWeighted`.

    An edge on no cycle of up to k + 1 edges gets weight 0, a loop too. Weights that were there are replaced.

    Args:
        k: The longest detour counted, in edges; an integer >= 2.
        attr_name: Where the weights go.
        log: log1p of the counts. Raw counts suit convolutions that normalise their weights (GCN); sums (GIN) and
            edge features (GAT) train better with logarithms.
        directed: Count directed paths for every arc. Default: arcs are taken as undirected edges.

    Shapes:
        - **attr_name:** float32 [edges]

    >>> import torch
    >>> from torch_geometric.data import Data
    >>> tailed = Data(edge_index=torch.tensor([[0, 1, 2, 2], [1, 2, 0, 3]]), num_nodes=4)
    >>> AddDetourWeights(k=2, directed=True)(tailed).edge_weight
    tensor([0., 0., 0., 0.])
    """

    def __init__(self, k: int, attr_name: str = "edge_weight", log: bool = False, *, directed: bool = False) -> None:
        super().__init__(k, directed=directed)
        self.attr_name = check_name(attr_name, "attr_name")
        self.log = log

    def add(self, graphs: Sequence[Counted]) -> None:
        for graph in graphs:
            graph.put_arcs(self.attr_name, scaled(graph.edge, self.log).float())

    def __repr__(self) -> str:
        return f"{type(self).__name__}(k={self.k}, log={self.log})"
