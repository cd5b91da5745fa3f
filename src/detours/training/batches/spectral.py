"""Eigenvectors of the graph Laplacian, the positions P of the paper's tokens: computed once, cached by content.

As PyG's `AddLaplacianEigenvectorPE`: the symmetric normalised Laplacian I - D^-1/2 A D^-1/2 of the undirected graph,
eigenvectors by ascending eigenvalue without the first, zeros where a graph has too few. The sign of an eigenvector is
arbitrary; here its entry of largest size is positive, and training draws signs anew in every epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from detours.arrays import Float64
from detours.atomic import atomic_write
from detours.containers import read_array
from detours.data.readers.fetch import cache_folder
from detours.errors import FileFormatError, InputError
from detours.graph import Graph

VERSION = 1
"""Part of every name in the cache; increase it when the vectors change."""
DENSE_NODES = 1_000
"""Up to this size a dense solver is faster; it also never misses one of several equal eigenvalues."""
_TOLERANCE = 1e-6


def eigenvectors(graphs: Sequence[Graph], width: int, cache: Path | None = None) -> NDArray[np.float32]:
    """Return float32 [nodes of all graphs, width]: the eigenvectors of each, one graph after the other.

    Args:
        graphs: Undirected graphs, or directed ones, whose arcs are taken in both directions.
        width: The number of eigenvectors, which may be 0.
        cache: The folder of the cache. Default: `spectral` in the cache of this library.
    """
    nodes = [graph.num_nodes for graph in graphs]
    if not width:
        return np.zeros((sum(nodes), 0), np.float32)
    folder = cache_folder() / "spectral" if cache is None else cache
    file = folder / f"{_digest(graphs)}-{width}-v{VERSION}.npy"
    result = _cached(file, (sum(nodes), width))
    if result is None:
        result = np.zeros((sum(nodes), width), np.float32)
        for graph, (start, end) in zip(graphs, pairwise(np.cumsum([0, *nodes])), strict=True):
            vectors = smallest(laplacian(graph), width + 1)[1][:, 1:]
            result[start:end, : vectors.shape[1]] = vectors
        _cache(file, result)
    return result


def laplacian(graph: Graph) -> scipy.sparse.csr_array:
    """Return the symmetric normalised Laplacian; isolated nodes have a 1 on the diagonal."""
    adjacency = graph.to_scipy()
    if graph.directed:
        adjacency = adjacency.maximum(adjacency.T)
    degree = adjacency.sum(axis=1)
    scale = scipy.sparse.diags_array(1 / np.sqrt(np.maximum(degree, 1)))
    return scipy.sparse.eye_array(graph.num_nodes) - scale @ adjacency @ scale


def smallest(matrix: scipy.sparse.csr_array, count: int) -> tuple[Float64, Float64]:
    """Return the smallest eigenvalues of a normalised Laplacian, ascending, and their eigenvectors as columns."""
    nodes = matrix.shape[0]
    count = min(count, nodes)
    if not count:
        return np.zeros(0), np.zeros((nodes, 0))
    if nodes <= DENSE_NODES or count >= nodes:
        values, vectors = scipy.linalg.eigh(matrix.toarray(), subset_by_index=(0, count - 1))
    else:
        # Its eigenvalues are in [0, 2]: the largest ones of 2 - L converge faster than the smallest ones of L.
        start = np.random.default_rng(0).standard_normal(nodes)
        shifted = 2 * scipy.sparse.eye_array(nodes) - matrix
        basis = min(nodes, max(4 * count, 40))
        values, vectors = scipy.sparse.linalg.eigsh(shifted, count, which="LA", v0=start, ncv=basis)
        values = 2 - values
    order = np.argsort(values, kind="stable")
    return values[order], _signed(vectors[:, order])


def _signed(vectors: Float64) -> Float64:
    # The first of the largest entries up to rounding, so that all machines choose the same one.
    size = np.abs(vectors)
    lead = np.argmax(size >= size.max(axis=0) * (1 - _TOLERANCE), axis=0)
    signed: Float64 = vectors * np.where(vectors[lead, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    return signed


def _digest(graphs: Sequence[Graph]) -> str:
    content = sha256()
    for graph in graphs:
        content.update(f"{graph.num_nodes} {graph.num_arcs} {graph.directed};".encode())
        content.update(graph.indptr.astype("<i8").tobytes() + graph.indices.astype("<i4").tobytes())
    return content.hexdigest()[:20]


def _cached(file: Path, shape: tuple[int, int]) -> NDArray[np.float32] | None:
    with suppress(FileFormatError):  # missing or damaged: computed anew
        array = read_array(file)
        if array.shape == shape and array.dtype == np.float32:
            vectors: NDArray[np.float32] = array
            return vectors
    return None


def _cache(file: Path, vectors: NDArray[np.float32]) -> None:
    with suppress(OSError, InputError):  # works without a cache, too
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(file) as target:
            np.save(target, vectors)
