"""`Copies`: coloured copies of graphs, and the nodes of them to be individualised next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from detours.arrays import Int32, Int64, read_only
from detours.graph import Graph
from detours.wl.individual.copies_numba import Partitions, refine_marked
from detours.wl.nodes.class_tables_numba import ArcClasses, Classes, arc_classes_of, classes_of
from detours.wl.nodes.rounds_numba import Arcs

CHUNK_ENTRIES = 1 << 23
"""Nodes of copies, and arcs if each copy has its own, in memory at a time for each level."""


class Choices(NamedTuple):
    """Nodes to be individualised: node ``node[i]`` of copy ``copy[i]``."""

    copy: Int64
    node: Int64


@dataclass(frozen=True, slots=True)
class Copies:
    """Equitable partitions of copies of graphs, which share the arrays of their graph."""

    union: Graph
    """The disjoint union of all graphs."""
    offsets: Int64
    """The nodes of graph g are ``offsets[g]`` to ``offsets[g + 1]`` of the union."""
    arcs: Arcs
    """What the nodes of the union see."""
    arc_colours: int
    partitions: Partitions

    def __len__(self) -> int:
        return len(self.partitions.graph)

    def choices(self, every_node: bool, singletons: bool) -> Choices:
        """Return the nodes of the target cell of each copy, or every node.

        `singletons` includes nodes in a cell of size one when `every_node` is set.
        """
        cell, offsets = self.partitions.cell, self.partitions.offsets
        copy = np.repeat(np.arange(len(self)), np.diff(offsets))
        if not every_node:
            chosen = np.flatnonzero(cell == self.partitions.target[copy])
        elif singletons:
            chosen = np.arange(len(cell))
        else:
            key = offsets[copy] + cell
            chosen = np.flatnonzero(np.bincount(key, minlength=len(cell))[key] > 1)
        return Choices(copy[chosen], chosen - offsets[copy[chosen]])

    def refine(self, choices: Choices) -> tuple[Partitions, Int64, Int64]:
        """Mark a node of a copy for each choice, none if negative, and refine: see `refine_marked`."""
        partitions, words, word_offsets = refine_marked(
            self.arcs, self.arc_colours, self.offsets, self.partitions, *choices
        )
        return Partitions(*partitions), words, word_offsets

    def chunks(self, choices: Choices, own_arcs: bool) -> Iterator[Choices]:
        """Split choices into chunks whose copies fit into memory; `own_arcs` counts the arcs of each copy as well."""
        if not len(choices.node):
            return
        graph = self.partitions.graph[choices.copy]
        ends = self.offsets[graph + 1], self.offsets[graph]
        entries = ends[0] - ends[1]
        if own_arcs:
            entries = entries + self.arcs.indptr[ends[0]] - self.arcs.indptr[ends[1]]
        chunk = np.cumsum(entries) // CHUNK_ENTRIES
        cuts = np.flatnonzero(np.diff(chunk)) + 1
        for copy, node in zip(np.split(choices.copy, cuts), np.split(choices.node, cuts), strict=True):
            yield Choices(copy, node)


def as_copies(union: Graph, offsets: Int64, arcs: Arcs, colour: Int32) -> Copies:
    """Return each graph once, with stable colours as cells in the order of the colours.

    The colours of arcs are numbered within each graph, so that they do not depend on the other graphs.
    """
    graphs = np.arange(len(offsets) - 1)
    shared = read_only(offsets, np.int64)
    classes = Classes(*classes_of(read_only(colour, np.int32), shared, np.ones(len(graphs), np.bool_)))
    nodes_before = np.cumsum(classes.sizes) - classes.sizes  # nodes of earlier classes, and of earlier graphs
    graph = np.repeat(graphs, np.diff(offsets))
    cell = (nodes_before[classes.offsets[graph] + classes.class_index] - offsets[graph]).astype(np.int32)
    if len(arcs.colour):
        arcs = arcs._replace(colour=read_only(ArcClasses(*arc_classes_of(arcs, shared)).colour_index, np.int32))
    given = Partitions(graphs, np.array(offsets), cell, np.empty(0, np.int32))
    copies = Copies(union, shared, arcs, int(arcs.colour.max(initial=-1)) + 1, given)
    partitions, _, _ = copies.refine(Choices(graphs, np.full(len(graphs), -1)))
    return replace(copies, partitions=partitions)
