"""Conversion from and to graphs of other libraries, none of which is imported before it is needed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np

from detours.arrays import Int32, Int64
from detours.errors import InputError, short_repr
from detours.graph.edges import MAX_NODES, EdgeList, as_integers, as_numpy, check_edge_index, refuse_nan
from detours.graph.pairs import from_edge_view, is_edge_view, is_missing, is_tensor, read_list

ACCEPTED = (
    "a detours Graph, a NetworkX, igraph or rustworkx graph, a SciPy sparse matrix, an edge_index of shape (2, edges), "
    "a list of pairs, a table with columns source and target, a PyG Data or Batch, an RDKit molecule, "
    "or the path of a file"
)


def from_any(source: Any) -> EdgeList:
    """Return the edges of a graph of any library, recognised by its attributes rather than by its class.

    Tables are read by `detours.graph.frames`.
    """
    if hasattr(source, "is_multigraph") and hasattr(source, "edges"):
        return from_networkx(source)
    if hasattr(source, "tocoo"):
        return from_scipy(source)
    if hasattr(source, "get_edgelist"):
        return from_igraph(source)
    if hasattr(source, "weighted_edge_list"):
        return from_rustworkx(source)
    if hasattr(source, "edge_types") or hasattr(source, "edge_index"):
        return from_pyg(source)
    if hasattr(source, "GetBonds"):
        return from_molecule(source)
    if "sparse" in str(getattr(source, "layout", "")):
        raise InputError(
            "a sparse tensor was given; for an adjacency matrix A, give the edge_index "
            "A.to_sparse_coo().coalesce().indices()."
        )
    if isinstance(source, (list, tuple)) and (edges := read_list(source)) is not None:
        return edges
    if isinstance(source, (list, tuple, np.ndarray)) or (hasattr(source, "detach") and hasattr(source, "dtype")):
        return check_edge_index(source)
    if is_edge_view(source):
        return from_edge_view(source)
    if isinstance(source, Sequence) and not isinstance(source, str | bytes):
        return from_any(list(source))
    if isinstance(source, set | frozenset):
        raise InputError("a set of edges has no order, but counts follow the order of the edges; give a list.")
    hint = " RDKit returns None for a molecule that it cannot read: leave these out." if source is None else ""
    raise InputError(f"{short_repr(source)} ({type(source).__name__}) is not a graph; give {ACCEPTED}.{hint}")


def from_networkx(graph: Any) -> EdgeList:
    if not (hasattr(graph, "is_multigraph") and hasattr(graph, "edges")):
        raise InputError(f"from_networkx takes a NetworkX graph, but {short_repr(graph)} was given.")
    nodes: list[Hashable] = list(graph)
    plain = all(type(node) is int and node == i for i, node in enumerate(nodes))
    edges = graph.edges(data="weight")
    bad = next(((u, v) for u, v, weight in edges if weight is not None and _is_nan(weight)), None)
    if bad is not None:
        raise InputError(f"The weight of the edge {short_repr(bad)} is NaN; remove the edge or correct its weight.")
    if plain:
        edge_index = _to_edge_index((u, v) for u, v, _ in edges)
    else:
        _refuse_tensors(nodes)
        index = {node: i for i, node in enumerate(nodes)}
        edge_index = _to_edge_index((index[u], index[v]) for u, v, _ in edges)
    return EdgeList(
        edge_index,
        len(nodes),
        None if plain else tuple(nodes),
        "arcs" if graph.is_directed() else "edges",
        graph.is_directed(),
        graph.copy,
    )


def _to_edge_index(pairs: Iterable[tuple[int, int]]) -> Int64:
    flat = np.fromiter(chain.from_iterable(pairs), dtype=np.int64)
    return np.ascontiguousarray(flat.reshape(-1, 2).T)


def _refuse_tensors(nodes: list[Hashable]) -> None:
    kinds = set(filter(is_tensor, set(map(type, nodes))))
    if kinds:
        node = next(node for node in nodes if type(node) in kinds)
        raise InputError(
            f"The node {short_repr(node)} is a tensor, and two tensors with the same value are different nodes; "
            "use plain numbers as nodes, such as int(node)."
        )


def _is_nan(weight: Any) -> bool:
    return bool(weight != weight) if isinstance(weight, (float, np.floating)) else False


def from_scipy(matrix: Any) -> EdgeList:
    if not hasattr(matrix, "tocoo"):
        raise InputError(f"from_scipy takes a SciPy sparse matrix, but {short_repr(matrix)} was given.")
    shape = matrix.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"An adjacency matrix must be square, but one of shape {shape} was given.")
    if shape[0] > MAX_NODES:
        raise InputError(f"A graph may have up to {MAX_NODES} nodes, but a matrix of shape {shape} was given.")
    entries = matrix.tocoo()
    refuse_nan(entries.data, "The matrix")
    if entries.data.dtype.kind not in "bu" and (entries.data < 0).any():  # repeated entries may add up to 0
        summed = entries.tocsr()
        entries = summed.tocoo() if summed.nnz < entries.nnz else entries
    # A stored zero is not an edge: SciPy itself treats it as absent (eliminate_zeros).
    nonzero = entries.data != 0
    rows, columns = (entries.row, entries.col) if nonzero.all() else (entries.row[nonzero], entries.col[nonzero])
    edge_index = np.empty((2, len(rows)), dtype=np.int64)
    edge_index[0], edge_index[1] = rows, columns
    return EdgeList(edge_index, shape[0])


def from_csr(indptr: Any, indices: Any) -> EdgeList:
    offsets = as_integers(as_numpy(indptr, "indptr"), "indptr")
    targets = as_integers(as_numpy(indices, "indices"), "indices")
    if offsets.ndim != 1 or targets.ndim != 1 or not len(offsets) or offsets[0] or offsets[-1] != len(targets):
        raise InputError(
            "indptr must be one-dimensional, begin with 0 and end with the length of indices "
            f"({targets.size}), but {short_repr(offsets.ravel()[:3].tolist())} ... was given."
        )
    degree = np.diff(offsets)
    if len(degree) and degree.min() < 0:
        raise InputError(f"indptr must not decrease, but it does after row {int(np.argmax(degree < 0))}.")
    rows = np.repeat(np.arange(len(degree), dtype=np.int64), degree)
    return check_edge_index(np.stack((rows, targets)), len(degree))


def from_pyg(data: Any) -> EdgeList:
    if hasattr(data, "edge_types"):
        raise InputError("A PyG HeteroData was given; call its to_homogeneous() first.")
    edge_index = getattr(data, "edge_index", None)
    if edge_index is None:
        raise InputError(f"from_pyg takes a PyG Data or Batch with an edge_index, but {short_repr(data)} was given.")
    check_weights(data)
    return check_edge_index(edge_index, getattr(data, "num_nodes", None))


def check_weights(data: Any) -> None:
    """Raise `InputError` if an edge weight of PyG data is NaN."""
    weights = getattr(data, "edge_weight", None)
    if weights is None or str(getattr(weights, "layout", "")).startswith("torch.sparse"):
        return
    if hasattr(weights, "is_floating_point") and weights.is_floating_point():
        weights = weights.double()  # NumPy lacks some types of tensors
    refuse_nan(as_numpy(weights, "edge_weight"), "edge_weight")


NUMBER = "detours number"
"""The property of an atom that holds its number in the original file."""


def from_molecule(molecule: Any) -> EdgeList:
    """Return the bonds of an RDKit molecule; atoms are named by symbol and number, as in C0, C1, O2."""
    edge_index = _to_edge_index((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds())
    numbers = [atom.GetIntProp(NUMBER) if atom.HasProp(NUMBER) else atom.GetIdx() for atom in molecule.GetAtoms()]
    names = [f"{atom.GetSymbol()}{number}" for atom, number in zip(molecule.GetAtoms(), numbers, strict=True)]
    return EdgeList(edge_index, len(names), names, "edges", origin=MoleculeOrigin(molecule, names))


def copied_by(origin: Callable[[], Any]) -> Any:
    """Return the NetworkX or igraph graph that the origin of a graph would copy, without the slow copy."""
    return origin.args[0] if isinstance(origin, partial) else getattr(origin, "__self__", None)


@dataclass(frozen=True)
class MoleculeOrigin:
    """The molecule that a graph comes from, which pages draw; a call returns it as a NetworkX graph with attributes."""

    molecule: Any
    names: list[str]

    def __call__(self) -> Any:
        graph = library("networkx", "networkx").Graph()
        for name, atom in zip(self.names, self.molecule.GetAtoms(), strict=True):
            graph.add_node(name, element=atom.GetSymbol())
        for bond in self.molecule.GetBonds():
            ends = (self.names[bond.GetBeginAtomIdx()], self.names[bond.GetEndAtomIdx()])
            graph.add_edge(*ends, bond=str(bond.GetBondType()))
        return graph


def from_igraph(graph: Any) -> EdgeList:
    if not hasattr(graph, "get_edgelist"):
        raise InputError(f"from_igraph takes an igraph graph, but {short_repr(graph)} was given.")
    edge_index = _to_edge_index(graph.get_edgelist())
    if "weight" in graph.es.attributes():
        weights = [weight for weight in graph.es["weight"] if weight is not None]
        refuse_nan(as_numpy(weights, "weight"), 'The edge attribute "weight"')
    names = graph.vs["name"] if "name" in graph.vs.attributes() else None
    if names is not None and not _can_be_names(names):
        names = None
    return EdgeList(
        edge_index,
        graph.vcount(),
        names,
        "arcs" if graph.is_directed() else "edges",
        graph.is_directed(),
        partial(_igraph_as_networkx, graph, names),
    )


def _can_be_names(names: list[Any]) -> bool:
    try:
        return len(set(names)) == len(names) and not any(map(is_missing, names))
    except TypeError:  # lists and the like cannot be names
        return False


def _igraph_as_networkx(graph: Any, names: list[Hashable] | None) -> Any:
    copy = graph.to_networkx(vertex_attr_hashable="")  # nodes are indices, whatever attributes there are
    return copy if names is None else library("networkx", "networkx").relabel_nodes(copy, dict(enumerate(names)))


def from_rustworkx(graph: Any) -> EdgeList:
    """Return the edges of a rustworkx graph.

    Nodes are named by their data if these are distinct strings, else by index; removed nodes leave gaps.
    """
    indices = list(graph.node_indices())
    plain = indices == list(range(len(indices)))
    edge_index = _to_edge_index(graph.edge_list())
    if bad := next((edge for edge in graph.weighted_edge_list() if _is_nan(edge[2])), None):
        raise InputError(f"The weight of the edge {bad[:2]} is NaN; remove the edge or correct its weight.")
    if not plain:
        edge_index = np.searchsorted(np.array(indices, np.int64), edge_index)
    names: list[Hashable] | None = graph.nodes()
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        names = None if plain else indices
    directed = hasattr(graph, "successors")
    return EdgeList(edge_index, len(indices), names, "arcs" if directed else "edges", directed)


def library(name: str, package: str) -> Any:
    """Import a library, or raise an `InputError` that says how to install it."""
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"This needs {name}, which is not installed; run: pip install {package}") from None


def to_networkx(edges: EdgeList) -> Any:
    nx = library("networkx", "networkx")
    names = edges.name_list()
    graph = nx.DiGraph() if edges.directed else nx.Graph()
    graph.add_nodes_from(names)
    sources, targets = edges.once().tolist()
    graph.add_edges_from(
        zip(sources, targets, strict=True)
        if edges.names is None
        else ((names[u], names[v]) for u, v in zip(sources, targets, strict=True))
    )
    return graph


def to_scipy(indptr: Int64, indices: Int32) -> Any:
    sparse = library("scipy.sparse", "scipy")
    num_nodes = len(indptr) - 1
    # Copies: SciPy sorts and sums matrices in place, but a graph is immutable.
    arrays = (np.ones(len(indices), dtype=np.int64), indices.copy(), indptr.copy())
    matrix = sparse.csr_array(arrays, shape=(num_nodes, num_nodes))
    matrix.has_canonical_format = True
    return matrix


def to_pyg(edges: EdgeList) -> Any:
    torch = library("torch", "torch")
    data = library("torch_geometric.data", "torch_geometric")
    return data.Data(edge_index=torch.from_numpy(edges.edge_index), num_nodes=edges.num_nodes)


def to_igraph(edges: EdgeList) -> Any:
    igraph = library("igraph", "igraph")
    graph = igraph.Graph(n=edges.num_nodes, edges=edges.once().T.tolist(), directed=edges.directed)
    if edges.names is not None:
        graph.vs["name"] = edges.name_list()
    return graph
