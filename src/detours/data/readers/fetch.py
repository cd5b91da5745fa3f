"""Downloads of raw data by PyG, to a cache."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.atomic import atomic_write
from detours.errors import InputError

Fetcher = Callable[[str, Path, Path], None]
"""Called with the name of a data set, a root folder in the layout of PyG, and the raw folder (or file) to download."""


def cache_folder() -> Path:
    """Return the cache folder of data sets."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "detours"


def cached(raw: str) -> Path | None:
    """Return the raw folder of a data set in the cache, or None if it is not there."""
    folder = cache_folder() / raw
    return folder if _marker(folder).exists() else None


def how_to_get(name: str, fetcher: Fetcher | None) -> str:
    """Return how to get missing raw files, as the end of a sentence."""
    if fetcher is not None:
        return "give neither root (--root) nor DETOURS_DATA to have PyG fetch them"
    return f"take the GRAPHSAT.txt of {name} that its authors publish with their GNN-RNI code"


def fetch(name: str, raw: str, fetcher: Fetcher | None) -> Path:
    """Return the raw folder of a data set in the cache, downloaded by PyG if necessary."""
    if (folder := cached(raw)) is not None:
        return folder
    if fetcher is None:
        raise InputError(
            f"{name} cannot be fetched; put its GRAPHSAT.txt into DIR/{raw} and give DIR as root or as DETOURS_DATA "
            "(its authors publish it with their GNN-RNI code)."
        )
    if find_spec("torch_geometric") is None:
        raise InputError(
            f"{name} is not on this machine: set DETOURS_DATA to the folder of the raw data sets, "
            "or install torch_geometric to have them fetched."
        )
    folder = cache_folder() / raw
    root = cache_folder() / Path(raw).parts[0]
    try:
        root.mkdir(parents=True, exist_ok=True)
        fetcher(name, root, folder)
    except Exception as error:  # of the network, the archive or the disk
        raise InputError(
            f"{name} could not be fetched ({type(error).__name__}: {error}); set DETOURS_DATA to a folder with it."
        ) from error
    _marker(folder).touch()
    return folder


def _marker(folder: Path) -> Path:
    """Return the file that is written last; if it is missing, a download was interrupted and is repeated."""
    return folder if folder.suffix == ".npz" else folder / ".fetched"


def tu(name: str, root: Path, raw: Path) -> None:
    """Fetch a data set of TU Dortmund."""
    from torch_geometric import datasets

    datasets.TUDataset(str(root), name)


def wikipedia(name: str, root: Path, raw: Path) -> None:
    """Fetch Chameleon or Squirrel in the version of Geom-GCN."""
    from torch_geometric import datasets

    datasets.WikipediaNetwork(str(root), name.lower(), geom_gcn_preprocess=True)


def webkb(name: str, root: Path, raw: Path) -> None:
    """Fetch Cornell, Wisconsin or Texas."""
    from torch_geometric import datasets

    datasets.WebKB(str(root), name.lower())


def actor(name: str, root: Path, raw: Path) -> None:
    """Fetch Actor."""
    from torch_geometric import datasets

    datasets.Actor(str(root))


def zinc(name: str, root: Path, raw: Path) -> None:
    """Fetch the 12,000 molecules of ZINC as one file."""
    from torch_geometric import datasets

    parts = [datasets.ZINC(str(root), subset=True, split=split) for split in ("train", "val", "test")]
    _write_molecules([molecule for part in parts for molecule in part], raw)


def heterophilous(name: str, root: Path, raw: Path) -> None:
    """Fetch a graph of Platonov et al. (2023)."""
    from torch_geometric import datasets
    from torch_geometric.data import download_url

    if name.endswith("-filtered"):  # published with the others, but not available in PyG
        path = download_url(f"{datasets.HeterophilousGraphDataset.url}/{raw.name}", f"{root}/raw")
    else:
        path = datasets.HeterophilousGraphDataset(str(root), name).raw_paths[0]
    with atomic_write(raw) as target:
        target.write(Path(path).read_bytes())


def _write_molecules(molecules: list[Any], file: Path) -> None:
    """Write molecules of PyG in the format of `read_zinc`."""

    def concatenated(name: str, axis: int = 0) -> NDArray[Any]:
        return np.concatenate([np.asarray(each[name]) for each in molecules], axis=axis)

    with atomic_write(file) as target:
        np.savez_compressed(
            target,
            num_nodes=np.array([each.num_nodes for each in molecules]),
            num_arcs=np.array([each.num_edges for each in molecules]),
            atom=concatenated("x").reshape(-1),
            arcs=concatenated("edge_index", 1),
            bond=concatenated("edge_attr").reshape(-1),
            y=concatenated("y").reshape(-1),
        )
