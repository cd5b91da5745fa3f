"""`AddDetourTokens`: the token set of every node, ready for the attention of a `DetourTransformer`."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch_geometric.data.datapipes import functional_transform

from detours.checks import check_flag
from detours.transforms.base import CountedGraph, DetourTransform


@functional_transform("add_detour_tokens")
class AddDetourTokens(DetourTransform):
    r"""Adds the tokens of message detouring from the paper "Message Detouring: A Simple Yet Effective Cycle
    Representation for Expressive Graph Learning"
    (functional name: :obj:`add_detour_tokens`), for :class:`detours.nn.DetourTransformer`.

    Node :math:`i` attends to the messages of its neighbours and its own, :math:`j \in \mathcal{N}(i) \cup \{i\}`,
    each with the detour number of its edge. :obj:`token_index` lists the pairs as :obj:`edge_index` does, row 0 the
    source :math:`j` and row 1 the target :math:`i`. Tokens are sorted by :math:`i`: the node's own token comes first,
    then one token for each arc :math:`j \to i` in the order of the columns of :obj:`edge_index`. A loop adds no token,
    since every node has its own. In a batch, PyG increments :obj:`token_index`, which keeps it sorted.

    Args:
        k (int): The maximum length of a detour in edges, at least 2.
        by_length (bool, optional): If set to :obj:`False`, writes the sum over all lengths instead of one column for
            each length. (default: :obj:`True`)
        log (bool, optional): If set to :obj:`False`, writes exact counts as :obj:`int64` instead of
            :math:`\log(1 + \mathrm{DeN})` as :obj:`float32`. (default: :obj:`True`)
        directed (bool, optional): If set to :obj:`True`, counts directed paths for every arc. Otherwise arcs are
            treated as undirected edges. (default: :obj:`False`)

    Shapes:
        - **token_index:** :math:`(2, |\mathcal{E}| + |\mathcal{V}|)`
        - **token_den:** :math:`(|\mathcal{E}| + |\mathcal{V}|, k - 1)`, or :math:`(|\mathcal{E}| + |\mathcal{V}|, 1)`
          if not by length; 0 for a node's own token

    Example:
        >>> from torch_geometric.data import Data
        >>> triangle = Data(edge_index=torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]]), num_nodes=3)
        >>> data = AddDetourTokens(k=2, log=False)(triangle)
        >>> data.token_index
        tensor([[0, 1, 2, 1, 0, 2, 2, 1, 0],
                [0, 0, 0, 1, 1, 1, 2, 2, 2]])
        >>> data.token_den.flatten()
        tensor([0, 1, 1, 0, 1, 1, 0, 1, 1])
    """

    def __init__(self, k: int, by_length: bool = True, log: bool = True, *, directed: bool = False) -> None:
        super().__init__(k, directed=directed)
        self.by_length = check_flag("by_length", by_length)
        self.log = check_flag("log", log)

    def add(self, graphs: Sequence[CountedGraph]) -> None:
        for graph in graphs:
            den = graph.edge_counts(self.by_length, self.log)
            graph.set_tokens(*_tokens(graph.edge_index, graph.num_nodes, den))


def _tokens(edge_index: Tensor, num_nodes: int, den: Tensor) -> tuple[Tensor, Tensor]:
    self_index = torch.arange(num_nodes, device=edge_index.device).expand(2, -1)
    no_loop = edge_index[0] != edge_index[1]
    token_index = torch.cat([self_index, edge_index[:, no_loop]], dim=1)
    token_den = torch.cat([den.new_zeros(num_nodes, *den.shape[1:]), den[no_loop]])
    order = torch.argsort(token_index[1], stable=True)  # stable, so that a node's own token stays first
    return token_index[:, order].contiguous(), token_den[order]
