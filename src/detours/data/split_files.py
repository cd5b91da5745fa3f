"""Files of splits: Errica et al. (2020) in JSON, masks of Geom-GCN in .npz, and the folds shipped with this library.

Errica's files are a list of folds {"test": […], "model_selection": [{"train": […], "validation": […]}]}. Ours hold the
same list as "folds", beside the classes of the data they were made for and the seed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib.resources import files
from itertools import count, pairwise, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from detours.arrays import Int64
from detours.containers import read_archive
from detours.data.catalogue import data_root, found_folder
from detours.data.graph_set import GraphSet
from detours.data.known import KNOWN, names
from detours.data.readers.arrays import ZINC_PARTS, read_masks
from detours.data.splitting import FOLDS, Split, Splits, stratified_splits
from detours.errors import FileFormatError, InputError

SHIPPED = names(lambda each: each.splits == "shipped")
_MASKS = ("train_mask", "val_mask", "test_mask")


def splits(data: GraphSet, root: str | os.PathLike[str] | None = None) -> Splits:
    """Return the folds of a data set, ten unless said otherwise.

    Those that come with the data, if any; those of Errica et al. (2020) for NCI1, ENZYMES, DD and IMDB-BINARY (by
    degree) and the masks of Geom-GCN for node data, where their files are below `root` (default: the folder the data
    were read from, else DETOURS_DATA); the ones shipped with this library for MUTAG and PTC_FM; the published masks of
    the heterophilous graphs; the one published split of ZINC; else `stratified_splits(data)`. `source` says which.

    >>> from detours.data import rings
    >>> len(splits(rings(20)))
    10
    """
    if data.folds == []:
        raise InputError(
            f"{data.name} has only some of train_mask, val_mask and test_mask; give all three (a test_mask may be "
            "False everywhere), none for folds that are generated, or folds of your own in Python."
        )
    if data.folds is not None:
        return Splits("of the data", [Split(*parts) for parts in data.folds])
    found = read_published(data, root) or read_shipped(data)
    return found or stratified_splits(data)


def read_published(data: GraphSet, root: str | os.PathLike[str] | None = None) -> Splits | None:
    """Return the published folds of a data set, None if there are none or their files are missing."""
    where = data_root(root) if root is not None or data.root is None else data.root
    known = KNOWN.get(data.name)
    source, _, part = ("" if known is None else known.splits).partition("/")
    if source not in _PUBLISHED:
        return None
    folds = _PUBLISHED[source](data, where, part)
    return Splits(source, folds) if folds else None


def _errica(data: GraphSet, where: Path | None, part: str) -> list[Split]:
    """Return the folds of Errica et al. (2020), whose files are in folders by part."""
    if where is None:
        return []
    file = where / "splits" / "errica2019" / part / f"{data.name}_splits.json"
    return _errica_folds(_json(file), file, len(data.y)) if file.is_file() else []


def _geom_gcn(data: GraphSet, where: Path | None, part: str) -> list[Split]:
    """Return the folds of the mask files of Geom-GCN, which lie beside the data."""
    folder = found_folder(data.name, where)
    return [] if folder is None else [_masked(file, len(data.y)) for file in _mask_files(folder)]


def _platonov(data: GraphSet, where: Path | None, part: str) -> list[Split]:
    """Return the folds of Platonov et al. (2023), which are in the file of the data."""
    file = found_folder(data.name, where)
    if file is None:
        return []
    return [checked(three, len(data.y), file, at) for at, three in enumerate(read_masks(file))]


def _zinc(data: GraphSet, where: Path | None, part: str) -> list[Split]:
    """Return the one split of ZINC: its molecules lie in this order."""
    if len(data.y) != sum(ZINC_PARTS):
        return []
    ends = np.cumsum([0, *ZINC_PARTS])
    return [Split(*(np.arange(*pair) for pair in pairwise(ends)))]


_PUBLISHED = {"errica2019": _errica, "geom-gcn": _geom_gcn, "platonov2023": _platonov, "published": _zinc}
"""Readers of published folds by their source; each returns none where their files are missing."""


def read_shipped(data: GraphSet) -> Splits | None:
    """Return the folds shipped with this library, None if there are none for exactly these graphs."""
    if data.name not in SHIPPED:
        return None
    file = Path(str(files("detours.data") / "folds" / f"{data.name}.json"))
    plain = _json(file)
    if plain["classes"] != data.y.tolist():
        return None
    return Splits("shipped", _errica_folds(plain["folds"], file, len(data.y)))


def checked(parts: Sequence[Int64], number: int, file: Path, fold: int) -> Split:
    """Return a split of 0 .. number-1 into three parts, or raise `FileFormatError` unless each index is in one part."""
    every = np.concatenate(parts)
    outside = every[(every < 0) | (every >= number)]
    if outside.size:
        raise FileFormatError(
            f"fold {fold} names {outside[0]}, but the data set has 0 .. {number - 1:,}; the file is of another set.",
            file,
        )
    times = np.bincount(every, minlength=number)
    for wrong, what in ((times > 1, "is in two parts or twice in one"), (times == 0, "is in no part")):
        if wrong.any():
            raise FileFormatError(f"in fold {fold}, {int(np.argmax(wrong))} {what}; every one must be in one.", file)
    if not all(len(part) for part in parts):
        raise FileFormatError(f"in fold {fold}, a part is empty; train, validation and test must all hold some.", file)
    return Split(*(np.sort(part) for part in parts))


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FileFormatError(f"this is no JSON ({error}); the file is cut off or of another kind.", file) from None


def _errica_folds(plain: Any, file: Path, number: int) -> list[Split]:
    try:
        listed = [
            (fold["model_selection"][0]["train"], fold["model_selection"][0]["validation"], fold["test"])
            for fold in plain
        ]
        parts = [[np.array(part, None if part else np.int64) for part in three] for three in listed]
    except (KeyError, IndexError, TypeError, ValueError):
        parts = []
    if not parts or not all(part.ndim == 1 and part.dtype.kind == "i" for three in parts for part in three):
        raise FileFormatError(
            'it should be a list of folds with "test" and "model_selection", each a list of integers.', file
        )
    return [checked(three, number, file, fold) for fold, three in enumerate(parts)]


def _mask_files(folder: Path) -> list[Path]:
    """Return the mask files of the folds 0, 1, 2, …, whatever name the data set has in them."""
    found = {file.stem.rpartition("_")[2]: file for file in folder.glob("*_split_0.6_0.2_*.npz")}
    listed = [found[str(fold)] for fold in takewhile(lambda fold: str(fold) in found, count())]
    if found and len(listed) != FOLDS:
        raise FileFormatError(f"there should be the splits 0 .. {FOLDS - 1}, but {len(listed)} is not there.", folder)
    return listed


def _masked(file: Path, number: int) -> Split:
    try:
        arrays = read_archive(file, file, _MASKS)
        masks = [arrays[name].astype(bool) for name in _MASKS]
    except (FileFormatError, KeyError, ValueError):
        raise FileFormatError(
            f"it should hold the arrays {', '.join(_MASKS)}; it is cut off or another.", file
        ) from None
    if any(mask.shape != (number,) for mask in masks):
        raise FileFormatError(f"a mask should have one entry for each of the {number:,} nodes.", file)
    return checked([np.flatnonzero(mask) for mask in masks], number, file, int(file.stem.rpartition("_")[2]))
