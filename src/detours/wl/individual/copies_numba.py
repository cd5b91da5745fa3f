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
    offsets: Int64
    """The nodes of copy c are ``offsets[c]`` to ``offsets[c + 1]`` of `cell`."""
    cell: Int32
    """For each node of each copy, the number of nodes in cells before its own."""
    target: Int32
    """The cell whose nodes are individualised next, or -1 if every cell is joined to every other in full or not at
    all: then the cells and their sizes determine the graph."""


@compiled
def refine_marked(
    arcs: Arcs, arc_colours: int, offsets: Int64, given: Partitions, parent: Int64, marked: Int64
) -> tuple[tuple[Int64, Int64, Int32, Int32], Int64, Int64]:
    """Mark node ``marked[i]`` of the copy ``parent[i]`` (none if negative), for each i, and refine.

    Return the fields of the `Partitions`, a description of each as integers, and the offsets of the descriptions. Those
    of two copies of one parent, or of parents with equal descriptions, are equal if and only if colour refinement does
    not tell the copies apart. If all cells have one node, the description is the graph itself, its nodes in the order
    of the cells.
    """
    copies = len(parent)
    copy_offsets, word_offsets = np.zeros(copies + 1, np.int64), np.zeros(copies + 1, np.int64)
    graph, target = np.empty(copies, np.int64), np.empty(copies, np.int32)
    max_nodes = max_arcs = num_words = 0
    for i in range(copies):
        g = given.graph[parent[i]]
        size, own_arcs = offsets[g + 1] - offsets[g], arcs.indptr[offsets[g + 1]] - arcs.indptr[offsets[g]]
        graph[i], copy_offsets[i + 1] = g, copy_offsets[i] + size
        max_nodes, max_arcs = max(max_nodes, size), max(max_arcs, own_arcs)
        num_words += 2 + 2 * size + own_arcs
    cell, words = np.empty(copy_offsets[copies], np.int32), np.empty(num_words, np.int64)
    scratch, buffers, queue = new_scratch(max_nodes, max_arcs, arc_colours), new_cells(max_nodes), new_queue(max_nodes)
    for i in range(copies):
        first, size = offsets[graph[i]], copy_offsets[i + 1] - copy_offsets[i]
        cells = Cells(buffers.order[:size], buffers.position[:size], buffers.cell[:size], buffers.size[:size])
        start = given.offsets[parent[i]]
        num_cells = load_cells(given.cell[start : start + size], cells)
        words[word_offsets[i]] = -1
        if marked[i] >= 0:
            words[word_offsets[i]] = cells.cell[marked[i]]
            num_cells += single_out(marked[i], cells, queue)
        num_cells = refine(arcs, first, cells, num_cells, queue, scratch)
        words[word_offsets[i] + 1] = num_cells
        target[i], word_offsets[i + 1] = _describe(arcs, first, cells, words, word_offsets[i] + 2, scratch.row)
        cell[copy_offsets[i] : copy_offsets[i + 1]] = cells.cell
    return (graph, copy_offsets, cell, target), words[: word_offsets[copies]].copy(), word_offsets


@compiled
def _describe(arcs: Arcs, first: int, cells: Cells, words: Int64, end: int, row: Int64) -> tuple[int, int]:
    """Write for each cell its size and what one of its nodes sees; return the target cell and the end of the words.

    The target is the cell whose nodes are joined to some but not all nodes of most cells; of these the smallest, and of
    these the first.
    """
    coloured = len(arcs.colour) > 0
    target, best_size, most_joined = -1, 0, 0
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
        num_joined = _partly_joined(row, degree, at, cells.size) if size > 1 else 0
        if num_joined > most_joined or (num_joined == most_joined > 0 and size < best_size):
            target, best_size, most_joined = at, size, num_joined
        at += size
    return target, end


@compiled
def _partly_joined(row: Int64, degree: int, own: int, sizes: Int32) -> int:
    """Count the cells that a node of cell `own` sees in part, through arcs of one colour."""
    num_joined = run = 0
    for i in range(degree):
        run += 1
        if i + 1 == degree or row[i + 1] != row[i]:
            seen = row[i] & 0xFFFFFFFF
            num_joined += run < sizes[seen] - (seen == own)
            run = 0
    return num_joined
