"""Refine copies of coloured graphs, each with one node marked, and describe the cells they end with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Int32, Int64
from detours.compiled import compiled
from detours.wl.individual.cells_numba import (
    Cells,
    load_cells,
    new_cells,
    new_queue,
    new_scratch,
    refine,
    single_out,
)
from detours.wl.nodes.rounds_numba import Arcs
from detours.wl.nodes.sort_numba import sort_row


class Partitions(NamedTuple):
    """Equitable partitions of copies of graphs; copy c is one of graph ``graph[c]``."""

    graph: Int64
    begins: Int64
    """The nodes of copy c are ``begins[c]`` to ``begins[c + 1]`` of `cell`."""
    cell: Int32
    """For each node of each copy, the number of nodes in cells before its own."""
    target: Int32
    """The cell whose nodes are individualised next, or -1 if every cell is joined to every other in full or not at
    all: then the cells and their sizes determine the graph."""


@compiled
def refine_marked(
    arcs: Arcs, arc_colours: int, offsets: Int64, given: Partitions, parent: Int64, marked: Int64
) -> tuple[Partitions, Int64, Int64]:
    """Mark node ``marked[i]`` of the copy ``parent[i]`` (none if negative), for each i, and refine.

    Return the partitions, a description of each in numbers, and where these begin. The descriptions of two copies of
    one parent, or of parents with equal descriptions, are equal if and only if colour refinement does not tell the
    copies apart. If all cells have one node, they are the graph itself, its nodes in the order of the cells.
    """
    copies = len(parent)
    begins, word_begins = np.zeros(copies + 1, np.int64), np.zeros(copies + 1, np.int64)
    graph, target = np.empty(copies, np.int64), np.empty(copies, np.int32)
    nodes = most_arcs = total = 0
    for i in range(copies):
        g = given.graph[parent[i]]
        size, own_arcs = offsets[g + 1] - offsets[g], arcs.indptr[offsets[g + 1]] - arcs.indptr[offsets[g]]
        graph[i], begins[i + 1] = g, begins[i] + size
        nodes, most_arcs, total = max(nodes, size), max(most_arcs, own_arcs), total + 2 + 2 * size + own_arcs
    cell, words = np.empty(begins[copies], np.int32), np.empty(total, np.int64)
    scratch, room, queue = new_scratch(nodes, most_arcs, arc_colours), new_cells(nodes), new_queue(nodes)
    for i in range(copies):
        first, size = offsets[graph[i]], begins[i + 1] - begins[i]
        cells = Cells(room.order[:size], room.place[:size], room.cell[:size], room.size[:size])
        start = given.begins[parent[i]]
        found = load_cells(given.cell[start : start + size], cells)
        words[word_begins[i]] = -1
        if marked[i] >= 0:
            words[word_begins[i]] = cells.cell[marked[i]]
            found += single_out(marked[i], cells, queue)
        found = refine(arcs, first, cells, found, queue, scratch)
        words[word_begins[i] + 1] = found
        target[i], word_begins[i + 1] = _describe(arcs, first, cells, words, word_begins[i] + 2, scratch.row)
        cell[begins[i] : begins[i + 1]] = cells.cell
    return Partitions(graph, begins, cell, target), words[: word_begins[copies]].copy(), word_begins


@compiled
def _describe(arcs: Arcs, first: int, cells: Cells, words: Int64, end: int, row: Int64) -> tuple[int, int]:
    """Write for each cell its size and what one of its nodes sees; return the target cell and the end of the words.

    The target is the cell whose nodes are joined to some but not all nodes of most cells; of these the smallest, and of
    these the first.
    """
    coloured = len(arcs.colour) > 0
    target, best_size, best_joined = -1, 0, 0
    at = 0
    while at < len(cells.order):
        node = first + cells.order[at]
        degree = arcs.indptr[node + 1] - arcs.indptr[node]
        for i in range(degree):
            arc = arcs.indptr[node] + i
            row[i] = cells.cell[arcs.indices[arc] - first]
            if coloured:
                row[i] |= np.int64(arcs.colour[arc]) << 32
        sort_row(row, degree)
        size = cells.size[at]
        words[end], words[end + 1] = size, degree
        words[end + 2 : end + 2 + degree] = row[:degree]
        end += 2 + degree
        joined = _partly_joined(row, degree, at, cells.size) if size > 1 else 0
        if joined > best_joined or (joined == best_joined > 0 and size < best_size):
            target, best_size, best_joined = at, size, joined
        at += size
    return target, end


@compiled
def _partly_joined(row: Int64, degree: int, own: int, sizes: Int32) -> int:
    """Count the cells that a node of cell `own` sees in part, through arcs of one colour."""
    joined = run = 0
    for i in range(degree):
        run += 1
        if i + 1 == degree or row[i + 1] != row[i]:
            seen = row[i] & 0xFFFFFFFF
            joined += run < sizes[seen] - (seen == own)
            run = 0
    return joined
