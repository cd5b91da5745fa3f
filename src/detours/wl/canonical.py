"""`certificate` and `certificates`: the colours of a graph as a short text, the same alone, in a batch and anywhere.

The colours of a batch are numbered for all its graphs together. Within each graph they are numbered anew here, in
the order they have. This order rests on nothing but the graph (see `rounds`), so a table for each round, of the
classes with their sizes and of what their members saw in the round before, is the same for graphs that the colours
do not tell apart, and for no others. A certificate is the SHA-256 of the tables up to the first that has no more
classes than the one before it: later ones follow from that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Bool, Int32, Int64, read_only
from detours.wl.nodes.neighbourhood import Neighbourhood
from detours.wl.nodes.tables import Classes, arc_classes_of, classes_of, tables_of
from detours.wl.options import Options
from detours.wl.refinement import Prepared, prepare

FORM = "detours.wl certificate, form 1"
"""Changes whenever the same graph would get another certificate."""


def certificate(G: Any, **options: Unpack[Options]) -> str:
    """A text that is equal for graphs not told apart, 64 hexadecimal digits; labels are those of this one graph.

    It depends on the graph up to isomorphism and on the options of `refine`, and on nothing else: not on the machine,
    nor on the graphs it is computed with. Compare only certificates made with the same options.

    >>> path, other_path, triangle = [(0, 1), (1, 2)], [(2, 1), (0, 2)], [(0, 1, 2), (1, 2, 0)]
    >>> certificate(path) == certificate(other_path), certificate(path) == certificate(triangle)
    (True, False)
    """
    if options.get("labels") is not None:
        options["labels"] = [options["labels"]]
    return _certificates(prepare("certificate", [G], **options))[0]


def certificates(graphs: Iterable[Any], **options: Unpack[Options]) -> list[str]:
    """`certificate` of every graph, made all together; the options are those of `refine`."""
    return _certificates(prepare("certificates", graphs, **options))


def _certificates(prepared: Prepared) -> list[str]:
    kind = "directed" if any(graph.directed for graph in prepared.graphs) else "undirected"
    head = hashlib.sha256(f"{FORM}\n{kind} {prepared.method.name}\n".encode())
    digests = [head.copy() for _ in prepared.graphs]
    _feed(digests, prepared)
    return [digest.hexdigest() for digest in digests]


def _feed(digests: list[Any], prepared: Prepared) -> None:
    """Round after round, the tables of the graphs that still change."""
    offsets = read_only(prepared.offsets, np.int64)
    active = np.ones(len(digests), np.bool_)
    classes = _classes(prepared.start.colour, offsets, active)
    _feed_start(digests, prepared, classes)
    coming = _confirmed(prepared)
    colour = next(coming)
    if prepared.first is not None:
        arc_number = _feed_arc_values(digests, prepared.first, offsets)
        coarser, classes = classes, _classes(colour, offsets, active)
        _feed_tables(digests, classes, coarser, prepared.first, arc_number)
    if prepared.method.rounds != 0:
        arc_number = _feed_arc_values(digests, prepared.around, offsets)
    for colour in coming:
        coarser, classes = classes, _classes(colour, offsets, active)
        _feed_tables(digests, classes, coarser, prepared.around, arc_number)
        active &= np.diff(classes.ends) > np.diff(coarser.ends)
        if not active.any():
            return


def _confirmed(prepared: Prepared) -> Iterator[Int32]:
    """The colours of every round; stable ones stay as they are for one more round, and its table shows it."""
    done = -1
    for colour in prepared.rounds():
        yield colour
        done += 1
    if prepared.method.is_stable(done):
        yield colour


def _classes(colour: Int32, offsets: Int64, active: Bool) -> Classes:
    return Classes(*classes_of(read_only(colour, np.int32), offsets, active))


def _feed_start(digests: list[Any], prepared: Prepared, classes: Classes) -> None:
    """What the first colours of each graph stand for, and how often there is each."""
    for g, digest in enumerate(digests):
        own = slice(classes.ends[g], classes.ends[g + 1])
        digest.update(_bytes(np.append(len(classes.sizes[own]), classes.sizes[own])))
        digest.update(prepared.start.encoded(prepared.start.colour[classes.members[own]]))


def _feed_arc_values(digests: list[Any], around: Neighbourhood, offsets: Int64) -> Int32:
    """What the arc colours of each graph stand for; returns their numbers within each graph."""
    if around.arc_values is None:
        return around.arc_colour
    ends, distinct, number = arc_classes_of(around.arc_colour, around.indptr, offsets)
    values = around.arc_values[distinct]
    for g, digest in enumerate(digests):
        own = values[ends[g] : ends[g + 1]]
        digest.update(_bytes(np.array([len(own)])) + _bytes(own))
    return read_only(number, np.int32)


def _feed_tables(
    digests: list[Any], classes: Classes, coarser: Classes, around: Neighbourhood, arc_number: Int32
) -> None:
    seen = around.indptr, around.indices, arc_number
    words, begins = tables_of(classes.ends, classes.sizes, classes.members, coarser.number, *seen)
    table = memoryview(_bytes(words))
    for g in np.flatnonzero(np.diff(classes.ends)).tolist():
        digests[g].update(table[8 * begins[g] : 8 * begins[g + 1]])


def _bytes(numbers: NDArray[np.int64]) -> bytes:
    return numbers.astype("<i8").tobytes()
