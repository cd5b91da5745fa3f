"""Data sets without isomorphic copies, decided exactly; node labels do not matter.

Two choices. "distinct": of every isomorphism class the first graph. "paper": what reproduces the counts of the paper's
table to the graph: nodes without edges are ignored, and an isomorphism class whose graphs disagree on the class
to be learned is left out altogether.
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
STRONG_K = 4  # of the sound test that makes candidates few


def distinct(data: GraphSet, store: Store, n_jobs: int = 1) -> tuple[GraphSet, GraphSet]:
    """Return a data set without isomorphic copies, as we choose the graphs and as the paper did; pairs stay."""
    if data.pairs is not None:
        return data, data
    (cell,) = store.run([task(data, n_jobs)])
    return data.subset(cell.value["distinct"]), data.subset(cell.value["paper"])


def task(data: GraphSet, n_jobs: int = 1) -> Task:
    """Return the task that finds which graphs of a data set stay."""
    code = code_digest("experiments.expressiveness.distinct", "wl")
    key = {"experiment": EXPERIMENT, "data": data.name, "digest": data.digest, "code": code}
    return Task(key, partial(_kept, data, n_jobs))


def _kept(data: GraphSet, n_jobs: int) -> Value:
    whole = _classes(data.graphs, n_jobs)
    edged = _classes([without_isolated(graph) for graph in data.graphs], n_jobs)
    agreed = [members[0] for members in edged if len(set(data.y[members].tolist())) == 1]
    return {"distinct": [members[0] for members in whole], "paper": agreed}


def _classes(graphs: list[Graph], n_jobs: int) -> list[list[int]]:
    from detours import wl

    return isomorphism_classes(graphs, wl.groups(graphs, init="den", k=STRONG_K, n_jobs=n_jobs))


def without_isolated(graph: Graph) -> Graph:
    """Return the graph without its isolated nodes, the others numbered in their order.

    >>> without_isolated(Graph.from_edge_index([[0, 2], [2, 0]], num_nodes=4)).indices.tolist()
    [1, 0]
    """
    used = graph.degree > 0
    if used.all():
        return graph
    place = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return wrap_arrays(np.append(graph.indptr[:-1][used], graph.indptr[-1:]), place[graph.indices])
