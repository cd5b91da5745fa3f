"""Refine one ordered partition of the nodes of a graph until it is equitable, by cells that split others.

A cell is identified by the position of its first node in the order of all nodes, which is the number of nodes before
it. Cells are taken from a queue. Every other cell is split by the number of arcs of each colour that lead from the
taken cell to its nodes, smallest counts first, and the parts join the queue (all but the largest if the split cell was
not waiting, after Hopcroft). The order of the parts and of the queue depends on these counts only, so isomorphic graphs
end with corresponding partitions in the same order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Bool, Int32, Int64
from detours.compiled import compiled
from detours.wl.nodes.rounds_numba import Arcs
from detours.wl.nodes.sort_numba import sort_row


class Cells(NamedTuple):
    """An ordered partition of the nodes of one graph, which are numbered from 0."""

    order: Int32
    """The nodes, cell by cell."""
    position: Int32
    """For each node, its position in `order`."""
    cell: Int32
    """For each node, the position of the first node of its cell."""
    size: Int32
    """For each position of the first node of a cell, the number of nodes in it."""


class Queue(NamedTuple):
    """Cells that wait to split others."""

    cells: Int32
    waits: Bool
    span: Int64
    """The position of the first cell, and the number of cells."""


class Scratch(NamedTuple):
    """Arrays that a refinement writes to and leaves clean."""

    number: Int32
    """For each node, the arcs of one colour that lead to it from the taken cell."""
    hit: Int32
    """For each cell, the number of its nodes that are reached."""
    hit_cells: Int64
    reached: Int32
    row: Int64
    colours: Int64
    """The colours of the arcs that leave the taken cell."""
    colour_count: Int32
    """For each arc colour, the number of these arcs."""
    targets: Int32
    """The ends of these arcs, by colour."""


@compiled
def new_cells(nodes: int) -> Cells:
    return Cells(
        np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.empty(nodes, np.int32)
    )


@compiled
def new_queue(nodes: int) -> Queue:
    return Queue(np.empty(nodes + 1, np.int32), np.zeros(nodes, np.bool_), np.zeros(2, np.int64))


@compiled
def new_scratch(nodes: int, most_arcs: int, arc_colours: int) -> Scratch:
    return Scratch(
        np.zeros(nodes, np.int32),
        np.zeros(nodes, np.int32),
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int32),
        np.empty(max(nodes, most_arcs), np.int64),
        np.empty(arc_colours, np.int64),
        np.zeros(arc_colours, np.int32),
        np.empty(most_arcs if arc_colours > 0 else 0, np.int32),
    )


@compiled
def load_cells(cell: Int32, cells: Cells) -> int:
    """Set `cells` to the partition with the given cell of every node, and return the number of cells."""
    nodes = len(cell)
    found = 0
    for start in range(nodes):
        cells.size[start] = 0
    for node in range(nodes):
        start = cell[node]
        at = start + cells.size[start]
        found += cells.size[start] == 0
        cells.size[start] += 1
        cells.order[at] = node
        cells.position[node] = at
        cells.cell[node] = start
    return found


@compiled
def put(queue: Queue, cell: int) -> None:
    """Append a cell to the queue."""
    queue.cells[(queue.span[0] + queue.span[1]) % len(queue.cells)] = cell
    queue.span[1] += 1
    queue.waits[cell] = True


@compiled
def single_out(node: int, cells: Cells, queue: Queue) -> int:
    """Split a node off its cell, before the rest; return the number of new cells, 0 or 1."""
    start = cells.cell[node]
    size = cells.size[start]
    if size == 1:
        return 0
    other, at = cells.order[start], cells.position[node]
    cells.order[at], cells.position[other] = other, at
    cells.order[start], cells.position[node] = node, start
    cells.size[start], cells.size[start + 1] = 1, size - 1
    for at in range(start + 1, start + size):
        cells.cell[cells.order[at]] = start + 1
    put(queue, start)
    return 1


@compiled
def refine(arcs: Arcs, first: int, cells: Cells, found: int, queue: Queue, scratch: Scratch) -> int:
    """Split cells until the queue is empty; the nodes of `arcs` are shifted by `first`. Return the number of cells."""
    nodes = len(cells.order)
    while queue.span[1] > 0:
        taken = queue.cells[queue.span[0]]
        queue.span[0] = (queue.span[0] + 1) % len(queue.cells)
        queue.span[1] -= 1
        queue.waits[taken] = False
        if found == nodes:
            continue  # nothing is left to split
        if len(arcs.colour) == 0:
            reached = 0
            for at in range(taken, taken + cells.size[taken]):
                node = first + cells.order[at]
                for arc in range(arcs.indptr[node], arcs.indptr[node + 1]):
                    reached = _reach(arcs.indices[arc] - first, reached, scratch)
            found += _split(reached, cells, queue, scratch)
            continue
        colours = _sort_arcs(arcs, first, taken, cells, scratch)
        begin = 0
        for c in range(colours):
            end = scratch.colour_count[scratch.colours[c]]
            reached = 0
            for at in range(begin, end):
                reached = _reach(scratch.targets[at], reached, scratch)
            found += _split(reached, cells, queue, scratch)
            begin = end
        for c in range(colours):
            scratch.colour_count[scratch.colours[c]] = 0
    return found


@compiled
def _reach(node: int, reached: int, scratch: Scratch) -> int:
    if scratch.number[node] == 0:
        scratch.reached[reached] = node
        reached += 1
    scratch.number[node] += 1
    return reached


@compiled
def _sort_arcs(arcs: Arcs, first: int, taken: int, cells: Cells, scratch: Scratch) -> int:
    """Sort the arcs that leave a cell by colour, and return the number of colours.

    Afterwards ``scratch.colour_count`` holds the end of the targets of each colour.
    """
    count, colours = scratch.colour_count, 0
    for at in range(taken, taken + cells.size[taken]):
        node = first + cells.order[at]
        for arc in range(arcs.indptr[node], arcs.indptr[node + 1]):
            c = arcs.colour[arc]
            if count[c] == 0:
                scratch.colours[colours] = c
                colours += 1
            count[c] += 1
    sort_row(scratch.colours, colours)
    begin = 0
    for c in range(colours):
        number = count[scratch.colours[c]]
        count[scratch.colours[c]] = begin
        begin += number
    for at in range(taken, taken + cells.size[taken]):
        node = first + cells.order[at]
        for arc in range(arcs.indptr[node], arcs.indptr[node + 1]):
            c = arcs.colour[arc]
            scratch.targets[count[c]] = arcs.indices[arc] - first
            count[c] += 1
    return colours


@compiled
def _split(reached: int, cells: Cells, queue: Queue, scratch: Scratch) -> int:
    """Split cells by the counts of their nodes, clear the counts, and return the number of new cells."""
    order, position, cell, size = cells
    hits = 0
    for at in range(reached):
        node = scratch.reached[at]
        start = cell[node]
        if size[start] == 1:
            scratch.number[node] = 0
            continue
        if scratch.hit[start] == 0:
            scratch.hit_cells[hits] = start
            hits += 1
        scratch.hit[start] += 1  # reached nodes gather at the end of their cell
        here, there = position[node], start + size[start] - scratch.hit[start]
        other = order[there]
        order[here], position[other] = other, here
        order[there], position[node] = node, there
    sort_row(scratch.hit_cells, hits)
    found = 0
    for at in range(hits):
        start = scratch.hit_cells[at]
        found += _split_cell(start, scratch.hit[start], cells, queue, scratch)
        scratch.hit[start] = 0
    return found


@compiled
def _split_cell(start: int, hit: int, cells: Cells, queue: Queue, scratch: Scratch) -> int:
    """Split a cell whose last `hit` nodes have counts above 0, and return the number of new cells."""
    order, position, cell, size = cells
    end = start + size[start]
    least, most = np.int64(1) << 31, np.int64(0)
    for at in range(end - hit, end):
        own = np.int64(scratch.number[order[at]])
        least, most = min(least, own), max(most, own)
        scratch.row[at - end + hit] = own << 32 | order[at]
    for at in range(end - hit, end):
        scratch.number[order[at]] = 0
    if least == most and hit == size[start]:
        return 0
    if least < most:
        sort_row(scratch.row, hit)
        for at in range(hit):
            node = scratch.row[at] & 0xFFFFFFFF
            order[end - hit + at], position[node] = node, end - hit + at
    part, largest, found = start, start, 0
    if hit < size[start]:
        size[start] = end - hit - start
        part = end - hit
        found += 1
    for at in range(end - hit, end):
        if at > part and scratch.row[at - end + hit] >> 32 != scratch.row[at - 1 - end + hit] >> 32:
            size[part] = at - part
            part = at
            found += 1
        cell[order[at]] = part
    size[part] = end - part
    at = start
    while at < end:
        if size[at] > size[largest]:
            largest = at
        at += size[at]
    skipped = start if queue.waits[start] else largest
    at = start
    while at < end:
        if at != skipped:
            put(queue, at)
        at += size[at]
    return found
