"""Sums, maxima and softmax over groups of rows, written for many networks stacked into one.

`torch.vmap` runs networks of one shape together, with stacked parameters and a shared graph. `gather` and `segment_sum`
then keep the layout [rows, networks, channels], so that each index moves one long run of memory. Each is the gradient
of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from detours.nn.fused import fused
from detours.nn.fused.groups import checked, groups_of

POOLS = ("mean", "max", "add")


def rows_first(device: torch.device) -> bool:
    """Whether stacked networks have the layout [rows, networks, channels] everywhere, not only where rows move."""
    return bool(device.type == "cuda")


def _use_torch(x: Tensor) -> bool:
    """Whether torch's own operations, faster by avoiding Python backward, suffice: one network, no custom kernel."""
    return not torch._C._functorch.is_batchedtensor(x) and not fused(x)


def _index_add(values: Tensor, index: Tensor, size: int) -> Tensor:
    # in bfloat16, a sum of ones would stop at 256
    dtype = torch.promote_types(values.dtype, torch.float32) if values.is_floating_point() else values.dtype
    sums = values.new_zeros((size, *values.shape[1:]), dtype=dtype).index_add_(0, index, values.to(dtype))
    return sums.to(values.dtype)


def _relu_of_both(x: Tensor, index: Tensor, other: Tensor, other_index: Tensor) -> Tensor:
    return (x.index_select(0, index) + other.index_select(0, other_index)).relu_()


def gather(x: Tensor, index: Tensor) -> Tensor:
    """Return ``x[index]``, rows of `x` [N, …]."""
    rows: Tensor = x.index_select(0, index) if _use_torch(x) else _Gather.apply(x, index)
    return rows


def relu_of_both(x: Tensor, index: Tensor, other: Tensor, other_index: Tensor) -> Tensor:
    """Return ReLU(``x[index] + other[other_index]``)."""
    if _use_torch(x) and _use_torch(other):
        return _relu_of_both(x, index, other, other_index)
    rows: Tensor = _ReluOfBoth.apply(x, index, other, other_index)
    return rows


def segment_sum(values: Tensor, index: Tensor, size: int) -> Tensor:
    """Return [size, …]: row i is the sum of the rows of `values` whose index is i."""
    sums: Tensor = _index_add(values, index, size) if _use_torch(values) else _SegmentSum.apply(values, index, size)
    return sums


def neighbour_sum(x: Tensor, source: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
    """Return a tensor with as many rows as `x`: row i is the sum of ``x[source[e]]`` over the arcs e with target i.

    With `weight` [E], each term is multiplied by ``weight[e]``.
    """
    if fused(x) and (weight is None or not weight.requires_grad):
        sums: Tensor = _NeighbourSum.apply(x, source, target, weight)
        return sums
    messages = gather(x, source)
    return segment_sum(messages if weight is None else messages * weight.unsqueeze(-1), target, x.size(0))


def rearranged(values: Tensor, index: Tensor, positions: Tensor) -> Tensor:
    """Return ``values[index]``, where ``index[positions]`` is 0, 1, …; only rows at `positions` pass on gradients."""
    rows: Tensor = _Rearranged.apply(values, index, positions)
    return rows


def split_rows(values: Tensor, sizes: Sequence[int]) -> tuple[Tensor, ...]:
    """Return `values` [N, …] split into parts of these numbers of rows."""
    parts: tuple[Tensor, ...] = _Split.apply(values, *sizes)
    return parts


def segment_max(values: Tensor, index: Tensor, size: int) -> Tensor:
    """Return [size, …]: row i is the maximum of the rows of `values` whose index is i, or 0 if there are none."""
    expanded = index.long().view(-1, *[1] * (values.dim() - 1)).expand_as(values)
    return values.new_zeros((size, *values.shape[1:])).scatter_reduce(0, expanded, values, "amax", include_self=False)


def segment_softmax(scores: Tensor, index: Tensor, size: int) -> Tensor:
    """Return the softmax of `scores` [E, …] over the rows with the same index."""
    largest = segment_max(scores.detach(), index, size)
    weights = (scores - gather(largest, index)).exp()
    return weights / gather(segment_sum(weights, index, size), index)


def pool(x: Tensor, batch: Tensor, num_graphs: int, kinds: str) -> Tensor:
    """Return [num_graphs, …]: the "mean", "max" or "add" over the nodes of each graph, or several joined by "+"."""
    parts, added = [], None
    for each in kinds.split("+"):
        if each == "max":
            parts.append(segment_max(x, batch, num_graphs))
            continue
        added = segment_sum(x, batch, num_graphs) if added is None else added
        if each == "mean":
            sizes = segment_sum(x.new_ones(batch.numel()), batch, num_graphs).clamp(min=1)
            parts.append(added / sizes.view(-1, *[1] * (x.dim() - 1)))
        else:
            assert each == "add", each
            parts.append(added)
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)


class _Gather(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    @staticmethod
    def forward(x: Tensor, index: Tensor) -> Tensor:
        return x.index_select(0, index)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        x, index = inputs
        ctx.save_for_backward(index)
        ctx.size = x.size(0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        return segment_sum(grad_output, ctx.saved_tensors[0], ctx.size), None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, int | None], x: Tensor, index: Tensor) -> tuple[Tensor, int]:
        return gather(_networks_second(x, in_dims, info), index), 1


class _ReluOfBoth(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    @staticmethod
    def forward(x: Tensor, index: Tensor, other: Tensor, other_index: Tensor) -> Tensor:
        if fused(x, other):
            from detours.nn.fused.sums_triton import relu_of_both

            return relu_of_both(x, checked(index, x.size(0)), other, checked(other_index, other.size(0)))
        return _relu_of_both(x, index, other, other_index)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        x, index, other, other_index = inputs
        ctx.save_for_backward(index, other_index, output)
        ctx.sizes = x.size(0), other.size(0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        (*indices, result), sums = ctx.saved_tensors, []
        if fused(grad_output, result) and not torch.is_grad_enabled():
            from detours.nn.fused.sums_triton import sums_of_groups

            for index, size in zip(indices, ctx.sizes, strict=True):
                sums.append(sums_of_groups(grad_output, groups_of(index, size), positive=result))
        else:
            grad_output = torch.where(result > 0, grad_output, 0)
            sums = [segment_sum(grad_output, index, size) for index, size in zip(indices, ctx.sizes, strict=True)]
        return sums[0], None, sums[1], None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], x: Tensor, index: Tensor, other: Tensor, other_index: Tensor
    ) -> tuple[Tensor, int]:
        x, other = _networks_second(x, in_dims, info), _networks_second(other, in_dims[2:], info)
        return relu_of_both(x, index, other, other_index), 1


class _SegmentSum(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    @staticmethod
    def forward(values: Tensor, index: Tensor, size: int) -> Tensor:
        if fused(values):
            from detours.nn.fused.sums_triton import sums_of_groups

            return sums_of_groups(values, groups_of(index, size))
        return _index_add(values, index, size)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, int], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None, None]:
        return gather(grad_output, ctx.saved_tensors[0]), None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], values: Tensor, index: Tensor, size: int
    ) -> tuple[Tensor, int]:
        return segment_sum(_networks_second(values, in_dims, info), index, size), 1


class _NeighbourSum(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    @staticmethod
    def forward(x: Tensor, source: Tensor, target: Tensor, weight: Tensor | None) -> Tensor:
        from detours.nn.fused.sums_triton import sums_of_groups

        source = checked(source, x.size(0))
        return sums_of_groups(x, groups_of(target, x.size(0)), source=source, weight=weight)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        source, target, weight = ctx.saved_tensors
        return neighbour_sum(grad_output, target, source, weight), None, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], x: Tensor, source: Tensor, target: Tensor, weight: Tensor | None
    ) -> tuple[Tensor, int]:
        x = _networks_second(x, in_dims, info)
        if weight is None or in_dims[3] is None:
            return neighbour_sum(x, source, target, weight), 1
        per_network = networks_second(weight, in_dims[3], info).unsqueeze(-1)
        return segment_sum(per_network * gather(x, source), target, x.size(0)), 1


class _Rearranged(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    @staticmethod
    def forward(values: Tensor, index: Tensor, positions: Tensor) -> Tensor:
        return values.index_select(0, index)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[2])

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None, None]:
        return gather(grad_output, ctx.saved_tensors[0]), None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], values: Tensor, index: Tensor, positions: Tensor
    ) -> tuple[Tensor, int]:
        return rearranged(_networks_second(values, in_dims, info), index, positions), 1


class _Split(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    @staticmethod
    def forward(values: Tensor, *sizes: int) -> tuple[Tensor, ...]:
        parts: tuple[Tensor, ...] = values.split(sizes)
        return parts

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        return torch.cat(grad_outputs), *[None] * len(grad_outputs)

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], values: Tensor, *sizes: int
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        return split_rows(_networks_second(values, in_dims, info), sizes), (1,) * len(sizes)


def networks_second(x: Tensor, dim: int | None, info: Any) -> Tensor:
    """Return x as [rows, networks, …] from the arguments of a vmap rule; a shared x is expanded, not copied."""
    if dim is None:
        return x.unsqueeze(1).expand(-1, info.batch_size, *x.shape[1:])
    moved: Tensor = x.movedim(dim, 1)
    return moved


def check_shared(*dims: int | None) -> None:
    """Raise `NotImplementedError` unless all networks share the indices, given their dimensions in a vmap rule."""
    if any(dim is not None for dim in dims):
        raise NotImplementedError("stacked networks share one graph, but the indices differ between them.")


def _networks_second(x: Tensor, in_dims: tuple[int | None, ...], info: Any) -> Tensor:
    check_shared(in_dims[1])
    return networks_second(x, in_dims[0], info)
