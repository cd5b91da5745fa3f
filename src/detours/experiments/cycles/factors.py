"""k-factors: spanning subgraphs in which every node has degree k.

The paper excludes graphs with a k-factor, k > 2, from its cycle table. Whether there is one is a small integer
programme: choose edges so that every node has exactly k of them.
"""

from __future__ import annotations

import numpy as np

from detours.graph import Graph


def has_factor(graph: Graph, k: int) -> bool:
    """Whether an undirected, non-empty graph has a k-regular spanning subgraph.

    >>> square = Graph.from_edge_index([[0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3]])
    >>> [has_factor(square, k) for k in (1, 2, 3)]
    [True, True, False]
    """
    nodes, degree = graph.num_nodes, graph.degree
    if not nodes or degree.min() < k or nodes * k % 2:
        return False
    if degree.max() == k:  # the graph itself
        return True
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    low, high = (ends := graph.to_edge_index())[:, ends[0] < ends[1]]
    edges = np.arange(len(low))
    # SciPy 1.12 accepts only 32-bit indices
    rows, columns = (np.r_[each].astype(np.int32) for each in ((low, high), (edges, edges)))
    incidence = csr_array((np.ones(2 * len(edges)), (rows, columns)), shape=(nodes, len(edges)))
    degrees = LinearConstraint(incidence, k, k)
    result = milp(np.zeros(len(edges)), constraints=degrees, integrality=1, bounds=Bounds(0, 1))
    if result.status not in (0, 2):
        raise RuntimeError(f"the integer programme of a {k}-factor was not solved: {result.message}")
    return bool(result.status == 0)
