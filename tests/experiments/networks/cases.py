"""Made-up records, for the tests of tables and report."""

from collections.abc import Sequence
from pathlib import Path

from detours.experiments.networks.entries import Entry
from detours.experiments.networks.records import pack
from detours.store import Cell, Store


def keep(
    folder: Path,
    entry: Entry,
    accuracies: Sequence[float],
    *,
    seed: int = 0,
    metric: str = "accuracy",
    ends: Sequence[tuple[int, float]] = (),
    failed: Sequence[int] = (),
    precision: str = "32-true",
    evaluation: str | None = None,
    validation: float | None = None,
) -> None:
    """Write the record of an entry with these test results of its folds, as fractions.

    `ends` are replicas and seconds of every fold, `failed` the folds that diverged. Results on the validation parts are
    those on the test parts, unless `validation` is given.
    """
    store, work = Store(folder), Store(folder / "work")
    base, cells = {**entry.recipe(seed=seed, precision=precision).key(), "code": "abcdef01"}, []
    base |= {} if evaluation is None else {"evaluation": evaluation}
    left = [fold for fold in range(len(accuracies) + len(failed)) if fold not in failed]
    for fold, accuracy, (replicas, seconds) in zip(left, accuracies, ends or [(10, 30.0)] * len(left), strict=True):
        key = {**base, "fold": fold}
        value = {
            f"test_{metric}": accuracy, f"val_{metric}": accuracy if validation is None else validation,
            "metric": metric, "best_epoch": 2, "epochs": 3, "device": "cpu", "replicas": replicas, "parameters": 1000,
            "processes": 1, "commit": None,
        }  # fmt: skip
        cells.append(Cell(key, value, seconds))
        log = work.path(key).with_suffix(".csv")
        log.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(f"{epoch},{1 / epoch},{accuracy * epoch / 3},,{epoch}.0\n" for epoch in (1, 2, 3))
        log.write_text(f"epoch,train_loss,val_score,test_score,seconds\n{lines}")
    pack(store, entry, cells, work, [({**base, "fold": fold}, "the loss diverged") for fold in failed])
