"""`Graph.save` and `Graph.open`: a folder of plain .npy arrays and a small JSON, memory-mapped."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64
from detours.atomic import replacing_folder
from detours.errors import FileFormatError, InputError
from detours.graph.edges import Dropped, Names
from detours.graph.files.names import KEYS, pack_names, unpack_names

ABOUT = "graph.json"
_VERSION = 1


class SavedGraph(NamedTuple):
    """What a folder holds of a graph; `edge_index` is None if it has the arcs of the CSR, in its order."""

    indptr: Int64
    indices: Int32
    directed: bool
    names: Names | None
    dropped: Dropped
    edge_index: Int64 | None


def is_saved_graph(folder: str | os.PathLike[str]) -> bool:
    """Return whether this is a folder written by `Graph.save`."""
    return os.path.isfile(Path(folder) / ABOUT)


def save_folder(graph: SavedGraph, folder: Path) -> None:
    """Write a folder, in place of another saved graph if there is one."""
    if folder.exists() and not is_saved_graph(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} exists and is no saved graph; choose another name or remove it.")
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
    with replacing_folder(folder) as part:
        for name, array in arrays.items():
            np.save(part / f"{name}.npy", array, allow_pickle=False)
        (part / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def open_folder(folder: Path) -> SavedGraph:
    """Return the memory-mapped arrays of a folder; their sizes and types are checked, not their content."""
    if not is_saved_graph(folder):
        raise FileFormatError("this is no folder written by Graph.save.", folder)
    about = _about(folder / ABOUT)
    try:
        arrays = {name: _load(folder, name) for name in about["arrays"]}
        graph = SavedGraph(
            arrays["indptr"],
            arrays["indices"],
            bool(about["directed"]),
            unpack_names({name: arrays[name] for name in KEYS if name in arrays}),
            Dropped(*about["dropped"]),
            arrays.get("edge_index"),
        )
        _check(graph, about)
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise FileFormatError(f"the saved graph is damaged ({error}); save it again.", folder) from None
    return graph


def _about(path: Path) -> dict[str, Any]:
    try:
        about = json.loads(path.read_bytes())
        right = about["format"] == "detours graph"
    except (OSError, ValueError, KeyError, TypeError):
        right = False
    if not right:
        raise FileFormatError("this does not describe a saved graph; save it again.", path)
    if about.get("version") != _VERSION:
        raise FileFormatError(
            f"it was saved in format {about.get('version')}, and this version reads format {_VERSION}; "
            "update detours or save it again.",
            path,
        )
    return dict(about)


def _load(folder: Path, name: str) -> NDArray[Any]:
    path = folder / f"{name}.npy"
    # An empty array cannot be mapped.
    small = path.stat().st_size < 4096
    loaded: NDArray[Any] = np.load(path, mmap_mode=None if small else "r", allow_pickle=False)
    return loaded


def _check(graph: SavedGraph, about: dict[str, Any]) -> None:
    """Sizes and types only: opening must not read the whole graph."""
    n, arcs = about["num_nodes"], about["num_arcs"]
    fits = (
        graph.indptr.dtype == np.int64
        and graph.indices.dtype == np.int32
        and graph.indptr.shape == (n + 1,)
        and graph.indices.shape == (arcs,)
        and graph.indptr[0] == 0
        and graph.indptr[-1] == arcs
        and (graph.names is None or len(graph.names) == n)
        and (graph.edge_index is None or (graph.edge_index.dtype == np.int64 and graph.edge_index.shape[0] == 2))
    )
    if not fits:
        raise ValueError("its arrays do not fit together")
