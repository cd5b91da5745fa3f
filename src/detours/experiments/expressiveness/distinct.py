"""Data sets without isomorphic copies, decided exactly; node labels are ignored.

There are two selections. "distinct": the first graph of every isomorphism class. "paper", which reproduces the counts
of the paper's table exactly: isolated nodes are ignored, and an isomorphism class whose graphs have different targets
is left out altogether.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from detours.data import GraphSet
from detours.graph import Graph
from detours.graph.graph import wrap_arrays
from detours.store import Store, Task, Value, code_digest
from detours.wl.isomorphism import isomorphism_classes

EXPERIMENT = "distinct"
STRONG_K = 4  # of the sound test that selects candidates


def distinct(data: GraphSet, store: Store, n_jobs: int = 1) -> tuple[GraphSet, GraphSet]:
    """Return a data set without isomorphic copies, as we select graphs and as the paper did; pairs are kept."""
    if data.pairs is not None:
        return data, data
    (cell,) = store.run([task(data, n_jobs)])
    return data.subset(cell.value["distinct"]), data.subset(cell.value["paper"])


def task(data: GraphSet, n_jobs: int = 1) -> Task:
    """Return the task that selects the graphs of a data set."""
    code = code_digest("experiments.expressiveness.distinct", "wl")
    key = {"experiment": EXPERIMENT, "data": data.name, "digest": data.digest, "code": code}
    return Task(key, partial(_select, data, n_jobs))


def _select(data: GraphSet, n_jobs: int) -> Value:
    classes = _classes(data.graphs, n_jobs)
    without_isolated_nodes = _classes([remove_isolated_nodes(graph) for graph in data.graphs], n_jobs)
    consistent = [members[0] for members in without_isolated_nodes if len(set(data.y[members].tolist())) == 1]
    return {"distinct": [members[0] for members in classes], "paper": consistent}


def _classes(graphs: list[Graph], n_jobs: int) -> list[list[int]]:
    from detours import wl

    return isomorphism_classes(graphs, wl.groups(graphs, init="den", k=STRONG_K, n_jobs=n_jobs))


def remove_isolated_nodes(graph: Graph) -> Graph:
    """Return the graph without its isolated nodes; the others keep their order.

    >>> remove_isolated_nodes(Graph.from_edge_index([[0, 2], [2, 0]], num_nodes=4)).indices.tolist()
    [1, 0]
    """
    mask = graph.degree > 0
    if mask.all():
        return graph
    new_index = np.cumsum(mask, dtype=np.int32) - np.int32(1)
    return wrap_arrays(np.append(graph.indptr[:-1][mask], graph.indptr[-1:]), new_index[graph.indices])
