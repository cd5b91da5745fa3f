"""`separate`: climb from the cheapest test to an exact answer, until two graphs are told apart or mapped."""

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
PAIR_NODES = 1000
"""The most nodes of a graph for which detours between all pairs are counted."""
FIRST_STEPS = 64
"""Steps that a search for a mapping may lose to failures before detours are counted."""
MAPPING = "search for a mapping"
UNSEEN = "; labels of nodes were not compared"
LABELS_HINT = ", as labels= was not given"


@dataclass(frozen=True, slots=True)
class Rung:
    """A test that `separate` tried.

    >>> [rung.name for rung in separate([(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2), (2, 3)]).rungs]
    ['1-WL']
    """

    name: str
    told_apart: bool | None
    """Whether it told the graphs apart; None if it was left out or not finished."""
    seconds: float
    """Without the time in which functions were compiled."""
    note: str = ""
    """What it found, or why it was left out."""


@dataclass(frozen=True, slots=True, repr=False)
class Separation:
    """What `separate` found.

    >>> found = separate([(0, 1), (1, 2), (2, 0)], [(0, 2), (2, 1), (1, 0)])
    >>> found.verdict, found.mapping is not None
    ('isomorphic', True)
    """

    verdict: str
    """ "different" (certainly not isomorphic), "isomorphic" or "undecided" (not told apart within the budget)."""
    rung: str | None
    """The test that decided, the cheapest one that could; None if undecided."""
    rungs: tuple[Rung, ...]
    """All tests tried, from the cheapest on."""
    seconds: float
    witness: str
    """What shows it, in words."""
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

    The tests, from the cheapest on: 1-WL; 1-WL from 4-DeN, then 7-DeN; 7-DeN of all pairs of nodes (up to 1,000 nodes);
    and copies with a marked node, two marked nodes, and so on. In between an isomorphism is searched for along the
    tree of these copies. Without a budget the answer is always exact, but it may take exponential time.

    Args:
        G: A graph of any kind that `detours.count` takes.
        H: The other graph; both directed or both undirected.
        budget: Seconds after which to give up. It is looked at between tests, and throughout those on copies; a count
            of detours that would take longer than what is left is skipped.
        labels: A pair: for each graph one integer or string per node, in their order or as a dict by their names,
            which an isomorphism keeps. Without it nodes have none: attributes such as "label" of NetworkX are not read.
        n_jobs: Threads.
        progress: True prints how far each test on copies is; a function is called as progress(done, total).

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
    given: tuple[Any, Any]
    """The graphs as the caller gave them, whose nodes may have labels of their own."""
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
            return self._end("undecided", None, f"not told apart within {self.budget:g} seconds")

    def _climb(self) -> Separation:
        colour = None
        for number, (name, options) in enumerate(self._tests()):
            self._check_time()
            if colour is not None and (mapped := self._search_early(number, colour)) is not None:
                return mapped
            if reason := self._why_skipped(options):
                self.rungs.append(Rung(name, None, 0.0, reason))
                continue
            begin = self._now()
            prepared = prepare("separate", self.graphs, labels=self.labels, n_jobs=self.n_jobs, **options)
            found, colour = compare_rounds(prepared)
            self._add(name, not found.same, begin, found.reason)
            if not found.same:
                in_words = describe_difference(self.graphs[0], self.graphs[1], options.get("k"))
                return self._end("different", name, in_words or found.reason)
        assert colour is not None  # that of 1-WL at least, which is never left out
        return self._climb_copies(colour)

    def _search_early(self, number: int, colour: Int32) -> Separation | None:
        """Search for a mapping before test `number`, where that is likely to be cheaper; return it or None.

        A node may have as many candidates as there are nodes. They are all tried only after 4-DeN, which takes as long
        as a few of them and leaves few.
        """
        if number > 2:
            return None
        mapped = self._search(colour, FIRST_STEPS + (self.graphs[0].num_nodes if number == 2 else 0))
        if mapped is not None and mapped.same:
            return mapped
        self.rungs.pop()  # cheaper tests may tell as well
        return None

    def _tests(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the tests without copies, by name, with their options."""
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

    def _why_skipped(self, options: dict[str, Any]) -> str:
        if "pairs" in options and max(graph.num_nodes for graph in self.graphs) > PAIR_NODES:
            return f"left out, as it is for graphs of up to {PAIR_NODES:,} nodes"
        if "k" in options and self.budget < inf:
            expected = sum(explain(graph, options["k"], n_jobs=self.n_jobs).seconds for graph in self.graphs)
            if expected > self._seconds_left():
                return "left out, as counting would take longer than the budget allows"
        return ""

    def _climb_copies(self, colour: Int32) -> Separation:
        """Compare trees of copies, one level deeper each time, and search for a mapping as long as that took."""
        depth = 1
        while True:
            begin = self._now()
            name = f"individualised, depth {depth}"
            tree = Tree(Method("degree", None, None, None, None, "mark", depth), self.n_jobs)
            witness = self._compare_trees(tree, colour)
            self._add(name, bool(witness), begin, witness or f"{tree.copies:,} copies do not differ")
            if witness:
                return self._end("different", name, witness)
            found = self._search(colour, inf if tree.exhausted else max(tree.copies, FIRST_STEPS))
            if found is not None:
                return found
            depth += 1

    def _compare_trees(self, tree: Tree, colour: Int32) -> str:
        """Return what tells the trees of the two graphs apart, or nothing."""
        root = self._root(colour)
        digests = tree.grow(root, None, self._report)
        of_first = int(np.count_nonzero(tree.chosen < root.offsets[1]))  # copies are in the order of the graphs
        ours, theirs = Counter(digests[:of_first]), Counter(digests[of_first:])
        if ours == theirs:
            return ""
        shared = (ours & theirs).total()
        return (
            f"of {ours.total():,} and {theirs.total():,} copies with {tree.method.depth} marked "
            f"node{'s' * (tree.method.depth > 1)}, only {shared:,} of each graph agree"
        )

    def _search(self, colour: Int32, most_steps: float) -> Separation | None:
        """Search for a mapping; return None if that did not decide."""
        begin = self._now()
        root = self._root(colour)
        matching = Matching(root, self._check_time, steps_per_level=2)
        try:
            ours, theirs = (single_copy(root.partitions, side) for side in (0, 1))
            image = matching.search(ours, theirs, most_steps, use_orbits=True)
        except OutOfSteps:
            self._add(MAPPING, False, begin, f"given up after {matching.steps:,} copies")
            return None
        if image is None:
            tried = f"{matching.steps:,} copies with up to {matching.depth:,} marked nodes"
            self._add(MAPPING, True, begin, f"none exists, as {tried} show")
            return self._end("different", MAPPING, f"no mapping of the nodes keeps all edges, as {tried} show")
        if not is_isomorphism(self.graphs[0], self.graphs[1], image):
            raise AssertionError("a mapping that agrees with all colours is not an isomorphism")
        self._add(MAPPING, False, begin, f"found after {matching.steps:,} copies")
        first, second = self.graphs
        mapping = {first.name(i): second.name(j) for i, j in enumerate(image.tolist())}
        hint = (UNSEEN + LABELS_HINT) * (self.labels is None and any(map(has_labels, self.given)))
        return self._end("isomorphic", MAPPING, "a mapping of the nodes keeps every edge" + hint, mapping)

    def _root(self, colour: Int32) -> Copies:
        union, offsets = Graph.disjoint_union(self.graphs)
        return as_copies(union, offsets, neighbours(union).arcs, colour)

    def _end(self, verdict: str, rung: str | None, witness: str, mapping: dict[Any, Any] | None = None) -> Separation:
        return Separation(verdict, rung, tuple(self.rungs), self._now() - self.started, witness, mapping)

    def _now(self) -> float:
        """The time without that of compiling."""
        return time.perf_counter() - self.clock.seconds

    def _add(self, name: str, told_apart: bool, begin: float, note: str) -> None:
        self.rungs.append(Rung(name, told_apart, self._now() - begin, note))

    def _report(self, share: float) -> None:
        self._check_time()
        if self.progress is not None:
            self.progress(share, 1.0)

    def _seconds_left(self) -> float:
        return self.started + self.budget - time.perf_counter()

    def _check_time(self) -> None:
        if self._seconds_left() < 0:
            raise _OutOfTime
