"""The inputs of a network for a data set, as flat arrays: features, arcs, detour numbers, positions, targets."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import detours
from detours.arrays import Float32, Int64
from detours.counting.result import Detours
from detours.counting.shrink.bridges import arcs_on_cycles
from detours.data import Encoder, GraphSet
from detours.errors import DroppedEdgesWarning, InputError
from detours.graph import Graph
from detours.graph.arcs import values_on_arcs
from detours.training.batches.spectral import eigenvectors
from detours.training.recipe import Recipe


@dataclass(frozen=True)
class Inputs:
    """All graphs of a data set, one after the other; arcs are sorted by target, the node that receives messages."""

    x: Float32
    """[nodes, width]"""
    edge_index: Int64
    """[2, arcs] sources and targets, with node indices from 0 in each graph."""
    arc_features: Float32
    """[arcs, columns] the features of arcs; see `ArcColumns`."""
    pe: Float32
    """[nodes, eigenvectors]"""
    y: NDArray[Any]
    """The target of every graph, or of every node: int64 [rows], classes from 0, or float64 [rows, columns]."""
    nodes: Int64
    """[graphs + 1] the offsets of the nodes of each graph."""
    arcs: Int64
    """[graphs + 1] the offsets of the arcs of each graph."""
    edge_width: int = 0
    """The number of edge features of the data that the network sees."""

    @property
    def num_graphs(self) -> int:
        return len(self.nodes) - 1

    def nodes_of(self, graphs: Int64) -> Int64:
        """Return the indices of all nodes of some graphs."""
        ranges = [np.arange(self.nodes[graph], self.nodes[graph + 1]) for graph in graphs]
        return np.concatenate([np.empty(0, np.int64), *ranges])


class ArcColumns(NamedTuple):
    """The blocks of columns of `Inputs.arc_features`, left to right."""

    weight: slice
    """Model weighted only: the weight of the arc, its number of detours or the logarithm of it."""
    detours: slice
    """The detour features that tokens of MDNN or convolutions (`edge_den`) see."""
    edges: slice
    """The features of the edges of the data, `Inputs.edge_width` of them."""

    @classmethod
    def of(cls, recipe: Recipe) -> ArcColumns:
        """Return the columns of a recipe."""
        start = int(recipe.model == "weighted")
        return cls(slice(0, start), slice(start, recipe.detour_columns), slice(recipe.detour_columns, None))


@dataclass(frozen=True)
class Scaling:
    """Shift and scale of every feature, learned on the training part; 0/1 columns stay unchanged."""

    shift: NDArray[np.floating[Any]]
    scale: NDArray[np.floating[Any]]

    @classmethod
    def of(cls, x: Float32) -> Scaling:
        """Return the mean and standard deviation of each column that has values other than 0 and 1."""
        scaled = ((x != 0) & (x != 1)).any(axis=0)
        deviation = x.std(axis=0, dtype=np.float64)
        scaled &= deviation > 0
        shift = np.where(scaled, x.mean(axis=0, dtype=np.float64), 0)
        return cls(shift.astype(np.float32), np.where(scaled, deviation, 1).astype(np.float32))

    @classmethod
    def none(cls, width: int) -> Scaling:
        """Return the identity."""
        return cls(np.zeros(width, np.float32), np.ones(width, np.float32))

    def apply(self, inputs: Inputs, precision: str) -> Inputs:
        """Return the inputs with scaled features, rounded as the precision of the recipe asks for."""
        dtype: type[np.floating[Any]] = np.float64 if precision == "64-true" else np.float32
        return replace(inputs, x=(inputs.x.astype(dtype) - self.shift) / self.scale)

    def to_json(self) -> dict[str, Any]:
        return {"shift": self.shift.tolist(), "scale": self.scale.tolist()}

    @classmethod
    def from_json(cls, plain: dict[str, Any], dtype: type = np.float32) -> Scaling:
        return cls(np.array(plain["shift"], dtype), np.array(plain["scale"], dtype))


def prepared(data: GraphSet, encoder: Encoder, y: NDArray[Any], recipe: Recipe) -> Inputs:
    """Count detours, compute eigenvectors, and return everything as flat arrays.

    Args:
        data: The graphs.
        encoder: The encoding of labels and attributes as features.
        y: The targets of graphs or nodes.
        recipe: The recipe, with the kind of detour numbers, the arcs, and the number of eigenvectors.
    """
    graphs = as_trained(data, recipe).graphs
    union, nodes = Graph.disjoint_union(graphs)
    source, target = union.to_edge_index()
    counts = _counts(union, recipe)
    detour = detour_inputs(union, recipe, counts)
    edges = edge_inputs(union, data, encoder, recipe)
    features = node_inputs(np.concatenate(encoder.encode(data)), union, recipe, detour, counts)
    order = np.lexsort((source, target)) if union.directed else slice(None)
    if (
        not union.directed
    ):  # sorted by source: reversed it is sorted by target, and both arcs of an edge have one number
        source, target = target, source
    first = np.repeat(nodes[:-1], np.diff(nodes))[target]
    return Inputs(
        x=features.astype(np.float32, copy=False),
        edge_index=np.stack([source - first, target - first])[:, order],
        arc_features=np.concatenate([detour, edges], axis=1)[order],
        pe=eigenvectors(graphs, recipe.pe) if recipe.model == "mdnn" else np.zeros((nodes[-1], 0), np.float32),
        y=y,
        nodes=nodes,
        arcs=union.indptr[nodes],
        edge_width=edges.shape[1],
    )


def as_trained(data: GraphSet, recipe: Recipe) -> GraphSet:
    """Return the data with the arcs that the recipe trains on: as stored, or all in both directions. Features may
    depend on degrees, so this comes before encoding."""
    if recipe.directed or not any(graph.directed for graph in data.graphs):
        return data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedEdgesWarning)  # arcs become edges on purpose
        return replace(data, graphs=[graph.to_undirected() for graph in data.graphs])


def _counts(graph: Graph, recipe: Recipe) -> Detours | None:
    """Count detours where the recipe needs them: they can take long."""
    needed = recipe.model == "weighted" or recipe.edge_den or recipe.node_den or recipe.hop_den
    needed |= recipe.model == "mdnn" and recipe.use_den
    return detours.count(graph, recipe.k, directed=graph.directed) if needed else None


def detour_inputs(graph: Graph, recipe: Recipe, counts: Detours | None) -> Float32:
    """Return float32 [arcs, channels]: the detour values of every arc for a recipe, in the order of the CSR.

    They are the first two blocks of `ArcColumns`. The features are the number of detours of each length or of all, and
    with `cycle_features` one column for each length that the shortest detour may have, one for an arc without a detour
    that is on some longer cycle, and one for a bridge.
    """
    if counts is None or not recipe.detour_columns:
        return np.zeros((graph.num_arcs, recipe.detour_columns), np.float32)
    by_length = counts.arc_by_length.astype(np.float64)
    scale = np.log1p if recipe.log else np.asarray
    total = by_length.sum(axis=1, keepdims=True)
    columns = [scale(total)] if recipe.model == "weighted" else []
    if recipe.detour_features:
        columns.append(scale(by_length if recipe.by_length else total))
        if recipe.cycle_features:
            columns.append(cycle_features(graph, counts, recipe.k))
    return np.concatenate(columns, axis=1).astype(np.float32)


def edge_inputs(graph: Graph, data: GraphSet, encoder: Encoder, recipe: Recipe) -> Float32:
    """Return float32 [arcs, columns], the features of all edges, in the order of the CSR of the union."""
    if not recipe.edge_features:
        return np.zeros((graph.num_arcs, 0), np.float32)
    if not encoder.edge_width:
        raise InputError(f"edge_features=true needs edges with labels or attributes, but {data.name} has none.")
    rows, row_of_edge = np.unique(encoder.encode_edges(data), axis=0, return_inverse=True)
    row_of_arc, contradicted = values_on_arcs(graph, row_of_edge.reshape(-1))
    if len(contradicted):
        ends = graph.edge_index[:, contradicted[0]]
        first_nodes = np.cumsum([0, *(each.num_nodes for each in data.graphs)])
        at = int(np.searchsorted(first_nodes, ends[0], side="right")) - 1
        i, j = ends - first_nodes[at]
        of_graph = f"graph {at} of " if len(data) > 1 else ""
        where = "where it is repeated" if graph.directed else "in the opposite direction, or where it is repeated"
        instead = "give it once" if graph.directed else "give the same, or train directed graphs with directed=True"
        raise InputError(f"edge {i} {j} of {of_graph}{data.name} has other features {where}; {instead}.")
    return rows[row_of_arc]


def cycle_features(graph: Graph, counts: Detours, k: int) -> Float32:
    """Return float32 [arcs, k + 1], a 1 in each row: in column L - 2 if the shortest detour of the arc has L ≤ k edges,
    in column k - 1 if it is longer, in column k if there is none."""
    has_detour = counts.arc_by_length > 0
    column = np.where(has_detour.any(axis=1), has_detour.argmax(axis=1), k - 1)
    column[_bridges(graph)] = k
    return np.eye(k + 1, dtype=np.float32)[column]


def _bridges(graph: Graph) -> NDArray[np.bool_]:
    """Return [arcs] whether an arc is on no cycle; unlike in `Detours.bridges`, cycles ignore directions."""
    if not graph.directed:
        return ~arcs_on_cycles(graph.indptr, graph.indices, directed=False)
    source, target = graph.to_edge_index()
    matrix = graph.to_scipy()
    both = matrix.maximum(matrix.T).tocsr()
    both.sort_indices()
    row = np.repeat(np.arange(graph.num_nodes), np.diff(both.indptr))
    on_cycle = arcs_on_cycles(both.indptr.astype(np.int64), both.indices.astype(np.int32), directed=False)
    position = np.searchsorted(row * graph.num_nodes + both.indices, source * graph.num_nodes + target)
    bridges: NDArray[np.bool_] = ~on_cycle[position]
    return bridges


def node_inputs(x: Float32, graph: Graph, recipe: Recipe, detour: Float32, counts: Detours | None) -> Float32:
    """Return the features of the nodes with those that the recipe adds: Φ by length, then powers of the adjacency
    matrix times all of these (see `detours.nn.hop_features`)."""
    source, target = graph.to_edge_index()
    if recipe.node_den:
        assert counts is not None
        phi = np.zeros((len(x), recipe.k - 1))
        np.add.at(phi, source, counts.arc_by_length)
        x = np.concatenate([x, np.log1p(phi)], axis=1)
    if recipe.encoder != "hops":
        return x
    if not graph.directed:
        source, target = target, source
    ones = np.ones(len(source))
    weights = [ones]
    if recipe.model == "weighted":
        weights.append(detour[:, ArcColumns.of(recipe).weight].ravel().astype(np.float64))
    elif recipe.hop_den:  # raw, as the normalisation absorbs their scale
        assert counts is not None
        weights.append(counts.arc_by_length.sum(axis=1).astype(np.float64))
    blocks = [x]
    ends = (target, source) if recipe.directions == "out" else (source, target)
    for tail, head in (ends, ends[::-1]) if recipe.directions == "both" else (ends,):
        for weight in weights:
            blocks += _powers(x, tail, head, weight, recipe.hops)
    return np.concatenate(blocks, axis=1)


def _powers(x: Float32, source: Int64, target: Int64, weight: NDArray[np.float64], hops: int) -> list[Float32]:
    degree = np.bincount(target, weight, minlength=len(x))
    scale = np.where(degree > 0, np.maximum(degree, 1e-300) ** -0.5, 0.0)
    values = scale[target] * weight * scale[source]
    matrix = csr_array((values, (target, source)), shape=(len(x), len(x)))
    powers, state = [], x.astype(np.float64)
    for _ in range(hops):
        state = matrix @ state
        powers.append(state.astype(np.float32))
    return powers
