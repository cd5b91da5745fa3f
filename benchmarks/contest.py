"""One case: everybody prepared, checked, timed, and compared with us."""

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
    """All that was seen of one case."""

    case: Case
    nodes: int
    edges: int
    ours: Timing
    cycles: dict[int, int]
    rivals: dict[str, Timing] = field(default_factory=dict)
    same: dict[str, bool] = field(default_factory=dict)
    """Whether a rival that did the whole case gave our numbers."""
    expected: dict[str, Any] = field(default_factory=dict)
    peak: float | None = None

    def ratio(self, name: str) -> float:
        """How many times longer than us."""
        return self.rivals[name].seconds / self.ours.seconds

    def fastest(self, group: str) -> str | None:
        """The fastest rival of a kind; one that was stopped counts only if no other was seen to the end."""
        own = {n: t for n, t in self.rivals.items() if rivals.group_of(n) == group and t.how != "failed"}
        seen = {n: t for n, t in own.items() if t.how != "at least"}
        return min(seen or own, key=lambda name: own[name].seconds, default=None)

    def goals(self) -> list[tuple[str, float, float, bool]]:
        """(what, bar, reached, met) for every bar of the case that could be measured."""
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
    """Race in this process what can be raced, then give the rest a guarded child each."""
    made = case.make()
    graphs = made if isinstance(made, list) else [made]
    names = [name for name in _present(case, graphs, say) if rivals.group_of(name) in against]
    rivals.check_same_answer([rivals.OURS, *names], case.k)
    racing = {rivals.OURS: _ours(made, case.k)} | _racers(names, graphs, case.k)
    say(f"racing {len(racing)} contenders in this process")
    timings, answers = measure.race(racing, budget)
    counted = answers.pop(rivals.OURS)
    truth = _truth(graphs, counted)
    result = Result(
        case,
        sum(graph.num_nodes for graph in graphs),
        sum(graph.num_edges for graph in graphs),
        timings.pop(rivals.OURS),
        counted.cycles,
        timings,
    )
    result.same = {name: np.array_equal(a, truth) for name, a in answers.items() if isinstance(a, np.ndarray)}
    del counted, answers, racing
    for name in names:
        if name not in result.rivals:
            say(name)
            timing, answer = _guarded(name, case, graphs, result.cycles)
            result.rivals[name] = timing
            if answer is not None:
                result.same[name] = np.array_equal(answer, truth)
    say("peak of memory, in a process of its own")
    _expectation(result)
    return result


def _present(case: Case, graphs: list[Csr], say: Say) -> list[str]:
    missing = rivals.absent(list(case.rivals))
    for name in missing:
        say(f"{name} is left out: no module {rivals.needed(name)!r} here")
    large = max(graph.num_nodes for graph in graphs) > rivals.DENSE_LIMIT
    return [
        name
        for name in case.rivals
        if name not in missing and not (large and name in rivals.RIVALS and rivals.RIVALS[name].dense)
    ]


def _ours(made: Csr | list[Csr], k: int) -> Callable[[], Any]:
    import detours

    if not isinstance(made, list):
        own = rivals.our_graph(made)
        return lambda: rivals.our_count(own, k)
    own = [rivals.our_graph(graph) for graph in made]
    return lambda: detours.count_many(own, k)


def _racers(names: list[str], graphs: list[Csr], k: int) -> dict[str, Callable[[], Any]]:
    """Rivals that finish, wrapped so that only their work is timed."""
    racers: dict[str, Callable[[], Any]] = {}
    for name in names:
        rival = rivals.RIVALS.get(name)
        if rival is not None and rival.group != "orca":
            own = rival.prepare(graphs[0])
            racers[name] = lambda rival=rival, own=own: rival.count(own)
        elif len(graphs) > 1 and name in (rivals.IGRAPH_CYCLES, rivals.IGRAPH_LISTING):
            own = [listers.igraph_graph(graph) for graph in graphs]
            work = listers.igraph_cycles if name == rivals.IGRAPH_LISTING else listers.igraph_cycles_count
            racers[name] = lambda work=work, own=own: work(own, k)
    return racers


def _truth(graphs: list[Csr], counted: Any) -> Array:
    """Our answer in the order of the rivals: the edges (i < j) of each graph, graph after graph."""
    whole = getattr(counted, "whole", counted).arc_by_length
    ends = np.cumsum([len(graph.indices) for graph in graphs])[:-1]
    return np.concatenate([rivals.at_upper(g, part) for g, part in zip(graphs, np.split(whole, ends), strict=True)])


def _guarded(name: str, case: Case, graphs: list[Csr], cycles: dict[int, int]) -> tuple[Timing, Array | None]:
    budget = case.lister_budget
    if name in rivals.LISTERS:
        lister = rivals.LISTERS[name]
        many = len(graphs) > 1
        return measure.sampled(listers.ManyGraphs(lister, graphs) if many else lister(graphs[0]), case.k, budget)
    if name == rivals.NX_CYCLES:
        own = [listers.networkx_graph(graph) for graph in graphs]
        every = lambda: chain.from_iterable(listers.networkx_cycles(graph, case.k) for graph in own)  # noqa: E731
        return measure.cycles_by_rate(every, sum(cycles.values()), budget), None
    if name in (rivals.IGRAPH_CYCLES, rivals.IGRAPH_LISTING):
        return measure.cycles_by_subgraph(graphs[0], _igraph_work(case.k), sum(cycles.values()), budget)
    rival = rivals.RIVALS[name]
    prepared = rival.prepare(graphs[0])
    return measure.guarded(lambda: rival.count(prepared), case.orca_budget)


def _igraph_work(k: int) -> Callable[[Csr], Callable[[], Array]]:
    def prepared(graph: Csr) -> Callable[[], Array]:
        own = [listers.igraph_graph(graph)]
        return lambda: listers.igraph_cycles_count(own, k)

    return prepared


def _expectation(result: Result) -> None:
    """What the plan promised beside what came, both from a fresh process."""
    seen = processes.peak_memory({"case": result.case.name, "k": result.case.k})
    result.peak = seen["bytes"]
    result.expected = {
        "engine": seen["engine"],
        "seconds": seen["plan seconds"],
        "bytes": seen["plan bytes"],
        "seconds expected / measured": seen["plan seconds"] / result.ours.seconds,
        "bytes expected / measured": seen["plan bytes"] / max(seen["bytes"], 1),
    }
