"""Features of nodes and their encodings, read and computed one value at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def geom_gcn_features(file: Path) -> np.ndarray:
    """float64 [nodes, columns] of `out1_node_feature_label.txt`."""
    header, *lines = file.read_text().splitlines()
    by_node = {int(line.split("\t")[0]): [float(word) for word in line.split("\t")[1].split(",")] for line in lines}
    if "feature_amount" not in header:
        return np.array([by_node[node] for node in range(len(by_node))])
    columns = {node: set(map(int, held)) for node, held in by_node.items()}
    width = 1 + max(max(held) for held in columns.values())
    return np.array([[column in columns[node] for column in range(width)] for node in range(len(columns))], float)


def tu_attributes(folder: Path, name: str) -> list[list[list[float]]]:
    """The attributes of the nodes of every graph."""
    graph_of_node = [int(line) for line in (folder / f"{name}_graph_indicator.txt").read_text().split()]
    graphs: list[list[list[float]]] = [[] for _ in range(max(graph_of_node))]
    lines = (folder / f"{name}_node_attributes.txt").read_text().splitlines()
    for graph, line in zip(graph_of_node, lines, strict=True):
        graphs[graph - 1].append([float(word) for word in line.split(",")])
    return graphs


def one_hot(values: list[int], known: list[int]) -> np.ndarray:
    return np.array([[float(value == column) for column in known] for value in values]).reshape(-1, len(known))
