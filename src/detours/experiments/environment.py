"""The environment of an experiment: its data sets, its store and its progress; and the outcome it returns."""

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
"""Given a description, returns a context that shows progress."""


@dataclass(frozen=True)
class Outcome:
    """The tables of an experiment, and the files of its tables and figures."""

    tables: list[Table]
    files: list[Path]


@dataclass(frozen=True)
class Environment:
    """The store, the data sets to use, and how to show progress."""

    store: Store
    watch: Watch
    root: str | None = None
    """The folder of the raw data sets; None for DETOURS_DATA."""
    only: Sequence[str] = ()
    """Names of the data sets to use; if empty, all that are found."""
    n_jobs: int = 1
    say: Callable[[str], None] = lambda sentence: None
    """Called with a sentence when a long step has finished."""
    notes: list[str] = field(default_factory=list)
    """Remarks for the user, such as missing data sets or figures that were not drawn."""

    def has_data(self) -> bool:
        """Whether a folder of data sets was given."""
        return bool(self.root or os.environ.get(ROOT_VARIABLE))

    def names(self, among: Sequence[str], own: bool = False) -> list[str]:
        """Return the requested data sets that are found; with `own`, also custom data."""
        if self.root is not None and not Path(self.root).is_dir():
            raise InputError(f"--root {self.root}: there is no such folder; give the folder of the raw data sets.")
        custom = [name for name in self.only if own and own_path(name, self.root) is not None]
        requested = {name.lower(): name for name in self.only if name not in custom}
        if custom and not requested:
            return custom
        self._check_known(requested, among)
        found, missing = [], []
        for name in [name for name in among if not requested or name.lower() in requested]:
            try:
                raw_folder(name, self.root)
                found.append(name)
            except InputError:
                # Requested data sets must exist; and if one cannot be downloaded, the others cannot either.
                if self.only or not (self.has_data() or name in PAIR_SETS):
                    raise
                missing.append(name)
        if missing:
            self.notes.append(f"not found and left out: {', '.join(missing)}")
        return [*found, *custom]

    def _check_known(self, requested: Mapping[str, str], among: Sequence[str]) -> None:
        """Raise `InputError` if one of the names, by their lower-case forms, is not a data set of the experiments."""
        known = dict.fromkeys((*GRAPH_SETS, *NODE_SETS, *among))
        unknown = sorted(requested.keys() - {name.lower() for name in known})
        if not unknown:
            return
        given = requested[unknown[0]]
        if Path(given).exists() or (own_path(given, self.root) or Path(given)).exists():
            raise InputError(
                f"{given} is your own data, but this experiment runs only on the data sets of its tables; "
                f"`detours train --data {given}` trains networks on your data, "
                f"`detours reproduce kernels --data {given}` measures kernels on them."
            )
        elsewhere = unknown[0] in {name.lower() for name in MORE_SETS}
        problem = f"{given} is not in this experiment" if elsewhere else f"there is no data set {given!r}"
        raise InputError(f"{problem}; choose from {', '.join(known)}.")

    def load(self, name: str) -> GraphSet:
        """Load a data set."""
        return load(name, self.root)

    def distinct(self, name: str) -> tuple[GraphSet, GraphSet]:
        """Return a data set without isomorphic copies: as we choose the graphs, and as the paper did."""
        data = self.load(name)
        with self.watch(f"{name}: isomorphic copies"):
            return distinct(data, self.store, self.n_jobs)

    def run(self, description: str, tasks: Sequence[Task], tests: Sequence[Method] = (), n_jobs: int = 1) -> list[Cell]:
        """Return the cells of the tasks, and show progress.

        Args:
            description: The text of the progress bar.
            tasks: The cells to read or compute.
            tests: Tests whose time is measured; they are compiled first.
            n_jobs: Tasks to run in parallel.
        """
        if old := self.store.by_other_code(task.key for task in tasks):
            self.notes.append(f"{description}: {old_results(old, len(tasks), self.store.keep_old)}")
        if tests and any(self.store.find(task.key) is None for task in tasks):
            with self.watch("Compiling (first run only)"):
                warm_up(tests)
        with self.watch(description) as report:
            return self.store.run(tasks, report, n_jobs)

    def write(self, name: str, tables: Sequence[Table]) -> list[Path]:
        """Write tables as Markdown and JSON into the folder of the store, and return the files."""
        about = {"version": __version__, "python": platform.python_version(), "machine": platform.platform()}
        return write_tables(self.store.folder, name, tables, {**about, "cores": os.cpu_count()})
