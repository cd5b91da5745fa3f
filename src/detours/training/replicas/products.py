"""Linear maps of stacked networks as single batched products, where `torch.vmap` would take several steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode


class BatchedProducts(TorchFunctionMode):  # type: ignore[misc]  # PyTorch's types are not followed
    """While it is active, `F.linear` and `torch.addmm` are `stacked_linear`."""

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, positional: tuple[Any, ...] = (), named: Any = None
    ) -> Any:
        if not named and function is F.linear:
            return stacked_linear(*positional)
        if not named and function is torch.addmm and positional[0].dim() == 2:
            return stacked_linear(positional[1], positional[2].t(), positional[0])
        return function(*positional, **(named or {}))


def stacked_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x Wᵀ + bias for x [rows, in], weight [out, in] and bias [out] or [rows, out], inside `torch.vmap`."""
    if torch.is_autocast_enabled(x.device.type):
        dtype = torch.get_autocast_dtype(x.device.type)
        x, weight, bias = x.to(dtype), weight.to(dtype), None if bias is None else bias.to(dtype)
        with torch.autocast(x.device.type, enabled=False):
            result: Tensor = _Linear.apply(x, weight, bias)
        return result
    result = _Linear.apply(x, weight, bias)
    return result


class _Linear(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        raise NotImplementedError("weights of stacked networks are stacked.")

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], x: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
        def stacked(tensor: Tensor, dim: int | None) -> Tensor:
            # what is shared is not copied: its networks are 0 numbers apart
            return tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)

        x, turned = stacked(x, dims[0]), stacked(weight, dims[1]).transpose(1, 2)
        bias = None if bias is None else stacked(bias, dims[2])
        if x.dim() != 3:
            result = x @ turned.reshape(len(turned), *[1] * (x.dim() - 3), *turned.shape[1:])
            return (result if bias is None else result + bias.reshape(len(bias), *[1] * (x.dim() - 2), -1)), 0
        if bias is None:
            return torch.bmm(x, turned), 0
        return torch.baddbmm(bias.unsqueeze(1) if bias.dim() == 2 else bias, x, turned), 0
