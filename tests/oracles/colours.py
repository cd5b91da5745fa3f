"""Colour refinement with Python tuples, one pair of graphs at a time: slow and obvious."""

from collections import Counter

from detours.graph import Graph


def neighbours(graph: Graph) -> list[list[int]]:
    rows: list[list[int]] = [[] for _ in range(graph.num_nodes)]
    for a, b in graph.to_edge_index().T.tolist():
        rows[a].append(b)
    return rows


def degree_colours(graph: Graph, rounds: int) -> list[object]:
    """The colour of every node after some rounds from the degrees: nested tuples, comparable between graphs."""
    rows = neighbours(graph)
    colours: list[object] = [len(row) for row in rows]
    for _ in range(rounds):
        colours = [(colours[i], tuple(sorted((colours[j] for j in row), key=repr))) for i, row in enumerate(rows)]
    return colours


def histogram(graph: Graph, rounds: int) -> Counter[object]:
    return Counter(degree_colours(graph, rounds))


def class_sizes(graph: Graph, rounds: int) -> list[int]:
    return sorted(histogram(graph, rounds).values())
