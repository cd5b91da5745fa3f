"""Logs of every epoch: a CSV file next to that of the finished run, and optionally TensorBoard."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from detours.atomic import atomic_write, disk_errors_named
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
        with disk_errors_named(self.path), open(self.path, "a", encoding="utf-8") as file:
            file.write("".join(map(_line, rows)))
        if self._writer is not None:
            for row in rows:
                for name, value in row._asdict().items():
                    if name != "epoch" and value is not None:
                        self._writer.add_scalar(name, value, row.epoch)

    def flush(self) -> None:
        """Write what TensorBoard still holds in memory."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class LogReader:
    """Reads a log that another thread or process writes: each call parses only what was added since the last."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: list[Epoch] = []
        self._file, self._read = -1, 0

    def read(self) -> Sequence[Epoch]:
        """Return the epochs so far, without a last line that is incomplete, or that a killed process left so."""
        try:
            with open(self.path, "rb") as file:
                if (inode := os.fstat(file.fileno()).st_ino) != self._file:  # a resumed run replaces the file
                    self._rows, self._file, self._read = [], inode, 0
                file.seek(self._read)
                added = file.read()
        except OSError:
            return []
        added = added[: added.rfind(b"\n") + 1]
        rows = csv.reader(added.decode().splitlines()[0 if self._read else 1 :])
        self._rows += [_epoch(row) for row in rows if len(row) == len(Epoch._fields)]
        self._read += len(added)
        return self._rows


def read_log(path: Path) -> list[Epoch]:
    """Return the epochs of a log, without a last line that a killed process left incomplete."""
    return list(LogReader(path).read())


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
