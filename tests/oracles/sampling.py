"""Neighbour sampling as an obvious loop: the properties of any sample, and the result if all neighbours are taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Arcs = Sequence[tuple[int, int]]


def whole_neighbourhood(arcs: Arcs, seeds: Sequence[int], hops: int) -> tuple[set[int], set[int]]:
    """Nodes within `hops` steps against the arcs, and the columns of all arcs into those within `hops` - 1."""
    nodes, columns = set(seeds), set()
    for _ in range(hops):
        incoming = {column for column, (_, target) in enumerate(arcs) if target in nodes}
        columns |= incoming
        nodes |= {arcs[column][0] for column in incoming}
    return nodes, columns


def check_sample(arcs: Arcs, seeds: Sequence[int], sizes: Sequence[int], sampled: Any) -> None:
    """Every arc exists, no node has too many neighbours, and each hop starts from the nodes that the previous found."""
    n_id, e_id = sampled.n_id.tolist(), sampled.e_id.tolist()
    assert n_id[: len(seeds)] == list(seeds) and sampled.batch_size == len(seeds)
    assert len(set(n_id)) == len(n_id) and len(set(e_id)) == len(e_id)
    local = list(zip(*sampled.edge_index.tolist(), strict=True))
    assert [arcs[arc] for arc in e_id] == [(n_id[source], n_id[target]) for source, target in local]
    known, frontier, column = len(seeds), range(len(seeds)), 0
    for size in sizes:
        for node in frontier:
            degree = sum(target == n_id[node] for _, target in arcs)
            expected = degree if size < 0 else min(size, degree)
            incoming = local[column : column + expected]
            assert all(target == node for _, target in incoming), "arcs are listed by target, in the order of n_id"
            for source, _ in incoming:
                assert source <= known, "nodes are numbered in the order in which they are found"
                known = max(known, source + 1)
            column += expected
        frontier = range(frontier.stop, known)
    assert known == len(n_id) and column == len(e_id)
