"""Decide isomorphism exactly, with igraph's BLISS or else NetworkX's VF2++.

Colour refinement never proves that two graphs are isomorphic. These algorithms do, but may take exponential time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec

import numpy as np

from detours.errors import InputError
from detours.graph import Graph


def solver() -> str:
    """Return the name of the algorithm that `isomorphic` uses: it depends on the installed packages."""
    if find_spec("igraph") is not None:
        return "BLISS (igraph)"
    if find_spec("networkx") is not None:
        return "VF2++ (NetworkX)"
    raise InputError("deciding isomorphism needs igraph or networkx; run: pip install igraph")


def isomorphic(first: Graph, second: Graph) -> bool:
    """Return whether two graphs are isomorphic; names and labels of nodes do not matter."""
    if first.directed != second.directed:
        raise InputError("one graph is directed and the other is not; convert one of them first.")
    if first.num_nodes != second.num_nodes or first.num_arcs != second.num_arcs:
        return False
    if not np.array_equal(np.sort(first.degree), np.sort(second.degree)):
        return False
    if solver().startswith("BLISS"):
        return bool(first.to_igraph().isomorphic(second.to_igraph()))
    import networkx

    return bool(networkx.vf2pp_is_isomorphic(first.to_networkx(), second.to_networkx()))


def isomorphism_classes(graphs: Sequence[Graph], alike: Iterable[Sequence[int]]) -> list[list[int]]:
    """Return the isomorphism classes as ascending lists of indices, in the order of their first members.

    `alike` splits the indices into groups such that isomorphic graphs share a group, as any sound test does. Graphs are
    compared within their group only.
    """
    classes: list[list[int]] = []
    for group in alike:
        group_classes: list[list[int]] = []
        for index in sorted(group):
            matches = (members for members in group_classes if isomorphic(graphs[members[0]], graphs[index]))
            if (members := next(matches, None)) is None:
                group_classes.append([index])
            else:
                members.append(index)
        classes += group_classes
    return sorted(classes)
