"""The data sets of the paper and some more by name: `load("MUTAG")` gives graphs, classes, labels and attributes.

Raw files are read from a folder with the layout of PyG (`TUDataset/MUTAG/raw/…`); where there is none, PyG
fetches them once into a cache. Tasks made in code have names as well.
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
from detours.data.readers.graphs import graph_set_of_graphs
from detours.data.readers.pyg import check_own, graph_set_of, is_tu_folder, read_own
from detours.errors import InputError, shown

__all__ = ["GRAPH_SETS", "HETEROPHILOUS_SETS", "MORE_SETS", "NODE_SETS", "PAIR_SETS", "TASKS", "TU_SETS", "load"]

ROOT_VARIABLE = "DETOURS_DATA"


def load(name: Any, root: str | os.PathLike[str] | None = None, *, y: Any = None, targets: bool = True) -> GraphSet:
    """Return a data set: one of the known ones, a task made in code, or your own.

    Args:
        name: Own data: a `GraphSet`, a data set or list of PyG data, a list of graphs of any kind that `detours.count`
            takes, the path of a .pt file of PyG data or of a folder in the TU Dortmund format, or the name of such a
            folder, `<root>/TUDataset/<name>`. Known ones, in upper or lower case: the graphs with classes of
            `GRAPH_SETS`, such as MUTAG, and the nodes with classes of `NODE_SETS`, such as Texas, all of the paper;
            those of `MORE_SETS`, such as ZINC, whose graphs have a number to predict; and `TASKS`, such as rings,
            which need no file. `detours data list` shows all.
        root: The folder that holds the raw data. Default: the environment variable DETOURS_DATA; without either, PyG
            fetches the files into a cache the first time.
        y: The target of every graph of a list. Default: the graph attribute "y" of NetworkX graphs.
        targets: Whether own data must have targets. With False, for data to predict, `y` may be empty.

    The graphs of graph data are undirected; the paper's node data are one directed graph, its arcs as stored.

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
    """Return the path of own data, given by its path or by the name of a TU folder in the root; None if it is none."""
    if name.lower() in _known():
        return None
    given = data_root(root)
    in_root = [] if given is None else [given / "TUDataset" / name, given / name]
    for path in (Path(name), *in_root):
        if path.suffix in (".pt", ".pth") or is_tu_folder(path):
            return path
    return None


def source_of(data: GraphSet, given: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> str:
    """Return what finds data again from any folder: the name, or the path of own data that were not found by name."""
    own = Path(given) if isinstance(given, os.PathLike) else own_path(given, root)
    if own is None:
        return data.name
    return str(given) if own != Path(given) else str(own.resolve())


def _own_data(given: Any, y: Any, targets: bool) -> GraphSet:
    if isinstance(given, GraphSet):
        return given
    if isinstance(given, os.PathLike):
        return read_own(given, targets=targets)
    if isinstance(given, Iterator):  # what can be gone through once
        given = list(given)
    if hasattr(given, "edge_index") or (
        isinstance(given, Iterable) and all(hasattr(each, "edge_index") for each in given) and y is None
    ):
        return graph_set_of(given, targets=targets)
    if not isinstance(given, Iterable):
        raise InputError(f"{shown(given)} is no data set; give a name, a path, PyG data or a list of graphs.")
    return graph_set_of_graphs(list(given), y, targets=targets)


def _known() -> dict[str, str]:
    return {each.lower(): each for each in KNOWN}


def full_name(name: str) -> str:
    """Return the name of a data set in its usual case, or raise `InputError` with the nearest name.

    Of a path that is there, the error says why that is no data set.
    """
    known = _known()
    if isinstance(name, str) and name.lower() in known:
        return known[name.lower()]
    if isinstance(name, str) and os.path.exists(name):
        check_own(Path(name))
    given = name.lower() if isinstance(name, str) else ""
    begun = [each for each in known if given and each.startswith(given)]
    near = get_close_matches(given, known, n=1, cutoff=0.7) or begun
    meant = f" (did you mean {known[near[0]]}?)" if near else ""
    raise InputError(
        f"There is no data set {shown(name)}{meant}; give one of {', '.join(known.values())}, "
        "or the path of a folder in the TU Dortmund format or of a .pt file."
    )


def data_root(root: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the folder of raw data: the one given, else that of DETOURS_DATA, else None."""
    given = root if root is not None else os.environ.get(ROOT_VARIABLE) or None
    return None if given is None else Path(given)


def raw_folder(name: str, root: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder (or file) of raw data: below `root` or DETOURS_DATA, else in the cache, fetched if need be."""
    known, given = KNOWN[name], data_root(root)
    if given is None:
        return fetch.fetch(name, known.raw, known.family.fetch)
    folder = given / known.raw
    if not folder.exists():
        raise InputError(
            f"{name} is not in {given}: its raw files should be in {folder}; "
            f"put them there, give another folder, or {fetch.how_to_get(name, known.family.fetch)}."
        )
    return folder


def found_folder(name: str, root: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the folder (or file) of raw data, None if it is not on this machine; nothing is fetched."""
    given = data_root(root)
    if given is None:
        return fetch.cached(KNOWN[name].raw)
    return folder if (folder := given / KNOWN[name].raw).exists() else None
