""".npz: a matrix written by scipy.sparse.save_npz, or our own edge_index with its names."""

from __future__ import annotations

import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from detours.atomic import replacing
from detours.errors import FileFormatError, InputError
from detours.graph.convert import from_scipy, library
from detours.graph.edges import EdgeList, check_edge_index
from detours.graph.files.format import Format
from detours.graph.files.names import pack_names, unpack_names
from detours.graph.files.source import opened


def read(path: Path) -> EdgeList:
    """Return the edges of an .npz file."""
    from zipfile import BadZipFile  # slow to import

    with opened(path) as file:
        content = file.read()
    try:
        with np.load(BytesIO(content), allow_pickle=False) as arrays:
            if not hasattr(arrays, "files"):
                raise FileFormatError("this is a single .npy array, not an .npz.", path)
            return _edges({name: arrays[name] for name in arrays.files}, content, path)
    except FileFormatError:
        raise
    except InputError as error:
        raise FileFormatError(str(error), path) from None
    except (ValueError, EOFError, OSError, KeyError, TypeError, BadZipFile, zlib.error) as error:
        raise FileFormatError(f"the .npz cannot be read; it is damaged or of another kind ({error}).", path) from None


def _edges(arrays: dict[str, Any], content: bytes, path: Path) -> EdgeList:
    if "edge_index" in arrays:
        count = arrays.get("num_nodes")
        edges = check_edge_index(arrays["edge_index"], None if count is None else count.item())
        names = unpack_names(arrays)
        if names is not None and len(names) != edges.num_nodes:
            raise FileFormatError(f"it holds {len(names)} names for {edges.num_nodes} nodes.", path)
        directed = bool(arrays.get("directed", False))
        return EdgeList(edges.edge_index, edges.num_nodes, names, directed=directed)
    if {"format", "shape", "data"} <= arrays.keys():
        return from_scipy(library("scipy.sparse", "scipy").load_npz(BytesIO(content)))
    raise FileFormatError(
        "an .npz must come from scipy.sparse.save_npz or hold an array edge_index (and may hold num_nodes), "
        f"but this one holds {', '.join(sorted(arrays)) or 'nothing'}.",
        path,
    )


def write(edges: EdgeList, path: Path) -> None:
    """Write edge_index (every arc), num_nodes, directed and the names."""
    arrays = {
        "edge_index": edges.edge_index,
        "num_nodes": np.int64(edges.num_nodes),
        "directed": np.bool_(edges.directed),
        **pack_names(edges.names),
    }
    with replacing(path) as file:
        np.savez_compressed(file, **arrays)


FORMAT = Format(("npz",), read, write)
