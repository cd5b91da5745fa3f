"""Data sets over the network: PyG downloads the raw files, our readers read them."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from detours.errors import InputError

FETCHED = ("TUDataset", "WikipediaNetwork", "WebKB", "Actor")


def cache_folder() -> Path:
    """Return the folder of the cache of data sets."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "detours"


def cached(raw: str) -> Path | None:
    """Return the raw folder of a data set in the cache, None if it was not fetched before."""
    folder = cache_folder() / raw
    return folder if _mark(folder).exists() else None


def how_to_get(name: str, raw: str) -> str:
    """Return what to do about missing raw files, as the end of a sentence."""
    if _family(raw) in FETCHED:
        return "leave both root and DETOURS_DATA out to have PyG fetch them"
    return f"take the GRAPHSAT.txt of {name} that its authors publish with their GNN-RNI code"


def fetch(name: str, raw: str) -> Path:
    """Return the raw folder of a data set in the cache, downloaded by PyG unless it is there."""
    if (found := cached(raw)) is not None:
        return found
    family = _family(raw)
    if family not in FETCHED:
        raise InputError(
            f"{name} cannot be fetched; put its GRAPHSAT.txt into DIR/{raw} and give DIR as root or as DETOURS_DATA "
            "(its authors publish it with their GNN-RNI code)."
        )
    if find_spec("torch_geometric") is None:
        raise InputError(
            f"{name} is not on this machine: set DETOURS_DATA to the folder of the raw data sets, "
            "or install torch_geometric to have them fetched."
        )
    try:
        _fetch(name, family)
    except Exception as error:  # whatever the network, the archive or the disk say
        raise InputError(
            f"{name} could not be fetched ({type(error).__name__}: {error}); set DETOURS_DATA to a folder with it."
        ) from error
    folder = cache_folder() / raw
    _mark(folder).touch()
    return folder


def _family(raw: str) -> str:
    return raw.split("/")[0]


def _mark(folder: Path) -> Path:
    """Return the file that is written last: without it, a download was interrupted and is repeated."""
    return folder / ".fetched"


def _fetch(name: str, family: str) -> None:
    from torch_geometric import datasets

    root = str(cache_folder() / family)
    if family == "TUDataset":
        datasets.TUDataset(root, name)
    elif family == "WikipediaNetwork":
        datasets.WikipediaNetwork(root, name.lower(), geom_gcn_preprocess=True)
    elif family == "WebKB":
        datasets.WebKB(root, name.lower())
    else:
        datasets.Actor(root)
