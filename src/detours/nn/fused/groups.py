"""Which rows belong to which group, remembered for as long as the tensor lives that says so.

A step asks the same arcs and tokens for sums in every layer, forwards and backwards; to sort them once is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

Made = TypeVar("Made")

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
        begins = torch.searchsorted(ordered, torch.arange(size + 1, dtype=torch.int32, device=index.device))
        return Groups(rows, begins)

    return _once(index, size, made)


def ends(edge_index: Tensor) -> tuple[Tensor, Tensor]:
    """Return source and target of the arcs; on a GPU the same two tensors whenever it is the same `edge_index`."""
    if torch.compiler.is_compiling() or not edge_index.is_cuda:
        return edge_index[0], edge_index[1]
    return _once(edge_index, "ends", lambda: (edge_index[0].clone(), edge_index[1].clone()))


def turned(edge_index: Tensor) -> Tensor:
    """Return the arcs turned round; on a GPU the same tensor whenever it is the same `edge_index`."""
    if torch.compiler.is_compiling() or not edge_index.is_cuda:
        return edge_index.flip(0)
    return _once(edge_index, "turned", lambda: edge_index.flip(0))


def _once(tensor: Tensor, what: Hashable, make: Callable[[], Made]) -> Made:
    """Return what was made of this tensor before, if its numbers have not been changed since."""
    version, known = _remembered.get(tensor, (None, {}))
    if version != tensor._version:
        known = {}
        _remembered[tensor] = tensor._version, known
    if what not in known:
        with torch.no_grad():
            known[what] = make()
    made: Made = known[what]
    return made
