"""Slices of new attributes of a batch, so that `Batch.to_data_list` can separate them into graphs again."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def set_edge_slices(batch: Any, edge_store: Any, name: str) -> None:
    """Record an attribute with the rows of `edge_index`, if the slices of `edge_index` fit its current edges."""
    slices = _slice_dict(batch, edge_store).get("edge_index")
    if slices is not None and int(slices[-1]) == edge_store.edge_index.size(1):
        _set_slices(batch, edge_store, name, slices)


def set_node_slices(batch: Any, node_store: Any, name: str) -> None:
    """Record an attribute with one row per node."""
    if (ptr := _ptr(batch, node_store)) is not None:
        _set_slices(batch, node_store, name, ptr)


def set_token_slices(batch: Any, edge_store: Any, node_store: Any) -> None:
    """Record `token_index`, whose node ids start at 0 in every graph, and `token_den`."""
    if (ptr := _ptr(batch, node_store)) is not None:
        slices = torch.searchsorted(edge_store.token_index[1].cpu(), ptr)  # sorted by the receiving node
        _set_slices(batch, edge_store, "token_index", slices, ptr[:-1])
        _set_slices(batch, edge_store, "token_den", slices)


def _ptr(batch: Any, node_store: Any) -> Tensor | None:
    """The node offsets of the graphs, [graphs + 1]; None if the batch has none or they do not fit its nodes."""
    ptr = node_store.get("ptr")
    if ptr is None or ptr.numel() != batch.num_graphs + 1 or int(ptr[-1]) != node_store.num_nodes:
        return None
    return ptr.cpu()


# `Batch.to_data_list` reads `_slice_dict` and `_inc_dict`, which `Batch.from_data_list` fills; PyG has no public way to
# add to them.


def _slice_dict(batch: Any, store: Any) -> dict[str, Any]:
    slices: dict[Any, Any] = getattr(batch, "_slice_dict", {})
    return slices if store._key is None else slices.get(store._key, {})


def _set_slices(batch: Any, store: Any, name: str, slices: Tensor, increments: Tensor | None = None) -> None:
    if not hasattr(batch, "_slice_dict"):
        return
    for dict_name, value in (("_slice_dict", slices), ("_inc_dict", increments)):
        old, key = getattr(batch, dict_name), store._key
        new = {name: value} if key is None else {key: {**old.get(key, {}), name: value}}
        setattr(batch, dict_name, {**old, **new})  # a new dict: the batch passed in shares the old one
