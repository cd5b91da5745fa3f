"""`Graph.save` and `Graph.open`: a folder of plain .npy arrays and a small JSON, memory-mapped."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np

from detours.arrays import Int32, Int64
from detours.atomic import atomic_folder
from detours.containers import (
    check_fingerprints,
    check_lengths,
    damage_as_input_error,
    fingerprint,
    read_array,
    read_manifest,
)
from detours.errors import FileFormatError, InputError
from detours.graph.edges import Dropped, Names
from detours.graph.files.shared.names import KEYS, pack_names, unpack_names

ABOUT = "graph.json"
_EDGES = "edge_index.npy"
_ARRAYS = ("indptr", "indices", "edge_index", *KEYS)
_VERSION = 1


class SavedGraph(NamedTuple):
    """The content of a folder; `edge_index` is None if it has the arcs of the CSR, in that order."""

    indptr: Int64
    indices: Int32
    directed: bool
    names: Names | None
    dropped: Dropped
    edge_index: Int64 | None
    marks: Mapping[str, Any] = {}
    """Lengths and checksums of the files by name; empty if an early version wrote the folder."""


def is_saved_graph(folder: str | os.PathLike[str]) -> bool:
    """Return whether this is a folder written by `Graph.save`."""
    return os.path.isfile(Path(folder) / ABOUT)


def save_folder(graph: SavedGraph, folder: Path) -> None:
    """Write a folder, replacing another saved graph if there is one."""
    if folder.exists() and not is_saved_graph(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} exists and is not a saved graph; choose another name or remove it.")
    arrays: dict[str, Any] = {"indptr": graph.indptr, "indices": graph.indices, **pack_names(graph.names)}
    if graph.edge_index is not None:
        arrays["edge_index"] = graph.edge_index
    about = {
        "format": "detours graph",
        "version": _VERSION,
        "directed": graph.directed,
        "num_nodes": len(graph.indptr) - 1,
        "num_arcs": len(graph.indices),
        "dropped": list(graph.dropped),
        "arrays": sorted(arrays),
    }
    with atomic_folder(folder) as temporary:
        for name, array in arrays.items():
            with open(temporary / f"{name}.npy", "wb") as file:
                # Wrapped, since NumPy writes to a real file in a way that hides why a write fails.
                np.save(cast(Any, SimpleNamespace(write=file.write)), array, allow_pickle=False)
        about["files"] = {f"{name}.npy": fingerprint(temporary / f"{name}.npy") for name in arrays}
        (temporary / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def copy_folder(source: Path, directed: bool, folder: Path) -> bool:
    """Copy a saved graph without reading it, with hard links where possible; return False if `directed` differs."""
    about = _about(source / ABOUT)
    if about["directed"] != directed:
        return False
    with atomic_folder(folder) as temporary:
        for name in (ABOUT, *(f"{name}.npy" for name in _ARRAYS if name in about["arrays"])):
            try:
                os.link(source / name, temporary / name)
            except OSError:
                shutil.copyfile(source / name, temporary / name)
    return True


def open_folder(folder: Path) -> SavedGraph:
    """Return the memory-mapped arrays of a folder, with sizes and types checked.

    `check_content` checks the rest when the graph is first used.
    """
    if not is_saved_graph(folder):
        raise FileFormatError("this is not a folder written by Graph.save.", folder)
    about = _about(folder / ABOUT)
    with damage_as_input_error(folder, "the saved graph"):
        marks = dict(about.get("files", {}))
        check_lengths(folder, marks)
        arrays = {name: read_array(folder / f"{name}.npy", mapped=True) for name in about["arrays"] if name in _ARRAYS}
        graph = SavedGraph(
            arrays["indptr"],
            arrays["indices"],
            bool(about["directed"]),
            unpack_names({name: arrays[name] for name in KEYS if name in arrays}),
            Dropped(*about["dropped"]),
            arrays.get("edge_index"),
            marks,
        )
        _check(graph, about)
    return graph


def check_content(saved: SavedGraph, folder: Path, *, edges: bool) -> None:
    """Raise `FileFormatError` unless the file of edge_index, or all other files, are as they were written."""
    with damage_as_input_error(folder, "the saved graph"):
        check_fingerprints(
            folder, {name: expected for name, expected in saved.marks.items() if (name == _EDGES) == edges}
        )


def checked_edges(saved: SavedGraph, folder: Path) -> Int64:
    """Return the caller's edges; raise `FileFormatError` if their ends are not nodes of the graph."""
    assert saved.edge_index is not None
    check_content(saved, folder, edges=True)
    edges, n = saved.edge_index, len(saved.indptr) - 1
    if edges.size and not (edges.min() >= 0 and edges.max() < n):
        raise FileFormatError("the saved graph is damaged: its edges have unknown nodes; save it again.", folder)
    return edges


def _about(path: Path) -> dict[str, Any]:
    about = read_manifest(path)
    if about is None or about.get("format") != "detours graph":
        raise FileFormatError("this does not describe a saved graph; save it again.", path)
    if about.get("version") != _VERSION:
        raise FileFormatError(
            f"it was saved in format {about.get('version')}, and this version reads format {_VERSION}; "
            "update detours or save it again.",
            path,
        )
    return about


def _check(graph: SavedGraph, about: dict[str, Any]) -> None:
    """Raise `ValueError` for wrong sizes or types; opening must not read the whole graph."""
    n, arcs = about["num_nodes"], about["num_arcs"]
    consistent = (
        graph.indptr.dtype == np.int64
        and graph.indices.dtype == np.int32
        and graph.indptr.shape == (n + 1,)
        and graph.indices.shape == (arcs,)
        and graph.indptr[0] == 0
        and graph.indptr[-1] == arcs
        and (graph.names is None or len(graph.names) == n)
        and (graph.edge_index is None or _is_edge_index(graph.edge_index))
    )
    if not consistent:
        raise ValueError("its arrays do not fit together")


def _is_edge_index(array: Int64) -> bool:
    return array.dtype == np.int64 and array.ndim == 2 and array.shape[0] == 2
