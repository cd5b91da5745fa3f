"""Made-up records, for the tests of tables and report."""

from collections.abc import Sequence
from pathlib import Path

from detours.experiments.networks.entries import Entry
from detours.experiments.networks.records import pack
from detours.store import Cell, Store


def keep(folder: Path, entry: Entry, accuracies: Sequence[float], *, seed: int = 0, metric: str = "accuracy") -> None:
    """Write the record of an entry with these test results of its folds, shares of 1."""
    store, work = Store(folder), Store(folder / "work")
    cells = []
    for fold, accuracy in enumerate(accuracies):
        key = {**entry.recipe(seed=seed).key(), "fold": fold, "code": "abcdef01"}
        value = {
            f"test_{metric}": accuracy, f"val_{metric}": accuracy, "metric": metric, "best_epoch": 2, "epochs": 3,
            "device": "cpu", "replicas": 10, "parameters": 1000, "processes": 1, "commit": None,
        }  # fmt: skip
        cells.append(Cell(key, value, 30.0))
        log = work.path(key).with_suffix(".csv")
        log.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(f"{epoch},{1 / epoch},{accuracy * epoch / 3},,{epoch}.0\n" for epoch in (1, 2, 3))
        log.write_text(f"epoch,train_loss,val_score,test_score,seconds\n{lines}")
    pack(store, entry, cells, work)
