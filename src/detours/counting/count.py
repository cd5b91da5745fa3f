"""The public functions: `count`, `count_many`, `explain`, `paths` and `cycles`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from detours.checks import check_choice, check_flag, check_k, parse_bytes, readable_bytes
from detours.containers import machine_memory, reading_within
from detours.counting.budget import within_budget
from detours.counting.engines.base import Tally
from detours.counting.engines.threads import Progress
from detours.counting.many import DetoursList
from detours.counting.plan import Plan, make_plan
from detours.counting.result import Detours
from detours.counting.shrink.cyclic_part import Cyclic
from detours.errors import InputError, shown
from detours.graph import Graph
from detours.graph.graph import as_graphs, is_list, is_one_graph
from detours.progress import as_report


def count(
    graph: Any,
    k: int,
    *,
    directed: bool | None = None,
    strict: bool = False,
    chordless: bool = False,
    engine: str = "auto",
    n_jobs: int = 1,
    device: Any = None,
    memory_limit: int | str | None = None,
    out: str | os.PathLike[str] | None = None,
    cluster: Any = None,
    progress: Progress | bool | None = None,
) -> Detours:
    """Count the detours of length 2 .. k around every edge.

    Args:
        graph: A NetworkX graph, SciPy sparse matrix, edge_index, list of pairs, table with columns source and target,
            PyG Data or Batch, igraph or rustworkx graph, `detours.Graph`, or the path of a file.
        k: The longest detour counted, in edges; an integer >= 2.
        directed: Count directed paths i -> j for every arc i -> j. Default: as the input says, which is True for a
            DiGraph, a directed igraph or rustworkx graph or file, or a directed `detours.Graph`, and else False.
        strict: Refuse loops, repeated edges and one-way arcs instead of dropping, merging and mirroring them.
        chordless: Count only detours that form a chordless (induced) cycle with their edge, by a search for any k.
        engine: "rows" (closed forms, k <= 6), "dense" (closed forms on dense matrices, k <= 8), "search" (any k) or
            "auto".
        n_jobs: Threads; -1 for all cores. The answer does not depend on it.
        device: A device of PyTorch, such as "cuda", for dense closed forms where they are faster.
        memory_limit: Bytes, or a string such as "2GB", that the engine's working memory should stay within.
        out: A folder that the counts are written to, block by block. A run that was killed resumes after its finished
            blocks, and a graph too large for `memory_limit` is counted in parts if it was opened from a folder. The
            result maps `by_length.npy` (and, if directed, `cycles.npy`) in the folder, with one row per arc of the
            graph's CSR; the folder `graph` has the edges and names, and `Detours.open` opens both again. A name that
            ends in .parquet gives such a file instead, with one row per edge.
        cluster: Count on a Dask cluster: a `distributed.Client`, the address of a scheduler, as in "tcp://host:8786",
            or "local:4" for four worker processes on this machine.
        progress: True prints how far the work is; a function is called as progress(done, total).

    >>> count([(0, 1, 2), (1, 2, 0)], k=2).edge.tolist()
    [1, 1, 1]
    """
    k = check_k(k)
    report = as_report(progress, "Counting detours")
    with reading_within(parse_bytes(memory_limit)):
        given = Graph.from_any(graph, directed=directed, strict=strict)
    options: dict[str, Any] = {"engine": engine, "n_jobs": n_jobs, "memory_limit": memory_limit}
    if out is None and cluster is None:
        return _run(given, _possible_plan(given, k, chordless, device=device, **options), chordless, report)
    from detours.counting.on_disk.count_in_blocks import count_in_blocks

    _check_length(k)
    if chordless:
        raise InputError("chordless=True counts in this process; leave it out with out= or cluster=")
    if device is not None:
        raise InputError(f"device={device!r} counts in this process; leave it out with out= or cluster=")
    return count_in_blocks(given, k, out=out, cluster=cluster, progress=report, **options)


def count_many(
    graphs: Iterable[Any],
    k: int,
    *,
    directed: bool | None = None,
    strict: bool = False,
    chordless: bool = False,
    engine: str = "auto",
    n_jobs: int = 1,
    device: Any = None,
    memory_limit: int | str | None = None,
    progress: Progress | bool | None = None,
) -> DetoursList:
    """Count many graphs in one go, as their disjoint union; item i of the result is what `count` gives for graph i.

    >>> [d.cycles for d in count_many([[(0, 1, 2), (1, 2, 0)], [(0, 1), (1, 2)]], k=2)]
    [{3: 1}, {3: 0}]
    """
    k = check_k(k)
    if is_one_graph(graphs):
        raise InputError(f"count_many takes a list of graphs, but it was given one: {shown(graphs)}; use count for one")
    if not is_list(graphs):
        raise InputError(f"count_many takes a list of graphs, but it was given {shown(graphs)}.")
    given = as_graphs(graphs, directed=directed, strict=strict, keep_origin=True)
    union, _ = Graph.disjoint_union(given)
    options: dict[str, Any] = {"engine": engine, "n_jobs": n_jobs, "memory_limit": memory_limit, "device": device}
    plan = _possible_plan(union, k, chordless, **options)
    return DetoursList(given, _run(union, plan, chordless, as_report(progress, "Counting detours")))


def explain(
    graph: Any,
    k: int,
    *,
    directed: bool | None = None,
    strict: bool = False,
    chordless: bool = False,
    engine: str = "auto",
    n_jobs: int = 1,
    device: Any = None,
    memory_limit: int | str | None = None,
) -> Plan:
    """Say how `count` would do it, and what time and memory to expect of every engine; print the result to read it.

    >>> explain([(0, 1), (1, 2), (2, 0)], k=4).engine
    'search'
    """
    k = check_k(k)
    given = Graph.from_any(graph, directed=directed, strict=strict)
    options: dict[str, Any] = {"engine": engine, "n_jobs": n_jobs, "memory_limit": memory_limit, "device": device}
    return _plan(given, k, chordless, **options, compare_all=True)


def paths(
    graph: Any,
    i: Any,
    j: Any,
    k: int,
    *,
    directed: bool | None = None,
    strict: bool = False,
    chordless: bool = False,
    max_paths: int | None = None,
    time_limit: float | None = None,
) -> Iterator[tuple[Any, ...]]:
    """The detours from i to j of length 2 .. k themselves, lazily: shorter ones first, then in the order of the nodes.

    i and j need not be neighbours. Nodes are named as in the graph that was given. With ``chordless``, the only edges
    between nodes of a path are its own and, if there is one, the edge ij; directed graphs are refused then.

    Raises `BudgetExceeded` when there are more than ``max_paths``, or ``time_limit`` seconds after the first was asked
    for; the paths found until then have been yielded, and are in its ``found``.

    >>> list(paths([(0, 1, 2, 3), (1, 2, 3, 0)], 0, 1, k=3))
    [(0, 3, 2, 1)]
    """
    k = check_k(k)
    given = Graph.from_any(graph, directed=directed, strict=strict)
    start, end = given.node(i), given.node(j)
    if start == end:
        raise InputError(f"a detour needs two different ends, but both are {i!r}")
    if chordless:
        check_undirected(given)
    from detours.counting.paths import path_batches

    arrays = path_batches(given.indptr, given.indices, start, end, k, chordless=chordless)
    return within_budget(
        _named((batch.tolist() for batch in arrays), given), "paths", "max_paths", max_paths, time_limit
    )


def cycles(
    graph: Any,
    k: int,
    *,
    chordless: bool = False,
    nodes: Iterable[Any] | None = None,
    edges: Iterable[tuple[Any, Any]] | None = None,
    directed: bool | None = None,
    strict: bool = False,
    limit: int | None = None,
    time_limit: float | None = None,
) -> Iterator[tuple[Any, ...]]:
    """The simple cycles of 3 to k + 1 edges themselves, lazily and each once.

    Args:
        graph: Whatever `count` takes.
        k: The longest detour, in edges, as everywhere: a cycle is an edge and a detour of it, so it has at most k + 1.
        chordless: Yield only chordless (induced) cycles: those without an edge between two of their nodes that are not
            neighbours on the cycle. Directed graphs are refused then.
        nodes: Yield only cycles through all of these nodes.
        edges: Yield only cycles through all of these edges, each a pair of nodes.
        directed: Yield directed cycles. Default: as the input says (see `count`).
        strict: Refuse loops, repeated edges and one-way arcs instead of dropping, merging and mirroring them.
        limit: The most cycles; `BudgetExceeded` is raised where there are more.
        time_limit: The most seconds, likewise.

    A cycle is a tuple of its nodes, from the one that comes first in the graph, and in the direction of the neighbour
    that comes first (directed: of its arcs). Cycles come in the order of their first node, unless nodes or edges are
    given.

    >>> list(cycles([(0, 1, 2, 3, 0), (1, 2, 3, 0, 2)], k=3))
    [(0, 1, 2), (0, 1, 2, 3), (0, 2, 3)]
    >>> list(cycles([(0, 1, 2, 3, 0), (1, 2, 3, 0, 2)], k=3, chordless=True, nodes=[1]))
    [(0, 1, 2)]
    """
    k = check_k(k)
    _check_length(k)
    given = Graph.from_any(graph, directed=directed, strict=strict)
    if check_flag("chordless", chordless):
        check_undirected(given)
    from detours.counting.cycles.listing import cycle_batches, edge_of

    of_nodes = [given.node(name) for name in _several("nodes", nodes)]
    of_edges = [edge_of(given, edge) for edge in _several("edges", edges)]
    batches = cycle_batches(given, k, chordless=chordless, nodes=of_nodes, edges=of_edges)
    return within_budget(_named(batches, given), "cycles", "limit", limit, time_limit)


def _several(name: str, given: Any) -> list[Any]:
    """Return nodes or edges to go through; a single one, given without a list, is refused."""
    if given is None:
        return []
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise InputError(f"{name} must be a list of {name}, such as [{shown(given)}], but it is {shown(given)}.")
    return list(given)


def _named(batches: Iterator[list[Any]], graph: Graph) -> Iterator[list[tuple[Any, ...]]]:
    """Yield paths or cycles by the names of their nodes."""
    names = None if graph.names is None else graph.name_list()
    for batch in batches:
        yield [tuple(nodes) if names is None else tuple(names[v] for v in nodes) for nodes in batch]


def _plan(graph: Graph, k: int, chordless: bool, **options: Any) -> Plan:
    _check_length(k)
    _check_room(graph, k)
    if check_flag("chordless", chordless):
        from detours.counting.cycles.chordless import ChordlessEngine

        check_undirected(graph)
        check_choice("engine (for chordless cycles)", options["engine"], ("auto", ChordlessEngine.name))
        if options["device"] is not None:
            raise InputError(f"chordless cycles are counted on the CPU; leave device={options['device']!r} out")
        options["known"] = [ChordlessEngine()]
    plan = make_plan(Cyclic(graph.indptr, graph.indices, graph.directed), k, **options)
    return replace(plan, chordless=chordless)


def _possible_plan(graph: Graph, k: int, chordless: bool, **options: Any) -> Plan:
    """Return a plan, unless it is a search without end for counts that pass 2^63; who names an engine gets it."""
    plan = _plan(graph, k, chordless, **options)
    if not plan.sure and not chordless and options["engine"] == "auto":
        from detours.counting.engines.search.cliques import check_cliques

        check_cliques(plan.task.cyclic, k)
    return plan


def check_undirected(graph: Graph) -> None:
    """Raise `InputError` for a directed graph, which has no chordless cycles here."""
    if graph.directed:
        raise InputError(
            "chordless cycles are those of undirected graphs, but this graph is directed; pass directed=False"
        )


def _check_length(k: int) -> None:
    if k >= 2**31:
        raise InputError(f"k = {k} is more edges than any path can have here; give at most {2**31 - 1}")


def _check_room(graph: Graph, k: int) -> None:
    """Refuse counts that take more memory than there is, as with a k far beyond the number of nodes."""
    size, room = 8 * (k - 1) * graph.num_arcs * (1 + graph.directed), machine_memory()
    if room is not None and size > room:
        raise InputError(
            f"the counts of {graph.num_arcs:,} arcs by length up to k = {k} take {readable_bytes(size)}, and this "
            f"machine has {readable_bytes(room)}; no path has more than {graph.num_nodes - 1:,} edges here"
        )


def _run(graph: Graph, plan: Plan, chordless: bool, progress: Progress | None) -> Detours:
    tally = Tally.new(graph.num_arcs, plan.task.k, graph.directed)
    plan.run(tally, progress)
    for counts in tally:
        if counts is not None:
            counts.flags.writeable = False
    return Detours(graph, plan.task.k, *tally, chordless=chordless)
