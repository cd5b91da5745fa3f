"""`AddDetourWeights`: k-DeN as the weights of convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from torch_geometric.data.datapipes import functional_transform

from detours.checks import check_flag
from detours.errors import InputError
from detours.transforms.base import CountedGraph, DetourTransform, check_name


@functional_transform("add_detour_weights")
class AddDetourWeights(DetourTransform):
    r"""Sets the weight of every edge to its detour number from the paper "Message Detouring: A Simple Yet Effective
    Cycle Representation for Expressive Graph Learning"
    (functional name: :obj:`add_detour_weights`), for :class:`detours.nn.DetourWeighted`.

    An edge on no cycle of up to :math:`k + 1` edges has weight 0, and so has a loop.

    Args:
        k (int): The maximum length of a detour in edges, at least 2.
        attr_name (str, optional): The attribute to write. (default: :obj:`"edge_weight"`)
        log (bool, optional): If set to :obj:`False`, weights are the counts instead of
            :math:`\log(1 + \mathrm{DeN})`. Counts suit convolutions that normalise their weights (GCN); sums (GIN)
            and edge features (GAT) train better with logarithms. (default: :obj:`True`)
        replace (bool, optional): If set to :obj:`True`, existing weights are replaced; otherwise they raise an error.
            (default: :obj:`False`)
        directed (bool, optional): If set to :obj:`True`, counts directed paths for every arc. Otherwise arcs are
            treated as undirected edges. (default: :obj:`False`)

    Shapes:
        - **attr_name:** :math:`(|\mathcal{E}|)`, :obj:`float32`

    Example:
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> tailed = Data(edge_index=torch.tensor([[0, 1, 2, 0, 2], [1, 2, 0, 2, 3]]), num_nodes=4)
        >>> AddDetourWeights(k=2, log=False, directed=True)(tailed).edge_weight
        tensor([0., 0., 0., 1., 0.])
    """

    def __init__(
        self,
        k: int,
        attr_name: str = "edge_weight",
        log: bool = True,
        *,
        replace: bool = False,
        directed: bool = False,
    ) -> None:
        super().__init__(k, directed=directed)
        self.attr_name = check_name(attr_name, "attr_name")
        self.log = check_flag("log", log)
        self.replace = check_flag("replace", replace)

    def add(self, graphs: Sequence[CountedGraph]) -> None:
        for graph in graphs:
            if graph.edge_store.get(self.attr_name) is not None and not self.replace:
                raise InputError(
                    f"The edges already have weights in {self.attr_name!r}; give replace=True to replace them, or "
                    "another attr_name."
                )
            graph.set_edge_attr(self.attr_name, graph.edge_counts(by_length=False, log=self.log).squeeze(-1).float())
