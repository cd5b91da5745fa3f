"""`separate`: climb from the cheapest test to an exact search, until two graphs are told apart or mapped."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from detours.arrays import Int32
from detours.checks import check_jobs, check_number
from detours.compiled import CompileClock
from detours.counting.count import explain
from detours.counting.engines.threads import Progress
from detours.graph import Graph
from detours.progress import as_report
from detours.wl.comparison import compare_rounds
from detours.wl.difference import describe_difference
from detours.wl.individual.copies import Copies, as_copies
from detours.wl.individual.matching import Matching, OutOfSteps, is_isomorphism, single_copy
from detours.wl.individual.tree import Tree
from detours.wl.nodes.labels import has_labels
from detours.wl.nodes.neighbourhood import neighbours
from detours.wl.options import Method, check_graphs
from detours.wl.preparation import prepare

SMALL_K, LARGE_K = 4, 7
MAX_PAIR_NODES = 1000
"""Detours between all pairs of nodes are counted only in graphs of at most this many nodes."""
MIN_STEPS = 64
"""The least number of steps allowed in a search for a mapping, not counting the extra ones per level."""
MAPPING = "search for a mapping"
LABELS_NOTE = "; labels of nodes were not compared"
LABELS_HINT = ", as labels= was not given"


@dataclass(frozen=True, slots=True)
class Rung:
    """A test that `separate` tried.

    >>> [rung.name for rung in separate([(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2), (2, 3)]).rungs]
    ['1-WL']
    """

    name: str
    told_apart: bool | None
    """Whether it told the graphs apart; None if it was skipped."""
    seconds: float
    """Excluding compilation."""
    note: str = ""
    """What it found, or why it was skipped."""


@dataclass(frozen=True, slots=True, repr=False)
class Separation:
    """The result of `separate`.

    >>> found = separate([(0, 1), (1, 2), (2, 0)], [(0, 2), (2, 1), (1, 0)])
    >>> found.verdict, found.mapping is not None
    ('isomorphic', True)
    """

    verdict: str
    """ "different" (certainly not isomorphic), "isomorphic" or "undecided" (not told apart within the budget)."""
    rung: str | None
    """The test that decided, the cheapest one that could; None if undecided."""
    rungs: tuple[Rung, ...]
    """All tests tried, cheapest first."""
    seconds: float
    witness: str
    """The reason for the verdict, in words."""
    mapping: dict[Any, Any] | None = None
    """For isomorphic graphs, the node of the second graph for each node of the first, by the caller's names."""

    @property
    def same(self) -> bool | None:
        """False: certainly not isomorphic. True: isomorphic. None: undecided."""
        return {"different": False, "isomorphic": True}.get(self.verdict)

    def __repr__(self) -> str:
        by = f" by {self.rung}" if self.rung else ""
        return f"Separation({self.verdict}{by}: {self.witness})"


class _OutOfTime(Exception):
    """The budget is spent."""


def separate(
    G: Any,
    H: Any,
    *,
    budget: float | None = None,
    labels: Any = None,
    n_jobs: int = 1,
    progress: Progress | bool | None = None,
) -> Separation:
    """Tell two graphs apart by the cheapest test that can, or find an isomorphism.

    The tests, cheapest first: 1-WL; 1-WL from 4-DeN, then 7-DeN; 7-DeN of all pairs of nodes (up to 1,000 nodes); and
    copies with a marked node, two marked nodes, and so on. Between tests, it searches for an isomorphism along the
    tree of these copies. A test whose counts may exceed 2^63 is left out. Without a budget the result is always exact,
    since the copies decide in the end, but it may take exponential time.

    Args:
        G: A graph of any kind that `detours.count` takes.
        H: The other graph; both directed or both undirected.
        budget: Seconds after which to give up. It is checked between tests, and throughout those on copies; a count of
            detours expected to take longer than the remaining time is skipped.
        labels: A pair: for each graph one integer or string per node, in node order or as a dict by node name, which an
            isomorphism must preserve. If None, nodes have no labels: attributes such as NetworkX's "label" are not
            read.
        n_jobs: Number of threads.
        progress: True prints the progress of each test on copies; a function is called as progress(done, total).

    >>> hexagon, other = [(0, 1, 2, 3, 4, 5), (1, 2, 3, 4, 5, 0)], [(0, 2, 4, 1, 3, 5), (2, 4, 1, 3, 5, 0)]
    >>> triangles = [(0, 1, 2, 3, 4, 5), (1, 2, 0, 4, 5, 3)]
    >>> separate(hexagon, triangles).rung
    '4-DeN'
    >>> separate(hexagon, other)
    Separation(isomorphic by search for a mapping: a mapping of the nodes keeps every edge)
    """
    graphs = check_graphs("separate", [G, H])
    seconds = inf if budget is None else check_number("budget", budget, minimum=0, otherwise="None for no limit")
    if hasattr(labels, "__iter__"):
        labels = list(labels)
    with CompileClock() as clock:
        return _Ladder(
            (G, H), graphs, labels, seconds, check_jobs(n_jobs), as_report(progress, "Comparing copies"), clock
        ).climb()


@dataclass(slots=True)
class _Ladder:
    inputs: tuple[Any, Any]
    """The graphs as passed by the caller, whose nodes may have labels."""
    graphs: list[Graph]
    labels: Any
    budget: float
    n_jobs: int
    progress: Progress | None
    clock: CompileClock
    started: float = field(default_factory=time.perf_counter)
    rungs: list[Rung] = field(default_factory=list)

    def climb(self) -> Separation:
        try:
            return self._climb()
        except _OutOfTime:
            return self._result("undecided", None, f"not told apart within {self.budget:g} seconds")

    def _climb(self) -> Separation:
        colour = None
        for index, (name, options) in enumerate(self._tests()):
            self._check_time()
            if colour is not None and (mapped := self._search_early(index, colour)) is not None:
                return mapped
            prepared = None
            try:
                reason = self._reason_to_skip(options)
                start = self._now()
                if not reason:
                    prepared = prepare("separate", self.graphs, labels=self.labels, n_jobs=self.n_jobs, **options)
            except OverflowError:
                reason = "left out, as its counts may exceed 2^63"
            if prepared is None:
                self.rungs.append(Rung(name, None, 0.0, reason))
                continue
            comparison, colour = compare_rounds(prepared)
            self._add_rung(name, not comparison.same, start, comparison.reason)
            if not comparison.same:
                difference = describe_difference(self.graphs[0], self.graphs[1], options.get("k"))
                return self._result("different", name, difference or comparison.reason)
        assert colour is not None  # at least 1-WL has run: it is never skipped
        return self._climb_copies(colour)

    def _search_early(self, index: int, colour: Int32) -> Separation | None:
        """Search for a mapping before test `index`, if that is likely to be cheaper; return the result or None.

        A node may have as many candidates as there are nodes. They are all tried only after 4-DeN, which takes as long
        as trying a few of them and leaves few.
        """
        if index > 2:
            return None
        mapped = self._search(colour, MIN_STEPS + (self.graphs[0].num_nodes if index == 2 else 0))
        if mapped is not None and mapped.same:
            return mapped
        self.rungs.pop()  # a cheaper test may tell the graphs apart as well
        return None

    def _tests(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the names and options of the tests without copies."""
        if self.labels is not None:
            yield "1-WL", {"init": "labels"}
            for k in (SMALL_K, LARGE_K):
                yield f"{k}-DeN", {"init": "labels", "edges": "den", "k": k}
            yield f"{LARGE_K}-DeN on pairs", {"init": "labels", "pairs": "den", "k": LARGE_K}
            return
        yield "1-WL", {"init": "degree"}
        for k in (SMALL_K, LARGE_K):
            yield f"{k}-DeN", {"init": "den", "k": k}
        yield f"{LARGE_K}-DeN on pairs", {"init": "den", "pairs": "den", "k": LARGE_K}

    def _reason_to_skip(self, options: dict[str, Any]) -> str:
        if "pairs" in options and max(graph.num_nodes for graph in self.graphs) > MAX_PAIR_NODES:
            return f"left out, as it is for graphs of up to {MAX_PAIR_NODES:,} nodes"
        if "k" in options and self.budget < inf:
            expected = sum(explain(graph, options["k"], n_jobs=self.n_jobs).seconds for graph in self.graphs)
            if expected > self._seconds_left():
                return "left out, as counting would take longer than the budget allows"
        return ""

    def _climb_copies(self, colour: Int32) -> Separation:
        """Compare trees of copies, one level deeper each time, and search for a mapping in as many steps as copies."""
        depth = 1
        while True:
            start = self._now()
            name = f"individualised, depth {depth}"
            tree = Tree(Method("degree", None, None, None, None, "mark", depth), self.n_jobs)
            witness = self._compare_trees(tree, colour)
            self._add_rung(name, bool(witness), start, witness or f"{tree.copies:,} copies do not differ")
            if witness:
                return self._result("different", name, witness)
            decided = self._search(colour, inf if tree.exhausted else max(tree.copies, MIN_STEPS))
            if decided is not None:
                return decided
            depth += 1

    def _compare_trees(self, tree: Tree, colour: Int32) -> str:
        """Return how the trees of the two graphs differ, or an empty string."""
        root = self._root(colour)
        digests = tree.grow(root, None, self._report)
        num_first = int(np.count_nonzero(tree.chosen < root.offsets[1]))  # copies are in the order of the graphs
        ours, theirs = Counter(digests[:num_first]), Counter(digests[num_first:])
        if ours == theirs:
            return ""
        shared = (ours & theirs).total()
        return (
            f"of {ours.total():,} and {theirs.total():,} copies with {tree.method.depth} marked "
            f"node{'s' * (tree.method.depth > 1)}, only {shared:,} of each graph agree"
        )

    def _search(self, colour: Int32, max_steps: float) -> Separation | None:
        """Search for a mapping; return None if `max_steps` are not enough to decide."""
        start = self._now()
        root = self._root(colour)
        matching = Matching(root, self._check_time, steps_per_level=2)
        try:
            ours, theirs = (single_copy(root.partitions, side) for side in (0, 1))
            image = matching.search(ours, theirs, max_steps, use_orbits=True)
        except OutOfSteps:
            self._add_rung(MAPPING, False, start, f"given up after {matching.steps:,} copies")
            return None
        if image is None:
            tried = f"{matching.steps:,} copies with up to {matching.depth:,} marked nodes"
            self._add_rung(MAPPING, True, start, f"none exists, as {tried} show")
            return self._result("different", MAPPING, f"no mapping of the nodes keeps all edges, as {tried} show")
        if not is_isomorphism(self.graphs[0], self.graphs[1], image):
            raise AssertionError("a mapping that agrees with all colours is not an isomorphism")
        self._add_rung(MAPPING, False, start, f"found after {matching.steps:,} copies")
        first, second = self.graphs
        mapping = {first.name(i): second.name(j) for i, j in enumerate(image.tolist())}
        note = (LABELS_NOTE + LABELS_HINT) * (self.labels is None and any(map(has_labels, self.inputs)))
        return self._result("isomorphic", MAPPING, "a mapping of the nodes keeps every edge" + note, mapping)

    def _root(self, colour: Int32) -> Copies:
        union, offsets = Graph.disjoint_union(self.graphs)
        return as_copies(union, offsets, neighbours(union).arcs, colour)

    def _result(
        self, verdict: str, rung: str | None, witness: str, mapping: dict[Any, Any] | None = None
    ) -> Separation:
        return Separation(verdict, rung, tuple(self.rungs), self._now() - self.started, witness, mapping)

    def _now(self) -> float:
        """Return the current time, not counting compilation."""
        return time.perf_counter() - self.clock.seconds

    def _add_rung(self, name: str, told_apart: bool, start: float, note: str) -> None:
        self.rungs.append(Rung(name, told_apart, self._now() - start, note))

    def _report(self, fraction: float) -> None:
        self._check_time()
        if self.progress is not None:
            self.progress(fraction, 1.0)

    def _seconds_left(self) -> float:
        return self.started + self.budget - self._now()

    def _check_time(self) -> None:
        if self._seconds_left() < 0:
            raise _OutOfTime
