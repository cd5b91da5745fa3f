"""What a network is given of a data set, as flat arrays: features, arcs, detour numbers, positions, targets."""

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
    """All graphs of a data set, one after the other; arcs by target, which names the node that receives."""

    x: Float32
    """[nodes, width]"""
    edge_index: Int64
    """[2, arcs] sources and targets, nodes numbered from 0 in each graph."""
    arc_features: Float32
    """[arcs, columns] what the network sees of arcs; see `ArcColumns`."""
    pe: Float32
    """[nodes, eigenvectors]"""
    y: NDArray[Any]
    """The target of every graph, or of every node: int64 [rows], classes from 0, or float64 [rows, columns]."""
    nodes: Int64
    """[graphs + 1] where the nodes of each graph begin."""
    arcs: Int64
    """[graphs + 1] where the arcs of each graph begin."""
    edge_width: int = 0
    """How many features the edges of the data have that the network sees."""

    @property
    def num_graphs(self) -> int:
        return len(self.nodes) - 1

    def nodes_of(self, graphs: Int64) -> Int64:
        """The numbers of all nodes of some graphs."""
        ranges = [np.arange(self.nodes[at], self.nodes[at + 1]) for at in graphs]
        return np.concatenate([np.empty(0, np.int64), *ranges])


class ArcColumns(NamedTuple):
    """What the columns of `Inputs.arc_features` hold, one after the other."""

    weight: slice
    """Model weighted alone: the weight of the arc, which is its number of detours or the logarithm."""
    detours: slice
    """The features of detours that tokens of MDNN or convolutions (`edge_den`) see."""
    edges: slice
    """The features of the edges of the data, `Inputs.edge_width` of them."""

    @classmethod
    def of(cls, recipe: Recipe) -> ArcColumns:
        """Return the columns of a recipe."""
        begin = int(recipe.model == "weighted")
        return cls(slice(0, begin), slice(begin, recipe.den_channels), slice(recipe.den_channels, None))


@dataclass(frozen=True)
class Scaling:
    """Shift and scale of every feature, learned on the training part; 0/1 columns stay what they are."""

    shift: NDArray[np.floating[Any]]
    scale: NDArray[np.floating[Any]]

    @classmethod
    def of(cls, x: Float32) -> Scaling:
        """The mean and deviation of each column that holds anything but 0 and 1."""
        counted = ((x != 0) & (x != 1)).any(axis=0)
        deviation = x.std(axis=0, dtype=np.float64)
        counted &= deviation > 0
        shift = np.where(counted, x.mean(axis=0, dtype=np.float64), 0)
        return cls(shift.astype(np.float32), np.where(counted, deviation, 1).astype(np.float32))

    @classmethod
    def none(cls, width: int) -> Scaling:
        """The one that changes nothing."""
        return cls(np.zeros(width, np.float32), np.ones(width, np.float32))

    def apply(self, inputs: Inputs) -> Inputs:
        """The same inputs with features to scale."""
        return replace(inputs, x=(inputs.x - self.shift) / self.scale)

    def to_json(self) -> dict[str, Any]:
        return {"shift": self.shift.tolist(), "scale": self.scale.tolist()}

    @classmethod
    def from_json(cls, plain: dict[str, Any], dtype: type = np.float32) -> Scaling:
        return cls(np.array(plain["shift"], dtype), np.array(plain["scale"], dtype))


def prepared(data: GraphSet, encoder: Encoder, y: NDArray[Any], recipe: Recipe) -> Inputs:
    """Count detours, find eigenvectors, and lay everything out flat.

    Args:
        data: The graphs.
        encoder: How labels and attributes become features.
        y: The targets of graphs or nodes.
        recipe: Which detour numbers, on which arcs, and how many eigenvectors.
    """
    graphs = as_trained(data, recipe).graphs
    union, nodes = Graph.disjoint_union(graphs)
    source, target = union.to_edge_index()
    counts = _counts(union, recipe)
    detour = detour_inputs(union, recipe, counts)
    edges = edge_inputs(union, data, encoder, recipe)
    features = node_inputs(np.concatenate(encoder.encode(data)), union, recipe, detour, counts)
    order = np.lexsort((source, target)) if union.directed else slice(None)
    if not union.directed:  # sorted by source: turned round it is sorted by target, and each arc has its twin's number
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
    """The data with the arcs that the recipe trains on: as stored, or every one taken both ways; features may be made
    of degrees, so this comes before encoding."""
    if recipe.directed or not any(graph.directed for graph in data.graphs):
        return data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedEdgesWarning)  # that arcs become edges is what is wanted here
        return replace(data, graphs=[graph.to_undirected() for graph in data.graphs])


def _counts(graph: Graph, recipe: Recipe) -> Detours | None:
    """Count detours where the recipe needs them: they can take long."""
    sees = recipe.model == "weighted" or recipe.edge_den or recipe.node_den or recipe.hop_den
    sees |= recipe.model == "mdnn" and recipe.use_den
    return detours.count(graph, recipe.k, directed=graph.directed) if sees else None


def detour_inputs(graph: Graph, recipe: Recipe, counts: Detours | None) -> Float32:
    """Return float32 [arcs, channels]: the values of every arc as the recipe wants them, in the order of the CSR.

    They are the first two parts of `ArcColumns`. The features are the number of detours of each length or of all, and
    with `cycle_features` one column for each length that the shortest detour may have, one for an arc without a detour
    that is on some longer cycle, and one for a bridge.
    """
    if counts is None or not recipe.den_channels:
        return np.zeros((graph.num_arcs, recipe.den_channels), np.float32)
    numbers = counts.arc_by_length.astype(np.float64)
    scale = np.log1p if recipe.log else np.asarray
    total = numbers.sum(axis=1, keepdims=True)
    columns = [scale(total)] if recipe.model == "weighted" else []
    if recipe.detour_features:
        columns.append(scale(numbers if recipe.by_length else total))
        if recipe.cycle_features:
            columns.append(cycle_features(graph, counts, recipe.k))
    return np.concatenate(columns, axis=1).astype(np.float32)


def edge_inputs(graph: Graph, data: GraphSet, encoder: Encoder, recipe: Recipe) -> Float32:
    """Return float32 [arcs, columns], the features of all edges, in the order of the CSR of the union."""
    if not recipe.edge_features:
        return np.zeros((graph.num_arcs, 0), np.float32)
    if not encoder.edge_width:
        raise InputError(f"edge_features=true needs edges with labels or attributes, but {data.name} has none.")
    if any(each.directed for each in data.graphs) and not recipe.directed:
        raise InputError(f"edge_features=true needs directed=true, since the arcs of {data.name} are directed.")
    rows, row_of_edge = np.unique(encoder.encode_edges(data), axis=0, return_inverse=True)
    row_of_arc, contradicted = values_on_arcs(graph, row_of_edge.reshape(-1))
    if len(contradicted):
        i, j = graph.edge_index[:, contradicted[0]]
        where = "where it is repeated" if graph.directed else "in the opposite direction, or where it is repeated"
        instead = "give it once" if graph.directed else "give the same, or directed graphs without repeats"
        raise InputError(
            f"edge {i} {j} of {data.name}, its nodes numbered one graph after the other, has other features {where}; "
            f"{instead}."
        )
    return rows[row_of_arc]


def cycle_features(graph: Graph, counts: Detours, k: int) -> Float32:
    """Return float32 [arcs, k + 1], a 1 in each row: in column L - 2 if the shortest detour of the arc has L ≤ k edges,
    in column k - 1 if it is longer, in column k if there is none."""
    found = counts.arc_by_length > 0
    column = np.where(found.any(axis=1), found.argmax(axis=1), k - 1)
    column[_bridges(graph)] = k
    return np.eye(k + 1, dtype=np.float32)[column]


def _bridges(graph: Graph) -> NDArray[np.bool_]:
    """Return [arcs] whether an arc is on no cycle; unlike `Detours.bridges`, a cycle may here run against arcs."""
    if not graph.directed:
        return ~arcs_on_cycles(graph.indptr, graph.indices, directed=False)
    source, target = graph.to_edge_index()
    matrix = graph.to_scipy()
    both = matrix.maximum(matrix.T).tocsr()
    both.sort_indices()
    begin = np.repeat(np.arange(graph.num_nodes), np.diff(both.indptr))
    on_cycle = arcs_on_cycles(both.indptr.astype(np.int64), both.indices.astype(np.int32), directed=False)
    place = np.searchsorted(begin * graph.num_nodes + both.indices, source * graph.num_nodes + target)
    bridges: NDArray[np.bool_] = ~on_cycle[place]
    return bridges


def node_inputs(x: Float32, graph: Graph, recipe: Recipe, detour: Float32, counts: Detours | None) -> Float32:
    """Return the features of the nodes with all that the recipe puts beside them: Φ by length, then powers of the
    adjacency matrix times all of these (see `detours.nn.hop_features`)."""
    source, target = graph.to_edge_index()
    if recipe.node_den and counts is not None:
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
    elif recipe.hop_den and counts is not None:  # raw, as the normalisation absorbs their scale
        weights.append(counts.arc_by_length.sum(axis=1).astype(np.float64))
    blocks = [x]
    ends = (target, source) if recipe.directions == "out" else (source, target)
    for begin, end in (ends, ends[::-1]) if recipe.directions == "both" else (ends,):
        for weight in weights:
            blocks += _powers(x, begin, end, weight, recipe.hops)
    return np.concatenate(blocks, axis=1)


def _powers(x: Float32, source: Int64, target: Int64, weight: NDArray[np.float64], hops: int) -> list[Float32]:
    degree = np.bincount(target, weight, minlength=len(x))
    scale = np.where(degree > 0, np.maximum(degree, 1e-300) ** -0.5, 0.0)
    values = scale[target] * weight * scale[source]
    matrix = csr_array((values, (target, source)), shape=(len(x), len(x)))
    found, state = [], x.astype(np.float64)
    for _ in range(hops):
        state = matrix @ state
        found.append(state.astype(np.float32))
    return found
