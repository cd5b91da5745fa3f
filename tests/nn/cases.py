"""Graphs as the networks take them, small and awkward."""

from __future__ import annotations

from typing import NamedTuple

import torch
from hypothesis import strategies as st
from torch import Tensor

from tests.strategies import SmallGraph, small_graphs


class Case(NamedTuple):
    x: Tensor
    edge_index: Tensor
    den: Tensor
    pe: Tensor

    @property
    def num_nodes(self) -> int:
        return len(self.x)


def case(
    edge_index: Tensor, num_nodes: int, seed: int = 0, *, in_channels: int = 3, den_channels: int = 2, pe: int = 2
) -> Case:
    """Random values in float64 for a graph."""
    random = torch.Generator().manual_seed(seed)

    def values(*shape: int) -> Tensor:
        return torch.randn(shape, dtype=torch.float64, generator=random)

    return Case(
        values(num_nodes, in_channels),
        edge_index,
        values(edge_index.size(1), den_channels).abs(),
        values(num_nodes, pe),
    )


def random_graph(num_nodes: int, density: float, seed: int = 0, *, directed: bool = False) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    present = torch.rand(num_nodes, num_nodes, generator=random) < density
    present.fill_diagonal_(False)
    if not directed:
        present = present.triu() | present.triu().t()
    return present.nonzero().t().contiguous()


def star_and_crowd(leaves: int = 40, seed: int = 0) -> tuple[Tensor, int]:
    """A hub, a crowd of many degrees, and an isolated node: sizes that need padded buckets."""
    crowd = random_graph(leaves, 0.5, seed, directed=True)
    hub = torch.stack([torch.arange(leaves), torch.full((leaves,), leaves)])
    return torch.cat([crowd, hub], dim=1), leaves + 2


def arcs_of(graph: SmallGraph) -> Tensor:
    return torch.tensor(graph.edge_index)


@st.composite
def cases(draw: st.DrawFn, max_nodes: int = 7) -> Case:
    graph = draw(small_graphs(max_nodes=max_nodes))
    return case(arcs_of(graph), graph.num_nodes, seed=draw(st.integers(0, 1000)))


def joined(parts: list[Case]) -> tuple[Case, Tensor]:
    """Several graphs as one, and the graph of every node."""
    sizes = [part.num_nodes for part in parts]
    shifts = [sum(sizes[:at]) for at in range(len(parts))]
    together = Case(
        torch.cat([part.x for part in parts]),
        torch.cat([part.edge_index + shift for part, shift in zip(parts, shifts, strict=True)], dim=1),
        torch.cat([part.den for part in parts]),
        torch.cat([part.pe for part in parts]),
    )
    return together, torch.arange(len(parts)).repeat_interleave(torch.tensor(sizes))


def permuted(given: Case, order: Tensor, columns: Tensor) -> Case:
    """Node order[i] becomes node i, and the arcs are listed in another order."""
    new_name = torch.empty_like(order).scatter_(0, order, torch.arange(len(order)))
    return Case(given.x[order], new_name[given.edge_index][:, columns], given.den[columns], given.pe[order])
