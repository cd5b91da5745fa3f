"""One case: prepare, check and time every contender, and compare its counts with ours."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from benchmarks import listers, measure, processes, rivals
from benchmarks.cases import Array, Csr
from benchmarks.measure import Timing
from benchmarks.rivals import GROUPS
from benchmarks.suite import Case

Say = Callable[[str], None]


@dataclass
class Result:
    """All measurements of one case."""

    case: Case
    nodes: int
    edges: int
    ours: Timing
    cycles: dict[int, int]
    rivals: dict[str, Timing] = field(default_factory=dict)
    same: dict[str, bool] = field(default_factory=dict)
    """For rivals that completed the case, whether their counts equal ours."""
    expected: dict[str, Any] = field(default_factory=dict)
    peak: float | None = None

    def ratio(self, name: str) -> float:
        """The rival's time as a multiple of ours."""
        return self.rivals[name].seconds / self.ours.seconds

    def fastest(self, group: str) -> str | None:
        """The fastest rival of a group; lower bounds count only if there is nothing else."""
        timings = {n: t for n, t in self.rivals.items() if rivals.group_of(n) == group and t.how != "failed"}
        known = {n: t for n, t in timings.items() if t.how != "at least"}
        return min(known or timings, key=lambda name: timings[name].seconds, default=None)

    def goals(self) -> list[tuple[str, float, float, bool]]:
        """(what, goal, reached, met) for every goal of the case that could be measured."""
        found = []
        for goal in self.case.goals:
            name = self.fastest(goal.group)
            if name is not None:
                reached = self.ratio(name)
                found.append((f"times as long: {name}", goal.times, reached, reached >= goal.times))
        if self.case.memory_goal and self.peak is not None:
            met = self.peak <= self.case.memory_goal
            found.append(("bytes at the peak", self.case.memory_goal, self.peak, met))
        return found

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "case": self.case.name,
            "title": self.case.title,
            "k": self.case.k,
            "nodes": self.nodes,
            "edges": self.edges,
            "cycles": self.cycles,
            "ours": self.ours.as_dict(),
            "rivals": {name: t.as_dict() | {"ratio": self.ratio(name)} for name, t in self.rivals.items()},
            "same answer": self.same,
            "plan": self.expected,
            "peak extra bytes": self.peak,
            "goals": [dict(zip(("what", "bar", "reached", "met"), goal, strict=True)) for goal in self.goals()],
        }


def run_case(case: Case, budget: float, say: Say, against: Collection[str] = GROUPS) -> Result:
    """Race the contenders that finish in this process, then run each of the others in a guarded child."""
    graph = case.make()
    graphs = graph if isinstance(graph, list) else [graph]
    names = [name for name in _available(case, graphs, say) if rivals.group_of(name) in against]
    rivals.check_same_counts([rivals.OURS, *names], case.k)
    racing = {rivals.OURS: _ours(graph, case.k)} | _racers(names, graphs, case.k)
    say(f"racing {len(racing)} contenders in this process")
    timings, results = measure.race(racing, budget)
    ours = results.pop(rivals.OURS)
    expected = _in_rivals_order(graphs, ours)
    result = Result(
        case,
        sum(graph.num_nodes for graph in graphs),
        sum(graph.num_edges for graph in graphs),
        timings.pop(rivals.OURS),
        ours.cycles,
        timings,
    )
    result.same = {name: np.array_equal(c, expected) for name, c in results.items() if isinstance(c, np.ndarray)}
    del ours, results, racing
    for name in names:
        if name not in result.rivals:
            say(name)
            timing, counts = _guarded(name, case, graphs, result.cycles)
            result.rivals[name] = timing
            if counts is not None:
                result.same[name] = np.array_equal(counts, expected)
    say("peak memory, in a separate process")
    _compare_with_plan(result)
    return result


def _available(case: Case, graphs: list[Csr], say: Say) -> list[str]:
    missing = rivals.not_installed(list(case.rivals))
    for name in missing:
        say(f"{name} skipped, {rivals.required_module(name)!r} is not installed")
    large = max(graph.num_nodes for graph in graphs) > rivals.DENSE_LIMIT
    return [
        name
        for name in case.rivals
        if name not in missing and not (large and name in rivals.RIVALS and rivals.RIVALS[name].dense)
    ]


def _ours(graph: Csr | list[Csr], k: int) -> Callable[[], Any]:
    import detours

    if not isinstance(graph, list):
        our_graph = rivals.our_graph(graph)
        return lambda: rivals.our_count(our_graph, k)
    our_graphs = [rivals.our_graph(each) for each in graph]
    return lambda: detours.count_many(our_graphs, k)


def _racers(names: list[str], graphs: list[Csr], k: int) -> dict[str, Callable[[], Any]]:
    """Rivals that finish, wrapped so that only their work is timed."""
    racers: dict[str, Callable[[], Any]] = {}
    for name in names:
        rival = rivals.RIVALS.get(name)
        if rival is not None and rival.group != "orca":
            prepared = rival.prepare(graphs[0])
            racers[name] = lambda rival=rival, prepared=prepared: rival.count(prepared)
        elif len(graphs) > 1 and name in (rivals.IGRAPH_CYCLES, rivals.IGRAPH_LISTING):
            converted = [listers.igraph_graph(graph) for graph in graphs]
            work = listers.igraph_cycles if name == rivals.IGRAPH_LISTING else listers.igraph_cycles_count
            racers[name] = lambda work=work, converted=converted: work(converted, k)
    return racers


def _in_rivals_order(graphs: list[Csr], ours: Any) -> Array:
    """Our counts in the order of the rivals: the edges (i < j) of each graph, graph after graph."""
    by_arc = getattr(ours, "whole", ours).arc_by_length
    ends = np.cumsum([len(graph.indices) for graph in graphs])[:-1]
    return np.concatenate([rivals.at_upper(g, part) for g, part in zip(graphs, np.split(by_arc, ends), strict=True)])


def _guarded(name: str, case: Case, graphs: list[Csr], cycles: dict[int, int]) -> tuple[Timing, Array | None]:
    budget = case.lister_budget
    if name in rivals.LISTERS:
        lister = rivals.LISTERS[name]
        many = len(graphs) > 1
        return measure.sampled(listers.ManyGraphs(lister, graphs) if many else lister(graphs[0]), case.k, budget)
    if name == rivals.NX_CYCLES:
        converted = [listers.networkx_graph(graph) for graph in graphs]
        every = lambda: chain.from_iterable(listers.networkx_cycles(each, case.k) for each in converted)  # noqa: E731
        return measure.cycles_by_rate(every, sum(cycles.values()), budget), None
    if name in (rivals.IGRAPH_CYCLES, rivals.IGRAPH_LISTING):
        return measure.cycles_by_subgraph(graphs[0], _igraph_work(case.k), sum(cycles.values()), budget)
    rival = rivals.RIVALS[name]
    prepared = rival.prepare(graphs[0])
    return measure.guarded(lambda: rival.count(prepared), case.orca_budget)


def _igraph_work(k: int) -> Callable[[Csr], Callable[[], Array]]:
    def prepare(graph: Csr) -> Callable[[], Array]:
        converted = [listers.igraph_graph(graph)]
        return lambda: listers.igraph_cycles_count(converted, k)

    return prepare


def _compare_with_plan(result: Result) -> None:
    """Add the estimates of the plan and the measured peak memory, both from a fresh process."""
    measured = processes.peak_memory({"case": result.case.name, "k": result.case.k})
    result.peak = measured["bytes"]
    result.expected = {
        "engine": measured["engine"],
        "seconds": measured["plan seconds"],
        "bytes": measured["plan bytes"],
        "seconds expected / measured": measured["plan seconds"] / result.ours.seconds,
        "bytes expected / measured": measured["plan bytes"] / max(measured["bytes"], 1),
    }
