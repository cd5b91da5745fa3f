"""python before.py JOBS FOLDER DATA:EPOCHS … [-- OPTION …]: `detours train` of 0.1.0, one data set after the other.

A file of its own, as it runs with the source of 0.1.0. It changes two things there. The processes that train folds side
by side are started once, not for each data set anew, so that most of the time goes to training. And each of them notes
when an epoch ends: FOLDER/DATA/<run>.ends has the time of a clock that all processes share, a line for each epoch.
"""

import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any


def note_ends() -> None:
    """Let logs note when their epochs end."""
    from detours.experiments.logs import Log

    add = Log.add

    def noted(log: Any, row: Any) -> None:
        add(log, row)
        with open(log.path.with_suffix(".ends"), "a") as file:
            file.write(f"{time.time()}\n")

    Log.add = noted


def main() -> None:
    """Train all folds of each data set for its number of epochs."""
    from detours.cli import app
    from detours.experiments import folds

    jobs, folder, *given = sys.argv[1:]
    at = given.index("--")
    context = multiprocessing.get_context("spawn")  # fork and CUDA do not go together
    with ProcessPoolExecutor(int(jobs), mp_context=context, initializer=note_ends) as pool:

        def side_by_side(work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], _: int) -> list[Any]:
            return list(pool.map(work, *zip(*tasks, strict=True)))

        folds.side_by_side = side_by_side
        for name, epochs in (each.split(":") for each in given[:at]):
            command = ["train", "--data", name, "--model", "mdnn", "--backbone", "gin", "--epochs", epochs, "--quiet"]
            command += ["--jobs", jobs, "--out", f"{folder}/{name}", *given[at + 1 :]]
            app(command, standalone_mode=False)


if __name__ == "__main__":
    main()
