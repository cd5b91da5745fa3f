"""The data sets of the paper by name: `load("MUTAG")` gives graphs, classes and labels.

Raw files are read from a folder laid out as PyG does it (`TUDataset/MUTAG/raw/…`); where there is none, PyG
fetches them once into a cache.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Literal

import numpy as np

from detours.data.geom_gcn import read_geom_gcn
from detours.data.graphsat import read_graphsat
from detours.data.numbers import Ints
from detours.data.tu import read_tu
from detours.errors import InputError
from detours.graph import Graph

ROOT_VARIABLE = "DETOURS_DATA"

PAIR_SETS = ("EXP", "CEXP")
TU_SETS = ("MUTAG", "PTC_FM", "ENZYMES", "NCI1", "IMDB-BINARY", "DD")
GRAPH_SETS = PAIR_SETS + TU_SETS
NODE_SETS = ("Chameleon", "Squirrel", "Actor", "Cornell", "Wisconsin", "Texas")

_RAW = {
    **{name: f"{name}/raw" for name in PAIR_SETS},
    **{name: f"TUDataset/{name}/raw" for name in TU_SETS},
    "Chameleon": "WikipediaNetwork/chameleon/geom_gcn/raw",
    "Squirrel": "WikipediaNetwork/squirrel/geom_gcn/raw",
    "Actor": "Actor/raw",
    "Cornell": "WebKB/cornell/raw",
    "Wisconsin": "WebKB/wisconsin/raw",
    "Texas": "WebKB/texas/raw",
}


@dataclass(frozen=True)
class GraphSet:
    """Graphs with what is to be learned about them."""

    name: str
    graphs: list[Graph]
    y: Ints
    """The class of every graph; of every node where `level` is "node"."""
    labels: list[Ints] | None = None
    """The label of every node, graph by graph; None if the data set has none."""
    pairs: list[tuple[int, int]] | None = None
    """The pairs to be told apart, where the data set says which."""
    level: Literal["graph", "node"] = "graph"
    edge_labels: list[Ints] | None = None
    """The label of every edge, graph by graph, in the order of its `edge_index`; None if the data set has none."""

    def __len__(self) -> int:
        return len(self.graphs)

    def __repr__(self) -> str:
        nodes = sum(graph.num_nodes for graph in self.graphs)
        pairs = "" if self.pairs is None else f", {len(self.pairs):,} pairs"
        number = f"{len(self):,} graph{'s' * (len(self) != 1)}"
        return f"GraphSet({self.name}: {number}, {nodes:,} nodes, {len(np.unique(self.y))} classes{pairs})"

    def subset(self, kept: Sequence[int]) -> GraphSet:
        """The graphs with these indices, in this order; pairs are not kept."""
        if self.level == "node":
            raise InputError(f"{self.name} is one graph whose nodes have classes; it has no subset of graphs.")
        labels, edge_labels = (
            None if each is None else [each[i] for i in kept] for each in (self.labels, self.edge_labels)
        )
        graphs = [self.graphs[i] for i in kept]
        return GraphSet(self.name, graphs, self.y[list(kept)], labels, edge_labels=edge_labels)

    @cached_property
    def digest(self) -> str:
        """What the data are, in 16 hexadecimal digits: equal for equal graphs, classes and labels."""
        content = sha256()
        for graph in self.graphs:
            content.update(f"{graph.num_nodes} {graph.num_arcs} {graph.directed};".encode())
            content.update(graph.indptr.astype("<i8").tobytes() + graph.indices.astype("<i4").tobytes())
        for values in (self.y, *(self.labels or ())):
            content.update(f"{len(values)};".encode() + values.astype("<i8").tobytes())
        for values in self.edge_labels or ():
            content.update(f"{len(values)} of edges;".encode() + values.astype("<i8").tobytes())
        return content.hexdigest()[:16]


def load(name: str, root: str | os.PathLike[str] | None = None) -> GraphSet:
    """One of the paper's data sets.

    Args:
        name: MUTAG, PTC_FM, ENZYMES, NCI1, IMDB-BINARY, DD, EXP, CEXP, or for one graph whose nodes have classes
            Chameleon, Squirrel, Actor, Cornell, Wisconsin, Texas. Upper and lower case do not matter.
        root: The folder that holds the raw data. Default: the environment variable DETOURS_DATA; without either, PyG
            fetches the files into a cache the first time.

    The graphs of graph data are undirected; node data are one directed graph, its arcs as stored.
    """
    known = {each.lower(): each for each in _RAW}
    if not isinstance(name, str) or name.lower() not in known:
        raise InputError(f"There is no data set {name!r}; give one of {', '.join(_RAW)}.")
    name = known[name.lower()]
    return _read(name, raw_folder(name, root))


def raw_folder(name: str, root: str | os.PathLike[str] | None = None) -> Path:
    """Where the raw files of a data set are: below `root` or DETOURS_DATA, else in the cache, fetched if need be."""
    given = root if root is not None else os.environ.get(ROOT_VARIABLE) or None
    if given is None:
        from detours.data.fetch import fetched

        return fetched(name, _RAW[name])
    folder = Path(given) / _RAW[name]
    if not folder.is_dir():
        raise InputError(
            f"{name} is not in {given}: its raw files should lie in {folder}; put them there, or give another folder."
        )
    return folder


def _read(name: str, folder: Path) -> GraphSet:
    if name in NODE_SETS:
        graph, y = read_geom_gcn(folder)
        return GraphSet(name, [graph], y, level="node")
    if name in TU_SETS:
        read = read_tu(folder, name)
        return GraphSet(name, read.graphs, read.y, read.labels, edge_labels=read.edge_labels)
    graphs, y, tags = read_graphsat(folder / "GRAPHSAT.txt")
    if len(graphs) % 2:
        raise InputError(f"{name} should hold pairs of graphs, but {folder} has {len(graphs)} graphs.")
    return GraphSet(name, graphs, y, tags, [(i, i + 1) for i in range(0, len(graphs), 2)])
