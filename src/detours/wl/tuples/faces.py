"""Oblivious k-WL colours of tuples from the (k-1)-FWL colours of their faces; see `detours.wl.tuples.refinement`."""

from __future__ import annotations

import numpy as np

from detours.arrays import Int64
from detours.wl.tuples.partition import Refinement, atomic_types, joined_pairs


def tuple_codes(faces: Refinement, dim: int) -> Int64:
    """Return a number for each tuple that identifies its oblivious colour, int64 [n^dim]."""
    n, classes = faces.graph.num_nodes, faces.num_classes
    colour = faces.colour.astype(np.int64).reshape((n,) * faces.dim)
    if dim == 2:
        kinds = atomic_types(faces.graph, 2).astype(np.int64).reshape(n, n)
        return ((kinds * classes + colour[None, :]) * classes + colour[:, None]).ravel()
    return ((colour[None, :, :] * classes + colour[:, None, :]) * classes + colour[:, :, None]).ravel()


def largest_code(num_nodes: int, dim: int) -> int:
    """Return a bound on `tuple_codes` for any graph with `num_nodes` nodes."""
    code: int = num_nodes ** (dim * (dim - 1))
    return 5 * code if dim == 2 else code  # there are five atomic types of pairs


def tuple_table(faces: Refinement, dim: int) -> tuple[Int64, Int64]:
    """Return the distinct colours of tuples and the number of tuples of each; the table of the faces gives the rest."""
    codes = _joined_codes(faces) if dim == 2 else tuple_codes(faces, dim)
    return np.unique(codes, return_counts=True)


def size_counts(faces: Refinement, dim: int, stable: bool) -> tuple[Int64, Int64]:
    """Return the sizes of the classes of tuples, ascending, and the number of classes of each size."""
    if faces.dim == dim:
        return np.unique(faces.sizes, return_counts=True)
    if dim == 2:
        return _pair_size_counts(faces)
    if not stable:
        return np.unique(tuple_table(faces, dim)[1], return_counts=True)
    # A class of stable pairs has the same signature everywhere, and each different entry of it makes a class of
    # triples: as large as the class of pairs, times the number of nodes that give that entry.
    if faces.graph.num_nodes:
        faces.lay()
    sizes, first = [], 0
    for chunk in faces.signatures():
        rows = chunk.reshape(-1, faces.graph.num_nodes)
        new = np.ones(rows.shape, dtype=bool)
        new[:, 1:] = rows[:, 1:] != rows[:, :-1]
        starts = np.flatnonzero(new)
        times = np.diff(starts, append=rows.size)
        sizes.append(times * faces.sizes[first + starts // rows.shape[1]])
        first += len(rows)
    faces.clear()
    return np.unique(np.concatenate([*sizes, np.empty(0, dtype=np.int64)]), return_counts=True)


def _pair_size_counts(faces: Refinement) -> tuple[Int64, Int64]:
    """Return `size_counts` of pairs (atomic type, colour, colour) from the arcs alone, without an array of all pairs.

    Two classes of nodes with an arc between them, and every class with itself, are counted one by one. All other pairs
    of classes have no adjacent nodes, and form a class of pairs whose size is the product of theirs.
    """
    classes, sizes = faces.num_classes, faces.sizes
    codes = _joined_codes(faces)
    joined_sizes = np.unique(codes, return_counts=True)[1]
    diagonal = np.arange(classes, dtype=np.int64) * (classes + 1)
    touched, count = np.unique(np.concatenate((codes % classes**2, np.repeat(diagonal, sizes))), return_counts=True)
    left, right = np.divmod(touched, classes)
    rest = sizes[left] * sizes[right] - count
    distinct, which, number = np.unique(sizes, return_inverse=True, return_counts=True)
    untouched = np.outer(number, number)
    np.subtract.at(untouched, (which[left], which[right]), 1)
    ones = np.ones(classes + len(joined_sizes) + len(rest), dtype=np.int64)
    found = np.concatenate((sizes, joined_sizes, rest, np.outer(distinct, distinct).ravel()))
    times = np.concatenate((ones, untouched.ravel()))
    values, index = np.unique(found, return_inverse=True)
    totals = np.zeros(len(values), dtype=np.int64)
    np.add.at(totals, index, times)
    real = (values > 0) & (totals > 0)
    return values[real], totals[real]


def _joined_codes(faces: Refinement) -> Int64:
    """Return a number for the atomic type and the two colours of every ordered pair of adjacent nodes."""
    first, second, kind = joined_pairs(faces.graph)
    classes = faces.num_classes
    return (kind * classes + faces.colour[first]) * classes + faces.colour[second]
