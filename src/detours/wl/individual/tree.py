"""The tree of individualised copies: digests of its branches, level by level.

Let c(G) be the digest of the stable colours of a coloured graph G, and G_v a copy of G with node v individualised. The
digest of the tree of depth d is t_0(G) = c(G), and t_d(G) is the digest of c(G) with the sorted list of t_{d-1}(G_v),
for all v of the target cell or of the whole graph. The target cell depends on the stable colours only, so isomorphic
graphs have the same digest. A graph without a target cell is determined by its colours; if that holds for all leaves of
the trees of two graphs, they have the same digest if and only if they are isomorphic.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from detours.arrays import Bool, Int32, Int64
from detours.counting.pairs import count_pairs
from detours.graph import Graph
from detours.wl.digests import digest_graphs
from detours.wl.individual.copies import Choices, Copies, as_copies
from detours.wl.individual.deletion import delete
from detours.wl.individual.marking import mark
from detours.wl.individual.matching import find_orbits
from detours.wl.individual.pairs import mark_pairs
from detours.wl.individual.targets import merge_similar_cells, with_fewest_marks
from detours.wl.nodes.neighbourhood import neighbours
from detours.wl.nodes.pair_colours import StablePairs, stable_pairs
from detours.wl.nodes.ranks import rank_vectors
from detours.wl.options import Method
from detours.wl.preparation import Prepared

Report = Callable[[float], None]
"""Called with the completed fraction of the work."""


@dataclass(slots=True)
class Tree:
    """Creates copies and counts them."""

    method: Method
    n_jobs: int = 1
    graphs: list[Graph] = field(default_factory=list)
    pairs: list[StablePairs] = field(default_factory=list)
    """For each graph the stable colours of its pairs, if pairs are refined in the copies as well."""
    merged_cells: Int32 = field(default_factory=lambda: np.empty(0, np.int32))
    """The cells of all nodes before any was marked, merged as in `merge_similar_cells`; empty without `pairs`."""
    copies: int = 0
    """Copies refined so far."""
    exhausted: bool = True
    """Whether no leaf so far has a target cell."""
    chosen: Int64 = field(default_factory=lambda: np.empty(0, np.int64))
    """The nodes of the root that were individualised, counted over all graphs."""

    def grow(self, root: Copies, graph_mask: Bool | None, report: Report) -> list[bytes]:
        """Return the digest of the copy of every chosen node of the root, of the graphs in the mask if given."""
        choices = self._choices(root)
        if graph_mask is not None:
            selected = graph_mask[root.partitions.graph[choices.copy]]
            choices = Choices(choices.copy[selected], choices.node[selected])
        self.chosen = root.partitions.offsets[choices.copy] + choices.node
        return self._digests(root, choices, self.method.depth, report)

    def _choices(self, copies: Copies) -> Choices:
        deletes = self.method.individualise == "delete"
        return copies.choices(every_node=self.method.cell == "all", singletons=deletes)

    def _digests(self, copies: Copies, choices: Choices, depth: int, report: Report) -> list[bytes]:
        found: list[bytes] = []
        total = len(choices.node)
        for chunk in copies.chunks(choices, own_arcs=self.method.individualise == "delete"):
            begin, size = len(found), len(chunk.node)

            def share(part: float, begin: int = begin, size: int = size) -> None:
                report((begin + part * size) / total)

            digests, below, alike = self._step(copies, chunk, keep=depth > 1, report=share)
            self.copies += size
            if depth > 1 and below is not None:
                digests = self._with_branches(digests, below, alike, depth - 1, share)
            share(1.0)
            found += digests
        return found

    def _with_branches(
        self, digests: list[bytes], below: Copies, alike: Int64, depth: int, report: Report
    ) -> list[bytes]:
        """Return the digests of copies with their branches; copies that are `alike` have the same."""
        chosen = self._choices(below)
        first = alike[chosen.copy] == chosen.copy
        chosen = Choices(chosen.copy[first], chosen.node[first])
        joined = _join(digests, chosen.copy, self._digests(below, chosen, depth, report))
        return [joined[i] for i in alike.tolist()]

    def _step(
        self, copies: Copies, choices: Choices, keep: bool, report: Report
    ) -> tuple[list[bytes], Copies | None, Int64]:
        """Return the digests of the next copies, the copies, and for each the first that an automorphism maps to it."""
        alike = np.arange(len(choices.node))
        if self.method.individualise == "delete":
            return *delete(copies, choices, self.method, self.n_jobs, keep), alike
        if self.pairs:
            step = mark_pairs(copies, choices, self.graphs, self.pairs, self.merged_cells, self.n_jobs)
            self.exhausted &= keep or step.copies.partitions.target.max(initial=-1) < 0
            return step
        digests, below, targets = mark(copies, choices, self.n_jobs, keep, None if keep else report)
        self.exhausted &= keep or not targets
        return digests, below, alike if below is None else find_orbits(copies, choices, digests, below)


def individual_round(prepared: Prepared, colour: Int32, graph_mask: Bool | None = None) -> Int32:
    """Return colours for pairs: the stable colour of the node, and the digest of its copy if it has one.

    `graph_mask` selects graphs, all by default; the others keep their colours.
    """
    tree, digests = grow_tree(prepared, colour, graph_mask)
    graph = np.repeat(np.arange(len(prepared.graphs)), np.diff(prepared.offsets))[tree.chosen]
    roots = digest_graphs(prepared)  # cells are numbered within each graph and mean the same only if these agree
    digests = [roots[g] + digest for g, digest in zip(graph.tolist(), digests, strict=True)]
    number = {digest: rank for rank, digest in enumerate(sorted(set(digests)), 1)}
    pair = np.stack([colour, np.zeros_like(colour)], axis=1)
    pair[tree.chosen, 1] = [number[digest] for digest in digests]
    return rank_vectors(pair)[0]


def digest_trees(prepared: Prepared, roots: list[bytes]) -> list[bytes]:
    """Return the digest of the tree of each graph, given those of the graphs."""
    (last,) = deque(prepared.rounds(), maxlen=1)
    tree, digests = grow_tree(prepared, last.colour)
    owner = np.searchsorted(prepared.offsets, tree.chosen, side="right") - 1
    return _join(roots, owner, digests)


def grow_tree(prepared: Prepared, colour: Int32, graph_mask: Bool | None = None) -> tuple[Tree, list[bytes]]:
    """Return the tree over stable colours, and the digest of the copy of every chosen node."""
    tree, arcs = Tree(prepared.method, prepared.n_jobs), prepared.neighbourhood.arcs
    if prepared.method.pairs == "fwl" and prepared.method.individualise == "mark" and prepared.method.k is not None:
        k = prepared.method.k
        tree.graphs = prepared.graphs
        tree.pairs = [stable_pairs(graph, count_pairs(graph, k)) for graph in prepared.graphs]
        arcs = neighbours(prepared.union).arcs  # the pairs are refined separately
    root = as_copies(prepared.union, prepared.offsets, arcs, colour)
    if tree.pairs:
        tree.merged_cells = merge_similar_cells(root)
        root = with_fewest_marks(root, tree.merged_cells)

    def report(share: float) -> None:
        if prepared.progress is not None:
            prepared.progress(share, 1.0)

    return tree, tree.grow(root, graph_mask, report)


def _join(digests: list[bytes], owner: Int64, branches: Iterable[bytes]) -> list[bytes]:
    """Return the digest of each copy with the sorted digests of its branches; `owner` is ascending."""
    branches = list(branches)
    ends = np.searchsorted(owner, np.arange(len(digests) + 1)).tolist()
    return [
        hashlib.sha256(b"".join([own, *sorted(branches[start:end])])).digest()
        for own, (start, end) in zip(digests, pairwise(ends), strict=True)
    ]
