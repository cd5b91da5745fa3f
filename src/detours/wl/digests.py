"""Digests of the colours of each graph of a batch, equal on every machine.

Colours are numbered over all graphs of a batch. Here they are renumbered within each graph, in the same order, which
depends on the graph only (see `rounds`). So the table of a round, which holds the size of each class and what its
members saw in the previous round, is equal for two graphs if and only if their colours are.

A digest is the SHA-256 of the initial colours, with their values, and of the table of the stable colours. That
determines the colours of every round: classes keep the order of those that they come from, so their sizes tell which
initial colour each has, and by induction over the rounds a class determines what its members see in any of them. Only
for a graph that is not known to be stable when `rounds` end, the tables of all rounds are hashed.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Bool, Int32, Int64, read_only
from detours.wl.nodes.class_tables_numba import ArcClasses, Classes, arc_classes_of, classes_of, tables_of
from detours.wl.nodes.neighbourhood import Neighbourhood
from detours.wl.nodes.rounds_numba import Arcs
from detours.wl.preparation import Prepared

FORM = "detours.wl certificate, form 3"
"""Changes whenever the same graph would get another certificate."""


def digest_graphs(prepared: Prepared) -> list[bytes]:
    """Return for each graph the digest of everything that determines its colours, including the options."""
    kind = "directed" if any(graph.directed for graph in prepared.graphs) else "undirected"
    head = hashlib.sha256(f"{FORM}\n{kind} {prepared.method.name}\n".encode())
    digests = [head.copy() for _ in prepared.graphs]
    feed_rounds(digests, prepared)
    return [digest.digest() for digest in digests]


def feed_rounds(digests: list[Any], prepared: Prepared) -> Int32:
    """Add what determines the colours of each graph to its digest, which may be replaced; return the last colours."""
    offsets = read_only(prepared.offsets, np.int64)
    unstable = np.ones(len(digests), np.bool_)
    classes = _classes(prepared.initial.colour, offsets, unstable)
    _feed_initial(digests, prepared, classes)
    rounds = prepared.rounds()
    refinement = next(rounds)
    if prepared.first_neighbourhood is not None:
        arcs = _feed_arc_values(digests, prepared.first_neighbourhood, offsets)
        coarser, classes = classes, _classes(refinement.colour, offsets, unstable)
        _feed_tables(digests, classes, coarser, arcs)
    if prepared.method.rounds == 0:
        return refinement.colour
    arcs = _feed_arc_values(digests, prepared.neighbourhood, offsets)
    histories = [digest.copy() for digest in digests]
    done = 0
    for refinement in rounds:
        done += 1
        if prepared.method.rounds is not None:
            coarser, classes = classes, _classes(refinement.colour, offsets, unstable)
            _feed_tables(histories, classes, coarser, arcs)
            unstable &= np.diff(classes.offsets) > np.diff(coarser.offsets)
    if prepared.method.is_stable(done):
        unstable[:] = False
    classes = _classes(refinement.colour, offsets, ~unstable)
    _feed_tables(digests, classes, classes, arcs)
    for g in np.flatnonzero(unstable).tolist():
        digests[g] = histories[g]
    return refinement.colour


def _classes(colour: Int32, offsets: Int64, active: Bool) -> Classes:
    return Classes(*classes_of(read_only(colour, np.int32), offsets, active))


def _feed_initial(digests: list[Any], prepared: Prepared, classes: Classes) -> None:
    """Add the number of nodes of each initial colour, and the values of these colours."""
    for g, digest in enumerate(digests):
        own = slice(classes.offsets[g], classes.offsets[g + 1])
        digest.update(_encode(np.append(len(classes.sizes[own]), classes.sizes[own])))
        digest.update(prepared.initial.encode(prepared.initial.colour[classes.members[own]]))


def _feed_arc_values(digests: list[Any], around: Neighbourhood, offsets: Int64) -> Arcs:
    """Add the values of the arc colours of each graph; return the arcs with colours numbered within each graph."""
    if around.arc_values is None:
        return around.arcs
    classes = ArcClasses(*arc_classes_of(around.arcs, offsets))
    values = around.arc_values[classes.colours]
    for g, digest in enumerate(digests):
        own = values[classes.offsets[g] : classes.offsets[g + 1]]
        digest.update(_encode(np.array([len(own)])) + _encode(own))
    return around.arcs._replace(colour=read_only(classes.colour_index, np.int32))


def _feed_tables(digests: list[Any], classes: Classes, coarser: Classes, arcs: Arcs) -> None:
    words, table_offsets = tables_of(classes, coarser.class_index, arcs)
    table = words.astype("<i8", copy=False).view(np.uint8).data
    for g in np.flatnonzero(np.diff(classes.offsets)).tolist():
        digests[g].update(table[8 * table_offsets[g] : 8 * table_offsets[g + 1]])


def _encode(values: NDArray[np.int64]) -> bytes:
    return values.astype("<i8").tobytes()
