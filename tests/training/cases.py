"""Shared by the tests of training: small data, small recipes."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from detours.data import Encoder, GraphSet, Split, rings, stratified_splits
from detours.graph import Graph
from detours.store import Store
from detours.training.batches.inputs import Inputs, prepared
from detours.training.recipe import Recipe, recipe
from detours.training.tasks import targets_of

if TYPE_CHECKING:
    from detours.training.loop import Run

SMALL = {"hidden": 8, "layers": 1, "pe": 3, "epochs": 4, "batch_size": 8, "k": 4}


def task(graphs: int = 40) -> GraphSet:
    return rings(graphs, sizes=(3, 4), seed=5)


def numbers(graphs: int = 40) -> GraphSet:
    """The same graphs with their node counts as regression targets."""
    data = task(graphs)
    return replace(data, y=np.array([float(graph.num_nodes) for graph in data.graphs]))


def small(data: GraphSet, **changed: Any) -> Recipe:
    return recipe(data.name, data.digest, "here", data.level, **{**SMALL, "task": data.task, **changed})


def fold_of(data: GraphSet) -> Split:
    return stratified_splits(data, folds=4)[0]


def run_of(data: GraphSet, folder: Path, **changed: Any) -> "Run":
    from detours.training.loop import Run  # it needs Lightning, others do not

    recipe = small(data, **changed)
    return Run(recipe, data, fold_of(data), Store(folder).path(recipe.key()), every=0.0)


def inputs_of(data: GraphSet, recipe: Recipe) -> Inputs:
    return prepared(data, Encoder.of(data), targets_of(data, recipe.task), recipe)


def odd_graphs() -> GraphSet:
    """A triangle, a single node, two isolated nodes, an edge, and a square with a tail and an isolated node."""
    lists = [
        ([(0, 1), (1, 2), (0, 2)], 3),
        ([], 1),
        ([], 2),
        ([(0, 1)], 2),
        ([(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)], 6),
    ]
    graphs = []
    for edges, nodes in lists:
        ends = np.array(edges, np.int64).reshape(-1, 2).T
        graphs.append(Graph.from_edge_index(np.hstack([ends, ends[::-1]]), num_nodes=nodes))
    return GraphSet("odd", graphs, np.array([0, 1, 1, 0, 1]))


def one_graph(nodes: int = 60, directed: bool = True) -> GraphSet:
    """A random graph whose nodes have classes and attributes."""
    rng = np.random.default_rng(3)
    ends = np.unique(rng.integers(0, nodes, (4 * nodes, 2)), axis=0)
    ends = ends[ends[:, 0] != ends[:, 1]].T
    if not directed:
        ends = np.unique(np.hstack([ends, ends[::-1]]), axis=1)
    graph = Graph.from_edge_index(ends, num_nodes=nodes, directed=directed)
    x = [rng.standard_normal((nodes, 5)).astype(np.float32)]
    return GraphSet("one", [graph], rng.integers(0, 3, nodes), level="node", x=x)
