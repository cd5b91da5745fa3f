"""`Graph.save` and `Graph.open`: a folder of plain .npy arrays and a small JSON, memory-mapped."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from detours.atomic import replacing_folder
from detours.errors import FileFormatError, InputError
from detours.graph.edges import Dropped, Ints, Names
from detours.graph.files.names import KEYS, pack_names, unpack_names

if TYPE_CHECKING:
    from detours.graph import Graph

ABOUT = "graph.json"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Stored:
    indptr: Ints
    indices: NDArray[np.int32]
    directed: bool
    names: Names | None
    dropped: Dropped
    edge_index: Ints | None


def is_saved_graph(folder: Path) -> bool:
    return os.path.isfile(folder / ABOUT)


def save_folder(graph: Graph, folder: Path) -> None:
    if folder.exists() and not is_saved_graph(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} exists and is no saved graph; choose another name or remove it.")
    with replacing_folder(folder) as new:
        _write(graph, new)


def _write(graph: Graph, folder: Path) -> None:
    arrays: dict[str, Any] = {"indptr": graph.indptr, "indices": graph.indices, **pack_names(graph.names)}
    if not graph.edges_in_csr_order:
        arrays["edge_index"] = graph.edge_index
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    about = {
        "format": "detours graph",
        "version": _VERSION,
        "directed": graph.directed,
        "num_nodes": graph.num_nodes,
        "num_arcs": graph.num_arcs,
        "dropped": list(graph.dropped),
        "arrays": sorted(arrays),
    }
    (folder / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def open_folder(folder: Path) -> Stored:
    if not is_saved_graph(folder):
        raise FileFormatError("this is no folder written by Graph.save.", folder)
    about = _about(folder / ABOUT)
    try:
        arrays = {name: _load(folder, name) for name in about["arrays"]}
        names = unpack_names({name: arrays[name] for name in KEYS if name in arrays})
        stored = Stored(
            arrays["indptr"],
            arrays["indices"],
            bool(about["directed"]),
            names,
            Dropped(*about["dropped"]),
            arrays.get("edge_index"),
        )
        _check(stored, about)
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise FileFormatError(f"the saved graph is damaged ({error}); save it again.", folder) from None
    return stored


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


def _check(stored: Stored, about: dict[str, Any]) -> None:
    """Sizes and types only: opening must not read the whole graph."""
    n, arcs = about["num_nodes"], about["num_arcs"]
    fits = (
        stored.indptr.dtype == np.int64
        and stored.indices.dtype == np.int32
        and stored.indptr.shape == (n + 1,)
        and stored.indices.shape == (arcs,)
        and stored.indptr[0] == 0
        and stored.indptr[-1] == arcs
        and (stored.names is None or len(stored.names) == n)
        and (stored.edge_index is None or (stored.edge_index.dtype == np.int64 and stored.edge_index.shape[0] == 2))
    )
    if not fits:
        raise ValueError("its arrays do not fit together")
