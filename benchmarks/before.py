"""python before.py JOBS FOLDER DATA:EPOCHS … [-- OPTION …]: `detours train` of 0.1.0, one data set after the other.

This is a separate file because it runs with the source of 0.1.0, of which it patches two things. The processes that
train folds in parallel are started once, not again for each data set, so that most of the time is spent on training.
And each of them logs the end of every epoch: FOLDER/DATA/<run>.ends has one line per epoch, with the system time.
"""

import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any


def log_epoch_ends() -> None:
    """Patch `Log` so that it also writes the times at which epochs end."""
    from detours.experiments.logs import Log

    add = Log.add

    def add_with_time(log: Any, row: Any) -> None:
        add(log, row)
        with open(log.path.with_suffix(".ends"), "a") as file:
            file.write(f"{time.time()}\n")

    Log.add = add_with_time


def main() -> None:
    """Train all folds of each data set for its number of epochs."""
    from detours.cli import app
    from detours.experiments import folds

    jobs, folder, *arguments = sys.argv[1:]
    separator = arguments.index("--")
    context = multiprocessing.get_context("spawn")  # CUDA does not work in forked processes
    with ProcessPoolExecutor(int(jobs), mp_context=context, initializer=log_epoch_ends) as pool:

        def side_by_side(work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], _: int) -> list[Any]:
            return list(pool.map(work, *zip(*tasks, strict=True)))

        folds.side_by_side = side_by_side
        for name, epochs in (argument.split(":") for argument in arguments[:separator]):
            command = ["train", "--data", name, "--model", "mdnn", "--backbone", "gin", "--epochs", epochs, "--quiet"]
            command += ["--jobs", jobs, "--out", f"{folder}/{name}", *arguments[separator + 1 :]]
            app(command, standalone_mode=False)


if __name__ == "__main__":
    main()
