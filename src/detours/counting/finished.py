"""A folder of finished counts: a manifest, an array of counts for all arcs, and the graph."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from detours.arrays import Int64
from detours.containers import check_fingerprints, damage_as_input_error, read_array, read_manifest
from detours.errors import FileFormatError, InputError
from detours.graph import Graph

MANIFEST = "manifest.json"
GRAPH = "graph"
ARRAYS = ("by_length", "cycles")


class FinishedCount(NamedTuple):
    """The contents of such a folder; `counts` are the arguments of `Detours` after k."""

    graph: Graph
    k: int
    counts: list[Int64]
    run: list[int]


def open_finished(folder: Path) -> FinishedCount:
    """Open a folder that `count(..., out=folder)` has finished, memory-mapped."""
    try:
        manifest = read_manifest(folder / MANIFEST)
    except (FileNotFoundError, NotADirectoryError):
        manifest = None
    if manifest is None or manifest.get("format") != "detours count":
        raise InputError(f"{folder} is not a folder of counts; give one that count(..., out=folder) wrote.")
    if "run" not in manifest or not (folder / GRAPH).is_dir():
        raise InputError(f"the count in {folder} is not finished; run the same count again.")
    graph, k = Graph.open(folder / GRAPH), manifest.get("k")
    run = manifest["run"]
    valid_run = isinstance(run, list) and len(run) == 3 and all(type(value) is int for value in run)
    if not valid_run or type(k) is not int or graph.directed != manifest.get("directed"):
        raise InputError(f"{folder / MANIFEST} is damaged; remove {folder} and count again.")
    return FinishedCount(graph, k, open_counts(folder, manifest, graph, k, keep=True), run)


def open_counts(folder: Path, manifest: Mapping[str, Any], graph: Graph, k: int, keep: bool) -> list[Int64]:
    """Open the counts of a finished folder: memory-mapped, or read if the folder is not kept."""
    arrays, marks = [], manifest.get("files", {})
    for name in ARRAYS[: 1 + graph.directed]:
        file = folder / f"{name}.npy"
        with suppress(FileFormatError), damage_as_input_error(file, "the array"):
            check_fingerprints(folder, {each: marks[each] for each in marks if each == file.name})
            counts = read_array(file, mapped=keep)
            if counts.shape == (graph.num_arcs, k - 1) and counts.dtype == np.int64:
                arrays.append(counts)
                continue
        raise InputError(f"{file} is missing or damaged; remove {folder} and run the same count again.")
    return frozen(arrays)


def frozen(counts: list[Int64]) -> list[Int64]:
    """Return read-only views as plain arrays."""
    for array in counts:
        array.flags.writeable = False
    return [array.view(np.ndarray) for array in counts]
