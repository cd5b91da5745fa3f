"""Rows grouped by an index tensor, cached for as long as that tensor lives.

In one step, every layer sums over the same arcs and tokens, forward and backward; sorting them once is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from detours.nn.fused.choice import may_cache

T = TypeVar("T")

OUTSIDE = "an index names a row that does not exist"

_cache = WeakTensorKeyDictionary()
"""For each tensor its version and what was derived from it; never a view, which would keep the tensor alive."""


class Groups(NamedTuple):
    """Rows sorted by group."""

    rows: Tensor
    """[E] the rows, those of a group together, in their original order."""
    begins: Tensor
    """[groups + 1] offsets: group i has ``rows[begins[i] : begins[i + 1]]``."""


def groups_of(index: Tensor, size: int) -> Groups:
    """Return the rows whose `index` [E] is 0, 1, …, size - 1."""

    def build() -> Groups:
        ordered, rows = torch.sort(index.int(), stable=True)  # half as many digits as in 64 bits
        if index.numel():
            torch._assert_async((ordered[0] >= 0) & (ordered[-1] < size), OUTSIDE)
        offsets = torch.searchsorted(ordered, torch.arange(size + 1, dtype=torch.int32, device=index.device))
        return Groups(rows, offsets)

    return _cached(index, size, build)


def declare_groups(index: Tensor, offsets: Tensor) -> None:
    """Declare that `index` is sorted, and where its groups start, so that it is never sorted, searched or checked.

    Args:
        index: [E] ascending.
        offsets: [groups + 1] the first row of each group, and E.
    """
    size = offsets.numel() - 1
    _cached(index, size, lambda: Groups(torch.arange(index.numel(), device=index.device), offsets))
    _cached(index, ("checked", size), lambda: None)


def checked(index: Tensor, size: int) -> Tensor:
    """Return `index`; the device checks once that it is within 0 … size - 1."""

    def check() -> None:
        low, high = torch.aminmax(index)
        torch._assert_async((low >= 0) & (high < size), OUTSIDE)

    if index.numel():
        _cached(index, ("checked", size), check)
    return index


def ends(edge_index: Tensor) -> tuple[Tensor, Tensor]:
    """Return sources and targets of the arcs; on a GPU, always the same two tensors for the same `edge_index`."""
    if not edge_index.is_cuda or not may_cache(edge_index):
        return edge_index[0], edge_index[1]
    return _cached(edge_index, "ends", lambda: (edge_index[0].clone(), edge_index[1].clone()))


def reversed_arcs(edge_index: Tensor) -> Tensor:
    """Return the reversed arcs; on a GPU, always the same tensor for the same `edge_index`."""
    if not edge_index.is_cuda or not may_cache(edge_index):
        return edge_index.flip(0)
    return _cached(edge_index, "reversed", lambda: edge_index.flip(0))


def _cached(tensor: Tensor, name: Hashable, build: Callable[[], T]) -> T:
    """Return what `build` returned for this tensor before, unless its values have changed since.

    On a GPU, there is one result per stream: another stream would have to wait for it.
    """
    if tensor.is_inference():  # such tensors have no version counter
        return build()
    version, results = _cache.get(tensor, (None, {}))
    if version != tensor._version:
        results = {}
        _cache[tensor] = tensor._version, results
    key = (name, torch.cuda.current_stream(tensor.device).cuda_stream if tensor.is_cuda else None)
    if key not in results:
        with torch.inference_mode(False), torch.no_grad():
            results[key] = build()
    result: T = results[key]
    return result
