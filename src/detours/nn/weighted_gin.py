"""The weighted sum that PyG's GIN convolution does not have."""

from __future__ import annotations

from torch import Tensor
from torch_geometric.nn import GINConv


def weighted_gin(conv: GINConv, x: Tensor, edge_index: Tensor, weight: Tensor) -> Tensor:
    r"""What `conv` would compute if its messages had weights, with its own network h and :math:`\epsilon`:

    .. math::
        \mathbf{x}^{\prime}_i = h \Big( (1 + \epsilon) \, \mathbf{x}_i
        + \sum_{j \in \mathcal{N}(i)} w_{ij} \, \mathbf{x}_j \Big)
    """
    source, target = edge_index if conv.flow == "source_to_target" else edge_index.flip(0)
    messages = x.index_select(0, source) * weight.view(-1, 1)
    received = conv.aggr_module(messages, target, dim_size=x.size(0), dim=0)
    result: Tensor = conv.nn(received + (1 + conv.eps) * x)
    return result
