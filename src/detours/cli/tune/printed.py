"""What `detours tune` prints: progress, the best trials, and the choice among them."""

import sys
from contextlib import ExitStack, contextmanager
from functools import partial
from math import ceil, isnan
from typing import TYPE_CHECKING, Any

from detours.cli.shared.console import escape, plain_table, show, standard_output
from detours.cli.shared.graphs import quantity
from detours.cli.shared.progress import progress_bar
from detours.cli.shared.scores import score_text, score_unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from detours.training.search.scores import Scored
    from detours.training.search.search import Search, Stage
    from detours.training.search.tune import Tuned

NUM_SHOWN = 5
"""Rows in the table of trials."""


@contextmanager
def reporting(search: "Search", trials: int, *, show: bool | None) -> "Iterator[None]":
    """Show the progress of a search while the block runs: a bar on a terminal, lines in a log if requested."""
    if not sys.stderr.isatty():
        search.report = partial(_line, search) if show else search.report
        yield
        return
    from detours.training.search.scores import Effort
    from detours.training.search.search import ETA

    name, models = search.data.name, len(search.models)

    def expected() -> int:
        number = search.draws.available(trials) if search.draws.exhausted else trials
        return models * (number + (ceil(number / ETA) if search.halving else 0))  # promoted trials are trained twice

    with ExitStack() as shown:
        bars = {False: shown.enter_context(progress_bar(f"{name}, {models} × {trials} trials", show=show))}

        def report(stage: "Stage") -> None:
            again = stage.effort is Effort.AGAIN
            done = sum((effort is Effort.AGAIN) == again for *_, effort in search.results)
            total = sum(map(len, search.finalists.values())) if again else max(done, expected())
            if again not in bars:  # replaces the first bar
                shown.close()
                bars[again] = shown.enter_context(progress_bar(f"{name}, {total} trials again", show=show))
            if (bar := bars[again]) is not None:
                bar(done, total)

        search.report = report
        yield


def _line(search: "Search", stage: "Stage") -> None:
    """Print a line about a stack, unless all its runs were finished before."""
    if not stage.replicas:
        return
    best = "" if stage.best is None else f"; best so far {_score(stage.best)} (trial {_name(stage.best.trial.number)})"
    part = ("on first folds", "on all folds", "again with other seeds")[stage.effort]
    names = ", ".join(map(_name, stage.trials))
    trials = f"trial{'s' * (len(stage.trials) > 1)} {names}" if names else "part of a trial"
    print(
        f"{search.data.name}, {stage.model}: {trials} {part}, {quantity(stage.replicas, 'replica')} in "
        f"{stage.seconds:.0f} s{best}",
        file=sys.stderr,
        flush=True,
    )


def _score(scored: "Scored") -> str:
    metric = scored.metric
    spread = "" if isnan(scored.error) else f" ± {score_text(metric, scored.error)}"
    return f"{score_text(metric, scored.score)}{spread} {score_unit(metric)}"


def _num_trials(search: "Search", model: str) -> int:
    """Return the number of trials of a model so far."""
    return len({number for name, number, _ in search.results if name == model and number >= 0})


def _name(number: int) -> str:
    return str(number) if number >= 0 else "current"


def summary(search: "Search", tuned: "Tuned") -> dict[str, Any]:
    """Return the chosen trial and all trials, as data for JSON."""

    def plain(scored: "Scored") -> dict[str, Any]:
        scores = {name: value for name, value in scored._asdict().items() if name not in ("trial", "effort")}
        return {"trial": scored.trial.number, "settings": dict(scored.trial.settings), **scores}

    return {
        "chosen": plain(tuned.best),
        "complete": search.ended,
        "tried": _num_trials(search, tuned.best.trial.model),
        "trials": [plain(each) for each in tuned.trials],
        "again": [plain(each) for each in tuned.again],
    }


def show_trials(search: "Search", tuned: "Tuned", model: str) -> None:
    """Print the best trials and the chosen one."""
    console, facts = standard_output(), summary(search, tuned)
    title = f"{search.data.name}, {model}"
    show(console, _table(title, tuned.trials[:NUM_SHOWN]))
    if tuned.again:
        show(console, _table(f"{title}, again with other seeds", tuned.again))
    more = "" if facts["complete"] else "; the budget is spent, repeat the command to continue"
    more = "; the space has no other trials" if facts["complete"] and search.draws.exhausted else more
    short = "" if tuned.best.full else f", after {quantity(tuned.best.epochs, 'epoch')}"
    epoch = "; epochs chosen by a tenth of each training part" if search.inner else ""
    best, tried = tuned.best.trial.number, facts["tried"]
    trial = f"Trial {best}[/] of {tried}" if best >= 0 else f"The current recipe[/], none of {tried} trials"
    console.print(
        f"\n[bold]{trial}: {_score(tuned.best)} on the validation "
        f"parts of {quantity(tuned.best.folds, 'fold')}{short}{epoch}{more}\n",
        soft_wrap=True,
    )


def _table(title: str, trials: "Sequence[Scored]") -> "Table":
    """Return the results and settings of trials."""
    metric = trials[0].metric
    columns = ("trial", f"validation {score_unit(metric)}", "s.e.", "loss", "folds", "epochs")
    table = plain_table(title, right=columns)
    table.add_column("settings")
    for each in trials:
        settings = " ".join(f"{name}={_text(value)}" for name, value in each.trial.settings.items() if name != "model")
        score = "diverged" if each.diverged else score_text(metric, each.score)
        error = score_text(metric, None if isnan(each.error) else each.error)
        values = (score, error, f"{each.loss:.4f}", each.folds, each.epochs)
        table.add_row(_name(each.trial.number), *map(str, values), escape(settings or "those of the preset"))
    return table


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
