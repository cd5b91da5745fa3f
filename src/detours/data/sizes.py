"""The sizes of known data sets, which distinguish them from the user's data of the same name."""

from __future__ import annotations

from collections.abc import Sequence

from detours.errors import warn_caller
from detours.graph import Graph

SIZES = {
    "EXP": (58442, 72530), "CEXP": (66938, 83736), "MUTAG": (3371, 3721), "PTC_FM": (4925, 5055),
    "ENZYMES": (19580, 37282), "NCI1": (122747, 132753), "IMDB-BINARY": (19773, 96531), "DD": (334925, 843046),
    "ZINC": (277864, 298985), "Chameleon": (2277, 31371), "Squirrel": (5201, 198353), "Actor": (7600, 26659),
    "Cornell": (183, 277), "Wisconsin": (251, 450), "Texas": (183, 279), "Chameleon-filtered": (890, 8854),
    "Squirrel-filtered": (2223, 46998), "Minesweeper": (10000, 39402), "Tolokers": (11758, 519000),
    "Amazon-ratings": (24492, 93050), "Roman-empire": (22662, 32927), "Questions": (48921, 153540),
}  # fmt: skip
"""The number of nodes and of undirected edges of all graphs together."""


def own_name(name: str, graphs: Sequence[Graph]) -> str:
    """Return the name for the user's data: a different one, with a warning, if a known data set of another size has it.

    The name of a data set selects its published folds and its settings of the preset "ours".

    >>> own_name("mine", [Graph.from_edges([(0, 1), (1, 2)])])
    'mine'
    """
    size = (sum(graph.num_nodes for graph in graphs), sum(graph.num_edges for graph in graphs))
    known = SIZES.get(name, size)
    if size == known:
        return name
    warn_caller(
        f"{name} is the name of a known data set of {known[0]:,} nodes and {known[1]:,} edges, but these data have "
        f"{size[0]:,} and {size[1]:,}; they are called own-{name}, and get neither its settings nor its folds.",
        UserWarning,
    )
    return f"own-{name}"
