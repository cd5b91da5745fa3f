"""`MDNNLayer`: a convolution and, beside it, the transformer of message detouring."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from detours.nn.detour_transformer import DetourTransformer
from detours.nn.tokens import Tokens


class MDNNLayer(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    r"""A layer of MDNN: :math:`[\mathrm{conv}(X, A),\ X^{out}]`, where `DetourTransformer` gives the second half.

    Args:
        conv: A PyG convolution, or any module called as conv(x, edge_index).
        transformer: Sees the same features; its output stands beside that of the convolution.

    Shapes:
        - x [N, in_channels], edge_index [2, E], den [E, den_channels], pe [N, pe_channels]
        - output [N, channels of conv + hidden channels of transformer]
    """

    def __init__(self, conv: nn.Module, transformer: DetourTransformer) -> None:
        super().__init__()
        self.conv = conv
        self.transformer = transformer

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        self.conv.reset_parameters()
        self.transformer.reset_parameters()

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        den: Tensor | None,
        pe: Tensor | None = None,
        *,
        tokens: Tokens | None = None,
    ) -> Tensor:
        """Both halves, the convolution first."""
        halves = self.conv(x, edge_index), self.transformer(x, edge_index, den, pe, tokens=tokens)
        return torch.cat(halves, dim=1)
