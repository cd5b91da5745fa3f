"""The public functions: `count`, `count_many`, `explain`, `paths` and `cycles`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from detours.checks import check_choice, check_flag, check_k, parse_bytes
from detours.containers import reading_within
from detours.counting.budget import check_size, within_budget
from detours.counting.engines.base import Tally
from detours.counting.engines.threads import Progress
from detours.counting.many import DetoursList
from detours.counting.plan import Plan, make_plan
from detours.counting.result import Detours
from detours.counting.shrink.cyclic_part import Cyclic
from detours.errors import InputError, short_repr
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
            DiGraph, a directed igraph or rustworkx graph, file or table, or a directed `detours.Graph`.
        strict: Refuse loops, repeated edges and one-way arcs instead of dropping, merging and mirroring them.
        chordless: Count only detours that form a chordless (induced) cycle with their edge, by a search for any k.
        engine: "rows" (closed forms, k <= 6), "dense" (closed forms on dense matrices, k <= 8), "search" (any k) or
            "auto".
        n_jobs: Threads; -1 for all cores. The result does not depend on it.
        device: A PyTorch device, such as "cuda", for dense closed forms where they are faster there.
        memory_limit: The limit on the engine's working memory: bytes, or a string such as "2GB".
        out: A folder that the counts are written to, block by block. A killed run resumes after its finished blocks,
            and a graph too large for `memory_limit` is counted in parts if it was opened from a folder. The result
            memory-maps `by_length.npy` (and, if directed, `cycles.npy`) in the folder, with one row per arc of the
            graph's CSR; its subfolder `graph` has the edges and names, and `Detours.open` opens both again. A name that
            ends in .parquet writes a Parquet file instead, with one row per edge.
        cluster: Count on a Dask cluster: a `distributed.Client`, the address of a scheduler, as in "tcp://host:8786",
            or "local:4" for four worker processes on this machine.
        progress: True prints the progress; a function is called as progress(done, total).

    >>> count([(0, 1, 2), (1, 2, 0)], k=2).edge.tolist()
    [1, 1, 1]
    """
    k = check_k(k)
    report = as_report(progress, "Counting detours")
    with reading_within(parse_bytes(memory_limit)):
        graph = Graph.from_any(graph, directed=directed, strict=strict)
    options: dict[str, Any] = {"engine": engine, "n_jobs": n_jobs, "memory_limit": memory_limit}
    if out is None and cluster is None:
        return _run(graph, _feasible_plan(graph, k, chordless, device=device, **options), chordless, report)
    from detours.counting.on_disk.count_in_blocks import count_in_blocks

    _check_length(k)
    if check_flag("chordless", chordless):
        raise InputError("chordless=True counts in this process; leave it out with out= or cluster=")
    if device is not None:
        raise InputError(f"device={device!r} counts in this process; leave it out with out= or cluster=")
    return count_in_blocks(graph, k, out=out, cluster=cluster, progress=report, **options)


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
        raise InputError(
            f"count_many takes a list of graphs, but it was given one: {short_repr(graphs)}; use count for one"
        )
    if not is_list(graphs):
        raise InputError(f"count_many takes a list of graphs, but it was given {short_repr(graphs)}.")
    with reading_within(parse_bytes(memory_limit)):
        converted = as_graphs(graphs, directed=directed, strict=strict, keep_origin=True)
    union, _ = Graph.disjoint_union(converted)
    options: dict[str, Any] = {"engine": engine, "n_jobs": n_jobs, "memory_limit": memory_limit, "device": device}
    plan = _feasible_plan(union, k, chordless, **options)
    return DetoursList(converted, _run(union, plan, chordless, as_report(progress, "Counting detours")))


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
    """Return the plan of `count`: the engine it would use, and the expected time and memory of every engine.

    Print the plan to read it.

    >>> explain([(0, 1), (1, 2), (2, 0)], k=4).engine
    'search'
    """
    k = check_k(k)
    with reading_within(parse_bytes(memory_limit)):
        graph = Graph.from_any(graph, directed=directed, strict=strict)
    options: dict[str, Any] = {"engine": engine, "n_jobs": n_jobs, "memory_limit": memory_limit, "device": device}
    return _plan(graph, k, chordless, **options, compare_all=True)


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
    """Iterate lazily over the detours from i to j of length 2 .. k: shorter ones first, then in the order of the nodes.

    i and j need not be neighbours. Nodes have the names of the given graph. With ``chordless``, the only edges between
    nodes of a path are its own and, if there is one, the edge ij; directed graphs are refused then.

    Raises `BudgetExceeded` if there are more than ``max_paths``, or ``time_limit`` seconds after the first path was
    requested; the paths found until then have been yielded, and are in its ``found``.

    >>> list(paths([(0, 1, 2, 3), (1, 2, 3, 0)], 0, 1, k=3))
    [(0, 3, 2, 1)]
    """
    k = check_k(k)
    graph = Graph.from_any(graph, directed=directed, strict=strict)
    start, end = graph.node(i), graph.node(j)
    if start == end:
        raise InputError(f"a detour needs two different ends, but both are {i!r}")
    if chordless:
        check_undirected(graph)
    from detours.counting.paths import path_batches

    arrays = path_batches(graph.indptr, graph.indices, start, end, k, chordless=chordless)
    return within_budget(
        _named((batch.tolist() for batch in arrays), graph), "paths", "max_paths", max_paths, time_limit
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
    """Iterate lazily over the simple cycles of 3 to k + 1 edges, each once.

    Args:
        graph: Any graph that `count` takes.
        k: The longest detour, in edges, as in `count`: a cycle is an edge and one of its detours, so it has at most
            k + 1 edges.
        chordless: Yield only chordless (induced) cycles: those without an edge between two of their nodes that are not
            neighbours on the cycle. Directed graphs are refused then.
        nodes: Yield only cycles through all of these nodes.
        edges: Yield only cycles through all of these edges, each a pair of nodes.
        directed: Yield directed cycles. Default: as the input says (see `count`).
        strict: Refuse loops, repeated edges and one-way arcs instead of dropping, merging and mirroring them.
        limit: The maximum number of cycles; `BudgetExceeded` is raised if there are more.
        time_limit: The maximum time in seconds, likewise.

    A cycle is a tuple of its nodes, starting at the one that comes first in the graph, in the direction of its arcs or,
    if undirected, of the neighbour that comes first. Cycles are ordered by their first node, unless nodes or edges are
    given.

    >>> list(cycles([(0, 1, 2, 3, 0), (1, 2, 3, 0, 2)], k=3))
    [(0, 1, 2), (0, 1, 2, 3), (0, 2, 3)]
    >>> list(cycles([(0, 1, 2, 3, 0), (1, 2, 3, 0, 2)], k=3, chordless=True, nodes=[1]))
    [(0, 1, 2)]
    """
    k = check_k(k)
    _check_length(k)
    graph = Graph.from_any(graph, directed=directed, strict=strict)
    if check_flag("chordless", chordless):
        check_undirected(graph)
    from detours.counting.cycles.listing import cycle_batches, edge_of

    node_ids = [graph.node(name) for name in _as_list("nodes", nodes)]
    edge_ends = [edge_of(graph, edge) for edge in _as_list("edges", edges)]
    batches = cycle_batches(graph, k, chordless=chordless, nodes=node_ids, edges=edge_ends)
    return within_budget(_named(batches, graph), "cycles", "limit", limit, time_limit)


def _as_list(name: str, value: Any) -> list[Any]:
    """Return the nodes or edges that cycles must contain; a single one that is not in a list is refused."""
    if value is None:
        return []
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        raise InputError(
            f"{name} must be a list of {name}, such as [{short_repr(value)}], but it is {short_repr(value)}."
        )
    return list(value)


def _named(batches: Iterator[list[Any]], graph: Graph) -> Iterator[list[tuple[Any, ...]]]:
    """Yield paths or cycles with the names of their nodes."""
    names = None if graph.names is None else graph.name_list()
    for batch in batches:
        yield [tuple(nodes) if names is None else tuple(names[v] for v in nodes) for nodes in batch]


def _plan(graph: Graph, k: int, chordless: bool, **options: Any) -> Plan:
    _check_length(k)
    check_size(graph, k)
    if check_flag("chordless", chordless):
        from detours.counting.cycles.chordless import ChordlessEngine

        check_undirected(graph)
        check_choice("engine (for chordless cycles)", options["engine"], ("auto", ChordlessEngine.name))
        if options["device"] is not None:
            raise InputError(f"chordless cycles are counted on the CPU; leave device={options['device']!r} out")
        options["known"] = [ChordlessEngine()]
    plan = make_plan(Cyclic(graph.indptr, graph.indices, graph.directed), k, **options)
    return replace(plan, chordless=chordless)


def _feasible_plan(graph: Graph, k: int, chordless: bool, **options: Any) -> Plan:
    """Return a plan; with engine="auto", raise instead of starting an endless search for counts that exceed 2^63."""
    plan = _plan(graph, k, chordless, **options)
    if not plan.sure and not chordless and options["engine"] == "auto":
        from detours.counting.engines.search.cliques import check_cliques

        check_cliques(plan.task.cyclic, k)
    return plan


def check_undirected(graph: Graph) -> None:
    """Raise `InputError` for a directed graph: chordless cycles are defined for undirected graphs only."""
    if graph.directed:
        raise InputError(
            "chordless cycles are those of undirected graphs, but this graph is directed; pass directed=False"
        )


def _check_length(k: int) -> None:
    if k >= 2**31:
        raise InputError(f"k = {k} is more edges than any path can have; give at most {2**31 - 1}")


def _run(graph: Graph, plan: Plan, chordless: bool, progress: Progress | None) -> Detours:
    tally = Tally.new(graph.num_arcs, plan.task.k, graph.directed)
    plan.run(tally, progress)
    for counts in tally:
        if counts is not None:
            counts.flags.writeable = False
    return Detours(graph, plan.task.k, *tally, chordless=chordless)
