"""Whole experiments from data to tables: what `detours reproduce` runs.

Every function goes through the store, so that running it again goes on where it stopped, and ends by writing its tables
and figures into the folder of the store.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from detours import __version__
from detours.data import GRAPH_SETS, NODE_SETS, GraphSet, load
from detours.data.catalogue import PAIR_SETS, ROOT_VARIABLE, raw_folder
from detours.errors import InputError
from detours.experiments.cycles import profiles as cycles
from detours.experiments.expressiveness import colouring, distinct, hard, pairs
from detours.experiments.expressiveness import ratios as expressiveness
from detours.experiments.expressiveness.methods import Method, warm_up
from detours.experiments.tables import Table, write_tables
from detours.store import Cell, Store, Task, old_results

Report = Callable[[float, float], None]
Watch = Callable[[str], AbstractContextManager[Report | None]]
"""Given a description, a context that shows the progress of what happens inside."""


@dataclass(frozen=True)
class Setting:
    """Where data and results are, and how to work."""

    store: Store
    watch: Watch
    root: str | None = None
    only: Sequence[str] = ()
    """Names of the data sets to take; all that are there if empty."""
    n_jobs: int = 1
    notes: list[str] = field(default_factory=list)
    """What the reader should know about the run: data sets that are missing, figures that were not drawn."""

    def has_data(self) -> bool:
        """Whether somebody said where data are."""
        return bool(self.root or os.environ.get(ROOT_VARIABLE))

    def names(self, among: Sequence[str]) -> list[str]:
        """Those of the data sets that were asked for and are there."""
        if self.root is not None and not Path(self.root).is_dir():
            raise InputError(f"--data {self.root}: there is no such folder; give the one that holds the raw data sets.")
        asked = {name.lower() for name in self.only}
        if unknown := asked - {name.lower() for name in (*GRAPH_SETS, *NODE_SETS)}:
            known = ", ".join((*GRAPH_SETS, *NODE_SETS))
            raise InputError(f"there is no data set {sorted(unknown)[0]!r}; take one of {known}.")
        wanted = [name for name in among if not asked or name.lower() in asked]
        found, missing = [], []
        for name in wanted:
            try:
                raw_folder(name, self.root)
                found.append(name)
            except InputError:
                # What was asked for must be there; and what cannot be fetched once need not be tried for every name.
                if self.only or not (self.has_data() or name in PAIR_SETS):
                    raise
                missing.append(name)
        if missing:
            self.notes.append(f"not there and left out: {', '.join(missing)}")
        return found

    def run(self, description: str, tasks: Sequence[Task], tests: Sequence[Method] = (), n_jobs: int = 1) -> list[Cell]:
        """The cells of the tasks, with progress; the tests whose time they take are compiled before."""
        if old := self.store.by_other_code(task.key for task in tasks):
            self.notes.append(f"{description}: {old_results(old, len(tasks), self.store.keep_old)}")
        if tests and any(self.store.find(task.key) is None for task in tasks):
            with self.watch("Compiling, the first time only"):
                warm_up(tests)
        with self.watch(description) as report:
            return self.store.run(tasks, report, n_jobs)

    def distinct(self, name: str) -> tuple[GraphSet, GraphSet]:
        """A data set without isomorphic copies: as we take it, and as the paper did."""
        data = load(name, self.root)
        with self.watch(f"{name}: isomorphic copies"):
            return distinct.distinct(data, self.store, self.n_jobs)


@dataclass(frozen=True)
class Outcome:
    """The tables of an experiment, and the files they and its figures were written to."""

    tables: list[Table]
    files: list[Path]


def run_expressiveness(setting: Setting, largest_k: int = 6) -> Outcome:
    """The built-in hard pairs and the atlas, and the paper's data sets if there are any."""
    names = setting.names(GRAPH_SETS) if setting.has_data() or setting.only else []
    if setting.only and not names:
        raise InputError(f"{', '.join(setting.only)} holds one graph only; take some of {', '.join(GRAPH_SETS)}.")
    if not names:
        setting.notes.append("only the built-in graphs are here; --data DIR or DETOURS_DATA says where data sets are")
    cells: list[Cell] = []
    rows = expressiveness.methods(largest_k)
    for name in names:
        data, _ = setting.distinct(name)
        tasks = expressiveness.tasks(data, rows, n_jobs=setting.n_jobs)
        cells += setting.run(f"Expressiveness, {name}", tasks, rows)
    built_in = [] if setting.only else _built_in(setting)
    tables = expressiveness.tables(cells) + hard.tables(built_in)
    return Outcome(tables, _written(setting, "expressiveness", tables) + _figures(setting, cells))


def _built_in(setting: Setting) -> list[Cell]:
    atlas = find_spec("networkx") is not None
    if not atlas:
        setting.notes.append("the atlas of small graphs is left out: it comes with networkx; run: pip install networkx")
    tasks = hard.tasks(largest_k=hard.HARD_K, atlas=atlas, n_jobs=setting.n_jobs)
    return setting.run("Built-in graphs", tasks, [*hard.methods(hard.HARD_K), *hard.atlas_methods()])


def run_cycles(setting: Setting) -> Outcome:
    """The paper's cycle table: node data under both conventions, graph data by their cycle lengths."""
    cells: list[Cell] = []
    for name in setting.names(NODE_SETS):
        tasks = cycles.node_tasks(load(name, setting.root), n_jobs=setting.n_jobs)
        cells += setting.run(f"Cycles, {name}", tasks)
    for name in setting.names(GRAPH_SETS):
        tasks = cycles.graph_tasks(*setting.distinct(name), n_jobs=setting.n_jobs)
        cells += setting.run(f"Cycles, {name}", tasks)
    if not cells:
        raise InputError("there is no data set to count the cycles of; give --data DIR or set DETOURS_DATA.")
    tables = cycles.tables(cells)
    return Outcome(tables, _written(setting, "cycles", tables))


def run_kernels(setting: Setting, names: Sequence[str] = (), repeats: int = 10, only_finished: bool = False) -> Outcome:
    """The upper part of the paper's table 1, and our best kernel below it; perhaps from the finished cells alone."""
    if find_spec("sklearn") is None:
        raise InputError("graph kernels need scikit-learn; run: pip install 'detours[kernels]'")
    from threadpoolctl import threadpool_limits

    from detours.experiments.kernels.rows import DATA, rows_named, tasks
    from detours.experiments.kernels.table import tables

    rows = rows_named(names)
    sets = setting.names(DATA)
    if not sets:
        raise InputError(f"there is none of {', '.join(DATA)}; give --data DIR or set DETOURS_DATA.")
    cells: list[Cell] = []
    for name in sets:
        todo = tasks(load(name, setting.root), rows, repeats)
        if only_finished:
            cells += [cell for task in todo if (cell := setting.store.find(task.key)) is not None]
        else:
            with threadpool_limits(1):  # folds run in parallel, so the products inside a fold must not
                cells += setting.run(f"Kernels, {name}", todo, n_jobs=setting.n_jobs)
    made = tables(cells)
    if not made:
        raise InputError(f"there is no finished repeat in {setting.store.folder}; run the command without --finished.")
    return Outcome(made, _written(setting, "kernels", made))


def run_pairs(setting: Setting, folder: str, k: int) -> Outcome:
    """A benchmark of pairs in graph6."""
    from detours.data.readers.pair_files import read_pair_folder

    cells: list[Cell] = []
    for data in read_pair_folder(folder):
        tasks = pairs.tasks([data], k, n_jobs=setting.n_jobs)
        cells += setting.run(f"Pairs, {data.name}", tasks, pairs.methods(k))
    tables = pairs.tables(cells)
    return Outcome(tables, _written(setting, "pairs", tables))


def _written(setting: Setting, name: str, tables: Sequence[Table]) -> list[Path]:
    about = {"version": __version__, "python": platform.python_version(), "machine": platform.platform()}
    return write_tables(setting.store.folder, name, tables, {**about, "cores": os.cpu_count()})


def _figures(setting: Setting, cells: Sequence[Cell]) -> list[Path]:
    if not cells:
        return []
    if find_spec("matplotlib") is None:
        setting.notes.append("no figures: they need matplotlib; run: pip install 'detours[viz]'")
        return []
    from detours.viz import saved
    from detours.viz.colouring import pair_figure
    from detours.viz.matrix import ratio_matrix

    files = []
    for rule, meaning in expressiveness.RULES.items():
        title = f"Told apart, per cent of the pairs (EXP, CEXP) or graphs\nRule “{rule}”: {meaning}"
        figure = ratio_matrix(*expressiveness.matrix(cells, rule), title=title)
        files += saved(figure, setting.store.folder / f"expressiveness-{rule}")
    if any(cell.key["data"] == "ENZYMES" for cell in cells):
        data, _ = setting.distinct("ENZYMES")
        figure = pair_figure(*colouring.telling_pair(data))
        files += saved(figure, setting.store.folder / "colouring-ENZYMES")
    return files
