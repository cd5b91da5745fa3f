"""Which rows belong to which group, remembered for as long as the tensor lives that says so.

A step asks the same arcs and tokens for sums in every layer, forwards and backwards; to sort them once is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from detours.nn.fused.choice import may_remember

Made = TypeVar("Made")

OUTSIDE = "an index names a row that does not exist"

_remembered = WeakTensorKeyDictionary()
"""For each tensor its version, and what was made of it; nothing of that is a view, which would keep the tensor."""


class Groups(NamedTuple):
    """Rows in the order of their groups."""

    rows: Tensor
    """[E] the rows, those of a group together, in the order in which they are listed."""
    begins: Tensor
    """[groups + 1] group i has ``rows[begins[i] : begins[i + 1]]``."""


def groups_of(index: Tensor, size: int) -> Groups:
    """Return the rows whose `index` [E] is 0, 1, …, size - 1."""

    def made() -> Groups:
        ordered, rows = torch.sort(index.int(), stable=True)  # half as many digits as in 64 bits
        if index.numel():
            torch._assert_async((ordered[0] >= 0) & (ordered[-1] < size), OUTSIDE)
        begins = torch.searchsorted(ordered, torch.arange(size + 1, dtype=torch.int32, device=index.device))
        return Groups(rows, begins)

    return _once(index, size, made)


def tell_groups(index: Tensor, begins: Tensor) -> None:
    """Tell that `index` is in order, and where each of its groups begins: nothing is sorted, searched or checked then.

    Args:
        index: [E] ascending.
        begins: [groups + 1] the first row of each group, and E.
    """
    size = begins.numel() - 1
    _once(index, size, lambda: Groups(torch.arange(index.numel(), device=index.device), begins))
    _once(index, ("within", size), lambda: None)


def within(index: Tensor, size: int) -> Tensor:
    """Return the indices of rows to be read, of which there are so many; the device checks them once."""

    def checked() -> None:
        low, high = torch.aminmax(index)
        torch._assert_async((low >= 0) & (high < size), OUTSIDE)

    if index.numel():
        _once(index, ("within", size), checked)
    return index


def ends(edge_index: Tensor) -> tuple[Tensor, Tensor]:
    """Return source and target of the arcs; on a GPU the same two tensors whenever it is the same `edge_index`."""
    if not edge_index.is_cuda or not may_remember(edge_index):
        return edge_index[0], edge_index[1]
    return _once(edge_index, "ends", lambda: (edge_index[0].clone(), edge_index[1].clone()))


def turned(edge_index: Tensor) -> Tensor:
    """Return the arcs turned round; on a GPU the same tensor whenever it is the same `edge_index`."""
    if not edge_index.is_cuda or not may_remember(edge_index):
        return edge_index.flip(0)
    return _once(edge_index, "turned", lambda: edge_index.flip(0))


def _once(tensor: Tensor, what: Hashable, make: Callable[[], Made]) -> Made:
    """Return what was made of this tensor before, if its numbers have not been changed since.

    On a GPU, by the same stream: another would have to wait for it.
    """
    if tensor.is_inference():  # such tensors do not know whether they were changed
        return make()
    version, known = _remembered.get(tensor, (None, {}))
    if version != tensor._version:
        known = {}
        _remembered[tensor] = tensor._version, known
    key = (what, torch.cuda.current_stream(tensor.device).cuda_stream if tensor.is_cuda else None)
    if key not in known:
        with torch.inference_mode(False), torch.no_grad():
            known[key] = make()
    made: Made = known[key]
    return made
