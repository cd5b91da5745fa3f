"""`AddDetourTokens`: the token set of every node, ready for the attention of a `DetourTransformer`."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch_geometric.data.datapipes import functional_transform

from detours.transforms.base import DetourTransform, scaled
from detours.transforms.counted import Counted


@functional_transform("add_detour_tokens")
class AddDetourTokens(DetourTransform):
    r"""Adds the tokens of message detouring (functional name: `add_detour_tokens`).

    Node i attends to the messages of its neighbours and its own, :math:`j \in \mathcal{N}(i) \cup \{i\}`, each with
    the detour number of its edge. `token_index` lists the pairs, row 0 the node j that sends and row 1 the node i
    that receives, as in `edge_index`: sorted by i, the node's own token first, then one token per arc j → i in the
    order of the columns of `edge_index`. A loop adds no token, since every node has its own already. PyG shifts
    `token_index` when it makes batches, and the order stays.

    Args:
        k: The longest detour counted, in edges; an integer >= 2.
        by_length: One column for each length 2 .. k; False for their sum.
        log: float32 log1p of the counts; False for the exact int64 counts.
        directed: Count directed paths for every arc. Default: arcs are taken as undirected edges.

    Shapes:
        - **token_index:** int64 [2, edges + nodes]
        - **token_den:** [edges + nodes, k - 1], or [edges + nodes] not by length; 0 for a node's own token

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
        self.by_length = by_length
        self.log = log

    def add(self, graphs: Sequence[Counted]) -> None:
        for graph in graphs:
            counts = graph.by_length if self.by_length else graph.edge
            den = scaled(counts, self.log).to(graph.edge_index.device)
            token_index, token_den = _tokens(graph.edge_index, graph.num_nodes, den)
            graph.put_tokens("token_index", token_index, token_index[1])
            graph.put_tokens("token_den", token_den, token_index[1])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(k={self.k}, by_length={self.by_length})"


def _tokens(edge_index: Tensor, num_nodes: int, den: Tensor) -> tuple[Tensor, Tensor]:
    own = torch.arange(num_nodes, device=edge_index.device).expand(2, -1)
    proper = edge_index[0] != edge_index[1]
    pairs = torch.cat([own, edge_index[:, proper]], dim=1)
    values = torch.cat([den.new_zeros(num_nodes, *den.shape[1:]), den[proper]])
    # a stable order: own tokens were listed first and stay first among those of their node
    order = torch.argsort(pairs[1], stable=True)
    return pairs[:, order].contiguous(), values[order]
