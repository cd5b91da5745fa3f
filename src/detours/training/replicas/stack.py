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
"""From the inputs of one replica to the positional and named arguments of the network."""

ALIGNED = 16
"""Values; from a multiple of this offset, a device loads with its widest instructions."""
LARGE = 2**16
"""Values of a parameter from which it is a block of its own, so that its gradient is not copied next to the others."""
OF_DROPOUT = (".factor", ".rate")
"""Suffixes of the buffers of dropout, which a step only reads; all others are statistics."""


class Stack:
    """R networks of one shape.

    Args:
        networks: The networks; the stack has a copy of their parameters and buffers.
        device: Where to keep them.
        dtype: Of parameters and buffers of floating point.
        wide: The same network with more input channels, if the stack is to have these. The parameters of `networks`
            fill the first rows and columns of its own; the rest is zero, and stays zero if the added inputs are zero.

    The parameters of a network are a row of `flat`, so an optimiser, a copy or a selection is a handful of operations
    whatever the number of layers. The offset of each is a multiple of `ALIGNED`, from where a device multiplies
    faster; the gaps are zeros and stay zeros. The matrices of linear maps come first, so that all of them can be
    cast at once, and among these the large ones.
    """

    def __init__(
        self, networks: Sequence[nn.Module], device: torch.device, dtype: torch.dtype, wide: nn.Module | None = None
    ) -> None:
        self.network = deepcopy(wide or networks[0]).to("meta")  # only its forward pass is used
        linear = {
            f"{name}.weight".removeprefix(".")
            for name, module in networks[0].named_modules()
            if isinstance(module, nn.Linear | Linear)
        }

        def order(named: tuple[str, Tensor]) -> tuple[bool, bool]:
            return named[0] not in linear, _aligned(named[1].numel()) < LARGE

        self.shapes = {name: each.shape for name, each in sorted(self.network.named_parameters(), key=order)}
        self.given = {name: each.shape for name, each in networks[0].named_parameters()}
        """The shapes of the parameters of `networks`."""
        for network in networks[1:]:
            check_same_shape(networks[0].state_dict(), network.state_dict())
        sizes = {name: _aligned(shape.numel()) for name, shape in self.shapes.items()}
        self.linear_blocks = _blocks([size for name, size in sizes.items() if name in linear])
        """The widths of the parameters in each block of columns that holds matrices of linear maps."""
        self.other_blocks = _blocks([size for name, size in sizes.items() if name not in linear])
        self.flat = torch.zeros(len(networks), sum(sizes.values()), dtype=dtype, device=device)
        rows = self.parameters(self.flat)
        for replica, network in enumerate(networks):
            for name, each in network.named_parameters():
                rows[name][replica][_corner(each.shape)] = each.detach()
        stacked = {
            name: torch.stack([dict(each.named_buffers())[name] for each in networks]).to(device)
            for name, _ in networks[0].named_buffers()
        }
        self.buffers = {name: each.to(dtype) if each.is_floating_point() else each for name, each in stacked.items()}

    def __len__(self) -> int:
        return len(self.flat)

    @property
    def num_parameters(self) -> int:
        """The number of parameters of each network."""
        return sum(shape.numel() for shape in self.given.values())

    def leaves(self, flat: Tensor, linear_dtype: torch.dtype | None = None) -> list[Tensor]:
        """Split [R, parameters] into blocks of columns, those of linear maps cast to a dtype if one is given.

        Autocast would cast each matrix separately, and each of its gradients back. The gradients of a matrix that is
        used twice are summed in that dtype.
        """
        linear, other = ([sum(block) for block in blocks] for blocks in (self.linear_blocks, self.other_blocks))
        if linear_dtype is None:
            return list(flat.split(linear + other, dim=1))
        width = sum(linear)
        return [*flat[:, :width].to(linear_dtype).split(linear, dim=1), *flat[:, width:].split(other, dim=1)]

    def parameters(self, *leaves: Tensor) -> dict[str, Tensor]:
        """Return each parameter as [R, …], a view of the leaves, or of one with all columns."""
        blocks = [*self.linear_blocks, *self.other_blocks]
        if len(leaves) == 1:
            blocks = [[size for block in blocks for size in block]]
        parts = [part for leaf, sizes in zip(leaves, blocks, strict=True) for part in _split(leaf, sizes)]
        return {
            name: part[:, : shape.numel()].view(len(part), *shape)
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }

    def forward(
        self, leaves: Sequence[Tensor], call: Call, *inputs: Tensor | None, buffers: Mapping[str, Tensor] | None = None
    ) -> Tensor:
        """Return the outputs of all networks, [R, …].

        Args:
            leaves: The parameters.
            call: From the inputs of one network to its arguments; it adds what all networks share.
            inputs: [R, …] each, or None.
            buffers: [R, …] each, if not those of the stack.
        """
        buffers, networks = self.buffers if buffers is None else dict(buffers), len(leaves[0])
        parameters = self.parameters(*leaves)

        def single(parameters: dict[str, Tensor], buffers: dict[str, Tensor], *inputs: Tensor | None) -> Tensor:
            positional, named = call(*inputs)
            with BatchedProducts() if networks > 1 else nullcontext():
                output: Tensor = functional_call(self.network, (parameters, buffers), positional, named)
            return output

        if networks == 1:  # without vmap: other kernels, several processes and torch.compile can be used
            first = [None if each is None else each[0] for each in inputs]
            return single(_first(parameters), _first(buffers), *first).unsqueeze(0)
        dims = (0, 0, *(None if each is None else 0 for each in inputs))
        outputs: Tensor = vmap(single, in_dims=dims, randomness="same")(parameters, buffers, *inputs)
        return outputs

    def weights(self, replica: int, flat: Tensor | None = None, buffers: Mapping[str, Tensor] | None = None) -> Any:
        """Return a copy of the `state_dict` of one network."""
        parameters = self.parameters(self.flat if flat is None else flat)
        without_zeros = {name: each[(..., *_corner(self.given[name]))] for name, each in parameters.items()}
        tensors = {**without_zeros, **(self.buffers if buffers is None else buffers)}
        return {name: tensors[name][replica].clone() for name in self.network.state_dict()}

    def keep(self, replicas: Tensor) -> None:
        """Drop all networks but these."""
        self.flat = self.flat[replicas]
        self.buffers = {name: each[replicas] for name, each in self.buffers.items()}


def statistics(buffers: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the buffers that training changes: those of batch norms, not those of dropout."""
    return {name: each for name, each in buffers.items() if not name.endswith(OF_DROPOUT)}


def _corner(shape: torch.Size) -> tuple[slice, ...]:
    """The index of the first values of a tensor in each dimension."""
    return tuple(slice(size) for size in shape)


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def _split(leaf: Tensor, sizes: Sequence[int]) -> Sequence[Tensor]:
    # the gradient of a split is a concatenation, that is, a copy, even if there is one part only
    return [leaf] if len(sizes) == 1 else leaf.split(sizes, dim=1)


def _blocks(sizes: Sequence[int]) -> list[list[int]]:
    """Divide widths, the large ones first, into blocks: one for each large one and one for all others."""
    large, small = ([size for size in sizes if (size >= LARGE) == chosen] for chosen in (True, False))
    return [*([size] for size in large), *([small] if small else [])]


def check_same_shape(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> None:
    """Raise `InputError` if the states of two networks differ in a name or a shape."""
    for name in sorted(one.keys() | other.keys()):
        if name not in one or name not in other or one[name].shape != other[name].shape:
            raise InputError(f"networks of different shape cannot be trained as one ({name} differs).")


def _first(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: each[0] for name, each in tensors.items()}
