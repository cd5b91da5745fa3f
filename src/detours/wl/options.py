"""Check the graphs and options that all functions of `detours.wl` take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypedDict

from detours.checks import check_choice, check_integer, check_k
from detours.counting.engines.threads import Progress
from detours.errors import InputError, short_repr
from detours.graph import Graph
from detours.graph.graph import as_graphs, is_one_graph

INITS = ("uniform", "degree", "labels", "den", "phi", "den-sum")
EDGES = (None, "den", "den-sum")
OLD_NAMES = {"den-by-length": "den"}
"""Names from version 0.1, where "den" was the sum over all lengths."""
PAIRS = (None, "den", "fwl")
MAX_ROUNDS = 2**31 - 1
"""More than any refinement takes."""
INDIVIDUALISE = (None, "mark", "delete")
CELLS = ("target", "all")


class Options(TypedDict, total=False):
    """Keyword arguments of `refine`, documented there."""

    init: str
    k: int
    rounds: int | None
    edges: str | None
    pairs: str | None
    labels: Any
    edge_labels: Any
    individualise: str | None
    depth: int
    cell: str
    n_jobs: int
    progress: Progress | bool | None


@dataclass(frozen=True, slots=True)
class Method:
    """The checked options of a refinement, without the graphs and labels."""

    init: str
    k: int | None
    """None if no detours are counted."""
    rounds: int | None
    edges: str | None
    pairs: str | None
    individualise: str | None = None
    depth: int = 1
    cell: str = "target"
    labels: bool = False
    """Whether nodes have labels, which become part of the colours of round 0."""
    edge_labels: bool = False
    """Whether edges have labels, which every later round uses."""

    @property
    def counts_arcs(self) -> bool:
        """Whether the detours of every edge are needed."""
        return self.init in ("den", "phi", "den-sum") or self.edges is not None

    @property
    def name(self) -> str:
        """All options that determine the colours, in one line; certificates start with it."""
        words = [f"init={self.init}"]
        words += ["labels"] if self.labels and self.init != "labels" else []
        words += ["edge labels"] if self.edge_labels else []
        words += [f"edges={self.edges}"] if self.edges else []
        words += [f"pairs={self.pairs}"] if self.pairs else []
        words += [f"k={self.k}"] if self.k is not None else []
        words += [f"{self.individualise} depth={self.depth} cell={self.cell}"] if self.individualise else []
        return " ".join(words)

    def is_stable(self, rounds: int) -> bool:
        """Whether a refinement that ended after `rounds` rounds did so because the colours were stable."""
        return self.rounds is None or rounds < self.rounds


def check_graphs(caller: str, graphs: Iterable[Any]) -> list[Graph]:
    """Return the graphs given to `caller`, or raise `InputError` unless all are directed or all undirected."""
    if is_one_graph(graphs):
        raise InputError(
            f"{caller} takes a list of graphs, but it was given a single graph, {short_repr(graphs)}; "
            "wrap it in a list."
        )
    checked = as_graphs(graphs)
    if len({graph.directed for graph in checked}) > 1:
        raise InputError(
            "Some of the graphs are directed and some are not; convert them with to_directed() or to_undirected()."
        )
    return checked


def check_method(
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
) -> Method:
    """Return the requested method, or raise `InputError`."""
    init = _current_name(init)
    edges = _current_name(edges)
    check_choice("init", init, INITS)
    check_choice("edges", edges, EDGES)
    check_choice("pairs", pairs, PAIRS)
    if edges is not None and pairs is not None:
        raise InputError("edges= and pairs= were both given, but pairs= includes the edges; give only one of them.")
    if edge_labels is not None and (pairs is not None or individualise == "delete"):
        other = f"pairs={pairs!r}" if pairs is not None else 'individualise="delete"'
        raise InputError(f"edge_labels= cannot be combined with {other}; leave one of them out.")
    _check_individualise(individualise, depth, cell, rounds)
    max_rounds, has_labels, has_edge_labels = check_rounds(rounds), labels is not None, edge_labels is not None
    method = Method(init, None, max_rounds, edges, pairs, individualise, depth, cell, has_labels, has_edge_labels)
    if not method.counts_arcs and pairs is None:
        return method
    return replace(method, k=check_k(k))


def _current_name(kind: Any) -> Any:
    """Replace a name from version 0.1 by the current one."""
    return OLD_NAMES.get(kind, kind) if isinstance(kind, str) else kind


def _check_individualise(individualise: str | None, depth: int, cell: str, rounds: int | None) -> None:
    check_choice("individualise", individualise, INDIVIDUALISE)
    check_integer("depth", depth, minimum=1)
    check_choice("cell", cell, CELLS)
    if individualise is not None and rounds is not None:
        raise InputError(
            f"rounds={rounds} and individualise={individualise!r} were both given, but nodes are individualised "
            "in stable colours; give only one of them."
        )
    if individualise is None and (depth != 1 or cell != "target"):
        raise InputError('depth= and cell= belong to individualise=; give individualise="mark" or "delete" as well.')


def check_rounds(rounds: object) -> int | None:
    """Return the maximum number of rounds, None for no limit, or raise `InputError`."""
    if rounds is None:
        return None
    return check_integer("rounds", rounds, minimum=0, maximum=MAX_ROUNDS, otherwise="None for no limit")
