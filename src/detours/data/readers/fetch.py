"""Data sets over the network: PyG downloads the raw data, our readers read them."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.atomic import replacing
from detours.errors import InputError

FETCHED = ("TUDataset", "WikipediaNetwork", "WebKB", "Actor", "ZINC12k", "heterophilous")


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
        _fetch(name, raw)
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
    return folder if folder.suffix == ".npz" else folder / ".fetched"


def _fetch(name: str, raw: str) -> None:
    from torch_geometric import datasets

    family = _family(raw)
    root = str(cache_folder() / family)
    os.makedirs(root, exist_ok=True)
    if family == "TUDataset":
        datasets.TUDataset(root, name)
    elif family == "WikipediaNetwork":
        datasets.WikipediaNetwork(root, name.lower(), geom_gcn_preprocess=True)
    elif family == "WebKB":
        datasets.WebKB(root, name.lower())
    elif family == "Actor":
        datasets.Actor(root)
    elif family == "ZINC12k":
        parts = [datasets.ZINC(root, subset=True, split=split) for split in ("train", "val", "test")]
        _write_molecules([molecule for part in parts for molecule in part], cache_folder() / raw)
    else:
        _fetch_heterophilous(name, root, cache_folder() / raw)


def _write_molecules(molecules: list[Any], file: Path) -> None:
    """Write molecules of PyG as `read_zinc` reads them."""

    def row(name: str, axis: int = 0) -> NDArray[Any]:
        return np.concatenate([np.asarray(each[name]) for each in molecules], axis=axis)

    with replacing(file) as target:
        np.savez_compressed(
            target,
            num_nodes=np.array([each.num_nodes for each in molecules]),
            num_arcs=np.array([each.num_edges for each in molecules]),
            atom=row("x").reshape(-1),
            arcs=row("edge_index", 1),
            bond=row("edge_attr").reshape(-1),
            y=row("y").reshape(-1),
        )


def _fetch_heterophilous(name: str, root: str, file: Path) -> None:
    from torch_geometric import datasets
    from torch_geometric.data import download_url

    if name.endswith("-filtered"):  # published beside the others, but not a data set of PyG
        found = download_url(f"{datasets.HeterophilousGraphDataset.url}/{file.name}", f"{root}/raw")
    else:
        found = datasets.HeterophilousGraphDataset(root, name).raw_paths[0]
    with replacing(file) as target:
        target.write(Path(found).read_bytes())
