"""`Split` and `Splits`: the graphs (or nodes) for training, validation and test, fold by fold.

Generated folds are stratified, and the same on every machine and with every release of NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from detours.arrays import Int64
from detours.checks import check_integer
from detours.data.graph_set import GraphSet
from detours.errors import InputError

SEED = 142857
FOLDS = 10
HELD_OUT = 10
"""One in this many graphs outside the test part is held out for validation."""


class Split(NamedTuple):
    """One fold: int64 indices of graphs, or of nodes in node-level data; each index is in one part.

    >>> from detours.data import rings, stratified_splits
    >>> fold = stratified_splits(rings(20))[0]
    >>> len(fold.train) + len(fold.val) + len(fold.test)
    20
    """

    train: Int64
    val: Int64
    test: Int64


@dataclass(frozen=True)
class Splits:
    """The folds of a data set, and where they come from.

    >>> from detours.data import rings, stratified_splits
    >>> len(stratified_splits(rings(20)))
    10
    """

    source: str
    """ "errica2019", "geom-gcn", "platonov2023", "published", "shipped" or "generated, seed …"."""
    folds: list[Split]

    def __len__(self) -> int:
        return len(self.folds)

    def __getitem__(self, fold: int) -> Split:
        return self.folds[fold]

    def __iter__(self) -> Iterator[Split]:
        return iter(self.folds)

    def __repr__(self) -> str:
        return f"Splits({len(self)} folds, {self.source})"


def stratified_splits(data: GraphSet, folds: int = FOLDS, seed: int = SEED) -> Splits:
    """Return folds with a tenth of every training part held out for validation; classes are kept in proportion.

    Graphs connected by `data.pairs`, directly or through others, are in the same part: no partner of a test graph is
    trained on. Graphs or nodes whose target is unknown are in none.

    >>> from detours.data import rings
    >>> fold = stratified_splits(rings(60), folds=3)[0]
    >>> [len(part) for part in fold], all(i ^ 1 in fold.test for i in fold.test)
    ([36, 4, 20], True)
    """
    data.check_targets()
    units = _units(data)
    num_units = int(units.max(initial=-1)) + 1
    folds, seed = check_integer("folds", folds, minimum=2), check_integer("seed", seed, minimum=0)
    if num_units < max(folds, 4):
        things = "nodes" if data.level == "node" else "graphs" if data.pairs is None else "pairs of graphs"
        fewer = ", or fewer folds in Python: training.fit(data, folds=stratified_splits(data, 4))"
        raise InputError(
            f"{folds} folds need at least {max(folds, 4)} {things}, but {data.name} has {num_units}; "
            f"take more data{fewer if num_units >= 4 else ''}."
        )
    strata = _strata(data, units, num_units)
    # NumPy keeps the raw output of this generator stable between releases, but not its permutations.
    generator = np.random.PCG64([seed, folds])
    test_fold = _deal(strata, folds, generator)
    generated = []
    for fold in range(folds):
        rest = np.flatnonzero(test_fold != fold)
        held_out = rest[_deal(strata[rest], HELD_OUT, generator) == 0]
        part = np.zeros(num_units, np.int64)
        part[held_out], part[test_fold == fold] = 1, 2
        known = True if data.unknown is None else ~data.unknown
        generated.append(Split(*(np.flatnonzero((part[units] == which) & known) for which in range(3))))
    return Splits(f"generated, seed {seed}", generated)


def inner_splits(data: GraphSet, splits: Splits) -> Splits:
    """Return folds inside the given ones: the given validation part becomes the test part, a tenth of the training part
    becomes the validation part, and the given test part is left out. Classes are kept in proportion, and `data.pairs`
    together.

    >>> from detours.data import rings, stratified_splits
    >>> outer = stratified_splits(rings(60), folds=3)
    >>> [len(part) for part in inner_splits(rings(60), outer)[0]], len(outer[0].val)
    ([32, 4, 4], 4)
    """
    units = _units(data)
    num_units = int(units.max(initial=-1)) + 1
    strata = _strata(data, units, num_units)
    inner = []
    for fold, split in enumerate(splits):
        train_units = np.unique(units[split.train])
        held_out = train_units[_deal(strata[train_units], HELD_OUT, np.random.PCG64([SEED, fold])) == 0]
        in_val = np.isin(units[split.train], held_out)
        if in_val.all():
            raise InputError(f"the training part of fold {fold} is too small to hold out a tenth of it.")
        inner.append(Split(split.train[~in_val], split.train[in_val], split.val))
    return Splits(f"{splits.source}, inside training parts", inner)


def _units(data: GraphSet) -> Int64:
    """Return the unit of every graph or node: those of one unit must be in the same part."""
    size = len(data.y)
    if data.pairs is None:
        return np.arange(size)
    parent = list(range(size))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = i = parent[parent[i]]
        return i

    for i, j in data.pairs:
        parent[root(j)] = root(i)
    return np.unique([root(i) for i in range(size)], return_inverse=True)[1]


def _strata(data: GraphSet, units: Int64, num_units: int) -> Int64:
    """Return the stratum of every unit: the same for units with the same classes, or for all without classes. Targets
    that are unknown, of which each is a unit, are a stratum."""
    if data.unknown is not None and data.pairs is None:
        known = replace(data, unknown=None)
        return np.where(data.unknown, -1, _strata(known, units, num_units))
    if data.task != "classification":
        return np.zeros(num_units, np.int64)
    if data.pairs is None:
        strata: Int64 = data.targets.max(initial=0) - data.targets  # in the order of the rows below
        return strata
    class_counts = np.zeros((num_units, int(data.targets.max(initial=0)) + 1), np.int64)
    np.add.at(class_counts, (units, data.targets), 1)
    return np.unique(class_counts, axis=0, return_inverse=True)[1].reshape(-1)


def _deal(strata: Int64, parts: int, generator: np.random.PCG64) -> Int64:
    """Return a part for each unit, at random within strata; parts differ by at most one unit of each stratum."""
    order = np.lexsort((generator.random_raw(len(strata)), strata))
    part = np.empty(len(strata), np.int64)
    part[order] = np.arange(len(strata)) % parts
    return part
