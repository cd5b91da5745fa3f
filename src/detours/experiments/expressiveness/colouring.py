"""A pair of graphs, coloured round by round from degrees and from {D, k-DeN}, which differs in an earlier round."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.data import GraphSet
from detours.errors import InputError
from detours.experiments.expressiveness.methods import den, wl1
from detours.graph import Graph

K = 4

Colours = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The colours of two graphs, each [rounds + 1, nodes], from a shared colour table."""


class ColouredPair(NamedTuple):
    """Two graphs, with their colours in every round by the name of the initial colouring."""

    first: Graph
    second: Graph
    colours: dict[str, Colours]
    title: str


def most_telling_pair(data: GraphSet) -> ColouredPair:
    """Return the smallest pair of different classes with equal degrees that detours tell apart before any round."""
    degree, detour = (method.fingerprints(data.graphs).sound for method in (wl1(0), den(K, 0)))
    alike = (
        (data.graphs[i].num_nodes, i, j)
        for group in np.unique(degree)
        for i, j in combinations(np.flatnonzero(degree == group).tolist(), 2)
        if data.y[i] != data.y[j] and detour[i] != detour[j]
    )
    found = min(alike, default=None)
    if found is None:
        raise InputError(f"{data.name} has no pair of different classes whose degrees agree and whose detours do not.")
    _, i, j = found
    return colour_pair(data.graphs[i], data.graphs[j], title=f"Two graphs of {data.name} with the same degrees")


def colour_pair(first: Graph, second: Graph, *, k: int = K, title: str = "") -> ColouredPair:
    """Return a pair with its colours in every round until stable, from degrees and from {D, k-DeN}."""
    from detours import wl

    colours = {}
    for name, options in (("degree", {"init": "degree"}), (f"{{D, {k}-DeN}}", {"init": "den-sum", "k": k})):
        table = wl.refine([first, second], **options)
        colours[name] = (table[0], table[1])
    return ColouredPair(first, second, colours, title)
