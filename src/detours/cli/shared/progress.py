"""Progress on standard error: a bar on a terminal, lines in a log if asked for, else nothing."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from detours.cli.shared.console import escape
from detours.progress import Report, print_progress


@contextmanager
def progress_bar(description: str, *, show: bool | None = None) -> Iterator[Report | None]:
    """Progress while the block runs, moved by calling what the block gets with (done, total).

    `show=None` means: a bar if standard error is a terminal, which goes away when the block ends; `show=True`
    means: lines where it is none. Without progress the block gets None, as `detours.count(…, progress=None)`
    takes it.

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
