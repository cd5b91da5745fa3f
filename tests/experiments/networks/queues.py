"""Small queues, for the tests of queues and of stacks."""

from pathlib import Path

from detours.data import GraphSet
from detours.experiments.networks.entries import Entry
from detours.experiments.networks.queue import Queue, RunSelection
from detours.store import Store

TINY = {"epochs": 3, "hidden": 8, "layers": 1, "transformer_layers": 1, "pe": 0, "heads": 1, "k": 2}
PLAIN, MDNN = (Entry("ENZYMES", "ours", model, "gin") for model in ("plain", "mdnn"))


def new_queue(folder: Path, data: GraphSet, *, reports: list[str] | None = None, **wanted: object) -> Queue:
    """Return a queue of two folds and two seeds; its reports are appended to `reports`."""
    runs = RunSelection(**{"seeds": [0, 1], "folds": [0, 1], "device": "cpu", "changes": TINY, **wanted})  # type: ignore[arg-type]
    return Queue(Store(folder), runs, lambda name: data, (reports if reports is not None else []).append)


def interrupt(queue: Queue) -> None:
    """Make the time of a queue run out after one epoch of a stack."""
    train = queue._train_stacks
    queue._train_stacks = lambda runs, deadline: train(runs, 0.0)  # type: ignore[method-assign]


def suffixes(folder: Path) -> list[str]:
    """Return the sorted suffixes of all files below a folder."""
    return sorted(file.suffix for file in folder.rglob("*") if file.is_file())
