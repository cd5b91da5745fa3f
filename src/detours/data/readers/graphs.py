"""`graph_set_of_graphs`: a list of graphs of any library, with a target for each, as a data set."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from detours.arrays import Int64
from detours.data.graph_set import GraphSet
from detours.data.readers.checks import as_real, warn_dropped
from detours.errors import DroppedEdgesWarning, InputError, short_repr
from detours.graph import Graph
from detours.graph.graph import as_graphs

_CLASSES = "; classes are integers, or strings for all graphs"


def graph_set_of_graphs(graphs: Sequence[Any], y: Any = None, name: str = "data", *, targets: bool = True) -> GraphSet:
    """Return a `GraphSet` of graphs of any kind that `detours.count` takes.

    Args:
        graphs: The graphs. The attribute "label" of the nodes of NetworkX graphs, integers or strings, is their label.
        y: The target of every graph: integers or strings for classes, other numbers for regression. Default: the graph
            attribute "y", or else "label", of NetworkX graphs.
        name: The name of the data set.
        targets: Whether targets are required. With False, for data to predict on, none are read; node labels must then
            be integers, because the integers that replace strings depend on the data set.
    """
    if not targets:
        return GraphSet(name, _graphs(graphs, name), labels=_labels(graphs, numbered=False))
    if y is not None and (not isinstance(y, Iterable) or getattr(y, "ndim", 1) == 0):
        raise InputError(f"y must be a list with a target for each graph, but it is {short_repr(y)}.")
    values = [_target(at, graph) for at, graph in enumerate(graphs)] if y is None else list(y)
    if len(values) != len(graphs):
        raise InputError(f"y must have a target for each of the {len(graphs):,} graphs, but it has {len(values):,}.")
    return GraphSet(name, _graphs(graphs, name), _as_targets(values), _labels(graphs))


def _graphs(sources: Sequence[Any], name: str) -> list[Graph]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedEdgesWarning)  # replaced by one warning for all graphs
        graphs = as_graphs(sources, directed=False)
    converted = [graph for graph, source in zip(graphs, sources, strict=True) if graph is not source]
    warn_dropped(name, converted, len(graphs))
    return graphs


def _target(at: int, graph: Any) -> Any:
    attributes = getattr(graph, "graph", None)  # of a NetworkX graph
    for name in ("y", "label"):
        if isinstance(attributes, dict) and name in attributes:
            return attributes[name]
    raise InputError(f'graph number {at} has no attribute "y"; give the targets of all graphs as y.')


def _as_targets(targets: list[Any]) -> Any:
    if targets and all(isinstance(target, str) for target in targets):
        return np.unique(targets, return_inverse=True)[1].astype(np.int64)  # classes in alphabetical order
    rows = [as_real(target, f"the target of graph {at}", _CLASSES) for at, target in enumerate(targets)]
    other = next((at for at, row in enumerate(rows) if row.ndim > 1 or row.shape != rows[0].shape), None)
    if other is not None:
        raise InputError(
            "targets must be one number, or the same number of them for each graph, "
            f"but that of graph {other} has the shape {rows[other].shape}."
        )
    values = np.array(rows)
    return values.astype(np.int64 if values.dtype.kind in "iub" and values.ndim == 1 else np.float64)


def _labels(graphs: Sequence[Any], *, numbered: bool = True) -> list[Int64] | None:
    """Return the labels of all nodes as integers, or None unless all have one; strings are `numbered` or refused."""
    if not all(hasattr(graph, "is_multigraph") and hasattr(graph, "nodes") for graph in graphs):
        return None
    by_graph: list[list[Hashable]] = [[label for _, label in graph.nodes(data="label")] for graph in graphs]
    distinct = {label for labels in by_graph for label in labels}
    if not distinct or None in distinct:
        return None
    if all(isinstance(label, int | np.integer) for label in distinct):
        return [np.array(labels, np.int64) for labels in by_graph]
    if not numbered:
        raise InputError("the labels of nodes must be integers, the same as in training, for a model to know them.")
    index = {label: at for at, label in enumerate(sorted(distinct, key=str))}
    return [np.array([index[label] for label in labels], np.int64) for labels in by_graph]
