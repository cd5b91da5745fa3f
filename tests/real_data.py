"""Readers of the raw data files; they return arcs exactly as stored, including loops and duplicates."""

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

EdgeIndex = NDArray[np.int64]

NODE_DATA = {
    "Chameleon": "WikipediaNetwork/chameleon/geom_gcn/raw",
    "Squirrel": "WikipediaNetwork/squirrel/geom_gcn/raw",
    "Actor": "Actor/raw",
    "Cornell": "WebKB/cornell/raw",
    "Wisconsin": "WebKB/wisconsin/raw",
    "Texas": "WebKB/texas/raw",
}


def data_folder() -> Path:
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("DETOURS_DATA", default))


def _existing(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"real data not found: {path} (set DETOURS_DATA to the folder that contains the data sets)")
    return path


def node_graph(name: str) -> EdgeIndex:
    """The arcs of one of the six node-classification graphs, an array [2, arcs]."""
    file = _existing(data_folder() / NODE_DATA[name] / "out1_graph_edges.txt")
    return _integers(file, "\t", skip=1).reshape(-1, 2).T


def molecule_graphs(name: str) -> list[tuple[int, EdgeIndex]]:
    """(number of nodes, arcs) of every graph of a TU data set; an undirected edge is stored both ways."""
    folder = _existing(data_folder() / "TUDataset" / name / "raw")
    graph_of_node = _integers(folder / f"{name}_graph_indicator.txt", ",") - 1
    arcs = _integers(folder / f"{name}_A.txt", ",").reshape(-1, 2).T - 1
    arcs = arcs[:, np.argsort(graph_of_node[arcs[0]], kind="stable")]
    first_node = np.concatenate([[0], np.cumsum(np.bincount(graph_of_node))])
    first_arc = np.searchsorted(graph_of_node[arcs[0]], np.arange(len(first_node)))
    return [
        (int(end - start), arcs[:, first_arc[index] : first_arc[index + 1]] - start)
        for index, (start, end) in enumerate(pairwise(first_node))
    ]


def _integers(file: Path, separator: str, skip: int = 0) -> NDArray[np.int64]:
    lines = file.read_text().splitlines()[skip:]
    return np.array(separator.join(lines).split(separator), dtype=np.int64)


def pair_graphs(name: str) -> list[tuple[int, EdgeIndex]]:
    """(number of nodes, arcs) of every graph of EXP or CEXP."""
    lines = iter(_existing(data_folder() / name / "raw" / "GRAPHSAT.txt").read_text().splitlines())
    graphs = []
    for _ in range(int(next(lines))):
        num_nodes = int(next(lines).split()[0])
        neighbours = [[int(word) for word in next(lines).split()[2:]] for _ in range(num_nodes)]
        arcs = [(node, other) for node in range(num_nodes) for other in neighbours[node]]
        graphs.append((num_nodes, np.array(arcs, dtype=np.int64).reshape(-1, 2).T))
    return graphs
