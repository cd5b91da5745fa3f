"""Rivals that count instead of listing: closed formulas in GraphBLAS and NumPy, and ORCA's orbits.

All of them stop at k = 4. On an edge ij of an undirected graph with codegrees C = A² − D (zero diagonal),
degrees d and t = diag A³:

    P2 = c_ij
    P3 = (A·C)_ij − d_i + 1
    P4 = (C²)_ij − t_i − t_j − Σ_{common neighbours w} d_w + 5·c_ij

or by walks, P3 = A³ − d_i − d_j + 1 and P4 = A⁴ − (d_i + d_j − 5)·A² − A·diag(d)·A − t_i − t_j.
Every function returns int64 [edges, 3]: the number of detours of length 2, 3, 4 of each edge of ``Csr.upper``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.cases import Array, Csr


class NotExact(Exception):
    """A floating-point product could exceed the integers that its type represents exactly."""


# ---------------------------------------------------------------- SciPy


def scipy_prepare(graph: Csr) -> Any:
    """The int64 adjacency matrix."""
    return _scipy_matrix(graph, np.int64)


def scipy_square(adjacency: Any) -> Any:
    """One A @ A: counts nothing, but is a yardstick on every machine."""
    return adjacency @ adjacency


def _scipy_matrix(graph: Csr, dtype: Any) -> Any:
    from scipy.sparse import csr_array

    data = np.ones(len(graph.indices), dtype)
    return csr_array((data, graph.indices, graph.indptr), shape=(graph.num_nodes,) * 2)


# ---------------------------------------------------------------- NumPy


def numpy_prepare(graph: Csr) -> tuple[Csr, np.ndarray]:
    """The dense adjacency; codegrees below 2^24 are exact in float32, and BLAS is twice as fast in it."""
    return graph, _scipy_matrix(graph, np.float32).toarray()


def numpy_count(prepared: tuple[Csr, np.ndarray]) -> Array:
    """Only NumPy: A² by BLAS (for A @ A.T NumPy uses the symmetric product), then one gather per row."""
    graph, dense = prepared
    return _from_dense(graph, dense, dense @ dense.T)


def numpy_scipy_prepare(graph: Csr) -> tuple[Csr, np.ndarray, Any]:
    """The dense and the sparse adjacency."""
    sparse = _scipy_matrix(graph, np.float32)
    return graph, sparse.toarray(), sparse


def numpy_scipy_count(prepared: tuple[Csr, np.ndarray, Any]) -> Array:
    """As above, with A² from SciPy's sparse product."""
    graph, dense, sparse = prepared
    return _from_dense(graph, dense, (sparse @ sparse).toarray())


def _from_dense(graph: Csr, adjacency: np.ndarray, codegree: np.ndarray) -> Array:
    """P2, P3, P4 at edges, row by row: a full n³ product of C would cost several times more."""
    np.fill_diagonal(codegree, 0)
    _assert_exact(graph, codegree)
    wide = codegree.astype(np.float64)
    degree = graph.degree.astype(np.float32)
    square, mixed, weighted = np.empty((3, graph.num_edges))
    for row, above, edges in _rows_above(graph):
        neighbours = graph.indices[graph.indptr[row] : graph.indptr[row + 1]]
        gathered = wide[above]
        square[edges] = gathered @ wide[row]
        mixed[edges] = gathered[:, neighbours].sum(axis=1)
        weighted[edges] = adjacency[above[:, None], neighbours] @ degree[neighbours]
    i, j = graph.upper
    common = codegree[i, j].astype(np.float64)
    triangles = np.bincount(i, common, graph.num_nodes) + np.bincount(j, common, graph.num_nodes)
    three = mixed - graph.degree[i] + 1
    four = square - triangles[i] - triangles[j] - weighted + 5 * common
    return np.stack([common, three, four], axis=1).astype(np.int64)


def _rows_above(graph: Csr) -> Any:
    """Yield (i, neighbours above i, slice of these edges in `upper`) for every node i with such neighbours."""
    i, j = graph.upper
    offsets = np.searchsorted(i, np.arange(graph.num_nodes + 1)).tolist()
    for row, (start, end) in enumerate(pairwise(offsets)):
        if start < end:
            yield row, j[start:end], slice(start, end)


def _assert_exact(graph: Csr, codegree: np.ndarray) -> None:
    """Partial sums are non-negative and bounded by the total: 2^24 in float32, 2^53 in float64."""
    max_codegree, max_degree = int(codegree.max(initial=0)), int(graph.degree.max(initial=0))
    if max_degree**2 >= 2**24 or max_codegree**2 * graph.num_nodes >= 2**53:
        raise NotExact(f"degrees up to {max_degree} are too large for exact float32/float64 products")


# ---------------------------------------------------------------- GraphBLAS


@dataclass
class GraphBlas:
    """The graph as GraphBLAS objects; building them is not timed."""

    graph: Csr
    adjacency: Any
    lower: Any
    degree: Any


def graphblas_prepare(graph: Csr) -> GraphBlas:
    """A as an iso-valued int64 matrix, its lower triangle as the mask, and the degrees."""
    import graphblas as gb

    gb.ss.config["nthreads"] = 1
    adjacency = gb.Matrix.ss.import_csr(
        nrows=graph.num_nodes,
        ncols=graph.num_nodes,
        indptr=graph.indptr.astype(np.uint64),
        col_indices=graph.indices.astype(np.uint64),
        values=np.ones(1, np.int64),
        is_iso=True,
        sorted_cols=True,
    )
    lower = adjacency.select("tril").new()
    degree = adjacency.reduce_rowwise("plus").new()
    for lazy in (adjacency, lower, degree):
        lazy.wait()
    return GraphBlas(graph, adjacency, lower, degree)


def graphblas_codegree(prepared: GraphBlas) -> Array:
    """Codegree form: C sparse, every product masked by the lower triangle and done by dot products."""
    from graphblas import semiring

    adjacency = prepared.adjacency
    codegree = semiring.plus_pair(adjacency @ adjacency).new().select("offdiag").new()
    return _graphblas_finish(prepared, codegree)


def graphblas_full(prepared: GraphBlas) -> Array:
    """Codegree form with C as a full matrix: faster if most pairs have common neighbours, too large otherwise."""
    import graphblas as gb
    from graphblas import semiring

    adjacency = prepared.adjacency
    square = semiring.plus_pair(adjacency @ adjacency).new()
    dense = square.to_dense(fill_value=0)
    np.fill_diagonal(dense, 0)
    return _graphblas_finish(prepared, gb.Matrix.ss.import_fullr(dense, take_ownership=True))


def _graphblas_finish(prepared: GraphBlas, codegree: Any) -> Array:
    from graphblas import semiring

    adjacency, degree = prepared.adjacency, prepared.graph.degree
    common = _at_edges(prepared, codegree)
    mixed = _at_edges(prepared, semiring.plus_second(adjacency @ codegree.T))
    square = _at_edges(prepared, semiring.plus_times(codegree @ codegree.T))
    low, high, triangles = _ends_and_triangles(prepared, common)
    # row `high` of the lower triangle is the root, so P3 subtracts its degree
    three = mixed - degree[high] + 1
    four = square - triangles[low] - triangles[high] - _weighted(prepared) + 5 * common
    return _in_upper_order(prepared, np.stack([common, three, four], axis=1))


def graphblas_walks(prepared: GraphBlas) -> Array:
    """Walk form: A², A³ and A⁴ at edges, with nonzero diagonals."""
    from graphblas import semiring

    adjacency, degree = prepared.adjacency, prepared.graph.degree
    square = semiring.plus_pair(adjacency @ adjacency).new()
    common = _at_edges(prepared, square)
    cube = _at_edges(prepared, semiring.plus_second(adjacency @ square.T))
    fourth = _at_edges(prepared, semiring.plus_times(square @ square.T))
    low, high, triangles = _ends_and_triangles(prepared, common)
    ends = degree[low] + degree[high]
    four = fourth - (ends - 5) * common - _weighted(prepared) - triangles[low] - triangles[high]
    return _in_upper_order(prepared, np.stack([common, cube - ends + 1, four], axis=1))


def _weighted(prepared: GraphBlas) -> Array:
    """A·diag(d)·A at edges."""
    from graphblas import semiring

    scaled = semiring.plus_second(prepared.adjacency @ prepared.degree.diag()).new()
    return _at_edges(prepared, semiring.plus_second(prepared.adjacency @ scaled.T))


def _at_edges(prepared: GraphBlas, product: Any) -> Array:
    """The product at the lower triangle in row order, with explicit zeros."""
    import graphblas as gb

    result = gb.Matrix(int, *prepared.lower.shape)
    result(prepared.lower.S) << product
    if result.nvals < prepared.lower.nvals:
        filled = gb.Matrix(int, *prepared.lower.shape)
        filled(prepared.lower.S) << 0
        filled(gb.binary.plus) << result
        result = filled
    return result.to_coo(sort=True)[2]


def _ends_and_triangles(prepared: GraphBlas, common: Array) -> tuple[Array, Array, Array]:
    high, low = (each.astype(np.int64) for each in prepared.lower.to_coo(values=False, sort=True)[:2])
    n = prepared.graph.num_nodes
    triangles = np.bincount(low, common, n) + np.bincount(high, common, n)
    return low, high, triangles.astype(np.int64)


def _in_upper_order(prepared: GraphBlas, rows: Array) -> Array:
    """Reorder from (high, low) of the lower triangle to (low, high) of `upper`."""
    graph = prepared.graph
    sources = np.repeat(np.arange(graph.num_nodes), graph.degree)
    result = np.empty_like(rows)
    result[graph.edge_of_arc[graph.indices < sources]] = rows
    return result


# ---------------------------------------------------------------- ORCA


def orca_prepare(graph: Csr) -> tuple[Any, list[tuple[int, int]]]:
    """ORCA's Python package takes a NetworkX graph."""
    import networkx as nx

    edges = list(zip(*(end.tolist() for end in graph.upper), strict=True))
    nx_graph = nx.Graph()
    nx_graph.add_nodes_from(range(graph.num_nodes))
    nx_graph.add_edges_from(edges)
    return nx_graph, edges


def orca_count(prepared: tuple[Any, list[tuple[int, int]]]) -> Array:
    """Induced 5-node edge orbits, each weighted by the number of cycles that an edge of that orbit closes."""
    import orbit_count

    graph, edges = prepared
    orbits = orbit_count.edge_orbit_counts(graph, graphlet_size=5, edge_list=edges)
    return orbits.astype(np.int64) @ _orca_weights()


@cache
def _orca_weights() -> Array:
    """[orbits, 3], from running ORCA on every graph of 3 to 5 nodes, so that its numbering is not assumed."""
    import networkx as nx
    import orbit_count

    weights = np.zeros((68, 3), np.int64)
    for shape in nx.graph_atlas_g():
        n = shape.number_of_nodes()
        if not 3 <= n <= 5 or not nx.is_connected(shape):
            continue
        edges = list(shape.edges)
        orbits = orbit_count.edge_orbit_counts(shape, graphlet_size=5, edge_list=edges)
        for (i, j), row in zip(edges, orbits, strict=True):
            closing = sum(len(path) == n for path in nx.all_simple_paths(shape, i, j, cutoff=n - 1))
            weights[_full_orbit(row, n), n - 3] = closing
    return weights


def _full_orbit(row: np.ndarray, n: int) -> int:
    """The orbit that covers all n nodes: 2 orbits have 3 nodes, the next 10 have 4, the last 56 have 5."""
    first, last = {3: (0, 2), 4: (2, 12), 5: (12, 68)}[n]
    (orbit,) = np.flatnonzero(row[first:last])
    return first + int(orbit)
