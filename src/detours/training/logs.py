"""Logs of every epoch: a CSV file next to that of the finished run, and optionally TensorBoard."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from detours.atomic import atomic_write
from detours.errors import InputError


class Epoch(NamedTuple):
    """One epoch; scores are in the metric of the recipe, that of the test part only where validation was best."""

    epoch: int
    train_loss: float
    train_score: float
    val_loss: float
    val_score: float
    test_score: float | None
    seconds: float


class Log:
    """The log of one run.

    Args:
        path: The CSV file.
        epochs: The epochs that the run has completed; rows of later ones are dropped, since a resumed run repeats them.
        tensorboard: A folder for TensorBoard files; None for none.
    """

    def __init__(self, path: Path, epochs: int = 0, tensorboard: Path | None = None) -> None:
        kept = [row for row in read_log(path) if row.epoch <= epochs]
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write((_line(Epoch._fields) + "".join(map(_line, kept))).encode())
        self.path = path
        self._writer = None if tensorboard is None else _writer(tensorboard, epochs)

    def add(self, rows: Sequence[Epoch]) -> None:
        """Append epochs."""
        with open(self.path, "a", encoding="utf-8") as file:
            file.write("".join(map(_line, rows)))
        if self._writer is not None:
            for row in rows:
                for name, value in row._asdict().items():
                    if name != "epoch" and value is not None:
                        self._writer.add_scalar(name, value, row.epoch)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def read_log(path: Path) -> list[Epoch]:
    """Return the epochs of a log, without a last line that a killed process left incomplete."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except OSError:
        return []
    rows = csv.reader([line for line in lines[1:] if line.endswith("\n")])
    return [_epoch(row) for row in rows if len(row) == len(Epoch._fields)]


def _epoch(row: list[str]) -> Epoch:
    epoch, *values = row
    return Epoch(int(epoch), *(None if value == "" else float(value) for value in values))  # type: ignore[arg-type]


def _line(values: Any) -> str:
    line = StringIO()
    csv.writer(line, lineterminator="\n").writerow(["" if value is None else value for value in values])
    return line.getvalue()


def _writer(folder: Path, epochs: int) -> Any:
    if find_spec("tensorboard") is None:
        raise InputError("TensorBoard is not installed; run: pip install tensorboard, or leave --tensorboard out.")
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder), purge_step=epochs + 1)
