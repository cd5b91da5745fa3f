"""Files of splits: Errica et al. (2020) in JSON, masks of Geom-GCN in .npz, and the folds shipped with this library.

Errica's files are a list of folds {"test": […], "model_selection": [{"train": […], "validation": […]}]}. Ours contain
the same list as "folds", the classes of the data they were generated for, and the seed.
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
    """Return the folds of a data set, ten unless stated otherwise.

    These are, if available: the folds that come with the data; those of Errica et al. (2020) for NCI1, ENZYMES, DD and
    IMDB-BINARY (by degree) and the masks of Geom-GCN for node data, if their files are below `root` (default: the
    folder the data were read from, else DETOURS_DATA); those shipped with this library for MUTAG and PTC_FM; the
    published masks of the heterophilous graphs; the one published split of ZINC. Otherwise, they are
    `stratified_splits(data)`. `source` says which.

    >>> from detours.data import rings
    >>> len(splits(rings(20)))
    10
    """
    if data.folds == []:
        raise InputError(
            f"{data.name} has only some of train_mask, val_mask and test_mask; give all three (a test_mask may be "
            "False everywhere), none for generated folds, or your own folds in Python."
        )
    if data.folds is not None:
        return Splits("of the data", [Split(*parts) for parts in data.folds])
    return read_published(data, root) or read_shipped(data) or stratified_splits(data)


def read_published(data: GraphSet, root: str | os.PathLike[str] | None = None) -> Splits | None:
    """Return the published folds of a data set, None if there are none or their files are missing."""
    folder = data_root(root) if root is not None or data.root is None else data.root
    known = KNOWN.get(data.name)
    source, _, part = ("" if known is None else known.splits).partition("/")
    if source not in _PUBLISHED:
        return None
    folds = _PUBLISHED[source](data, folder, part)
    return Splits(source, folds) if folds else None


def _errica(data: GraphSet, root: Path | None, part: str) -> list[Split]:
    """Return the folds of Errica et al. (2020), whose files are in one folder per part of the benchmark."""
    if root is None:
        return []
    file = root / "splits" / "errica2019" / part / f"{data.name}_splits.json"
    return _errica_folds(_json(file), file, len(data.y)) if file.is_file() else []


def _geom_gcn(data: GraphSet, root: Path | None, part: str) -> list[Split]:
    """Return the folds of the mask files of Geom-GCN, which are in the folder of the data."""
    folder = found_folder(data.name, root)
    return [] if folder is None else [_read_mask_file(file, len(data.y)) for file in _mask_files(folder)]


def _platonov(data: GraphSet, root: Path | None, part: str) -> list[Split]:
    """Return the folds of Platonov et al. (2023), which are in the file of the data."""
    file = found_folder(data.name, root)
    if file is None:
        return []
    return [check_published_split(parts, len(data.y), file, fold) for fold, parts in enumerate(read_masks(file))]


def _zinc(data: GraphSet, root: Path | None, part: str) -> list[Split]:
    """Return the one split of ZINC, whose molecules are in the order of the parts."""
    if len(data.y) != sum(ZINC_PARTS):
        return []
    ends = np.cumsum([0, *ZINC_PARTS])
    return [Split(*(np.arange(*pair) for pair in pairwise(ends)))]


_PUBLISHED = {"errica2019": _errica, "geom-gcn": _geom_gcn, "platonov2023": _platonov, "published": _zinc}
"""Readers of published folds by source; each returns an empty list if its files are missing."""


def read_shipped(data: GraphSet) -> Splits | None:
    """Return the folds shipped with this library; None if there are none for exactly these classes."""
    if data.name not in SHIPPED:
        return None
    file = Path(str(files("detours.data") / "folds" / f"{data.name}.json"))
    plain = _json(file)
    if plain["classes"] != data.y.tolist():
        return None
    return Splits("shipped", _errica_folds(plain["folds"], file, len(data.y)))


def check_published_split(parts: Sequence[Int64], size: int, file: Path, fold: int) -> Split:
    """Return a split of 0 .. size-1 into three parts, or raise `FileFormatError` unless each index is in one part."""
    indices = np.concatenate(parts)
    outside = indices[(indices < 0) | (indices >= size)]
    if outside.size:
        raise FileFormatError(
            f"fold {fold} has index {outside[0]}, but the data set has 0 .. {size - 1:,}; the file is of another set.",
            file,
        )
    counts = np.bincount(indices, minlength=size)
    for wrong, what in ((counts > 1, "is in two parts or twice in one"), (counts == 0, "is in no part")):
        if wrong.any():
            raise FileFormatError(
                f"in fold {fold}, index {int(np.argmax(wrong))} {what}; each must be in exactly one.", file
            )
    if not all(len(part) for part in parts):
        raise FileFormatError(f"in fold {fold}, a part is empty; train, validation and test must not be empty.", file)
    return Split(*(np.sort(part) for part in parts))


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FileFormatError(f"this is not JSON ({error}); the file is cut off or of another kind.", file) from None


def _errica_folds(plain: Any, file: Path, size: int) -> list[Split]:
    try:
        lists = [
            (fold["model_selection"][0]["train"], fold["model_selection"][0]["validation"], fold["test"])
            for fold in plain
        ]
        folds = [[np.array(part, None if part else np.int64) for part in parts] for parts in lists]
    except (KeyError, IndexError, TypeError, ValueError):
        folds = []
    if not folds or not all(part.ndim == 1 and part.dtype.kind == "i" for parts in folds for part in parts):
        raise FileFormatError(
            'it should be a list of folds with "test" and "model_selection", each a list of integers.', file
        )
    return [check_published_split(parts, size, file, fold) for fold, parts in enumerate(folds)]


def _mask_files(folder: Path) -> list[Path]:
    """Return the mask files of the folds 0, 1, 2, …; the name of the data set in the file names is ignored."""
    by_fold = {file.stem.rpartition("_")[2]: file for file in folder.glob("*_split_0.6_0.2_*.npz")}
    mask_files = [by_fold[str(fold)] for fold in takewhile(lambda fold: str(fold) in by_fold, count())]
    if by_fold and len(mask_files) != FOLDS:
        raise FileFormatError(
            f"it should contain the splits 0 .. {FOLDS - 1}, but {len(mask_files)} is missing.", folder
        )
    return mask_files


def _read_mask_file(file: Path, size: int) -> Split:
    try:
        arrays = read_archive(file, file, _MASKS)
        masks = [arrays[name].astype(bool) for name in _MASKS]
    except (FileFormatError, KeyError, ValueError):
        raise FileFormatError(
            f"it should contain the arrays {', '.join(_MASKS)}; it is cut off or of another kind.", file
        ) from None
    if any(mask.shape != (size,) for mask in masks):
        raise FileFormatError(f"a mask should have one entry for each of the {size:,} nodes.", file)
    fold = int(file.stem.rpartition("_")[2])
    return check_published_split([np.flatnonzero(mask) for mask in masks], size, file, fold)
