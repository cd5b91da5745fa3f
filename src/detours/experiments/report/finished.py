"""All finished results of a folder, read once for all sections of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from detours.errors import InputError
from detours.experiments.kernels.table import Accuracy, accuracies
from detours.experiments.networks.entries import Entry
from detours.experiments.networks.records import read_records
from detours.experiments.networks.results import Result, results
from detours.experiments.report.agreement import read_notes
from detours.store import Cell, Store

Networks = Mapping[Entry, Result]
Kernels = Mapping[tuple[str, str], Accuracy]
"""By row of the table and data set."""


class Finished(NamedTuple):
    """The contents of a results folder."""

    cells: Sequence[Cell]
    """All finished cells; those of networks and kernels are also in the next two fields."""
    networks: Networks
    kernels: Kernels
    notes: Sequence[Mapping[str, str]]
    """Reasons of `notes.toml` for entries far from the paper's."""


def read_finished(folder: Path) -> Finished:
    """Read a results folder; raise `InputError` if it does not exist."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a results folder; run `detours reproduce` first, or give another.")
    store = Store(folder)
    # records of networks of several codes are joined, fold by fold
    networks = results(read_records(store))
    cells = store.newest(("kernels", "expressiveness", "hard"))
    return Finished(cells, networks, accuracies(cells), read_notes(folder))
