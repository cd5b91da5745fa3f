"""Networks of one shape as one: their parameters are the rows of a matrix, and `torch.vmap` runs them together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch_geometric.nn import Linear

from detours.errors import InputError
from detours.training.replicas.products import BatchedProducts

Call = Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]
"""The arguments of the network, from what a replica is given."""


ALIGNED = 16
"""Numbers; what begins at a multiple of so many is read in the largest pieces that a device knows."""


class Stack:
    """R networks of one shape.

    Args:
        networks: The networks; the stack has a copy of their parameters and buffers.
        device: Where to keep them.
        dtype: Of parameters and buffers of floating point.

    The parameters of a network are a row of `flat`, so an optimiser, a copy or a selection is a handful of operations
    whatever the number of layers. Each begins at a multiple of `ALIGNED` numbers, from where a device multiplies
    faster; the gaps are zeros and stay zeros. The matrices of linear maps come first, so that all of them can be
    rounded at once.
    """

    def __init__(self, networks: Sequence[nn.Module], device: torch.device, dtype: torch.dtype) -> None:
        self.network = deepcopy(networks[0]).to("meta")  # its forward pass alone is used
        maps = {
            f"{name}.weight".removeprefix(".")
            for name, module in networks[0].named_modules()
            if isinstance(module, nn.Linear | Linear)
        }
        parameters = sorted(networks[0].named_parameters(), key=lambda named: named[0] not in maps)
        self.shapes = {name: each.shape for name, each in parameters}
        self.maps = sum(name in maps for name in self.shapes)
        """How many of them are matrices of linear maps."""
        for network in networks[1:]:
            check_same_shape(networks[0].state_dict(), network.state_dict())
        self.sizes = [_aligned(shape.numel()) for shape in self.shapes.values()]
        self.flat = torch.zeros(len(networks), sum(self.sizes), dtype=dtype, device=device)
        rows = self.parameters(self.flat)
        for replica, network in enumerate(networks):
            for name, each in network.named_parameters():
                rows[name][replica] = each.detach()
        stacked = {
            name: torch.stack([dict(each.named_buffers())[name] for each in networks]).to(device)
            for name, _ in networks[0].named_buffers()
        }
        self.buffers = {name: each.to(dtype) if each.is_floating_point() else each for name, each in stacked.items()}

    def __len__(self) -> int:
        return len(self.flat)

    @property
    def num_parameters(self) -> int:
        """How many numbers each network learns."""
        return sum(shape.numel() for shape in self.shapes.values())

    def leaves(self, flat: Tensor, rounded: torch.dtype | None = None) -> list[Tensor]:
        """Return [R, …] that are all of [R, parameters] side by side; linear maps are one in `rounded`, if given.

        Products that round to such a format would convert each matrix for itself, and each of its slopes back. Slopes
        of a matrix that is used twice are summed in that format.
        """
        if rounded is None:
            return [flat]
        width = sum(self.sizes[: self.maps])
        return [flat[:, :width].to(rounded), flat[:, width:]]

    def parameters(self, *leaves: Tensor) -> dict[str, Tensor]:
        """Return [R, …] of each parameter, views of the leaves."""
        sizes = [self.sizes] if len(leaves) == 1 else [self.sizes[: self.maps], self.sizes[self.maps :]]
        parts = [part for leaf, own in zip(leaves, sizes, strict=True) for part in leaf.split(own, dim=1)]
        return {
            name: part[:, : shape.numel()].view(len(part), *shape)
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }

    def forward(
        self, leaves: Sequence[Tensor], call: Call, *given: Tensor | None, buffers: Mapping[str, Tensor] | None = None
    ) -> Tensor:
        """Return what every network answers, [R, …].

        Args:
            leaves: The parameters.
            call: From an element of each of `given` to the arguments of the network; what is shared by all networks
                it knows itself.
            given: [R, …] each, or None.
            buffers: [R, …] each, if not those of the stack.
        """
        buffers, networks = self.buffers if buffers is None else dict(buffers), len(leaves[0])
        parameters = self.parameters(*leaves)

        def answer(parameters: dict[str, Tensor], buffers: dict[str, Tensor], *given: Tensor | None) -> Tensor:
            positional, named = call(*given)
            with BatchedProducts() if networks > 1 else nullcontext():
                answered: Tensor = functional_call(self.network, (parameters, buffers), positional, named)
            return answered

        if networks == 1:  # as it is: other kernels, all processes and torch.compile can be used
            first = [None if each is None else each[0] for each in given]
            return answer(_first(parameters), _first(buffers), *first).unsqueeze(0)
        dims = (0, 0, *(None if each is None else 0 for each in given))
        together: Tensor = vmap(answer, in_dims=dims, randomness="same")(parameters, buffers, *given)
        return together

    def weights(self, replica: int, flat: Tensor | None = None, buffers: Mapping[str, Tensor] | None = None) -> Any:
        """Return the `state_dict` of one network, in memory of its own."""
        parameters = self.parameters(self.flat if flat is None else flat)
        tensors = {**parameters, **(self.buffers if buffers is None else buffers)}
        return {name: tensors[name][replica].clone() for name in self.network.state_dict()}

    def keep(self, replicas: Tensor) -> None:
        """Drop all networks but these."""
        self.flat = self.flat[replicas]
        self.buffers = {name: each[replicas] for name, each in self.buffers.items()}


def _aligned(number: int) -> int:
    return -(-number // ALIGNED) * ALIGNED


def check_same_shape(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> None:
    """Raise `InputError` if the states of two networks differ in a name or a shape."""
    for name in sorted(one.keys() | other.keys()):
        if name not in one or name not in other or one[name].shape != other[name].shape:
            raise InputError(f"networks of different shape cannot be trained as one ({name} differs).")


def _first(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: each[0] for name, each in tensors.items()}
