"""Detours between all pairs of nodes, adjacent or not: `count_pairs`.

Each connected component is counted by the method that is expected to be faster: closed forms on dense matrices up to
k = 8, or a depth-first search from every node, whose time is proportional to the number of paths.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from detours.arrays import Float64, Int32, Int64, read_only
from detours.checks import check_k, parse_bytes, readable_bytes
from detours.counting.derive.matrix_program import MAX_LENGTH, contraction
from detours.counting.engines.dense.estimate import Size, expected_bytes, expected_seconds
from detours.counting.engines.dense.evaluate import Stack, evaluate
from detours.counting.engines.overflow import check_fits, walks_from
from detours.counting.engines.threads import one_blas_thread
from detours.counting.pairs_numba import STATE, walk_paths
from detours.errors import EngineError
from detours.graph import Graph

DEFAULT_LIMIT = 4 * 2**30  # bytes allowed by default: about 4,000 nodes for k = 7
SECONDS_PER_PATH = 7e-9
LARGE = 1000  # nodes from which several threads speed up a matrix product
STEPS = 2**24  # steps of the search between two checks for Ctrl-C: a few hundredths of a second


class Component(NamedTuple):
    """A connected component of a graph; ``nodes`` in ascending order."""

    nodes: Int64
    size: Size
    longest: int  # the maximum number of edges of the paths to count in it


def count_pairs(
    graph: Any, k: int, *, directed: bool | None = None, strict: bool = False, memory_limit: int | str | None = None
) -> Int64:
    """Count the simple paths of length 2 .. k between all pairs of nodes, adjacent or not.

    Args:
        graph: Any graph that `detours.count` takes, of up to a few thousand nodes: the result grows with their square.
        k: The longest path counted, in edges. There are closed forms up to 8; beyond that, the time is proportional to
            the number of paths.
        directed: Count directed paths i -> j. Default: as the input says (see `detours.count`).
        strict: Refuse loops, repeated edges and one-way arcs instead of dropping, merging and mirroring them.
        memory_limit: Bytes, or a string such as "2GB"; 4 GB by default.

    Returns:
        int64 [n, n, k - 1]: entry [i, j, L - 2] is the number of simple paths from i to j with L edges; 0 for i = j.

    >>> count_pairs([(0, 1, 1, 2, 2, 3, 3, 0), (1, 0, 2, 1, 3, 2, 0, 3)], k=3)[0].tolist()
    [[0, 0], [0, 1], [2, 0], [0, 1]]
    """
    k = check_k(k)
    graph = Graph.from_any(graph, directed=directed, strict=strict)
    limit = parse_bytes(memory_limit) or DEFAULT_LIMIT
    _check_memory(graph, [], k, limit)
    indptr, indices = read_only(graph.indptr, np.int64), read_only(graph.indices, np.int32)
    by_search, by_closed_forms = _split_by_method(indptr, indices, _components(indptr, indices, k), k, graph.directed)
    _check_memory(graph, by_closed_forms, k, limit)
    counts = np.zeros((graph.num_nodes, graph.num_nodes, k - 1), np.int64)
    if by_search:
        _search(indptr, indices, by_search, counts)
    for component in by_closed_forms:
        with one_blas_thread() if len(component.nodes) < LARGE else nullcontext():
            _evaluate(indptr, indices, component, graph.directed, counts)
    return counts


def _components(indptr: Int64, indices: Int32, k: int) -> list[Component]:
    """Return the connected components with at least three nodes; there is no path of two edges in the others."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    adjacency = csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(len(indptr) - 1,) * 2)
    _, label = connected_components(adjacency, directed=False)
    order = np.argsort(label, kind="stable")
    degree = np.diff(indptr)
    groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return [Component(nodes, _size(degree[nodes]), min(k, len(nodes) - 1)) for nodes in groups if len(nodes) > 2]


def _size(degree: Int64) -> Size:
    cubes = float((degree.astype(np.float64) ** 3).sum())
    return Size(1, len(degree), int(degree.sum()), int(degree.max()), cubes)


def _split_by_method(
    indptr: Int64, indices: Int32, components: list[Component], k: int, directed: bool
) -> tuple[list[Component], list[Component]]:
    """Return the components to search, and those to count by closed forms."""
    by_search, by_closed_forms = [], []
    walks = walks_from(indptr, indices, min(k, MAX_LENGTH), directed)
    for component in components:
        if component.longest <= MAX_LENGTH:
            seconds = expected_seconds(contraction(component.longest, directed), component.size)
            if seconds < SECONDS_PER_PATH * walks[: component.longest, component.nodes].sum():
                check_fits(walks[:, component.nodes], component.longest)
                by_closed_forms.append(component)
                continue
        by_search.append(component)
    return by_search, by_closed_forms


def _check_memory(graph: Graph, dense: list[Component], k: int, limit: int) -> None:
    sizes = (
        expected_bytes(contraction(component.longest, graph.directed), component.size, only_tied=False)
        for component in dense
    )
    needed = 8 * graph.num_nodes**2 * (k - 1) + max(sizes, default=0)
    if needed > limit:
        raise EngineError(
            f"the paths between all pairs of {graph.num_nodes:,} nodes up to k = {k} need about "
            f"{readable_bytes(needed)}, more than memory_limit = {readable_bytes(limit)}; raise the limit, or give a "
            "smaller graph or k"
        )


def _search(indptr: Int64, indices: Int32, components: list[Component], counts: Int64) -> None:
    sources = np.concatenate([component.nodes for component in components])
    levels = max(component.longest for component in components) - 1
    path, next_arc = np.zeros(levels, np.int32), np.zeros(levels, np.int64)
    on_path = np.zeros(len(indptr) - 1, np.bool_)
    state = np.array([(-1, -1)], STATE)
    while state["source"][0] < len(sources):
        walk_paths(indptr, indices, sources, path, next_arc, on_path, state, counts, STEPS)


def _evaluate(indptr: Int64, indices: Int32, component: Component, directed: bool, counts: Int64) -> None:
    adjacency = _adjacency(indptr, indices, component.nodes)
    whole = len(component.nodes) == len(counts)
    index = (slice(None), slice(None)) if whole else np.ix_(component.nodes, component.nodes)
    for length, stack in evaluate(contraction(component.longest, directed), Stack(adjacency[None], directed)):
        np.fill_diagonal(stack[0], 0)
        counts[(*index, length - 2)] = stack[0]


def _adjacency(indptr: Int64, indices: Int32, nodes: Int64) -> Float64:
    n = len(indptr) - 1
    label = np.full(n, -1, np.int64)
    label[nodes] = np.arange(len(nodes))
    source = label[np.repeat(np.arange(n), np.diff(indptr))]
    inside = source >= 0
    matrix = np.zeros((len(nodes), len(nodes)))
    matrix[source[inside], label[indices[inside]]] = 1
    return matrix
