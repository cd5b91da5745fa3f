"""`refine`: colours for the nodes of many graphs, round by round, from one table shared by all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from detours.arrays import Int32, Int64
from detours.counting.count import count
from detours.counting.pairs import count_pairs
from detours.counting.result import Detours
from detours.counting.sums import sum_rows
from detours.errors import EngineError, InputError
from detours.graph import Graph
from detours.wl.colors import Colors
from detours.wl.nodes.initial import InitialColours, by_degree, by_label, uniform
from detours.wl.nodes.neighbourhood import PAIRS_BYTES, Neighbourhood, all_pairs, held_bytes, neighbours, pairs_bytes
from detours.wl.nodes.ranks import rank_vectors
from detours.wl.nodes.rounds import refinements
from detours.wl.options import Method, check_graphs, check_method


@dataclass(frozen=True, slots=True)
class Prepared:
    """Graphs and what their rounds need."""

    method: Method
    graphs: list[Graph]
    offsets: Int64
    """int64 [graphs + 1]: where the nodes of each graph begin among all nodes."""
    initial: InitialColours
    first: Neighbourhood | None
    """What the nodes see to turn `initial` into the colours of round 0, where these need it."""
    around: Neighbourhood
    """What the nodes see in every later round."""

    def rounds(self) -> Iterator[Int32]:
        """Yield the colours of round 0, 1, and so on; none is kept in memory."""
        most = self.method.rounds
        return islice(self._all_rounds(), None if most is None else most + 1)

    def _all_rounds(self) -> Iterator[Int32]:
        colour = self.initial.colour
        if self.first is not None:
            colour = next(refinements(colour, self.first), colour)
        yield colour
        yield from refinements(colour, self.around)


def refine(
    graphs: Iterable[Any],
    *,
    init: str = "den",
    k: int = 4,
    rounds: int | None = None,
    edges: str | None = None,
    pairs: str | None = None,
    labels: Any = None,
    n_jobs: int = 1,
) -> Colors:
    """Colour the nodes of all graphs and refine the colours: 1-WL, or stronger tests with detours in the colours.

    `init` defines the colour of a node in round 0. In every round it becomes the pair of its own colour and the
    multiset of its neighbours' colours. Equal colours mean equal pairs, in all graphs alike: nothing is hashed. In a
    directed graph successors and predecessors are two multisets.

    The colours of all rounds are kept, 4 bytes for each node and round. Most graphs are stable after a few rounds, but
    a path of n nodes takes n / 2 rounds and 2 n^2 bytes: limit `rounds` for such graphs, or call `same`, `compare`,
    `groups` or `certificates`, which keep one round at a time.

    Args:
        graphs: A list of graphs of any kind that `detours.count` takes, all directed or all undirected.
        init: "uniform" (all nodes alike), "degree", "labels" (see `labels`), "den" (the degree and the multiset of
            k-DeN of the node's edges), "phi" (their sum), or "den-by-length" (as "den", with counts of each length).
        k: The largest number of edges of a detour, for those `init`, `edges` and `pairs` that count detours.
        rounds: The largest number of rounds; None to refine until the colours are stable.
        edges: "den" or "den-by-length" colours every edge by its counts, and each neighbour's colour is paired with
            that of the edge in every round.
        pairs: "den" lets a node see all other nodes in every round, each with the colour of the pair: whether the two
            are adjacent, and the number of simple paths of each length 2 .. k between them (`detours.count_pairs`).
            Time and memory grow with the square of the number of nodes of each graph; more than 8 GB are refused.
        labels: One integer or string per node of each graph, for init="labels".
        n_jobs: Threads for counting; the colours do not depend on it.

    >>> colors = refine([[(0, 1), (1, 2)], [(0, 1, 2), (1, 2, 0)]], init="uniform")  # a path and a triangle
    >>> colors
    Colors(2 graphs, 6 nodes; stable after 2 rounds; colours by round: 1, 2, 3)
    >>> colors[0].tolist(), colors[1].tolist()
    ([[0, 0, 0], [0, 1, 0], [0, 1, 0]], [[0, 0, 0], [1, 1, 1], [2, 2, 2]])
    """
    prepared = prepare(
        "refine", graphs, init=init, k=k, rounds=rounds, edges=edges, pairs=pairs, labels=labels, n_jobs=n_jobs
    )
    history = list(prepared.rounds())
    return Colors(prepared.graphs, prepared.offsets, history, prepared.method.is_stable(len(history) - 1))


def prepare(
    caller: str,
    graphs: Iterable[Any],
    /,
    *,
    init: str = "den",
    k: int = 4,
    rounds: int | None = None,
    edges: str | None = None,
    pairs: str | None = None,
    labels: Any = None,
    n_jobs: int = 1,
    **unknown: object,
) -> Prepared:
    """Check the options, those of `refine` as given to `caller`, and do all that comes before the first round."""
    for name in unknown:
        raise TypeError(f"{caller}() got an unexpected keyword argument {name!r}; its options are those of refine()")
    method = check_method(init, k, rounds, edges, pairs, labels)
    given = check_graphs(caller, graphs)
    union, offsets = Graph.disjoint_union(given)
    if method.pairs is not None and method.k is not None and pairs_bytes(given, method.k) > PAIRS_BYTES:
        raise _too_large(given, method.k)
    counts = count(union, method.k, n_jobs=n_jobs) if method.k is not None and method.counts_arcs else None
    initial, first = _initial(method, given, union, counts, labels)
    return Prepared(method, given, offsets, initial, first, _around(method, given, union, counts))


def _initial(
    method: Method, graphs: list[Graph], union: Graph, counts: Detours | None, labels: Any
) -> tuple[InitialColours, Neighbourhood | None]:
    """Return the colours of round 0, or uniform ones and what the nodes see to turn them into those of round 0."""
    if method.init == "degree":
        return by_degree(union), None
    if method.init == "labels":
        return by_label(graphs, labels), None
    if method.init == "phi" and counts is not None:
        return InitialColours(*rank_vectors(counts.node[:, None])), None
    if method.init != "uniform" and counts is not None:
        return uniform(union), neighbours(union, _arc_values(counts, method.init))
    return uniform(union), None


def _around(method: Method, graphs: list[Graph], union: Graph, counts: Detours | None) -> Neighbourhood:
    """Return what the nodes see in every round."""
    if method.pairs is not None and method.k is not None:
        k, room = method.k, PAIRS_BYTES - held_bytes(graphs)
        try:
            return all_pairs(graphs, (count_pairs(graph, k, memory_limit=room) for graph in graphs), room)
        except EngineError:
            raise _too_large(graphs, k) from None
    if method.edges is not None and counts is not None:
        return neighbours(union, _arc_values(counts, method.edges))
    return neighbours(union)


def _too_large(graphs: list[Graph], k: int) -> InputError:
    largest = max(graph.num_nodes for graph in graphs)
    return InputError(
        f'pairs="den" up to k = {k} needs more than {PAIRS_BYTES / 1e9:g} GB for these graphs, the largest of which '
        f'has {largest:,} nodes; take smaller graphs or a smaller k, or edges="den", which considers edges only.'
    )


def _arc_values(counts: Detours, kind: str) -> Int64:
    """Return k-DeN of every arc, or its counts by length."""
    if kind == "den-by-length":
        return counts.arc_by_length
    message = f'the detours of an edge up to k = {counts.k} pass 2^63 when added up; use "den-by-length" or a smaller k'
    return sum_rows(counts.arc_by_length, message)[:, None]
