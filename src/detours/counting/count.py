"""The one door to counting: `count`, `count_many`, `paths` and `explain`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.counting.parallel import Progress, run_ranges
from detours.counting.plan import Plan, make_plan
from detours.counting.reduce import Reduced, reduce
from detours.counting.result import Detours, DetoursList
from detours.errors import InputError, check_k
from detours.graph import Graph

Int64 = NDArray[np.int64]


def count(
    graph: Any,
    k: int,
    *,
    directed: bool | None = None,
    strict: bool = False,
    engine: str = "auto",
    n_jobs: int = 1,
    memory_limit: int | str | None = None,
    progress: Progress | None = None,
) -> Detours:
    """Count the detours of length 2 .. k around every edge.

    Args:
        graph: A NetworkX graph, SciPy sparse matrix, edge_index, PyG Data or Batch, igraph graph, `detours.Graph` or a file.
        k: The longest detour counted, in edges; an integer >= 2.
        directed: Count directed paths i -> j for every arc i -> j. Default: as the `detours.Graph` is, else undirected.
        strict: Refuse loops, repeated edges and one-way arcs instead of mending them.
        engine: "rows" (closed forms, k <= 6), "search" (any k) or "auto".
        n_jobs: Threads; -1 for all cores. The answer does not depend on it.
        memory_limit: Bytes, or a text like "2GB", that the engine's working memory should stay within.
        progress: Called as progress(done, total) while the work goes on.

    >>> count([(0, 1, 2), (1, 2, 0)], k=2).edge.tolist()
    [1, 1, 1]
    """
    k = check_k(k)
    given = Graph.from_any(graph, directed=directed, strict=strict)
    reduced = reduce(given.indptr, given.indices, given.directed)
    plan = make_plan(reduced, k, engine=engine, n_jobs=n_jobs, memory_limit=memory_limit)
    return _run(given, reduced, plan, progress)


def count_many(
    graphs: Iterable[Any],
    k: int,
    *,
    directed: bool | None = None,
    strict: bool = False,
    engine: str = "auto",
    n_jobs: int = 1,
    memory_limit: int | str | None = None,
    progress: Progress | None = None,
) -> DetoursList:
    """Count many graphs in one go, as their disjoint union; item i of the result is what `count` gives for graph i.

    >>> [d.cycles for d in count_many([[(0, 1, 2), (1, 2, 0)], [(0, 1), (1, 2)]], k=2)]
    [{3: 1}, {3: 0}]
    """
    k = check_k(k)
    given = [Graph.from_any(graph, directed=directed, strict=strict) for graph in graphs]
    union, _ = Graph.disjoint_union(given)
    reduced = reduce(union.indptr, union.indices, union.directed)
    plan = make_plan(reduced, k, engine=engine, n_jobs=n_jobs, memory_limit=memory_limit)
    return DetoursList(given, _run(union, reduced, plan, progress))


def explain(
    graph: Any,
    k: int,
    *,
    directed: bool | None = None,
    strict: bool = False,
    engine: str = "auto",
    n_jobs: int = 1,
    memory_limit: int | str | None = None,
) -> Plan:
    """Say how `count` would do it, and what time and memory to expect; print the result to read it."""
    k = check_k(k)
    given = Graph.from_any(graph, directed=directed, strict=strict)
    reduced = reduce(given.indptr, given.indices, given.directed)
    return make_plan(reduced, k, engine=engine, n_jobs=n_jobs, memory_limit=memory_limit)


def paths(
    graph: Any,
    i: Any,
    j: Any,
    k: int,
    *,
    directed: bool | None = None,
    strict: bool = False,
    max_paths: int | None = None,
    time_limit: float | None = None,
) -> Iterator[tuple[Any, ...]]:
    """The detours from i to j of length 2 .. k themselves, lazily: shorter ones first, then in the order of the nodes.

    i and j need not be neighbours. Nodes are named as in the graph that was given.

    >>> list(paths([(0, 1, 2, 3), (1, 2, 3, 0)], 0, 1, k=3))
    [(0, 3, 2, 1)]
    """
    k = check_k(k)
    given = Graph.from_any(graph, directed=directed, strict=strict)
    start, end = given.node(i), given.node(j)
    if start == end:
        raise InputError(f"a detour needs two different ends, but both are {i!r}")
    return _named_paths(given, start, end, k, max_paths, time_limit)


def _named_paths(
    given: Graph, start: int, end: int, k: int, max_paths: int | None, time_limit: float | None
) -> Iterator[tuple[Any, ...]]:
    from detours.counting.paths import paths as index_paths

    found = index_paths(given.indptr, given.indices, start, end, k, max_paths=max_paths, time_limit=time_limit)
    if given.names is None:
        yield from found
    else:
        names = given.name_list()
        for path in found:
            yield tuple(names[v] for v in path)


def _run(graph: Graph, reduced: Reduced, plan: Plan, progress: Progress | None) -> Detours:
    by_length = np.zeros((graph.num_arcs, plan.k - 1), np.int64)
    through = np.zeros_like(by_length) if graph.directed else None
    if reduced.num_arcs:
        found, found_through = _run_rows(reduced, plan, progress)
        by_length[reduced.arc] = found
        if through is not None and found_through is not None:
            through[reduced.arc] = found_through
    for array in (by_length, through):
        if array is not None:
            array.flags.writeable = False
    return Detours(graph, plan.k, by_length, through)


def _run_rows(reduced: Reduced, plan: Plan, progress: Progress | None) -> tuple[Int64, Int64 | None]:
    from detours.counting.rows import RowEngine, pattern_of

    pattern = pattern_of(reduced.indptr, reduced.indices, reduced.directed)
    degree = np.diff(pattern.indptr)
    order = np.argsort(degree, kind="stable").astype(np.int64) if plan.order == "degree" else None
    engine = RowEngine(pattern, plan.k, reduced.directed, plan.word, plan.lanes, order)
    passes = len(engine.program.passes)
    total = len(engine.roots)
    for number in range(passes):
        running = engine.start(number)
        report = None
        if progress is not None:
            report = lambda done, number=number: progress(number * total + done, passes * total)  # noqa: E731
        run_ranges(
            total,
            plan.lanes,
            lambda scratch, begin, end, stop, running=running: running.run(begin, end, scratch, stop),
            running.scratch,
            plan.n_jobs,
            report,
        )
        engine.finish(number)
    found = engine.result()
    if not reduced.directed:
        return found, None
    return found[pattern.arc], found[pattern.reverse[pattern.arc]]
