"""Everything before the first round of a refinement: checking options, counting detours, finding neighbourhoods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from detours.arrays import Int64
from detours.checks import check_jobs
from detours.counting.count import count
from detours.counting.engines.threads import Progress
from detours.counting.pairs import count_pairs
from detours.counting.result import Detours
from detours.counting.sums import sum_rows
from detours.errors import EngineError, InputError
from detours.graph import Graph
from detours.progress import as_report
from detours.wl.nodes.initial import InitialColours, by_degree, by_label, join, uniform
from detours.wl.nodes.labels import ranks_on_arcs, read_labels
from detours.wl.nodes.neighbourhood import PAIRS_BYTES, Neighbourhood, all_pairs, held_bytes, neighbours, pairs_bytes
from detours.wl.nodes.pair_colours import as_vectors, stable_pairs
from detours.wl.nodes.ranks import rank_vectors
from detours.wl.nodes.rounds import NodeRefinement, refinements
from detours.wl.options import Method, Options, check_graphs, check_method


@dataclass(frozen=True, slots=True)
class Prepared:
    """Graphs with everything that their refinement needs."""

    method: Method
    graphs: list[Graph]
    union: Graph
    offsets: Int64
    """int64 [graphs + 1]: the nodes of graph g are ``offsets[g]`` to ``offsets[g + 1]`` of the union."""
    initial: InitialColours
    first_neighbourhood: Neighbourhood | None
    """What the nodes see when `initial` is refined into the colours of round 0; None if these are `initial`."""
    neighbourhood: Neighbourhood
    """What the nodes see in every later round."""
    n_jobs: int = 1
    progress: Progress | None = None

    def rounds(self) -> Iterator[NodeRefinement]:
        """Yield the refinement after round 0, 1, and so on: always the same object, which keeps one round only."""
        max_rounds = self.method.rounds
        return islice(self._all_rounds(), None if max_rounds is None else max_rounds + 1)

    def _all_rounds(self) -> Iterator[NodeRefinement]:
        colour = self.initial.colour
        if self.first_neighbourhood is not None:
            colour = next(refinements(colour, self.first_neighbourhood), colour)
        refinement = NodeRefinement(colour, self.neighbourhood)
        yield refinement
        while refinement.round():
            yield refinement


def prepare(
    caller: str,
    graphs: Iterable[Any],
    /,
    *,
    labels: Any = None,
    edge_labels: Any = None,
    n_jobs: int = 1,
    progress: Progress | bool | None = None,
    **options: Any,
) -> Prepared:
    """Check the options of `refine`, as given to `caller`, and do everything before the first round."""
    for name in options:
        if name not in Options.__annotations__:
            raise TypeError(
                f"{caller}() got an unexpected keyword argument {name!r}; its options are those of refine()"
            )
    method = check_method(labels=labels, edge_labels=edge_labels, **options)
    checked = check_graphs(caller, graphs)
    union, offsets = Graph.disjoint_union(checked)
    check_pairs(method, checked)
    counts = count_arcs(method, union, n_jobs)
    initial, first = _initial(method, checked, union, counts, labels)
    arc_labels = None
    if edge_labels is not None:
        read = read_labels(edge_labels, checked, "edge")
        arc_labels = read.as_integers()[ranks_on_arcs(read.rank, checked, union, offsets)]
    later = later_neighbourhood(method, checked, union, counts, arc_labels)
    jobs, report = check_jobs(n_jobs), as_report(progress, "Comparing copies")
    return Prepared(method, checked, union, offsets, initial, first, later, jobs, report)


def prepare_counted(results: Sequence[Detours], rounds: int | None) -> Prepared:
    """Do everything before the first round of `refine` from init="den", with counts that exist, all for one k."""
    graphs, k = [result.graph for result in results], results[0].k
    method = check_method(labels=None, edge_labels=None, init="den", k=k, rounds=rounds)
    union, offsets = Graph.disjoint_union(graphs)
    counts = Detours(union, k, np.concatenate([result.arc_by_length for result in results]))
    later = later_neighbourhood(method, graphs, union, counts)
    return Prepared(method, graphs, union, offsets, *_initial(method, graphs, union, counts, None), later)


def check_pairs(method: Method, graphs: list[Graph]) -> None:
    """Raise `InputError` if all pairs of nodes of the graphs need too much memory."""
    if method.pairs is not None and method.k is not None and pairs_bytes(graphs, method.k) > PAIRS_BYTES:
        raise _too_large(graphs, method.k)


def count_arcs(method: Method, union: Graph, n_jobs: int) -> Detours | None:
    """Count the detours of every edge, if the method needs them."""
    return count(union, method.k, n_jobs=n_jobs) if method.k is not None and method.counts_arcs else None


def _initial(
    method: Method, graphs: list[Graph], union: Graph, counts: Detours | None, labels: Any
) -> tuple[InitialColours, Neighbourhood | None]:
    """Return the colours of round 0, or colours and what the nodes see to refine them into those of round 0."""
    colours = []
    if method.labels or method.init == "labels":
        colours.append(by_label(graphs, labels))
    if method.init == "degree":
        colours.append(by_degree(union))
    if method.init == "phi" and counts is not None:
        colours.append(InitialColours(*rank_vectors(counts.node[:, None])))
    joined = join(*colours) if len(colours) > 1 else colours[0] if colours else uniform(union)
    return joined, first_neighbourhood(method, union, counts)


def first_neighbourhood(method: Method, union: Graph, counts: Detours | None) -> Neighbourhood | None:
    """Return what the nodes see before round 0: neighbours with the counts of the edges, if `init` uses these."""
    if counts is None or method.init not in ("den", "den-sum"):
        return None
    return neighbours(union, _arc_values(counts, method.init))


def later_neighbourhood(
    method: Method, graphs: list[Graph], union: Graph, counts: Detours | None, arc_labels: Int64 | None = None
) -> Neighbourhood:
    """Return what the nodes see in every round after round 0; `arc_labels` has one vector per arc of the union."""
    if method.pairs is not None and method.k is not None:
        k, memory_limit = method.k, PAIRS_BYTES - held_bytes(graphs)
        try:
            counts_of_pairs = (count_pairs(graph, k, memory_limit=memory_limit) for graph in graphs)
            if method.pairs == "fwl":
                counts_of_pairs = (
                    as_vectors(stable_pairs(graph, own)) for graph, own in zip(graphs, counts_of_pairs, strict=True)
                )
            return all_pairs(graphs, counts_of_pairs, memory_limit)
        except EngineError:
            raise _too_large(graphs, k) from None
    columns = [] if arc_labels is None else [arc_labels]
    if method.edges is not None and counts is not None:
        columns.append(_arc_values(counts, method.edges))
    return neighbours(union, np.hstack(columns) if columns else None)


def _too_large(graphs: list[Graph], k: int) -> InputError:
    largest = max(graph.num_nodes for graph in graphs)
    return InputError(
        f'pairs="den" up to k = {k} needs more than {PAIRS_BYTES / 1e9:g} GB for these graphs, the largest of which '
        f'has {largest:,} nodes; use smaller graphs or a smaller k, or edges="den", which considers edges only.'
    )


def _arc_values(counts: Detours, kind: str) -> Int64:
    """Return the counts of every arc by length, or their sum, the k-DeN of the paper."""
    if kind == "den":
        return counts.arc_by_length
    message = f'the detours of an edge up to k = {counts.k} exceed 2^63 when summed; use "den" or a smaller k'
    return sum_rows(counts.arc_by_length, message)[:, None]
