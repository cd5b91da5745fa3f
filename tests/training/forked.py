"""Run by the tests of training in a separate interpreter: runs in child processes that are killed, or share steps.

Children are forked after the slow imports, with one thread each, so that a dozen of them cost no more than one.
"""

import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from detours.data import stratified_splits
from detours.store import Store
from detours.training.logs import read_log
from detours.training.loop import Run
from detours.training.stacks import Resources, run_all
from tests.training.cases import small, task

FOLDS = 10


def runs_in(folder: Path, folds: int = FOLDS, **changed: object) -> list[Run]:
    """Runs on some folds, the later ones with less patience."""
    data, runs = task(), []
    splits = stratified_splits(data, folds=FOLDS)
    for fold in range(folds):
        recipe = small(data, fold=fold, **{"patience": 25 - 2 * fold, **changed})
        path = Store(folder).path(recipe.key())
        runs.append(Run(recipe, data, splits[fold], path, model=folder / f"{fold}.pt", every=0.0))
    return runs


def child(work: Callable[[], object]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except BaseException as error:
        print(repr(error), file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def epochs_done(folder: Path) -> int:
    return sum(len(read_log(file)) for file in folder.rglob("*.csv"))


def killed(folder: Path) -> None:
    """Ten replicas that are never interrupted, and ten that are killed three times at random moments, with dropout."""
    changed = {"epochs": 25, "dropout": 0.2, "backbone": "gcn", "average": 0.5}
    alone, often = folder / "alone", folder / "often"
    start = time.monotonic()
    assert ended(child(lambda: run_all(Store(alone), runs_in(alone, **changed), Resources("cpu")))) == 0
    took = time.monotonic() - start
    moments = random.Random(os.urandom(8))
    for _ in range(3):
        before = epochs_done(often)
        pid = child(lambda: run_all(Store(often), runs_in(often, **changed), Resources("cpu")))
        while epochs_done(often) <= before:
            time.sleep(0.002)
        time.sleep(moments.uniform(0, 0.15) * took)
        os.kill(pid, signal.SIGKILL)
        assert ended(pid) == -signal.SIGKILL
    assert len(list(often.rglob("*.json"))) < FOLDS
    assert ended(child(lambda: run_all(Store(often), runs_in(often, **changed), Resources("cpu")))) == 0


def shared(folder: Path) -> None:
    """The same run by one process and by two, as torchrun would start them."""
    changed = {"precision": "64-true", "batch_size": 7, "lr": 0.01, "layers": 2, "metric": "roc_auc"}
    run_all(Store(folder / "one"), runs_in(folder / "one", 1, **changed), Resources("cpu"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    os.environ |= {"TORCHELASTIC_RUN_ID": "test", "GROUP_RANK": "0"}

    def part(rank: int) -> None:
        os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        run_all(Store(folder / "two"), runs_in(folder / "two", 1, **changed), Resources("cpu", devices=2))

    assert [ended(pid) for pid in [child(lambda rank=rank: part(rank)) for rank in range(2)]] == [0, 0]


if __name__ == "__main__":
    torch.set_num_threads(1)
    killed(Path(sys.argv[1]) / "killed")
    shared(Path(sys.argv[1]) / "shared")
