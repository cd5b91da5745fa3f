"""Data sets in .npz files: ZINC-12k, and the heterophilous graphs of Platonov et al. (2023).

`zinc12k.npz` has `num_nodes` and `num_arcs` of every molecule and, concatenated over all molecules, the type `atom` of
every node, `arcs` [2, …] in both directions with node ids from 0 within each molecule, and the target `y`; `bond`, the
type of every arc, may be missing. Molecules 0 – 9,999 are for training, then 1,000 each for validation and test.

The others have `edges` [edges, 2], once each, `node_features`, `node_labels` and the masks of ten splits,
`train_masks`, `val_masks` and `test_masks`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Float32, Float64, Int64
from detours.containers import read_archive
from detours.data.readers.numbers import check_file
from detours.data.readers.tu import split_union
from detours.errors import FileFormatError
from detours.graph import Graph
from detours.graph.arcs import values_on_arcs
from detours.graph.edges import EdgeList
from detours.graph.graph import build_graph

MASKS = ("train_masks", "val_masks", "test_masks")
ZINC_PARTS = (10_000, 1_000, 1_000)
"""The number of molecules for training, validation and test, in this order."""


class Molecules(NamedTuple):
    """Graphs, a target for each, the types of nodes and, if known, of arcs."""

    graphs: list[Graph]
    y: Float64
    labels: list[Int64]
    edge_labels: list[Int64] | None


def read_zinc(file: Path) -> Molecules:
    """Return the molecules of a file."""
    num_nodes, num_arcs, atom, arcs, y = _read(file, "num_nodes", "num_arcs", "atom", "arcs", "y")
    offsets, arc_offsets = (np.cumsum([0, *counts], dtype=np.int64) for counts in (num_nodes, num_arcs))
    if len(atom) != offsets[-1] or arcs.shape != (2, arc_offsets[-1]) or not len(y) == len(num_nodes) == len(num_arcs):
        raise FileFormatError("the numbers of nodes, arcs and targets do not agree; the file is damaged.", file)
    wrong = ((arcs < 0) | (arcs >= np.repeat(num_nodes, num_arcs))).any(axis=0)
    if wrong.any():
        at = int(np.argmax(wrong))
        molecule = int(np.searchsorted(arc_offsets, at, side="right")) - 1
        raise FileFormatError(f"an arc of molecule {molecule} has an end outside of it; the file is damaged.", file)
    union = build_graph(EdgeList(arcs + np.repeat(offsets[:-1], num_arcs), int(offsets[-1])))
    bonds = None
    arrays = read_archive(file, file, ["bond"])
    if "bond" in arrays:
        bond, _ = values_on_arcs(union, arrays["bond"].astype(np.int64))
        bonds = np.split(bond, union.indptr[offsets[1:-1]])
    atoms = np.split(atom.astype(np.int64), offsets[1:-1])
    return Molecules(split_union(union, offsets), y.astype(np.float64), atoms, bonds)


def read_heterophilous(file: Path) -> tuple[Graph, Int64, Float32]:
    """Return the undirected graph of a file, the class of every node, and the features."""
    edges, labels, features = _read(file, "edges", "node_labels", "node_features")
    num_nodes = len(labels)
    if edges.ndim != 2 or edges.shape[1] != 2 or not 0 <= edges.min(initial=0) <= edges.max(initial=0) < num_nodes:
        raise FileFormatError(f"edges should contain two nodes of 0 .. {num_nodes - 1:,} each.", file)
    if len(features) != num_nodes:
        raise FileFormatError(f"there are features of {len(features):,} nodes and classes of {num_nodes:,}.", file)
    ends = np.ascontiguousarray(edges.T).astype(np.int64)
    graph = build_graph(EdgeList(np.hstack([ends, ends[::-1]]), num_nodes))
    return graph, labels.astype(np.int64), features.astype(np.float32)


def read_masks(file: Path) -> list[list[Int64]]:
    """Return the nodes of the three parts, split by split."""
    return [[np.flatnonzero(mask) for mask in fold] for fold in zip(*_read(file, *MASKS), strict=True)]


def _read(file: Path, *names: str) -> list[NDArray[Any]]:
    check_file(file)
    try:
        arrays = read_archive(file, file, names)
        return [arrays[name] for name in names]
    except (FileFormatError, KeyError):
        raise FileFormatError(
            f"it should contain the arrays {', '.join(names)}; it is cut off or of another kind.", file
        ) from None
