"""`refine`: colours for the nodes of many graphs, round by round, from one table shared by all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from detours.counting.engines.threads import Progress
from detours.counting.result import Detours
from detours.wl.colors import Colors
from detours.wl.individual.tree import individual_round
from detours.wl.preparation import Prepared, prepare, prepare_counted


def refine(
    graphs: Iterable[Any],
    *,
    init: str = "den",
    k: int = 4,
    rounds: int | None = None,
    edges: str | None = None,
    pairs: str | None = None,
    labels: Any = None,
    edge_labels: Any = None,
    individualise: str | None = None,
    depth: int = 1,
    cell: str = "target",
    n_jobs: int = 1,
    progress: Progress | bool | None = None,
) -> Colors:
    """Colour the nodes of all graphs and refine the colours: 1-WL, or stronger tests with detours in the colours.

    `init` defines the colour of a node in round 0. In every round it becomes the pair of its own colour and the
    multiset of its neighbours' colours. Equal colours mean equal pairs, across all graphs: nothing is hashed. In a
    directed graph successors and predecessors form two multisets.

    The colours of all rounds are kept, 4 bytes for each node and round. Most graphs are stable after a few rounds, but
    a path of n nodes takes n / 2 rounds and 2 n^2 bytes: limit `rounds` for such graphs, or call `same`, `compare`,
    `groups` or `certificates`, which keep one round at a time.

    Args:
        graphs: A list of graphs of any kind that `detours.count` takes, all directed or all undirected.
        init: "uniform" (all nodes alike), "degree", "labels" (see `labels`), "den" (the degree and, for each edge of
            the node, the number of its detours of each length), "den-sum" (as "den", with the sum over all lengths: the
            paper's k-DeN), or "phi" (the sum over the edges of the node as well). With "den" a larger k never tells
            fewer graphs apart; with sums it may.
        k: The maximum number of edges of a detour, wherever `init`, `edges` or `pairs` count detours. An edge of a
            cycle of length L has a detour of L - 1 edges, so use 5 to 7 for molecules.
        rounds: The maximum number of rounds; None to refine until the colours are stable.
        edges: "den" or "den-sum" colours every edge by its counts, and each neighbour's colour is paired with that of
            the edge in every round.
        pairs: "den" lets a node see all other nodes in every round, each with the colour of the pair: whether the two
            are adjacent, and the number of simple paths of each length 2 .. k between them (`detours.count_pairs`).
            Time and memory grow with the square of the number of nodes of each graph; more than 8 GB raise an error.
            "fwl" refines these colours as well, as 2-FWL does, in every individualised copy too; time grows with the
            cube.
        labels: For each graph one integer or string per node, in node order or as a dict by node name; round 0 combines
            them with `init`, and "den" and "den-sum" pair the counts of each edge with the label of the neighbour. If
            None, nodes have no labels: attributes such as NetworkX's "label" are not read.
        edge_labels: For each graph one integer or string per edge, in the order in which the edges were listed
            (`Graph.edge_index`). Every round after round 0 pairs each neighbour's colour with the label of the edge.
            Cannot be combined with `pairs` or individualise="delete".
        individualise: "mark" or "delete" adds a last round, in which a node v gets the pair of its colour and the
            certificate of a copy of its graph: one in which v has a unique colour, or one without v, in which its
            neighbours are marked and the detours recounted. Both are sound, and far stronger than refinement alone.
        depth: The number of nodes individualised together, one more at each level of copies.
        cell: "target" individualises the nodes of one colour only: the one that is joined in part (its nodes to some
            but not all nodes) to most colours, and among these the smallest. "all" individualises every node.
        n_jobs: Number of threads for counting and for marked copies; the colours do not depend on it.
        progress: True prints the progress on the copies; a function is called as progress(done, total).

    >>> colors = refine([[(0, 1), (1, 2)], [(0, 1, 2), (1, 2, 0)]], init="uniform")  # a path and a triangle
    >>> colors
    Colors(2 graphs, 6 nodes; stable after 2 rounds; colours by round: 1, 2, 3)
    >>> colors[0].tolist(), colors[1].tolist()
    ([[0, 0, 0], [0, 1, 0], [0, 1, 0]], [[0, 0, 0], [1, 1, 1], [2, 2, 2]])

    A hexagon and two triangles, which plain refinement does not tell apart:

    >>> ring, rings = [(0, 1, 2, 3, 4, 5), (1, 2, 3, 4, 5, 0)], [(0, 1, 2, 3, 4, 5), (1, 2, 0, 4, 5, 3)]
    >>> refine([ring, rings], init="degree", individualise="mark").num_colors
    [1, 2]
    """
    prepared = prepare(
        "refine",
        graphs,
        init=init,
        k=k,
        rounds=rounds,
        edges=edges,
        pairs=pairs,
        labels=labels,
        edge_labels=edge_labels,
        individualise=individualise,
        depth=depth,
        cell=cell,
        n_jobs=n_jobs,
        progress=progress,
    )
    colors = _colour_rounds(prepared)
    if prepared.method.individualise is None:
        return colors
    history = [*colors.history, individual_round(prepared, colors.history[-1])]
    return Colors(prepared.graphs, prepared.offsets, history, stable=False)


def refine_counted(results: Sequence[Detours], rounds: int | None = None) -> Colors:
    """Return the colours of `refine` from init="den" for graphs whose detours have been counted, all up to one k.

    The counts may be of chordless detours only.
    """
    return _colour_rounds(prepare_counted(results, rounds))


def _colour_rounds(prepared: Prepared) -> Colors:
    history = [refinement.colour for refinement in prepared.rounds()]
    return Colors(prepared.graphs, prepared.offsets, history, prepared.method.is_stable(len(history) - 1))
