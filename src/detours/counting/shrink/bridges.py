"""Which edges lie on a cycle of any length, in linear time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Bool
from detours.counting.shrink.cyclic_part import Cyclic


def arcs_on_cycles(indptr: NDArray[Any], indices: NDArray[Any], directed: bool) -> Bool:
    """Return whether each arc lies on a cycle; if directed, on a directed one, where two opposite arcs are a cycle too.

    >>> arcs_on_cycles(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1]), directed=False)  # a path of two edges
    array([False, False, False, False])
    """
    source = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    if directed:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        shape = (len(indptr) - 1, len(indptr) - 1)
        arcs = csr_array((np.ones(len(indices), np.int8), np.asarray(indices), np.asarray(indptr)), shape=shape)
        component = connected_components(arcs, directed=True, connection="strong")[1]
        same_component: Bool = component[source] == component[indices]
        return same_component
    # An edge belongs to the home block of the end that the depth-first search entered later; see `Forest`.
    forest = Cyclic(indptr, indices).forest
    later = np.where(forest.entry[source] > forest.entry[indices], source, indices)
    on_cycle: Bool = forest.block[later] >= 0
    return on_cycle
