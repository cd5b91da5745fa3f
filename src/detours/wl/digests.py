"""Digests of the colours of each graph of a batch, equal on every machine.

The colours of a batch are numbered for all its graphs together. Here they are numbered again within each graph, in the
same order. This order depends on nothing but the graph (see `rounds`), so a table for each round, of the classes with
their sizes and of what their members saw in the round before, is the same for graphs that the colours do not tell
apart, and for no others. A digest is the SHA-256 of the tables up to the first that has no more classes than the
one before it: later ones follow from that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Bool, Int32, Int64, read_only
from detours.wl.nodes.class_tables_numba import Classes, arc_classes_of, classes_of, tables_of
from detours.wl.nodes.neighbourhood import Neighbourhood
from detours.wl.nodes.rounds_numba import Arcs
from detours.wl.preparation import Prepared

FORM = "detours.wl certificate, form 2"
"""Changes whenever the same graph would get another certificate."""


def digest_graphs(prepared: Prepared) -> list[bytes]:
    """Return for each graph the digest of all that decides its colours, the options included."""
    kind = "directed" if any(graph.directed for graph in prepared.graphs) else "undirected"
    head = hashlib.sha256(f"{FORM}\n{kind} {prepared.method.name}\n".encode())
    digests = [head.copy() for _ in prepared.graphs]
    feed_rounds(digests, prepared)
    return [digest.digest() for digest in digests]


def feed_rounds(digests: list[Any], prepared: Prepared) -> Int32:
    """Feed the tables of round after round, as long as the colours of a graph change; return the last colours."""
    offsets = read_only(prepared.offsets, np.int64)
    active = np.ones(len(digests), np.bool_)
    classes = _classes(prepared.initial.colour, offsets, active)
    _feed_initial(digests, prepared, classes)
    rounds = _rounds_until_confirmed(prepared)
    colour = next(rounds)
    if prepared.first is not None:
        arcs = _feed_arc_values(digests, prepared.first, offsets)
        coarser, classes = classes, _classes(colour, offsets, active)
        _feed_tables(digests, classes, coarser, arcs)
    if prepared.method.rounds != 0:
        arcs = _feed_arc_values(digests, prepared.around, offsets)
    for colour in rounds:
        coarser, classes = classes, _classes(colour, offsets, active)
        _feed_tables(digests, classes, coarser, arcs)
        active &= np.diff(classes.ends) > np.diff(coarser.ends)
        if not active.any():
            break
    return colour


def _rounds_until_confirmed(prepared: Prepared) -> Iterator[Int32]:
    """Yield the colours of every round; stable ones twice, as the table of one more round shows that they are."""
    done = -1
    for refinement in prepared.rounds():
        yield refinement.colour
        done += 1
    if prepared.method.is_stable(done):
        yield refinement.colour


def _classes(colour: Int32, offsets: Int64, active: Bool) -> Classes:
    return classes_of(read_only(colour, np.int32), offsets, active)


def _feed_initial(digests: list[Any], prepared: Prepared, classes: Classes) -> None:
    """Feed the number of nodes of each initial colour of a graph, and what these colours stand for."""
    for g, digest in enumerate(digests):
        own = slice(classes.ends[g], classes.ends[g + 1])
        digest.update(_encode(np.append(len(classes.sizes[own]), classes.sizes[own])))
        digest.update(prepared.initial.encode(prepared.initial.colour[classes.members[own]]))


def _feed_arc_values(digests: list[Any], around: Neighbourhood, offsets: Int64) -> Arcs:
    """Feed what the arc colours of each graph stand for, and return the arcs coloured by numbers within each graph."""
    if around.arc_values is None:
        return around.arcs
    classes = arc_classes_of(around.arcs, offsets)
    values = around.arc_values[classes.colours]
    for g, digest in enumerate(digests):
        own = values[classes.ends[g] : classes.ends[g + 1]]
        digest.update(_encode(np.array([len(own)])) + _encode(own))
    return around.arcs._replace(colour=read_only(classes.number, np.int32))


def _feed_tables(digests: list[Any], classes: Classes, coarser: Classes, arcs: Arcs) -> None:
    words, begins = tables_of(classes, coarser.number, arcs)
    table = words.astype("<i8", copy=False).view(np.uint8).data
    for g in np.flatnonzero(np.diff(classes.ends)).tolist():
        digests[g].update(table[8 * begins[g] : 8 * begins[g + 1]])


def _encode(numbers: NDArray[np.int64]) -> bytes:
    return numbers.astype("<i8").tobytes()
