"""Splits: the graphs (or nodes) for training, validation and test, fold by fold.

Published folds where there are any, else our own: stratified, and the same on every machine and with every release
of NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from detours.arrays import Int64
from detours.checks import check_integer
from detours.data.graph_set import GraphSet
from detours.errors import InputError

SEED = 142857
FOLDS = 10
HELD_OUT = 10
"""One in this number of the graphs not tested is held out for validation."""


class Split(NamedTuple):
    """One fold: int64 indices of graphs, or of nodes where the data set is one graph; each index is in one part.

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
    """Return folds with one tenth of every training part held out for validation; classes are kept in proportion.

    Graphs that `data.pairs` joins, directly or through others, stay in one part: no partner of a test graph is trained
    on.

    >>> from detours.data import rings
    >>> fold = stratified_splits(rings(60), folds=3)[0]
    >>> [len(part) for part in fold], all(i ^ 1 in fold.test for i in fold.test)
    ([36, 4, 20], True)
    """
    data.check_targets()
    units = _units(data)
    number = int(units.max(initial=-1)) + 1
    folds, seed = check_integer("folds", folds, minimum=2), check_integer("seed", seed, minimum=0)
    if number < max(folds, 4):
        things = "nodes" if data.level == "node" else "graphs" if data.pairs is None else "pairs of graphs"
        fewer = ", or fewer folds in Python: training.fit(data, folds=stratified_splits(data, 4))"
        raise InputError(
            f"{folds} folds need at least {max(folds, 4)} {things}, but {data.name} has {number}; "
            f"take more data{fewer if number >= 4 else ''}."
        )
    strata = _strata(units, data.targets, number) if data.task == "classification" else np.zeros(number, np.int64)
    # NumPy keeps the raw output of this generator stable between releases, but not its permutations.
    words = np.random.PCG64([seed, folds])
    test_of = _deal(strata, folds, words)
    found = []
    for fold in range(folds):
        rest = np.flatnonzero(test_of != fold)
        held = rest[_deal(strata[rest], HELD_OUT, words) == 0]
        part = np.zeros(number, np.int64)
        part[held], part[test_of == fold] = 1, 2
        found.append(Split(*(np.flatnonzero(part[units] == which) for which in range(3))))
    return Splits(f"generated, seed {seed}", found)


def inner_splits(data: GraphSet, splits: Splits) -> Splits:
    """Return folds whose test part is the validation part of the given ones, and whose validation part is a tenth of
    their training part; what they test is left out. Classes are kept in proportion, and `data.pairs` together.

    >>> from detours.data import rings, stratified_splits
    >>> outer = stratified_splits(rings(60), folds=3)
    >>> [len(part) for part in inner_splits(rings(60), outer)[0]], len(outer[0].val)
    ([32, 4, 4], 4)
    """
    units = _units(data)
    number = int(units.max(initial=-1)) + 1
    strata = _strata(units, data.targets, number) if data.task == "classification" else np.zeros(number, np.int64)
    found = []
    for fold, split in enumerate(splits):
        own = np.unique(units[split.train])
        held = own[_deal(strata[own], HELD_OUT, np.random.PCG64([SEED, fold])) == 0]
        inside = np.isin(units[split.train], held)
        if inside.all():
            raise InputError(f"the training part of fold {fold} is too small to hold out a tenth of it.")
        found.append(Split(split.train[~inside], split.train[inside], split.val))
    return Splits(f"{splits.source}, inside training parts", found)


def _units(data: GraphSet) -> Int64:
    """Return int64: for every graph or node the number of the group it must stay with."""
    things = len(data.y)
    if data.pairs is None:
        return np.arange(things)
    group = list(range(things))

    def root(i: int) -> int:
        while group[i] != i:
            group[i] = i = group[group[i]]
        return i

    for i, j in data.pairs:
        group[root(j)] = root(i)
    return np.unique([root(i) for i in range(things)], return_inverse=True)[1]


def _strata(units: Int64, targets: Int64, number: int) -> Int64:
    """Return int64 [number]: units with the same classes have the same stratum."""
    held = np.zeros((number, int(targets.max(initial=0)) + 1), np.int64)
    np.add.at(held, (units, targets), 1)
    return np.unique(held, axis=0, return_inverse=True)[1].reshape(-1)


def _deal(strata: Int64, parts: int, words: np.random.PCG64) -> Int64:
    """Return a part for each unit: shuffled within strata, so that parts differ by at most one unit of each stratum."""
    order = np.lexsort((words.random_raw(len(strata)), strata))
    part = np.empty(len(strata), np.int64)
    part[order] = np.arange(len(strata)) % parts
    return part
