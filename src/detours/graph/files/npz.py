""".npz: a matrix written by scipy.sparse.save_npz, or an edge_index with node names, as `write` stores it."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from detours.atomic import atomic_write
from detours.checks import check_integer
from detours.containers import check_rows, damage_as_input_error, read_archive
from detours.errors import FileFormatError
from detours.graph.convert import from_scipy, library
from detours.graph.edges import EdgeList, check_edge_index
from detours.graph.files.shared.format import Format
from detours.graph.files.shared.names import pack_names, unpack_names
from detours.graph.files.shared.source import check_size, open_file


def read(path: Path) -> EdgeList:
    """Return the edges of an .npz file."""
    with open_file(path) as file:
        content = file.read()
    if content.startswith(b"\x93NUMPY"):
        raise FileFormatError("this is a single .npy array, not an .npz.", path)
    with damage_as_input_error(path, "the .npz"):
        return _edges(read_archive(content, path), path)


def _edges(arrays: dict[str, Any], path: Path) -> EdgeList:
    if "edge_index" in arrays:
        count = arrays.get("num_nodes")
        edges = check_edge_index(arrays["edge_index"], None if count is None else count.item())
        names = unpack_names(arrays)
        if names is not None and len(names) != edges.num_nodes:
            raise FileFormatError(f"it holds {len(names)} names for {edges.num_nodes} nodes.", path)
        directed = bool(arrays.get("directed", False))
        return EdgeList(edges.edge_index, edges.num_nodes, names, directed=directed)
    if {"format", "shape", "data"} <= arrays.keys():
        return from_scipy(_matrix(arrays, path))
    raise FileFormatError(
        "an .npz must come from scipy.sparse.save_npz or hold an array edge_index (and may hold num_nodes), "
        f"but this one holds {', '.join(sorted(arrays)) or 'nothing'}.",
        path,
    )


def _matrix(arrays: dict[str, Any], path: Path) -> Any:
    """Return a matrix of `scipy.sparse.save_npz`; SciPy's own reader passes unchecked arrays to compiled code."""
    sparse = library("scipy.sparse", "scipy")
    kind, data = arrays["format"].item(), arrays["data"]
    kind = kind.decode("ascii") if isinstance(kind, bytes) else kind
    rows, columns = shape = tuple(check_integer("a side of the matrix", side, minimum=0) for side in arrays["shape"])
    check_size(max(shape), 0, path)  # SciPy allocates memory for every row in some formats
    if kind == "coo":
        ends = arrays["row"], arrays["col"]
        if any(end.dtype.kind not in "iu" or end.shape != data.shape for end in ends):
            raise ValueError("row and col must be integers, one for each entry")
        return sparse.coo_array((data, ends), shape=shape)
    if kind == "dia":
        if arrays["offsets"].dtype.kind not in "iu" or data.ndim != 2 or data.shape[1] > columns:
            raise ValueError("offsets must be integers, and diagonals no longer than the matrix")
        return sparse.dia_array((data, arrays["offsets"]), shape=shape)
    if kind not in ("csr", "csc", "bsr"):
        raise ValueError(f"the matrix format {kind!r} is unknown")
    height, width = data.shape[1:] if kind == "bsr" else (1, 1)
    major, minor = (columns, rows) if kind == "csc" else (rows // max(1, height), columns // max(1, width))
    indptr, indices = arrays["indptr"], arrays["indices"]
    check_rows(indptr, indices, minor)
    if len(indptr) != major + 1 or len(data) != len(indices) or data.ndim != (3 if kind == "bsr" else 1):
        raise ValueError("indptr, indices and data do not fit the shape")
    return getattr(sparse, f"{kind}_array")((data, indices, indptr), shape=shape)


def write(edges: EdgeList, path: Path) -> None:
    """Write edge_index (every arc), num_nodes, directed and the names."""
    arrays = {
        "edge_index": edges.edge_index,
        "num_nodes": np.int64(edges.num_nodes),
        "directed": np.bool_(edges.directed),
        **pack_names(edges.names),
    }
    with atomic_write(path) as file:
        buffer = BytesIO()  # an archive is not written sequentially, as gzip requires
        np.savez_compressed(buffer, **arrays)
        file.write(buffer.getbuffer())


FORMAT = Format(("npz",), read, write)
