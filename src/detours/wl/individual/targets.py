"""Target cells for copies whose pairs are refined too: those that leave a graph of treewidth 2 after fewest marks.

Two cells are *tied* if a node of one sees some, but not all, nodes of the other; a cell may be tied to itself.
Refinement with marked nodes works like a pebble game on the graph of tied cells: 2-FWL decides what remains once that
graph has treewidth 2 or less, and marking a node takes its cell away. The target is therefore a cell of a smallest set
without which the treewidth is at most 2. A graph has that treewidth if and only if nothing is left of it after nodes
with at most two neighbours are taken away, their neighbours joined, as long as there are any (series and parallel
reductions,
`Duffin, 1965 <https://doi.org/10.1016/0022-247X(65)90125-3>`_).

Only the graph of tied cells, the sizes and the order of the cells are used, which isomorphic graphs share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, combinations

import numpy as np

from detours.arrays import Int32, Int64
from detours.wl.individual.copies import Choices, Copies

MOST_MARKS = 3
"""Sets of up to this many cells are tried."""
LARGEST_CORE = 24
"""In larger graphs of tied cells the one with most neighbours is taken."""

Tied = dict[int, set[int]]


def with_fewest_marks(copies: Copies, merged_cells: Int32) -> Copies:
    """Return the copies with targets that leave treewidth 2 after few marks; copies without a target keep none.

    `merged_cells` has a cell for each node of the union from before any mark, see `merge_similar_cells`.
    """
    target = copies.partitions.target.copy()
    for i, (tied, sizes) in _all_tied(copies):
        nodes = _nodes(copies, i)
        own = copies.partitions.cell[copies.partitions.offsets[i] : copies.partitions.offsets[i + 1]]
        chosen = choose(tied, sizes, dict(zip(own.tolist(), merged_cells[nodes].tolist(), strict=True)))
        target[i] = target[i] if chosen is None else chosen
    return replace(copies, partitions=copies.partitions._replace(target=target))


def merge_similar_cells(root: Copies) -> Int32:
    """Return for each node of the union its cell, or the first cell of that size which is tied to the same cells.

    Marked nodes and singleton cells split other cells into such parts; a mark in one part has the same effect as a mark
    in any other.
    """
    merged_cells = root.partitions.cell.copy()
    for i, (tied, sizes) in _all_tied(root):
        first: dict[tuple[int, frozenset[int]], int] = {}
        own = merged_cells[_nodes(root, i)]
        for cell in sorted(tied):
            own[own == cell] = first.setdefault((sizes[cell], frozenset(tied[cell])), cell)
        merged_cells[_nodes(root, i)] = own
    return merged_cells


def _nodes(copies: Copies, i: int) -> slice:
    """The nodes of the union that a copy is one of."""
    graph = copies.partitions.graph[i]
    return slice(copies.offsets[graph], copies.offsets[graph + 1])


def _all_tied(copies: Copies) -> Iterator[tuple[int, tuple[Tied, dict[int, int]]]]:
    """Yield the tied cells of each copy that has a target, and their sizes."""
    _, words, word_offsets = copies.refine(Choices(np.arange(len(copies)), np.full(len(copies), -1)))
    for i in np.flatnonzero(copies.partitions.target >= 0).tolist():
        yield i, tied_cells(words[word_offsets[i] + 2 : word_offsets[i + 1]])


def tied_cells(words: Int64) -> tuple[Tied, dict[int, int]]:
    """Return the graph of tied cells, and the size of each cell, from the description of a partition."""
    rows: dict[int, tuple[Int64, Int64]] = {}
    sizes: dict[int, int] = {}
    at = cell = 0
    while at < len(words):
        size, degree = int(words[at]), int(words[at + 1])
        rows[cell], sizes[cell] = np.unique(words[at + 2 : at + 2 + degree], return_counts=True), size
        at, cell = at + 2 + degree, cell + size
    tied: Tied = {cell: set() for cell in rows if sizes[cell] > 1}
    for cell in tied:
        for seen, number in zip(*(each.tolist() for each in rows[cell]), strict=True):
            other = seen & 0xFFFFFFFF
            if number < sizes[other] - (other == cell):
                tied[cell].add(other)
                tied[other].add(cell)
    return tied, sizes


def choose(tied: Tied, sizes: Mapping[int, int], merged: Mapping[int, int]) -> int | None:
    """Return a cell of a smallest set without which the treewidth is at most 2; None if it is already.

    Where no set of `MOST_MARKS` cells suffices, it is one that leaves least.

    Cells with the same `merged` cell count as one; the smallest of them is returned.
    """
    joined: Tied = {merged[cell]: set() for cell in tied}
    smallest: dict[int, tuple[int, int]] = {}
    for cell, others in tied.items():
        own = merged[cell]
        joined[own] |= {merged[other] for other in others}
        smallest[own] = min(smallest.get(own, (sizes[cell], cell)), (sizes[cell], cell))
    for own in [own for own, others in joined.items() if own in others]:
        # A cell tied to itself holds nodes of at least two places that an automorphism may exchange: it stands twice.
        joined[own].remove(own)
        double = ~own
        smallest[double] = smallest[own]
        joined[double] = {*joined[own], own}
        for other in joined[double]:
            joined[other].add(double)
    core = reduced(joined)
    if not core:
        return None
    order = sorted(core, key=lambda own: (-len(core[own]), smallest[own]))
    chosen = order[0]
    if len(core) <= LARGEST_CORE:
        fewest = len(core)
        for cells in chain.from_iterable(combinations(order, marks) for marks in range(1, MOST_MARKS + 1)):
            left = len(reduced(core, cells))
            if left < fewest:
                chosen, fewest = cells[0], left
            if not left:
                break
    return smallest[chosen][1]


def reduced(graph: Tied, without: Iterable[int] = ()) -> Tied:
    """Return what series and parallel reductions leave of a graph without some nodes; nothing if its treewidth is ≤ 2.

    >>> square = {0: {1, 3}, 1: {0, 2}, 2: {1, 3}, 3: {2, 0}}
    >>> reduced(square)
    {}
    >>> complete = {i: {0, 1, 2, 3} - {i} for i in range(4)}
    >>> reduced(complete) == complete, reduced(complete, [0])
    (True, {})
    """
    gone = set(without)
    left = {node: others - gone for node, others in graph.items() if node not in gone}
    small = [node for node, others in left.items() if len(others) <= 2]
    while small:
        node = small.pop()
        if node not in left:
            continue
        others = left.pop(node)
        for other in others:
            left[other].discard(node)
            left[other] |= others - {other}
        small += [other for other in others if len(left[other]) <= 2]
    return left
