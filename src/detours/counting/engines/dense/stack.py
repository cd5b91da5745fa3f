"""The positions of arcs in stacks of matrices on a device: all that torch needs to know of the graphs."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor


class TensorStack:
    """Graphs of n nodes each, whose matrices are stacks [graphs, n, n].

    A pair (i, j) is tied if an arc joins it, in either direction. A matrix that is zero elsewhere, or read only there,
    is a list with one entry per tied pair.
    """

    def __init__(self, tied: Tensor, arcs: Tensor | None, graphs: int, nodes: int) -> None:
        """``tied``: flat positions of the tied pairs, ascending; ``arcs``: indices of those that are arcs i -> j,
        None if undirected: all."""
        self.tied, self.graphs, self.nodes, self.device = tied, graphs, nodes, tied.device
        self.arcs = torch.ones(len(tied), dtype=torch.float64, device=self.device)
        if arcs is not None:
            self.arcs.zero_()[arcs] = 1

    @cached_property
    def coordinates(self) -> tuple[Tensor, Tensor, Tensor]:
        """Graph, i and j of each tied pair."""
        rows = self.tied // self.nodes
        return rows // self.nodes, rows % self.nodes, self.tied % self.nodes

    @cached_property
    def ends(self) -> tuple[Tensor, Tensor]:
        """The positions of i and j of each tied pair in a flat vector [graphs, n]."""
        graph, i, j = self.coordinates
        return graph * self.nodes + i, graph * self.nodes + j

    @cached_property
    def starts(self) -> Tensor:
        """Row pointer: the tied pairs (i, ·) are starts[i] to starts[i + 1], where i is a position in a flat vector."""
        row_starts = torch.arange(self.graphs * self.nodes + 1, device=self.device) * self.nodes
        return torch.searchsorted(self.tied, row_starts)

    @cached_property
    def reverse(self) -> Tensor:
        """The index of (j, i) for each tied pair (i, j)."""
        at_j = self.ends[1]
        return torch.searchsorted(self.tied, at_j * self.nodes + self.coordinates[1])

    @cached_property
    def degrees(self) -> tuple[int, int]:
        """The largest out-degree and in-degree."""
        most = torch.stack([self.sums_at(end, self.arcs).max() for end in self.ends])
        out_degree, in_degree = most.tolist()
        return max(1, int(out_degree)), max(1, int(in_degree))

    @property
    def density(self) -> float:
        """The share of pairs that are tied."""
        return len(self.tied) / max(1, self.graphs * self.nodes**2)

    def sums_at(self, end: Tensor, values: Tensor) -> Tensor:
        """Values of tied pairs added up at one of their ends: a vector [graphs, n]."""
        total = torch.zeros(self.graphs * self.nodes, dtype=values.dtype, device=self.device)
        return total.index_add_(0, end, values).reshape(self.graphs, self.nodes)
