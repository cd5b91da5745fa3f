"""New attributes of a batch: which rows belong to which graph, so that PyG can take the batch apart again."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def tell_arcs(batch: Any, arcs: Any, name: str) -> None:
    """Tell a batch that an attribute has the rows of `edge_index`, if PyG knows those of the edges it has now."""
    known = _slices(batch, arcs).get("edge_index")
    if known is not None and int(known[-1]) == arcs.edge_index.size(1):
        _tell(batch, arcs, name, known)


def tell_nodes(batch: Any, nodes: Any, name: str) -> None:
    """Tell a batch that an attribute has a row for every node."""
    if (first := _first_nodes(batch, nodes)) is not None:
        _tell(batch, nodes, name, first)


def tell_tokens(batch: Any, arcs: Any, nodes: Any) -> None:
    """Tell a batch the rows of `token_index`, whose node ids begin anew in every graph, and of `token_den`."""
    if (first := _first_nodes(batch, nodes)) is not None:
        rows = torch.searchsorted(arcs.token_index[1].cpu(), first)  # sorted by the node that receives
        _tell(batch, arcs, "token_index", rows, first[:-1])
        _tell(batch, arcs, "token_den", rows)


def _first_nodes(batch: Any, nodes: Any) -> Tensor | None:
    """The first node of every graph, and the number of all; None where the batch does not say."""
    first = nodes.get("ptr")
    if first is None or first.numel() != batch.num_graphs + 1 or int(first[-1]) != nodes.num_nodes:
        return None
    return first.cpu()


# `Batch.to_data_list` looks rows up in two dictionaries of `Batch.from_data_list`, which nothing public extends.


def _slices(batch: Any, store: Any) -> dict[str, Any]:
    every: dict[Any, Any] = getattr(batch, "_slice_dict", {})
    return every if store._key is None else every.get(store._key, {})


def _tell(batch: Any, store: Any, name: str, rows: Tensor, added: Tensor | None = None) -> None:
    if not hasattr(batch, "_slice_dict"):
        return
    for kept, value in (("_slice_dict", rows), ("_inc_dict", added)):
        every, key = getattr(batch, kept), store._key
        new = {name: value} if key is None else {key: {**every.get(key, {}), name: value}}
        setattr(batch, kept, {**every, **new})  # the batch that was given keeps its own
