"""`graph_set_of_graphs`: a list of graphs of any library, with a target for each, as a data set."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int64
from detours.data.graph_set import GraphSet
from detours.data.readers.checks import as_real, warn_dropped
from detours.data.readers.labels import Labels, as_integers, labels_of
from detours.errors import DroppedEdgesWarning, InputError, short_repr
from detours.graph import Graph
from detours.graph.graph import as_graphs
from detours.wl.nodes.labels import labels_in_node_order

_CLASSES = "; classes are integers, or strings for all graphs"


def graph_set_of_graphs(
    graphs: Sequence[Any],
    y: Any = None,
    name: str = "data",
    *,
    targets: bool = True,
    directed: bool | None = False,
) -> GraphSet:
    """Return a `GraphSet` of graphs of any kind that `detours.count` takes.

    Args:
        graphs: The graphs. The labels of nodes and edges, integers or strings, are the attribute "label" of NetworkX
            and igraph graphs, elements and bond types of RDKit's molecules, and those of `detours.kernels.Labelled`.
        y: The target of every graph: integers or strings for classes, other numbers for regression. Default: the graph
            attribute "y", or else "label", of NetworkX graphs.
        name: The name of the data set.
        targets: Whether targets are required. With False, for data to predict on, none are read.
        directed: Whether graphs are directed; None for those that were given so.
    """
    values: Any = []
    if targets:
        values = [_target(at, each) for at, each in enumerate(graphs)] if y is None else _listed(y, len(graphs))
    sources = [each.graph if _is_labelled(each) else each for each in graphs]
    converted = _graphs(sources, name, directed)
    of_nodes, of_edges = _labels(graphs, converted)
    values, names = _as_targets(values) if targets else (np.empty(0), None)
    return GraphSet(name, converted, values, of_nodes, edge_labels=of_edges, class_names=names)


def with_targets(data: GraphSet, y: Any) -> GraphSet:
    """Return PyG data with these targets of the graphs."""
    values, names = _as_targets(_listed(y, len(data)))
    return replace(data, y=values, level="graph", class_names=names, unknown=None)


def _listed(y: Any, num_graphs: int) -> list[Any]:
    """Return the targets of graphs as a list, or raise `InputError`."""
    if not isinstance(y, Iterable) or getattr(y, "ndim", 1) == 0:
        raise InputError(f"y must be a list with a target for each graph, but it is {short_repr(y)}.")
    values = list(y)
    if len(values) != num_graphs:
        raise InputError(f"y must have a target for each of the {num_graphs:,} graphs, but it has {len(values):,}.")
    return values


def _graphs(sources: Sequence[Any], name: str, directed: bool | None) -> list[Graph]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedEdgesWarning)  # replaced by one warning for all graphs
        graphs = as_graphs(sources, directed=directed)
    converted = [graph for graph, source in zip(graphs, sources, strict=True) if graph is not source]
    warn_dropped(name, converted, len(graphs))
    return graphs


def _target(at: int, graph: Any) -> Any:
    attributes = getattr(graph, "graph", None)  # of a NetworkX graph
    for name in ("y", "label"):
        if isinstance(attributes, dict) and name in attributes:
            return attributes[name]
    raise InputError(f'graph number {at} has no attribute "y"; give the targets of all graphs as y.')


def _as_targets(targets: list[Any]) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Return the targets as numbers, and the names of the classes 0, 1, … if these are strings."""
    if targets and all(isinstance(target, str) for target in targets):
        names, values = np.unique(targets, return_inverse=True)  # in alphabetical order
        return values.astype(np.int64), tuple(names.tolist())
    rows = [as_real(target, f"the target of graph {at}", _CLASSES) for at, target in enumerate(targets)]
    other = next((at for at, row in enumerate(rows) if row.ndim > 1 or row.shape != rows[0].shape), None)
    if other is not None:
        raise InputError(
            "targets must be one number, or the same number of them for each graph, "
            f"but that of graph {other} has the shape {rows[other].shape}."
        )
    values = np.array(rows)
    return values.astype(np.int64 if values.dtype.kind in "iub" and values.ndim == 1 else np.float64), None


def _labels(sources: Sequence[Any], graphs: Sequence[Graph]) -> tuple[list[Int64] | None, list[Int64] | None]:
    """Return the labels of all nodes and of all edges as integers; None unless all of them have one."""
    found = [_own_labels(source, graph, at) for at, (source, graph) in enumerate(zip(sources, graphs, strict=True))]
    of_nodes, of_edges = ([labels[index] for labels in found] for index in (0, 1))
    # a graph without edges has all labels of its edges
    of_edges = [() if not graph.num_edges else each for each, graph in zip(of_edges, graphs, strict=True)]
    return _integers(of_nodes), _integers(of_edges)


def _own_labels(source: Any, graph: Graph, at: int) -> Labels:
    if not _is_labelled(source):
        return labels_of(source)
    of_nodes = None if source.labels is None else labels_in_node_order(source.labels, graph, at)
    return Labels(of_nodes, source.edge_labels)


def _is_labelled(source: Any) -> bool:
    """Whether this is a `detours.kernels.Labelled`, which that room defines above this one."""
    return isinstance(source, tuple) and hasattr(source, "edge_labels")


def _integers(by_graph: Sequence[Sequence[Hashable] | None]) -> list[Int64] | None:
    complete = [labels for labels in by_graph if labels is not None and not any(label is None for label in labels)]
    if len(complete) < len(by_graph) or not any(map(len, complete)):
        return None
    return [as_integers(labels) for labels in complete]
