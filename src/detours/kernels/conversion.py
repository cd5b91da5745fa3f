"""Converts the input of a kernel to graphs and labels; a NetworkX graph is converted again only if it has changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from detours.data.readers.labels import labels_of
from detours.errors import warn_caller
from detours.graph import Graph
from detours.graph.graph import as_graphs, as_list
from detours.wl.nodes.labels import has_labels

KEY = "detours.kernels"


class Labelled(NamedTuple):
    """A graph, the labels of its nodes and, optionally, of its edges: integers (or booleans) or strings.

    Node labels are in the order of the nodes, or in a dict by their names. Edge labels are in the order in which the
    caller listed the edges (`Graph.edge_index`); an undirected edge listed in both directions has the same label twice.

    >>> from detours.kernels import WLSubtree
    >>> water = Labelled([(0, 1), (0, 2), (1, 0), (2, 0)], ["O", "H", "H"])
    >>> WLSubtree(n_iter=0, normalize=False).fit_transform([water]).toarray().tolist()
    [[2, 1]]
    """

    graph: Any
    labels: Any
    edge_labels: Any = None


class CachedGraph(NamedTuple):
    """The conversion of a NetworkX graph, and the mark left in that graph's own cache at the time."""

    mark: object
    graph: Graph


_conversions: WeakKeyDictionary[Any, CachedGraph] = WeakKeyDictionary()


def convert(sources: Sequence[Any]) -> list[Graph]:
    """Return a `Graph` for every source.

    Cross-validation passes the same objects in every fold, so the conversions of NetworkX graphs are cached. NetworkX
    clears the cache of a graph whenever an edge or a node is added or removed, so a mark in that cache shows that the
    graph has not changed. Views are not cached, because changes of the underlying graph do not clear their cache.
    Labels are read every time.
    """
    graphs: list[Graph | None] = [_lookup(source) for source in sources]
    missing = [at for at, graph in enumerate(graphs) if graph is None]
    for at, graph in zip(missing, as_graphs([sources[at] for at in missing], numbers=missing), strict=True):
        graphs[at] = graph
        _store(sources[at], graph)
    return [graph for graph in graphs if graph is not None]


def _lookup(source: Any) -> Graph | None:
    cache = getattr(source, "__networkx_cache__", None)
    if not cache or KEY not in cache:
        return None
    found = _conversions.get(source)
    return found.graph if found is not None and found.mark is cache[KEY] else None


def _store(source: Any, graph: Graph) -> None:
    cache = getattr(source, "__networkx_cache__", None)
    if cache is not None and not _is_view(source) and not any(graph.dropped):  # dropped edges are reported every time
        cache[KEY] = object()
        _conversions[source] = CachedGraph(cache[KEY], graph)


def _is_view(source: Any) -> bool:
    """Return whether a NetworkX graph may be a view: all views are frozen, and few other graphs are."""
    return getattr(source, "frozen", False)


def read_item(one: Any, labels: bool = True, edge_labels: bool = True) -> Labelled:
    """Return a graph, not yet converted, with the requested labels that come with it."""
    if isinstance(one, Labelled):
        return one
    # A pair of numbers or rows is an edge_index; a tuple whose first entry is a graph object contains labels.
    if isinstance(one, tuple) and len(one) in (2, 3) and _is_graph_object(one[0]):
        return Labelled(*one)
    if any(hasattr(one, name) for name in ("is_multigraph", "get_edgelist", "GetBonds")):
        return Labelled(one, *labels_of(one, labels, edge_labels))
    of_nodes, of_edges = (getattr(one, name, None) for name in ("labels", "edge_labels"))
    if hasattr(one, "edge_index") and not isinstance(one, Graph):
        of_nodes = _categories(getattr(one, "x", None)) if of_nodes is None and labels else of_nodes
        of_edges = _categories(getattr(one, "edge_attr", None)) if of_edges is None and edge_labels else of_edges
    return Labelled(one, of_nodes, of_edges)


def labelled(graphs: Any) -> list[Labelled]:
    """Convert a list of graphs or a `detours.data` set to a list that kernels read fast and scikit-learn can split.

    >>> labelled([[(0, 1), (1, 0)]])
    [Labelled(graph=Graph(2 nodes, 1 edge), labels=None, edge_labels=None)]
    """
    items = read_items(graphs)
    converted = convert([item.graph for item in items])
    return [item._replace(graph=graph) for item, graph in zip(items, converted, strict=True)]


def read_items(X: Any, labels: bool | Literal["if any"] = "if any", edge_labels: bool = True) -> list[Labelled]:
    """Return every graph of a list or of a `detours.data` set with the requested labels.

    With "if any", `x` of PyG is read as labels only if that of every graph with nodes can be: a single one may be
    one-hot by chance.
    """
    if hasattr(X, "graphs") and hasattr(X, "labels"):
        missing = [None] * len(X.graphs)
        both = X.labels or missing, getattr(X, "edge_labels", None) or missing
        return [Labelled(*each) for each in zip(X.graphs, *both, strict=True)]
    sources = as_list(X)
    items = [read_item(one, bool(labels), edge_labels) for one in sources]
    if labels == "if any":
        from_x = [at for at, one in enumerate(sources) if _has_only_x(one)]
        if any(items[at].labels is None for at in from_x):
            for at in from_x:
                items[at] = items[at]._replace(labels=None)
    return items


def _has_only_x(one: Any) -> bool:
    """Return whether a graph is one of PyG whose labels, if any, are in its `x`, which is not empty."""
    x: Any = None if isinstance(one, Graph) or not hasattr(one, "edge_index") else getattr(one, "x", None)
    return hasattr(x, "detach") and x.numel() > 0 and getattr(one, "labels", None) is None


def _categories(x: Any) -> Any:
    """The labels encoded in features of PyG, as one-hot rows or one column of integers; None for other or no values."""
    if x is None or not hasattr(x, "detach") or not x.numel():
        return None
    values = _values(x)
    if values.dtype.kind in "iub" and _is_column(values):
        return values.reshape(-1) + 0  # turns booleans into integers
    if values.ndim != 2 or values.shape[1] < 2 or not np.isin(values, (0, 1)).all() or (values.sum(axis=1) != 1).any():
        return None
    return values.argmax(axis=1)


def _values(x: Any) -> NDArray[Any]:
    x = x.detach().cpu()
    values: NDArray[Any] = (x.double() if x.is_floating_point() else x).numpy()  # NumPy has no bfloat16
    return values


def _is_column(values: NDArray[Any]) -> bool:
    return values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1)


def warn_unused_labels(items: Sequence[Labelled]) -> None:
    """Warn about data that may be meant as labels but are not used as such.

    These are an `x` of PyG with several columns of integers or with one column of integral floats, and the labels of a
    graph that was converted to a `Graph`, which has none; of the `Graph` objects, only the first is checked.
    """
    if items and isinstance(items[0].graph, Graph) and has_labels(items[0].graph):
        _warn(
            "A Graph does not keep the labels of its source", "give the source, or labelled(graphs), to use its labels"
        )
        return
    found: set[float] = set()
    for item in items:
        x = getattr(item.graph, "x", None) if hasattr(item.graph, "edge_index") else None
        values = _values(x) if hasattr(x, "detach") else np.empty(0)
        if not values.size:
            continue
        if values.dtype.kind in "iu" and values.ndim == 2 and values.shape[1] > 1 and (values != values.flat[0]).any():
            _warn("x has several columns of integers", "give one of them, such as x[:, :1], to use it as labels")
            return
        if values.dtype.kind != "f" or not _is_column(values) or (values != np.floor(values)).any():
            continue
        found.update(values.reshape(-1).tolist())
        if len(found) > 1:  # a constant column is not meant as labels
            _warn("x is a column of integers stored as floats", "give x.long() to use it as labels")
            return


def _warn(why: str, instead: str) -> None:
    unused = " and not x" * why.startswith("x")
    warn_caller(f'{why}, so degrees are used{unused}; {instead}, or choose labels="degree".', UserWarning)


def _is_graph_object(one: Any) -> bool:
    return isinstance(one, Graph) or any(
        hasattr(one, attribute)
        for attribute in ("is_multigraph", "get_edgelist", "weighted_edge_list", "edge_index", "tocoo", "GetBonds")
    )
