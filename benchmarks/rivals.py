"""The contenders, and the check that all of them return the same counts before they are timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks import formulas, listers
from benchmarks.cases import Array, Csr, erdos_renyi

YARDSTICK = "SciPy A @ A"
OURS = "detours"
GROUPS = ("yardstick", "formulas", "orca", "listers")


@dataclass(frozen=True)
class Rival:
    """A closed formula or ORCA: prepared once, which is not timed, then called to count."""

    name: str
    group: str
    """yardstick | formulas | orca"""
    needs: str
    prepare: Callable[[Csr], Any]
    count: Callable[[Any], Any]
    dense: bool = False
    """Stores n × n values, so it is left out for large graphs."""


RIVALS: dict[str, Rival] = {
    rival.name: rival
    for rival in (
        Rival(YARDSTICK, "yardstick", "scipy", formulas.scipy_prepare, formulas.scipy_square),
        Rival("NumPy formulas", "formulas", "numpy", formulas.numpy_prepare, formulas.numpy_count, dense=True),
        Rival(
            "NumPy formulas, SciPy A @ A",
            "formulas",
            "scipy",
            formulas.numpy_scipy_prepare,
            formulas.numpy_scipy_count,
            dense=True,
        ),
        Rival(
            "GraphBLAS, codegrees",
            "formulas",
            "graphblas",
            formulas.graphblas_prepare,
            formulas.graphblas_codegree,
        ),
        Rival("GraphBLAS, walks", "formulas", "graphblas", formulas.graphblas_prepare, formulas.graphblas_walks),
        Rival(
            "GraphBLAS, full codegrees",
            "formulas",
            "graphblas",
            formulas.graphblas_prepare,
            formulas.graphblas_full,
            dense=True,
        ),
        Rival("ORCA 5-node edge orbits", "orca", "orbit_count", formulas.orca_prepare, formulas.orca_count),
    )
}
DENSE_LIMIT = 20_000
LISTERS: dict[str, type[listers.Roots]] = {lister.name: lister for lister in listers.ROOTED}
NX_CYCLES = "NetworkX simple_cycles"
IGRAPH_CYCLES = "igraph simple_cycles"
IGRAPH_LISTING = "igraph simple_cycles, listing alone"
WHOLE_LISTERS = (NX_CYCLES, IGRAPH_CYCLES, IGRAPH_LISTING)


def required_module(name: str) -> str:
    """The module that a contender requires."""
    if name in RIVALS:
        return RIVALS[name].needs
    return name.split()[0].lower() if name != OURS else OURS


def not_installed(names: list[str]) -> list[str]:
    """The contenders whose packages are not installed."""
    return [name for name in names if find_spec(required_module(name)) is None]


def group_of(name: str) -> str:
    """yardstick | formulas | orca | listers"""
    return RIVALS[name].group if name in RIVALS else "listers"


def our_graph(graph: Csr) -> Any:
    """The same CSR as a `detours.Graph`, built before timing like the graph objects of rivals."""
    import detours

    return detours.Graph.from_csr(graph.indptr, graph.indices)


def our_count(graph: Any, k: int, **options: Any) -> Any:
    """The timed work: the count, with k-DeN of every edge in total and by length (computed on demand)."""
    import detours

    result = detours.count(graph, k, **options)
    _ = result.edge, result.by_length
    return result


def our_counts(graph: Csr, k: int, **options: Any) -> Array:
    """Our counts as an array [edges of ``Csr.upper``, k − 1]."""
    import detours

    return at_upper(graph, detours.count(our_graph(graph), k, **options).arc_by_length)


def at_upper(graph: Csr, by_arc: Array) -> Array:
    """Rows of the arcs i → j with i < j; raises if the opposite arcs have different counts."""
    sources = np.repeat(np.arange(graph.num_nodes), graph.degree)
    by_edge = by_arc[sources < graph.indices]
    if not np.array_equal(by_edge[graph.edge_of_arc], by_arc):
        raise AssertionError("the two arcs of an edge have different counts")
    return by_edge


def counts_of(name: str, graph: Csr, k: int) -> Array | None:
    """The counts of one contender; None for the yardstick, which counts nothing."""
    if name == OURS:
        return our_counts(graph, k)
    if name in LISTERS:
        return LISTERS[name](graph).count(k)
    if name == NX_CYCLES:
        return listers.networkx_cycles_count(graph, listers.networkx_graph(graph), k)
    if name in (IGRAPH_CYCLES, IGRAPH_LISTING):
        return listers.igraph_cycles_count([listers.igraph_graph(graph)], k)
    rival = RIVALS[name]
    result = rival.count(rival.prepare(graph))
    return None if rival.group == "yardstick" else result


@cache
def _expected_counts(k: int) -> list[tuple[Csr, Array]]:
    graphs = erdos_renyi(22, 48, seed=5), erdos_renyi(40, 50, seed=6)
    return [(graph, LISTERS["NetworkX all_simple_paths"](graph).count(k)) for graph in graphs]


def check_same_counts(names: list[str], k: int) -> None:
    """Check contenders against NetworkX paths, edge by edge and length by length, on two small graphs.

    k is limited to 6, as listing longer paths would be slow; closed formulas support only k = 4.
    """
    k = min(k, 6)
    for graph, expected in _expected_counts(k):
        for name in names:
            counts = counts_of(name, graph, k)
            if counts is not None and not np.array_equal(counts, expected):
                raise AssertionError(f"the counts of {name} differ from those of NetworkX at k = {k}")
