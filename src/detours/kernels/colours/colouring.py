"""Colours that a kernel learns in `fit` and finds again in `transform`.

The nodes of all graphs of `fit` are coloured by the rounds of `detours.wl`. For each round, a table keeps the signature
of every colour, a row of integers. New graphs are coloured on their own, and then one node of each of their colours is
looked up: its colour is either known from `fit` or new, and a node with a neighbour of a new colour has a new colour in
the next round. So the cost of `transform` does not depend on the number of fitted graphs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from detours.arrays import Bool, Int32, Int64, read_only
from detours.counting.count import count
from detours.counting.sums import sum_rows
from detours.errors import InputError
from detours.kernels.batch import Batch, double
from detours.kernels.colours import description
from detours.kernels.colours.signatures import UNSEEN, Rows, SignatureTable, fixed_rows, neighbour_rows
from detours.wl.nodes.initial import by_degree
from detours.wl.nodes.neighbourhood import Neighbourhood, neighbours
from detours.wl.nodes.ranks import rank_vectors
from detours.wl.nodes.rounds import refinements


@dataclass(frozen=True, slots=True)
class ColouringOptions:
    """How nodes are coloured."""

    labels: str
    """The labels in round 0: "degree", "data" (those of the data), "both", "none", or "auto" until it is `resolved`."""
    rounds: int
    """Rounds of refinement after round 0."""
    detours: str | None = None
    """The detours in round 0: of each edge by length ("den") or in total ("den-sum"), or summed per node ("phi")."""
    k: int | None = None
    n_jobs: int = 1
    edge_labels: bool = False
    """Whether refinement uses the labels of edges together with the colours of neighbours."""
    plain: bool = False
    """Whether every graph gets a second copy whose colours do not depend on detours."""

    def resolved(self, labelled: bool) -> ColouringOptions:
        """Replace labels="auto" by "data" if the graphs have labels, else by "degree"."""
        return replace(self, labels="data" if labelled else "degree") if self.labels == "auto" else self

    @property
    def with_labels(self) -> bool:
        return self.labels in ("data", "both")

    @property
    def with_degree(self) -> bool:
        return self.labels in ("degree", "both")


class ColouredBatch:
    """A batch with its colours of every round, numbered from 0 in each round."""

    def __init__(self, batch: Batch, options: ColouringOptions) -> None:
        self._values = _arc_values(batch, options)
        self.plain = np.zeros(batch.union.num_nodes, np.bool_)
        """bool [nodes]: the nodes of second copies, whose colours do not depend on detours."""
        if options.plain:
            doubled = double(batch)
            batch, self.plain = doubled.batch, doubled.second
            if self._values is not None:
                self._values = self._values[doubled.nodes if options.detours == "phi" else doubled.arcs]
        self.batch = batch
        self.options = options
        edge_labels = batch.edge_labels
        self.around = neighbours(batch.union, None if edge_labels is None else edge_labels.of_arcs[:, None])
        self.history = list(islice(self._rounds(), options.rounds + 1))

    def _rounds(self) -> Iterator[Int32]:
        start = self._start()
        yield start
        yield from refinements(start, self.around)

    @property
    def num_rounds(self) -> int:
        """Rounds counted as features, round 0 among them."""
        return self.options.rounds + 1

    def colour(self, round: int) -> Int32:
        """int32 [nodes]: the colours of a round; later than the stable round, those of the stable one."""
        return self.history[min(round, len(self.history) - 1)]

    def num_colours(self, round: int) -> int:
        return int(self.colour(round).max(initial=-1)) + 1

    def members(self, round: int) -> Int32:
        """One node of each colour."""
        colour = self.colour(round)
        members = np.empty(self.num_colours(round), np.int32)
        members[colour] = np.arange(len(colour), dtype=np.int32)
        return members

    def _start(self) -> Int32:
        """Round 0: the rank of each node by degree, label and detours, as far as they are used."""
        union = self.batch.union
        parts: list[Any] = [self.columns[:, at] for at in range(self.columns.shape[1])]
        if self.label_ranks is not None:
            parts.append(self.label_ranks)
        if self.first is not None:
            alike = np.zeros(union.num_nodes, np.int32)
            parts.append(np.where(self.plain, 0, next(refinements(alike, self.first), alike)))
        if not parts:
            return np.zeros(union.num_nodes, np.int32)
        return rank_vectors(np.stack(parts, axis=1).astype(np.int64))[0]

    @cached_property
    def columns(self) -> Int64:
        """int64 [nodes, …]: the integers of round 0: the plain flag, degrees and Φ, as far as they are used."""
        columns: list[Any] = [np.empty((self.batch.union.num_nodes, 0), np.int64)]
        if self.options.plain:
            columns.append(self.plain[:, None])
        if self.options.with_degree:
            degree = by_degree(self.batch.union)
            columns.append(np.asarray(degree.values)[degree.colour])
        if self.options.detours == "phi" and self._values is not None:
            columns.append(np.where(self.plain[:, None], 0, self._values))
        return np.hstack(columns).astype(np.int64)

    @cached_property
    def label_values(self) -> list[Hashable]:
        """The distinct labels, sorted."""
        return sorted(set(self.batch.labels or ()))  # type: ignore[type-var]  # all integers or all strings

    @cached_property
    def label_ranks(self) -> Int64 | None:
        if self.batch.labels is None or not self.options.with_labels:
            return None
        rank = {label: at for at, label in enumerate(self.label_values)}
        return np.array([rank[label] for label in self.batch.labels], dtype=np.int64)

    @cached_property
    def first(self) -> Neighbourhood | None:
        """Arcs coloured by their detours, if round 0 uses these."""
        if self.options.detours in (None, "phi") or self._values is None:
            return None
        return neighbours(self.batch.union, self._values)

    def start_rows(self, known_labels: list[Hashable]) -> Rows:
        """The signatures of the colours of round 0; labels become their indices in `known_labels`."""
        nodes = self.members(0)
        columns = [self.columns[nodes, at] for at in range(self.columns.shape[1])]
        known = np.ones(len(nodes), np.bool_)
        if self.label_ranks is not None:
            columns.append(_indices(self.label_values, known_labels)[self.label_ranks[nodes]])
            known = columns[-1] != UNSEEN
        arcs = None if self.first is None else _arc_rows(nodes, self.first, self.plain[nodes])
        return fixed_rows(columns, arcs, known)

    @property
    def edge_label_values(self) -> list[Hashable]:
        """The distinct labels of edges, sorted."""
        return [] if self.batch.edge_labels is None else self.batch.edge_labels.values

    def arc_colours(self, known_labels: list[Hashable]) -> Int32:
        """Colours of arcs that mean the same in all batches: by the indices of their labels in `known_labels`."""
        around = self.around
        if self.batch.edge_labels is None or around.arc_values is None:
            return around.arcs.colour  # at most the direction, which is encoded the same way in every batch
        labels = _indices(self.edge_label_values, known_labels)[around.arc_values[:, -1]]
        backwards = around.arc_values[:, 0] if self.batch.directed else 0
        colours: Int32 = read_only(
            np.where(labels == UNSEEN, UNSEEN, 2 * labels + backwards)[around.arcs.colour], np.int32
        )
        return colours

    def rows(self, round: int, ids: Int32, arc_colours: Int32) -> Rows:
        """The signatures of the colours of a later round, in terms of `ids`, the node colours of the previous round."""
        return neighbour_rows(self.members(round), ids, self.around.arcs.indptr, self.around.arcs.indices, arc_colours)


class Colouring:
    """The colours of fitted graphs, to be found in other graphs."""

    def __init__(self, fitted: ColouredBatch) -> None:
        self.options = fitted.options
        self.directed = fitted.batch.directed
        self.label_values = fitted.label_values
        self.edge_label_values = fitted.edge_label_values
        self.num_columns = fitted.columns.shape[1]
        self.tables = [SignatureTable(fitted.start_rows(fitted.label_values))]
        arcs = fitted.arc_colours(self.edge_label_values)
        # Once colours are stable, their signatures are the same in all later rounds, so one table is enough.
        for round in range(1, min(len(fitted.history) + 1, fitted.num_rounds)):
            self.tables.append(SignatureTable(fitted.rows(round, _writable(fitted.colour(round - 1)), arcs)))

    def find(self, new: ColouredBatch) -> list[Int32]:
        """For each round, the id in `fit` of each colour of the new graphs, or `UNSEEN`."""
        if new.batch.directed != self.directed:
            old_kind, new_kind = ("directed", "undirected") if self.directed else ("undirected", "directed")
            raise InputError(
                f"The kernel was fitted on {old_kind} graphs, but these are {new_kind}; convert one or the other."
            )
        _check_label_type("node", self.label_values, new.label_values)
        _check_label_type("edge", self.edge_label_values, new.edge_label_values)
        ids = [self.tables[0].find(new.start_rows(self.label_values))]
        arcs = new.arc_colours(self.edge_label_values)
        for round in range(1, new.num_rounds):
            node_ids = ids[-1][new.colour(round - 1)]
            ids.append(self.tables[min(round, len(self.tables) - 1)].find(new.rows(round, node_ids, arcs)))
        return ids

    def name(self, round: int, colour: int) -> str:
        """The name of a colour; in round 0, its description."""
        return f"colour {colour}" if round else description.name_start(self, colour)


def _indices(labels: list[Hashable], known: list[Hashable]) -> Int64:
    """The index of each label in `known`, or `UNSEEN`."""
    index = {label: at for at, label in enumerate(known)}
    return np.array([index.get(label, UNSEEN) for label in labels], dtype=np.int64)


def _check_label_type(thing: str, fitted: list[Hashable], new: list[Hashable]) -> None:
    """Raise `InputError` for labels of another type than those of `fit`: 6 and "6" would never match."""
    old_type, new_type = (
        {"strings" if isinstance(label, str) else "integers" for label in labels[:1]} for labels in (fitted, new)
    )
    if old_type and new_type and old_type != new_type:
        raise InputError(
            f"The kernel was fitted on {thing} labels that are {old_type.pop()}, but these are {new_type.pop()}; "
            "convert one or the other."
        )


def _arc_values(batch: Batch, options: ColouringOptions) -> Int64 | None:
    """The detours of every arc or, for "phi", of every node."""
    if options.detours is None or options.k is None:
        return None
    counts = count(batch.union, options.k, n_jobs=options.n_jobs)
    if options.detours == "phi":
        return counts.node[:, None]
    if options.detours == "den":
        return counts.arc_by_length
    message = f'the detours of an edge up to k = {options.k} exceed 2^63 when summed; use init="den" or a smaller k'
    return sum_rows(counts.arc_by_length, message)[:, None]


def _arc_rows(nodes: Int32, first: Neighbourhood, plain: Bool) -> tuple[Int64, Int64]:
    """The sorted values of the arcs of each node, as a ragged array; empty for plain nodes."""
    assert first.arc_values is not None
    degree = np.where(plain, 0, np.diff(first.arcs.indptr)[nodes])
    starts = np.concatenate([[0], np.cumsum(degree)])
    arcs = np.repeat(first.arcs.indptr[nodes] - starts[:-1], degree) + np.arange(starts[-1])
    # Arcs of a node are sorted by colour, which is the order of their values.
    row = np.repeat(np.arange(len(nodes)), degree)
    arcs = arcs[np.lexsort((first.arcs.colour[arcs], row))]
    values = first.arc_values[first.arcs.colour[arcs]]
    return starts * values.shape[1], values.ravel()


def _writable(colour: Int32) -> Int32:
    """A writable copy: arrays of `find` are writable too, so the loops are compiled only once."""
    return np.array(colour)
