"""`load`: data sets of the paper and some more by name, and the user's own data.

Raw files are read from a folder with the layout of PyG (`TUDataset/MUTAG/raw/…`); without such a folder, PyG downloads
them once to a cache. Synthetic tasks have names as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from detours.data.graph_set import GraphSet
from detours.data.known import GRAPH_SETS, HETEROPHILOUS_SETS, KNOWN, MORE_SETS, NODE_SETS, PAIR_SETS, TASKS, TU_SETS
from detours.data.readers import fetch
from detours.data.readers.graphs import graph_set_of_graphs, with_targets
from detours.data.readers.pyg import check_own, graph_set_of, is_tu_folder, read_own
from detours.errors import InputError, short_repr

__all__ = ["GRAPH_SETS", "HETEROPHILOUS_SETS", "MORE_SETS", "NODE_SETS", "PAIR_SETS", "TASKS", "TU_SETS", "load"]

ROOT_VARIABLE = "DETOURS_DATA"


def load(name: Any, root: str | os.PathLike[str] | None = None, *, y: Any = None, targets: bool = True) -> GraphSet:
    """Return a data set: a known one, a synthetic task, or your own data.

    Args:
        name: The name of a known data set, in upper or lower case: one of the paper, with classes of graphs
            (`GRAPH_SETS`, such as MUTAG) or of nodes (`NODE_SETS`, such as Texas); one of `MORE_SETS`, such as ZINC,
            whose graphs have a number to predict; or one of `TASKS`, such as rings, which need no files. `detours data
            list` shows all. Or your own data: a `GraphSet`, a data set or list of PyG data, a list of graphs of any
            kind that `detours.count` takes, the path of a .pt file of PyG data or of a folder in the TU Dortmund
            format, or the name of such a folder, `<root>/TUDataset/<name>`.
        root: The folder of the raw data. Default: the environment variable DETOURS_DATA; without either, PyG downloads
            the files to a cache the first time.
        y: The target of every graph of a list. Default: the graph attribute "y" of NetworkX graphs.
        targets: Whether your own data must have targets. With False, for data to predict on, `y` may be empty.

    The graphs of graph data are undirected; the paper's node data are one directed graph with its arcs as stored.

    >>> load("rings").name
    'rings'
    """
    if not isinstance(name, str):
        return _own_data(name, y, targets)
    if (own := own_path(name, root)) is not None:
        return read_own(own, targets=targets)
    name = full_name(name)
    known = KNOWN[name]
    if not known.raw:
        return known.family.read(name, Path(), Path())
    folder = raw_folder(name, root)
    return known.family.read(name, folder, folder.parents[len(Path(known.raw).parts) - 1])


def own_path(name: str, root: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the path of own data, given by its path or by the name of a TU folder in the root, else None."""
    if name.lower() in _known():
        return None
    folder = data_root(root)
    in_root = [] if folder is None else [folder / "TUDataset" / name, folder / name]
    for path in (Path(name), *in_root):
        if path.suffix in (".pt", ".pth") or is_tu_folder(path):
            return path
    return None


def source_of(data: GraphSet, given: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> str:
    """Return a name or path that finds the data again from any folder: a path only for own data not found by name."""
    own = Path(given) if isinstance(given, os.PathLike) else own_path(given, root)
    if own is None:
        return data.name
    return str(given) if own != Path(given) else str(own.resolve())


def _own_data(given: Any, y: Any, targets: bool) -> GraphSet:
    if isinstance(given, GraphSet):
        return given
    if isinstance(given, os.PathLike):
        return read_own(given, targets=targets)
    if isinstance(given, Iterator):  # can be iterated over only once
        given = list(given)
    if hasattr(given, "edge_index") or (
        isinstance(given, Iterable) and all(hasattr(each, "edge_index") for each in given) and y is None
    ):
        return graph_set_of(given, targets=targets)
    if isinstance(given, Iterable) and all(hasattr(each, "edge_stores") for each in given):  # PyG data, with y
        return with_targets(graph_set_of(given, targets=False), y)
    if not isinstance(given, Iterable):
        raise InputError(f"{short_repr(given)} is not a data set; give a name, a path, PyG data or a list of graphs.")
    return graph_set_of_graphs(list(given), y, targets=targets)


def _known() -> dict[str, str]:
    return {each.lower(): each for each in KNOWN}


def full_name(name: str) -> str:
    """Return the name of a data set in its usual case, or raise `InputError` with the closest match.

    For an existing path, the error says why it is not a data set.
    """
    known = _known()
    if isinstance(name, str) and name.lower() in known:
        return known[name.lower()]
    if isinstance(name, str) and os.path.exists(name):
        check_own(Path(name))
    given = name.lower() if isinstance(name, str) else ""
    completions = [each for each in known if given and each.startswith(given)]
    matches = get_close_matches(given, known, n=1, cutoff=0.7) or completions
    suggestion = f" (did you mean {known[matches[0]]}?)" if matches else ""
    raise InputError(
        f"There is no data set {short_repr(name)}{suggestion}; give one of {', '.join(known.values())}, "
        "or the path of a folder in the TU Dortmund format or of a .pt file."
    )


def data_root(root: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the root folder of raw data: `root`, else that of DETOURS_DATA, else None."""
    folder = root if root is not None else os.environ.get(ROOT_VARIABLE) or None
    return None if folder is None else Path(folder)


def raw_folder(name: str, root: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder (or file) of raw data: below `root` or DETOURS_DATA, else in the cache, fetched if needed."""
    known, parent = KNOWN[name], data_root(root)
    if parent is None:
        return fetch.fetch(name, known.raw, known.family.fetch)
    folder = parent / known.raw
    if not folder.exists():
        raise InputError(
            f"{name} is not in {parent}: its raw files should be in {folder}; "
            f"put them there, give another folder, or {fetch.how_to_get(name, known.family.fetch)}."
        )
    return folder


def found_folder(name: str, root: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the folder (or file) of raw data, or None if it is not on this machine; nothing is fetched."""
    parent = data_root(root)
    if parent is None:
        return fetch.cached(KNOWN[name].raw)
    return folder if (folder := parent / KNOWN[name].raw).exists() else None
