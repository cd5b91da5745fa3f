"""From what a caller gives to graphs and labels; NetworkX graphs are converted once as long as they do not change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from detours.errors import warn_caller
from detours.graph import Graph
from detours.graph.graph import as_graphs, as_list
from detours.wl.nodes.labels import has_labels

KEY = "detours.kernels"


class Labelled(NamedTuple):
    """A graph, the labels of its nodes, and perhaps of its edges: integers or strings.

    Those of nodes are in the order of the nodes, or in a dict by their names. Edges are in the order in which the
    caller listed them (`Graph.edge_index`); where an undirected edge is listed in both directions, it has the same
    label twice.

    >>> from detours.kernels import WLSubtree
    >>> water = Labelled([(0, 1), (0, 2), (1, 0), (2, 0)], ["O", "H", "H"])
    >>> WLSubtree(n_iter=0, normalize=False).fit_transform([water]).toarray().tolist()
    [[2, 1]]
    """

    graph: Any
    labels: Any
    edge_labels: Any = None


class Conversion(NamedTuple):
    """A graph made of a NetworkX graph, and the mark left in NetworkX's own cache at that time."""

    mark: object
    graph: Graph


_converted: WeakKeyDictionary[Any, Conversion] = WeakKeyDictionary()


def convert(sources: Sequence[Any]) -> list[Graph]:
    """Return a `Graph` of every source.

    Cross-validation gives the same objects again in every fold, so the graphs made of NetworkX graphs are remembered.
    NetworkX clears the cache of a graph whenever an edge or a node is added or removed; a mark in that cache tells that
    the graph is still the same. Views on other graphs are not remembered, as it is the other that changes, and labels
    neither.
    """
    graphs: list[Graph | None] = [_recall(source) for source in sources]
    missing = [at for at, graph in enumerate(graphs) if graph is None]
    for at, graph in zip(missing, as_graphs([sources[at] for at in missing], numbers=missing), strict=True):
        graphs[at] = graph
        _remember(sources[at], graph)
    return [graph for graph in graphs if graph is not None]


def _recall(source: Any) -> Graph | None:
    cache = getattr(source, "__networkx_cache__", None)
    if not cache or KEY not in cache:
        return None
    found = _converted.get(source)
    return found.graph if found is not None and found.mark is cache[KEY] else None


def _remember(source: Any, graph: Graph) -> None:
    cache = getattr(source, "__networkx_cache__", None)
    if cache is not None and not _is_view(source) and not any(graph.dropped):  # what was dropped is reported every time
        cache[KEY] = object()
        _converted[source] = Conversion(cache[KEY], graph)


def _is_view(source: Any) -> bool:
    """Return whether a NetworkX graph may be a view: those are frozen, and frozen graphs are few."""
    return getattr(source, "frozen", False)


def read_item(one: Any, labels: bool = True, edge_labels: bool = True) -> Labelled:
    """Return a graph as it was given and the labels that come with it, as far as they are wanted."""
    if isinstance(one, Labelled):
        return one
    # A pair of numbers or rows is an edge_index; a tuple that begins with a graph object comes with labels.
    if isinstance(one, tuple) and len(one) in (2, 3) and _is_graph_object(one[0]):
        return Labelled(*one)
    if hasattr(one, "is_multigraph"):
        wanted = (one.nodes, labels), (one.edges, edge_labels)
        return Labelled(one, *(_attribute(things(data="label")) if read else None for things, read in wanted))
    if hasattr(one, "get_edgelist"):
        return Labelled(one, *(_column(sequence) for sequence in (one.vs, one.es)))
    if hasattr(one, "GetBonds"):
        symbols = [atom.GetSymbol() for atom in one.GetAtoms()] if labels else None
        return Labelled(one, symbols, [str(bond.GetBondType()) for bond in one.GetBonds()] if edge_labels else None)
    own, of_edges = (getattr(one, name, None) for name in ("labels", "edge_labels"))
    if hasattr(one, "edge_index") and not isinstance(one, Graph):
        own = _categories(getattr(one, "x", None)) if own is None and labels else own
        of_edges = _categories(getattr(one, "edge_attr", None)) if of_edges is None and edge_labels else of_edges
    return Labelled(one, own, of_edges)


def labelled(graphs: Any) -> list[Labelled]:
    """Convert a list of graphs or a `detours.data` set once: kernels read the result fast, scikit-learn can split it.

    >>> labelled([[(0, 1), (1, 0)]])
    [Labelled(graph=Graph(2 nodes, 1 edge), labels=None, edge_labels=None)]
    """
    items = read_items(graphs)
    made = convert([item.graph for item in items])
    return [item._replace(graph=graph) for item, graph in zip(items, made, strict=True)]


def read_items(X: Any, labels: bool = True, edge_labels: bool = True) -> list[Labelled]:
    """Return every graph of a list or of a `detours.data` set with its labels, as far as they are wanted."""
    if hasattr(X, "graphs") and hasattr(X, "labels"):
        without = [None] * len(X.graphs)
        known = X.labels or without, getattr(X, "edge_labels", None) or without
        return [Labelled(*each) for each in zip(X.graphs, *known, strict=True)]
    return [read_item(one, labels, edge_labels) for one in as_list(X)]


def _attribute(rows: Iterable[Any]) -> list[Any] | None:
    """The last entries of the rows, or None where all of them are missing."""
    found = [row[-1] for row in rows]
    return None if all(label is None for label in found) else found


def _column(sequence: Any) -> list[Any] | None:
    """The attribute "label" of the vertices or edges of an igraph graph, if any of them has it."""
    return _attribute(zip(sequence["label"], strict=True)) if "label" in sequence.attributes() else None


def _categories(x: Any) -> Any:
    """The labels that PyG's features stand for: one-hot rows, or one column of integers; None for other features."""
    if x is None or not hasattr(x, "detach"):
        return None
    values = _values(x)
    if values.dtype.kind in "iub" and _is_column(values):
        return values.reshape(-1) + 0  # the integers 0 and 1 of booleans
    if values.ndim != 2 or values.shape[1] < 2 or not np.isin(values, (0, 1)).all() or (values.sum(axis=1) != 1).any():
        return None
    return values.argmax(axis=1)


def _values(x: Any) -> NDArray[Any]:
    x = x.detach().cpu()
    values: NDArray[Any] = (x.double() if x.is_floating_point() else x).numpy()  # NumPy has no bfloat16
    return values


def _is_column(values: NDArray[Any]) -> bool:
    return values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1)


def tell_unused(items: Sequence[Labelled]) -> None:
    """Warn of what may be meant for labels but is not read: some of `x` of PyG, and labels that a `Graph` left behind.

    An `x` of several integers or of one whole number of floating point may be one. Of graphs, the first is looked at.
    """
    if items and isinstance(items[0].graph, Graph) and has_labels(items[0].graph):
        _warn("A Graph does not keep the labels of what it was made of", "give that, or labelled(graphs), for labels")
        return
    found: set[float] = set()
    for item in items:
        x = getattr(item.graph, "x", None) if hasattr(item.graph, "edge_index") else None
        values = _values(x) if hasattr(x, "detach") else np.empty(0)
        if values.dtype.kind in "iu" and values.ndim == 2 and values.shape[1] > 1 and (values != values.flat[0]).any():
            _warn("x has several columns of integers", "give x with one of them, such as x[:, :1], for labels")
            return
        if values.dtype.kind != "f" or not values.size or not _is_column(values) or (values != np.floor(values)).any():
            continue
        found.update(values.reshape(-1).tolist())
        if len(found) > 1:  # a column of ones, say, is no label
            _warn("x is a column of whole numbers, but of floating point", "give x.long() for labels")
            return


def _warn(why: str, instead: str) -> None:
    unused = " and not x" * why.startswith("x")
    warn_caller(f'{why}, so that degrees are used{unused}; {instead}, or choose labels="degree".', UserWarning)


def _is_graph_object(one: Any) -> bool:
    return isinstance(one, Graph) or any(
        hasattr(one, sign)
        for sign in ("is_multigraph", "get_edgelist", "weighted_edge_list", "edge_index", "tocoo", "GetBonds")
    )
