"""Progress on standard error: a bar on a terminal, lines in a log if asked for, else nothing."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from detours.cli.shared.console import escape
from detours.errors import printable

Report = Callable[[float, float], None]
LINE_EVERY = 5.0  # seconds between two lines in a log


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
        yield _lines(description)


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


def _lines(description: str) -> Report:
    start = last = time.monotonic()

    def report(done: float, total: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= LINE_EVERY or done >= total:
            last = now
            share = done / total if total else 1.0
            print(f"{printable(description)}: {share:.0%} after {now - start:.0f} s", file=sys.stderr, flush=True)

    return report
