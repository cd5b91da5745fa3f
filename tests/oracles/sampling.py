"""Neighbour sampling as an obvious loop: what must hold of any sample, and what it is where all are taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Arcs = Sequence[tuple[int, int]]


def whole_neighbourhood(arcs: Arcs, seeds: Sequence[int], hops: int) -> tuple[set[int], set[int]]:
    """Nodes within `hops` steps against the arcs, and the columns of all arcs into those within `hops` - 1."""
    nodes, columns = set(seeds), set()
    for _ in range(hops):
        into = {at for at, (_, target) in enumerate(arcs) if target in nodes}
        columns |= into
        nodes |= {arcs[at][0] for at in into}
    return nodes, columns


def check_sample(arcs: Arcs, seeds: Sequence[int], sizes: Sequence[int], sampled: Any) -> None:
    """Every arc exists, no node has more than it may, and each hop starts from what the one before found."""
    n_id, e_id = sampled.n_id.tolist(), sampled.e_id.tolist()
    assert n_id[: len(seeds)] == list(seeds) and sampled.batch_size == len(seeds)
    assert len(set(n_id)) == len(n_id) and len(set(e_id)) == len(e_id)
    local = list(zip(*sampled.edge_index.tolist(), strict=True))
    assert [arcs[at] for at in e_id] == [(n_id[source], n_id[target]) for source, target in local]
    known, frontier, column = len(seeds), range(len(seeds)), 0
    for size in sizes:
        for place in frontier:
            degree = sum(target == n_id[place] for _, target in arcs)
            expected = degree if size < 0 else min(size, degree)
            mine = local[column : column + expected]
            assert all(target == place for _, target in mine), "arcs are listed by target, in the order of n_id"
            for source, _ in mine:
                assert source <= known, "nodes are numbered in the order in which they are found"
                known = max(known, source + 1)
            column += expected
        frontier = range(frontier.stop, known)
    assert known == len(n_id) and column == len(e_id)
