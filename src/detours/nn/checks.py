"""Checks of the inputs of networks and layers, each with a one-sentence error."""

from __future__ import annotations

import torch
from torch import Tensor

from detours.errors import InputError


def check_edge_attr(edge_attr: Tensor | None, arcs: int, edge_channels: int) -> None:
    """Raise `InputError` unless features of the arcs are [arcs, edge_channels], or missing if `edge_channels` is 0; a
    matrix without columns counts as missing."""
    shape = None if edge_attr is None else tuple(edge_attr.shape)
    if not edge_channels and shape is not None and shape != (arcs, 0):
        raise InputError(
            f"edge_attr was given, but edge_channels=0; give edge_channels={shape[-1] if len(shape) == 2 else 1} and "
            "a convolution that takes edge_attr, or leave it out."
        )
    if edge_channels and shape != (arcs, edge_channels):
        given = "missing" if shape is None else f"of the shape {shape}"
        raise InputError(
            f"edge_attr must have the shape {(arcs, edge_channels)}, edge_channels={edge_channels}, but it is {given}."
        )


def check_integers(name: str, given: Tensor) -> None:
    """Raise `InputError` unless the dtype is that of indices."""
    if given.dtype not in (torch.int64, torch.int32):
        raise InputError(f"{name} must hold integers, torch.int64, but it is {given.dtype}.")


def check_ends(edge_index: Tensor, num_nodes: int, given: str) -> None:
    """Raise `InputError` if an arc ends at a node that does not exist; `given` says where their number is from.
    A GPU is waited for."""
    if not edge_index.numel():
        return
    least, largest = map(int, edge_index.aminmax())
    if least < 0 or largest >= num_nodes:
        allowed = f"0 to {num_nodes - 1}" if num_nodes else "none"
        raise InputError(f"edge_index names the nodes {least} to {largest}, but {given} allows {allowed}.")


def check_batch(batch: Tensor, nodes: int, num_graphs: int | None) -> None:
    """Raise `InputError` unless `batch` assigns the nodes to graphs; its values are checked only on a CPU, to avoid
    waiting for a GPU."""
    check_integers("batch", batch)
    if tuple(batch.shape) != (nodes,):
        raise InputError(f"batch must have the shape ({nodes},), but it has {tuple(batch.shape)}.")
    if batch.device.type != "cpu" or not nodes or torch.compiler.is_compiling():
        return
    least, largest = map(int, batch.aminmax())
    if least < 0:
        raise InputError(f"batch holds the graph {least}; graphs are numbered from 0.")
    if num_graphs is not None and largest >= num_graphs:
        raise InputError(
            f"batch holds the graph {largest}, but with num_graphs={num_graphs} they end at {num_graphs - 1}."
        )
