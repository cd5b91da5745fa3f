"""Sums over 4-cliques on torch tensors: batches of small matrix products, one for each node u."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from detours.counting.engines.dense.exact_matmul import ring_product
from detours.counting.engines.dense.stack import TensorStack

ENTRIES = 2**24  # entries of the matrices that are worked on together
SIMILAR = 0.7  # a node with this share of the neighbours of another is still worked on together with it


class Sides(NamedTuple):
    """The sides of cliques on i, u, v, j: lists of tied pairs for those of u, whole matrices for the others.

    ``uv`` may be a whole matrix too.
    """

    iu: Tensor
    iv: Tensor
    uv: Tensor
    uj: Tensor
    vj: Tensor


def sum_cliques(sides: Sides, stack: TensorStack) -> Tensor:
    """out(i, j) = Σ_u Σ_v iu(i, u) iv(i, v) uv(u, v) uj(u, j) vj(v, j), exact modulo 2^64 if given integers.

    For each u, i and j run over what it is tied to, and so does v if ``uv`` is a list: what is cut out of the matrices
    is filled up with zeros to the size of the largest in a batch.
    """
    n = stack.nodes
    out = torch.zeros_like(sides.iv).reshape(-1)
    degree, ends = stack.starts.diff(), stack.ends[1]
    for batch in _batches(degree.cpu().numpy(), None if sides.uv.dim() == 1 else n):
        u = torch.from_numpy(batch).to(stack.device)
        widest = torch.arange(int(degree[u[0]]), device=stack.device)
        filled = widest < degree[u][:, None]
        pair = torch.where(filled, stack.starts[u][:, None] + widest, 0)
        # rows of the flat matrices [graphs * n, n] and columns in them
        row, column = ends[pair], ends[pair] % n
        to_i, to_j = (values[at] * filled for values, at in ((sides.iu, stack.reverse[pair]), (sides.uj, pair)))
        iv, vj = sides.iv.reshape(-1, n), sides.vj.reshape(-1, n)
        if sides.uv.dim() == 1:
            before = iv[row[:, :, None], column[:, None, :]] * (sides.uv[pair] * filled)[:, None, :]
            after = vj[row[:, :, None], column[:, None, :]]
        else:
            before = iv[row] * sides.uv.reshape(-1, n)[u][:, None, :]
            graph = u // n * n
            after = vj[(graph[:, None] + torch.arange(n, device=stack.device))[:, :, None], column[:, None, :]]
        inner = torch.matmul(before, after) if before.is_floating_point() else ring_product(before, after)
        inner *= to_i[:, :, None] * to_j[:, None, :]
        out.index_add_(0, (row[:, :, None] * n + column[:, None, :]).reshape(-1), inner.reshape(-1))
    return out.reshape(sides.iv.shape)


def _batches(degree: np.ndarray[tuple[int], np.dtype[np.int64]], width: int | None) -> Iterator[np.ndarray]:
    """Nodes that have neighbours, in groups of similar degree, those with the most first."""
    order = np.argsort(-degree, kind="stable")[: np.count_nonzero(degree)]
    begin = 0
    while begin < len(order):
        most = int(degree[order[begin]])
        similar = int(np.searchsorted(-degree[order], -SIMILAR * most, side="right"))
        together = max(1, ENTRIES // (most * (width or most)))
        yield order[begin : min(similar, begin + together)]
        begin = min(similar, begin + together)
