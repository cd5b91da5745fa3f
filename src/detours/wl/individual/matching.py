"""Search for an isomorphism of two graphs: individualise a node of the first and try all that may correspond to it.

Any isomorphism maps target cell to target cell. So the search marks one node of the first target cell and, in turn,
every node of the second. Where refinement does not distinguish the two copies, it continues in them. It ends with a
mapping once no target cell is left. If all candidates fail, the graphs are not isomorphic.

If a node of the second graph fails, so does every node of its orbit. Automorphisms, which map the node to these, are
found by the same search between two copies of one graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from detours.arrays import Int64
from detours.graph import Graph
from detours.wl.individual.copies import Choices, Copies
from detours.wl.individual.copies_numba import Partitions

ORBIT_STEPS = 64
"""Copies refined in search of one automorphism; after that, two nodes count as in different orbits."""


class OutOfSteps(Exception):
    """The search reached its limit of steps."""


@dataclass(slots=True)
class Orbits:
    """Known orbits of automorphisms; `node` maps each node to one representative of its orbit."""

    node: Int64

    @classmethod
    def unknown(cls, nodes: int) -> Orbits:
        return cls(np.arange(nodes))

    def add(self, image: Int64) -> None:
        """Join the orbits of each node and its image."""
        for node in np.flatnonzero(self.node != self.node[image]).tolist():
            first, second = self.node[node], self.node[image[node]]
            self.node[self.node == max(first, second)] = min(first, second)

    def same(self, first: int, second: int) -> bool:
        return bool(self.node[first] == self.node[second])


@dataclass(slots=True)
class Matching:
    """The search for an isomorphism between copies of the graphs of `copies`."""

    copies: Copies
    check: Callable[[], None] = lambda: None
    """Called before every few steps; may raise an error to end the search."""
    steps: int = 0
    """Copies refined so far."""
    depth: int = 0
    """The largest number of nodes individualised together."""
    steps_per_level: int = 0
    """Extra steps allowed for every marked node, so that deep searches without a failure can continue."""
    most_steps: float = field(default=0, init=False)

    def search(self, ours: Partitions, theirs: Partitions, most_steps: float, use_orbits: bool) -> Int64 | None:
        """Return for each node of the first copy its image, or None if there is no isomorphism.

        The colours of the copies agree. Raise `OutOfSteps` if `most_steps` are not enough to decide.
        """
        self.most_steps = self.steps + most_steps
        stack = [(ours, iter([theirs]))]
        while stack:
            ours, candidates = stack[-1]
            candidate = next(candidates, None)
            if candidate is None:
                stack.pop()
                continue
            if ours.target[0] < 0:
                image = np.empty(len(ours.cell), np.int64)
                image[np.argsort(ours.cell, kind="stable")] = np.argsort(candidate.cell, kind="stable")
                return image
            if len(stack) > self.depth:
                self.depth = len(stack)
                self.most_steps += self.steps_per_level
            stack.append(self._below(ours, candidate, use_orbits))
        return None

    def _below(self, ours: Partitions, theirs: Partitions, use_orbits: bool) -> tuple[Partitions, Iterator[Partitions]]:
        """Mark the first node of the first target cell; return that copy, and the second's that agree with it."""
        own, others = (np.flatnonzero(side.cell == side.target[0]) for side in (ours, theirs))
        marked, words, _ = self._refine(ours, own[:1])

        def candidates() -> Iterator[Partitions]:
            orbits = Orbits.unknown(len(theirs.cell))
            failed: list[tuple[int, Partitions]] = []
            start, step = 0, 1
            while start < len(others):
                tried, described, word_offsets = self._refine(theirs, others[start : start + step])
                for i, node in enumerate(others[start : start + step].tolist()):
                    if not np.array_equal(described[word_offsets[i] : word_offsets[i + 1]], words):
                        continue
                    copy = single_copy(tried, i)
                    if use_orbits and any(self._in_orbit(orbits, old, (node, copy)) for old in failed):
                        continue
                    yield copy
                    failed.append((node, copy))
                start, step = start + step, min(2 * step, 64)

        return marked, candidates()

    def _in_orbit(self, orbits: Orbits, old: tuple[int, Partitions], new: tuple[int, Partitions]) -> bool:
        if not orbits.same(old[0], new[0]):
            image = find_automorphism(self.copies, old[1], new[1], lambda: self._step(1))
            if image is not None:
                orbits.add(image)
        return orbits.same(old[0], new[0])

    def _step(self, steps: int) -> None:
        self.check()
        self.steps += steps
        if self.steps > self.most_steps:
            raise OutOfSteps

    def _refine(self, copy: Partitions, nodes: Int64) -> tuple[Partitions, Int64, Int64]:
        self._step(len(nodes))
        return replace(self.copies, partitions=copy).refine(Choices(np.zeros(len(nodes), np.int64), nodes))


def find_automorphism(
    copies: Copies, first: Partitions, second: Partitions, check: Callable[[], None] = lambda: None
) -> Int64 | None:
    """Return an isomorphism of two copies of one graph whose colours agree, or None if `ORBIT_STEPS` find none."""
    try:
        return Matching(copies, check).search(first, second, ORBIT_STEPS, use_orbits=False)
    except OutOfSteps:
        return None


def find_orbits(parent: Copies, choices: Choices, digests: list[bytes], below: Copies) -> Int64:
    """For each copy below, return the first of the same parent that an automorphism maps to it, or the copy itself.

    `digests` has one entry per copy; the copies are in the order of their parents.
    """
    alike = np.arange(len(digests))
    ends = np.searchsorted(choices.copy, np.arange(len(parent) + 1)).tolist()
    for start, end in pairwise(ends):
        if end - start < 2:
            continue
        nodes = choices.node[start:end]
        orbits = Orbits.unknown(int(np.diff(parent.partitions.offsets[choices.copy[start] :][:2])[0]))
        known: dict[bytes, list[int]] = {}
        for i in range(start, end):
            if below.partitions.target[i] < 0:
                continue  # it has no branches to skip
            firsts = known.setdefault(digests[i], [])
            here = int(nodes[i - start])
            for first in firsts:
                if not orbits.same(int(nodes[first - start]), here):
                    image = find_automorphism(
                        below, single_copy(below.partitions, first), single_copy(below.partitions, i)
                    )
                    if image is not None:
                        orbits.add(image)
                if orbits.same(int(nodes[first - start]), here):
                    alike[i] = first
                    break
            else:
                firsts.append(i)
    return alike


def single_copy(copies: Partitions, c: int) -> Partitions:
    """Return copy c only."""
    cell = copies.cell[copies.offsets[c] : copies.offsets[c + 1]]
    return Partitions(copies.graph[c : c + 1], np.array([0, len(cell)]), cell, copies.target[c : c + 1])


def is_isomorphism(first: Graph, second: Graph, image: Int64) -> bool:
    """Return whether the mapping is one to one and maps the arcs of one graph to those of the other."""
    if first.num_nodes != second.num_nodes or first.num_arcs != second.num_arcs:
        return False
    if not np.array_equal(np.sort(image), np.arange(second.num_nodes)):
        return False
    source, target = (image[side] for side in first.to_edge_index())
    theirs = second.to_edge_index()
    mapped = np.sort(source * second.num_nodes + target)
    return np.array_equal(mapped, np.sort(theirs[0].astype(np.int64) * second.num_nodes + theirs[1]))
