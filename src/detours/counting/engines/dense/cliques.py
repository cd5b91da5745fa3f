"""Sums over 4-cliques on torch tensors: batches of small matrix products, one for each node u."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from detours.counting.engines.dense.exact_matmul import ring_product
from detours.counting.engines.dense.stack import TensorStack

ENTRIES = 2**24  # most entries of the matrices in a batch
SIMILAR = 0.7  # nodes with at least this share of the most neighbours in a batch may join it


class Sides(NamedTuple):
    """The sides of cliques on i, u, v, j: those of u as lists over tied pairs, the others as full matrices.

    ``uv`` may be a full matrix too.
    """

    iu: Tensor
    iv: Tensor
    uv: Tensor
    uj: Tensor
    vj: Tensor


def sum_cliques(sides: Sides, stack: TensorStack) -> Tensor:
    """out(i, j) = Σ_u Σ_v iu(i, u) iv(i, v) uv(u, v) uj(u, j) vj(v, j), exact modulo 2^64 if given integers.

    For each u, i and j run over the nodes tied to it, and so does v if ``uv`` is a list; the submatrices of a batch are
    padded with zeros to the largest one.
    """
    n = stack.nodes
    out = torch.zeros_like(sides.iv).reshape(-1)
    degree, ends = stack.starts.diff(), stack.ends[1]
    for batch in _batches(degree.cpu().numpy(), None if sides.uv.dim() == 1 else n):
        u = torch.from_numpy(batch).to(stack.device)
        slots = torch.arange(int(degree[u[0]]), device=stack.device)
        mask = slots < degree[u][:, None]
        pair = torch.where(mask, stack.starts[u][:, None] + slots, 0)
        # rows of the flat matrices [graphs * n, n] and columns in them
        row, column = ends[pair], ends[pair] % n
        weight_i, weight_j = (
            values[positions] * mask for values, positions in ((sides.iu, stack.reverse[pair]), (sides.uj, pair))
        )
        iv, vj = sides.iv.reshape(-1, n), sides.vj.reshape(-1, n)
        if sides.uv.dim() == 1:
            before = iv[row[:, :, None], column[:, None, :]] * (sides.uv[pair] * mask)[:, None, :]
            after = vj[row[:, :, None], column[:, None, :]]
        else:
            before = iv[row] * sides.uv.reshape(-1, n)[u][:, None, :]
            graph = u // n * n
            after = vj[(graph[:, None] + torch.arange(n, device=stack.device))[:, :, None], column[:, None, :]]
        inner = torch.matmul(before, after) if before.is_floating_point() else ring_product(before, after)
        inner *= weight_i[:, :, None] * weight_j[:, None, :]
        out.index_add_(0, (row[:, :, None] * n + column[:, None, :]).reshape(-1), inner.reshape(-1))
    return out.reshape(sides.iv.shape)


def _batches(degree: np.ndarray[tuple[int], np.dtype[np.int64]], width: int | None) -> Iterator[np.ndarray]:
    """Nodes with neighbours in batches of similar degree, in descending order of degree."""
    order = np.argsort(-degree, kind="stable")[: np.count_nonzero(degree)]
    begin = 0
    while begin < len(order):
        largest = int(degree[order[begin]])
        similar = int(np.searchsorted(-degree[order], -SIMILAR * largest, side="right"))
        batch_size = max(1, ENTRIES // (largest * (width or largest)))
        yield order[begin : min(similar, begin + batch_size)]
        begin = min(similar, begin + batch_size)
