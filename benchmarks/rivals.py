"""Who is measured, and the check that all give the same answer before any clock starts."""

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
    """A closed formula or ORCA: prepared once outside the clock, then counted in one call."""

    name: str
    group: str
    """yardstick | formulas | orca"""
    needs: str
    prepare: Callable[[Csr], Any]
    count: Callable[[Any], Any]
    dense: bool = False
    """Holds n × n numbers, so it is left out for large graphs."""


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


def needed(name: str) -> str:
    """The module that a contender cannot do without."""
    if name in RIVALS:
        return RIVALS[name].needs
    return name.split()[0].lower() if name != OURS else OURS


def absent(names: list[str]) -> list[str]:
    """Those whose package is not installed here."""
    return [name for name in names if find_spec(needed(name)) is None]


def group_of(name: str) -> str:
    """yardstick | formulas | orca | listers"""
    return RIVALS[name].group if name in RIVALS else "listers"


def our_graph(graph: Csr) -> Any:
    """The same CSR as a `detours.Graph`, prebuilt as every rival's own graph is."""
    import detours

    return detours.Graph.from_csr(graph.indptr, graph.indices)


def our_count(own: Any, k: int, **options: Any) -> Any:
    """What is timed: the count, with k-DeN of every edge in total and by length (made on demand)."""
    import detours

    result = detours.count(own, k, **options)
    _ = result.edge, result.by_length
    return result


def our_answer(graph: Csr, k: int, **options: Any) -> Array:
    """[edges of ``Csr.upper``, k − 1], to compare with."""
    import detours

    return at_upper(graph, detours.count(our_graph(graph), k, **options).arc_by_length)


def at_upper(graph: Csr, by_arc: Array) -> Array:
    """Rows of the arcs i → j with i < j; raises if the other direction says otherwise."""
    sources = np.repeat(np.arange(graph.num_nodes), graph.degree)
    answer = by_arc[sources < graph.indices]
    if not np.array_equal(answer[graph.edge_of_arc], by_arc):
        raise AssertionError("the two arcs of an edge carry different numbers")
    return answer


def answer_of(name: str, graph: Csr, k: int) -> Array | None:
    """The whole answer of one contender; None for the yardstick, which counts nothing."""
    if name == OURS:
        return our_answer(graph, k)
    if name in LISTERS:
        return LISTERS[name](graph).count(k)
    if name == NX_CYCLES:
        return listers.networkx_cycles_count(graph, listers.networkx_graph(graph), k)
    if name in (IGRAPH_CYCLES, IGRAPH_LISTING):
        return listers.igraph_cycles_count([listers.igraph_graph(graph)], k)
    rival = RIVALS[name]
    counted = rival.count(rival.prepare(graph))
    return None if rival.group == "yardstick" else counted


@cache
def _small_truths(k: int) -> list[tuple[Csr, Array]]:
    graphs = erdos_renyi(22, 48, seed=5), erdos_renyi(40, 50, seed=6)
    return [(graph, LISTERS["NetworkX all_simple_paths"](graph).count(k)) for graph in graphs]


def check_same_answer(names: list[str], k: int) -> None:
    """Every contender against NetworkX paths, edge by edge and length by length, on two small graphs.

    k is capped where enumeration of the small graphs would take long; closed formulas know k = 4 only.
    """
    depth = min(k, 6)
    for graph, truth in _small_truths(depth):
        for name in names:
            found = answer_of(name, graph, depth)
            if found is not None and not np.array_equal(found, truth):
                raise AssertionError(f"{name} gives other numbers than NetworkX at k = {depth}")
