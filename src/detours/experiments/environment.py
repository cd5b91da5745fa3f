"""Where an experiment finds its data and keeps its results, and what it gives back."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from detours import __version__
from detours.data import GRAPH_SETS, MORE_SETS, NODE_SETS, GraphSet, load
from detours.data.catalogue import PAIR_SETS, ROOT_VARIABLE, own_path, raw_folder
from detours.errors import InputError
from detours.experiments.expressiveness.distinct import distinct
from detours.experiments.expressiveness.methods import Method, warm_up
from detours.experiments.tables import Table, write_tables
from detours.store import Cell, Store, Task, old_results

Report = Callable[[float, float], None]
Watch = Callable[[str], AbstractContextManager[Report | None]]
"""Given a description, returns a context that shows the progress of what happens inside."""


@dataclass(frozen=True)
class Outcome:
    """The tables of an experiment, and the files that they and its figures were written to."""

    tables: list[Table]
    files: list[Path]


@dataclass(frozen=True)
class Environment:
    """The store, the data sets to use, and how to show progress."""

    store: Store
    watch: Watch
    root: str | None = None
    """The folder of the raw data sets; None for that of DETOURS_DATA."""
    only: Sequence[str] = ()
    """Names of the data sets to use; all that are found if empty."""
    n_jobs: int = 1
    say: Callable[[str], None] = lambda sentence: None
    """Called with a sentence on what has just been finished, where that takes long."""
    notes: list[str] = field(default_factory=list)
    """Remarks for the reader: data sets that are missing, figures that were not drawn."""

    def has_data(self) -> bool:
        """Whether a folder of data sets was named."""
        return bool(self.root or os.environ.get(ROOT_VARIABLE))

    def names(self, among: Sequence[str], own: bool = False) -> list[str]:
        """Return those of the data sets that were asked for and are found; own data too, where they can be used."""
        if self.root is not None and not Path(self.root).is_dir():
            raise InputError(f"--root {self.root}: there is no such folder; give that of the raw data sets.")
        others = [name for name in self.only if own and own_path(name, self.root) is not None]
        asked = {name.lower(): name for name in self.only if name not in others}
        if others and not asked:
            return others
        self._refuse_unknown(asked, among)
        found, missing = [], []
        for name in [name for name in among if not asked or name.lower() in asked]:
            try:
                raw_folder(name, self.root)
                found.append(name)
            except InputError:
                # A data set that was asked for must exist; and where one cannot be fetched, the others cannot either.
                if self.only or not (self.has_data() or name in PAIR_SETS):
                    raise
                missing.append(name)
        if missing:
            self.notes.append(f"not found and left out: {', '.join(missing)}")
        return [*found, *others]

    def _refuse_unknown(self, asked: Mapping[str, str], among: Sequence[str]) -> None:
        """Raise `InputError` for the first name, given by its small letters, of a data set that no experiment has."""
        every = dict.fromkeys((*GRAPH_SETS, *NODE_SETS, *among))
        unknown = sorted(asked.keys() - {name.lower() for name in every})
        if not unknown:
            return
        given = asked[unknown[0]]
        if Path(given).exists() or (own_path(given, self.root) or Path(given)).exists():
            raise InputError(
                f"{given} is own data, but this experiment is for the data sets of its tables; "
                f"`detours train --data {given}` trains networks on own data, "
                f"`detours reproduce kernels --data {given}` measures kernels on them."
            )
        elsewhere = unknown[0] in {name.lower() for name in MORE_SETS}
        said = f"{given} is not in this experiment" if elsewhere else f"there is no data set {given!r}"
        raise InputError(f"{said}; choose from {', '.join(every)}.")

    def load(self, name: str) -> GraphSet:
        """Return a data set."""
        return load(name, self.root)

    def distinct(self, name: str) -> tuple[GraphSet, GraphSet]:
        """Return a data set without isomorphic copies: as we choose the graphs, and as the paper did."""
        data = self.load(name)
        with self.watch(f"{name}: isomorphic copies"):
            return distinct(data, self.store, self.n_jobs)

    def run(self, description: str, tasks: Sequence[Task], tests: Sequence[Method] = (), n_jobs: int = 1) -> list[Cell]:
        """Return the cells of the tasks, and show progress.

        Args:
            description: What the progress bar says.
            tasks: The cells to read or compute.
            tests: Tests whose time is measured: they are compiled before.
            n_jobs: Tasks to run in parallel.
        """
        if old := self.store.by_other_code(task.key for task in tasks):
            self.notes.append(f"{description}: {old_results(old, len(tasks), self.store.keep_old)}")
        if tests and any(self.store.find(task.key) is None for task in tasks):
            with self.watch("Compiling, the first time only"):
                warm_up(tests)
        with self.watch(description) as report:
            return self.store.run(tasks, report, n_jobs)

    def write(self, name: str, tables: Sequence[Table]) -> list[Path]:
        """Write tables as Markdown and JSON into the folder of the store, and return the files."""
        about = {"version": __version__, "python": platform.python_version(), "machine": platform.platform()}
        return write_tables(self.store.folder, name, tables, {**about, "cores": os.cpu_count()})
