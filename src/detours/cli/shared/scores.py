"""Progress of a training run: a live table of its folds on a terminal, or lines in a log."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from detours.cli.shared.console import plain_table
from detours.progress import watched

if TYPE_CHECKING:
    from rich.table import Table

    from detours.training.logs import Epoch, LogReader
    from detours.training.loop import Run

POLL_INTERVAL = 0.5
"""Seconds between two reads of the logs."""
_UNITS = {"accuracy": "%", "roc_auc": "% ROC-AUC", "ap": "% AP", "mae": "MAE"}


def score_unit(metric: str) -> str:
    """Return the unit of the scores that `score_text` formats."""
    return _UNITS[metric]


def score_text(metric: str, score: float | None) -> str:
    """Format a score: fractions in per cent, errors with four decimals, or four significant digits if tiny or huge.

    >>> score_text("accuracy", 0.5), score_text("mae", 0.138), score_text("mae", 2.34e-7), score_text("mae", 1.5e9)
    ('50.0', '0.1380', '2.34e-07', '1.5e+09')
    """
    if score is None:
        return "–"
    if metric != "mae":
        return f"{100 * score:.1f}"
    return f"{score:.4f}" if score == 0 or 1e-3 <= score < 1e6 else f"{score:.4g}"


def key_columns(*, seeds: bool, k: bool) -> tuple[str, ...]:
    """Return the columns that identify a run: the fold, the seed if there are several, and k if the network sees
    detours.

    >>> key_columns(seeds=False, k=True)
    ('fold', 'k')
    """
    return ("fold", *["seed"] * seeds, *["k"] * k)


@contextmanager
def fold_table(runs: "Sequence[Run]", *, show: bool | None = None) -> Iterator[None]:
    """Show the progress of every fold while the block trains. It is read from the logs, whichever process trains."""
    terminal = sys.stderr.isatty()
    if show is False or (show is None and not terminal):
        yield
        return
    with watched(partial(_live if terminal else _lines, runs)):
        yield


def _live(runs: "Sequence[Run]", over: Event) -> None:
    from rich.console import Console
    from rich.live import Live

    from detours.training.logs import LogReader

    logs = [LogReader(_log(run)) for run in runs]
    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:
        while not over.wait(POLL_INTERVAL):
            live.update(_table(runs, logs), refresh=True)


def _lines(runs: "Sequence[Run]", over: Event) -> None:
    """Print a line for each fold that finishes."""
    from detours.training.logs import read_log

    reported = {run.path for run in runs if run.path.exists()}
    last = False
    while not last:
        last = over.wait(POLL_INTERVAL)
        for run in runs:
            if run.path not in reported and run.path.exists():
                reported.add(run.path)
                outcome = _outcome(run.recipe.metric, read_log(_log(run)))
                print(f"{_name(run, _several_seeds(runs))}: {outcome}", file=sys.stderr, flush=True)


def _several_seeds(runs: "Sequence[Run]") -> bool:
    """Whether the runs differ in their seed."""
    return len({run.recipe.seed for run in runs}) > 1


def _name(run: "Run", with_seed: bool) -> str:
    recipe = run.recipe
    k = f", k = {recipe.k}" if recipe.sees_detours else ""
    seed = f", seed {recipe.seed}" if with_seed else ""
    return f"{recipe.data}, {recipe.model} {recipe.backbone}{k}, fold {recipe.fold}{seed}"


def _log(run: "Run") -> Path:
    return run.path.with_suffix(".csv")


def _best(rows: "Sequence[Epoch]") -> "Epoch":
    """Return the best epoch: the last one with a test result, if any; a truncated log may have none."""
    return next((row for row in reversed(rows) if row.test_score is not None), rows[-1])


def _outcome(metric: str, rows: "Sequence[Epoch]") -> str:
    if not rows:
        return "finished"
    best = _best(rows)
    return (
        f"test {score_text(metric, best.test_score)} {score_unit(metric)} at epoch {best.epoch} of {rows[-1].epoch} "
        f"(validation {score_text(metric, best.val_score)}), {rows[-1].seconds:.0f} s"
    )


def _table(runs: "Sequence[Run]", logs: "Sequence[LogReader]") -> "Table":
    metric = runs[0].recipe.metric
    scores = (f"{part} {score_unit(metric)}" for part in ("val", "best val", "its test"))
    names = key_columns(seeds=_several_seeds(runs), k=runs[0].recipe.sees_detours)
    table = plain_table(right=(*names, "epoch", "of", "train loss", *scores, "seconds"))
    for run, log in zip(runs, logs, strict=True):
        rows, key = log.read(), [str(getattr(run.recipe, name)) for name in names]
        if not rows:
            table.add_row(*key, "[dim]waiting[/]")
            continue
        last, best = rows[-1], _best(rows)
        table.add_row(
            *key,
            str(last.epoch),
            str(run.recipe.epochs),
            f"{last.train_loss:.4f}",
            *(score_text(metric, score) for score in (last.val_score, best.val_score, best.test_score)),
            f"{last.seconds:.0f}",
            style="green" if run.path.exists() else None,
        )
    return table
