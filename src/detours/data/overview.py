"""Statistics of a data set, and a check of all its files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from detours.data.catalogue import found_folder, load
from detours.data.encoder import Encoder
from detours.data.graph_set import GraphSet
from detours.data.known import KNOWN, TASKS
from detours.data.split_files import splits
from detours.errors import InputError

ALL_NAMES = tuple(KNOWN)


def is_available(name: str, root: str | os.PathLike[str] | None = None) -> bool:
    """Return whether a data set can be read without a download."""
    return name in TASKS or found_folder(name, root) is not None


def summary_counts(data: GraphSet) -> dict[str, Any]:
    """Return the level, task and numbers of graphs, nodes, edges and classes."""
    return {
        "level": data.level,
        "graphs": len(data),
        "nodes": sum(graph.num_nodes for graph in data.graphs),
        "edges": sum(graph.num_edges for graph in data.graphs),
        "task": data.task,
        "classes": len(data.classes),
    }


def profile(data: GraphSet, root: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Return counts, features, labels, classes, degrees and splits, as plain values."""
    degrees = np.concatenate([graph.degree for graph in data.graphs])
    found = splits(data, root)
    labels = data.y if data.task == "classification" else data.classes
    class_sizes = np.unique(labels, return_counts=True)[1]
    sizes = np.array([[len(part) for part in fold] for fold in found])
    return {
        "data": data.name,
        **summary_counts(data),
        "directed": any(graph.directed for graph in data.graphs),
        "pairs": None if data.pairs is None else len(data.pairs),
        "attributes": 0 if data.x is None else int(data.x[0].shape[1]),
        "labels": 0 if data.labels is None else len(np.unique(np.concatenate(data.labels))),
        "edge_labels": 0 if data.edge_labels is None else len(np.unique(np.concatenate(data.edge_labels))),
        "edge_attributes": 0 if data.edge_x is None else int(data.edge_x[0].shape[1]),
        "input_columns": Encoder.of(data).width,
        "targets": data.about_targets,
        "class_sizes": dict(zip(map(str, data.classes_as_given), class_sizes.tolist(), strict=True)),
        "degrees": [int(degrees.min()), int(degrees.max())] if degrees.size else [0, 0],
        "splits": {
            "source": found.source,
            "folds": len(found),
            **{
                part: [int(smallest), int(largest)]
                for part, smallest, largest in zip(
                    ("train", "val", "test"), sizes.min(axis=0), sizes.max(axis=0), strict=True
                )
            },
        },
        "digest": data.digest,
    }


def check_data_set(name: str, root: str | os.PathLike[str] | None = None) -> str:
    """Read a data set completely, with its features and splits, and return a short summary, or raise an error."""
    data = load(name, root)
    if data.task == "classification" and len(data.classes) < 2:
        raise InputError(f"{name} has {len(data.classes)} class; at least 2 are needed to learn.")
    columns = len(Encoder.of(data).encode(data)[0][0])
    found = splits(data, root)
    things = f"{len(data.y):,} {'nodes' if data.level == 'node' else 'graphs'}"
    folds = f"{len(found)} fold{'s' * (len(found) != 1)} ({found.source})"
    return f"{things}, {data.about_targets}, {columns} input columns, {folds}"
