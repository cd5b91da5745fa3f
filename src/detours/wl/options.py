"""What all functions of `detours.wl` are given, graphs and options, checked in one place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypedDict

from detours.checks import check_choice, check_integer, check_k
from detours.errors import InputError, shown
from detours.graph import Graph
from detours.graph.edges import check_csr
from detours.graph.union import is_one_graph, many

INITS = ("uniform", "degree", "labels", "den", "phi", "den-by-length")
EDGES = (None, "den", "den-by-length")
PAIRS = (None, "den")


class Options(TypedDict, total=False):
    """Keyword arguments of `refine`, which explains them."""

    init: str
    k: int
    rounds: int | None
    edges: str | None
    pairs: str | None
    labels: Any
    n_jobs: int


@dataclass(frozen=True, slots=True)
class Method:
    """How to refine, apart from the graphs and their labels."""

    init: str
    k: int | None
    """None where no detours are counted."""
    rounds: int | None
    edges: str | None
    pairs: str | None

    @property
    def counts_arcs(self) -> bool:
        """Whether the detours of every edge are needed."""
        return self.init in ("den", "phi", "den-by-length") or self.edges is not None

    @property
    def name(self) -> str:
        """What decides the colours, in one line; certificates begin with it."""
        words = [f"init={self.init}"]
        words += [f"edges={self.edges}"] if self.edges else []
        words += [f"pairs={self.pairs}"] if self.pairs else []
        words += [f"k={self.k}"] if self.k is not None else []
        return " ".join(words)

    def is_stable(self, rounds: int) -> bool:
        """Whether a refinement that ended after so many rounds did so because no round would find more colours."""
        return self.rounds is None or rounds < self.rounds


def check_graphs(caller: str, graphs: Iterable[Any]) -> list[Graph]:
    """The graphs, all directed or all not, or `InputError`; `caller` is the function that was given them."""
    if is_one_graph(graphs):
        raise InputError(f"{caller} takes a list of graphs, but it was given one: {shown(graphs)}; put it into a list.")
    given = many(graphs)
    for graph in given:
        if graph.path is not None:
            check_csr(graph)
    if len({graph.directed for graph in given}) > 1:
        raise InputError(
            "Some of the graphs are directed and some are not; make them alike with to_directed() or to_undirected()."
        )
    return given


def check_method(init: str, k: int, rounds: int | None, edges: str | None, pairs: str | None, labels: Any) -> Method:
    """The method asked for, or `InputError`."""
    check_choice("init", init, INITS)
    check_choice("edges", edges, EDGES)
    check_choice("pairs", pairs, PAIRS)
    if edges is not None and pairs is not None:
        raise InputError(
            "edges= and pairs= were both given, but pairs= holds the edges already; give only one of them."
        )
    if labels is not None and init != "labels":
        raise InputError(
            f'labels= was given, but init={init!r} does not look at it; say init="labels" or leave it out.'
        )
    method = Method(init, None, check_rounds(rounds), edges, pairs)
    if not method.counts_arcs and pairs is None:
        return method
    return Method(init, check_k(k), method.rounds, edges, pairs)


def check_rounds(rounds: object) -> int | None:
    """The most rounds to do, or None for no limit, or `InputError`."""
    if rounds is None:
        return None
    return check_integer("rounds", rounds, minimum=0, otherwise="None for until nothing changes")
