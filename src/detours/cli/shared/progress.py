"""Progress on standard error: a bar on a terminal, lines in a log if requested, else nothing."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from detours.cli.shared.console import escape
from detours.progress import Report, print_progress


@contextmanager
def progress_bar(description: str, *, show: bool | None = None) -> Iterator[Report | None]:
    """Show progress while the block runs; the block calls the value of the context with (done, total).

    With `show=None`, a bar if standard error is a terminal, removed when the block ends; with `show=True`, also
    lines if it is not a terminal. Without progress the value is None, as `detours.count(…, progress=None)` takes it.

    >>> with progress_bar("Counting", show=False) as report:
    ...     print(report)
    None
    """
    terminal = sys.stderr.isatty()
    if show is False or (show is None and not terminal):
        yield None
    elif terminal:
        yield from _bar(description)
    else:
        yield print_progress(description)


def _bar(description: str) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    remaining = TimeRemainingColumn(elapsed_when_finished=True)
    with Progress(*columns, remaining, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(description), total=None)

        def report(done: float, total: float) -> None:
            bar.update(task, completed=done, total=total)

        yield report
