"""Slow, obvious reference implementations with which the engines are compared.

The listing oracles take `(num_nodes, arcs, k)`; `arcs` is a collection of ordered pairs without loops or
duplicates, and an undirected edge is given by both of its arcs. Counts per arc are a dict
`arc -> [number of detours of length 2, …, of length k]`.
"""

from tests.oracles.brute import (
    by_permutations,
    by_recursion,
    by_subsets,
    cycles_by_rotation,
    cycles_through_nodes,
    simple_paths,
)
from tests.oracles.libraries import cycles_by_networkx, with_networkx, with_rustworkx
from tests.oracles.matrices import cycles_by_traces, detours_by_deletion, detours_by_matrices

__all__ = [
    "by_permutations",
    "by_recursion",
    "by_subsets",
    "cycles_by_networkx",
    "cycles_by_rotation",
    "cycles_by_traces",
    "cycles_through_nodes",
    "detours_by_deletion",
    "detours_by_matrices",
    "simple_paths",
    "with_networkx",
    "with_rustworkx",
]
