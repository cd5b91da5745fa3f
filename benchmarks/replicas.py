"""python -m benchmarks.replicas --before SRC [--device cuda] [--root DIR] [--out FILE] [DATA …]: all folds at once.

Ten folds of MDNN-GIN as replicas of one network, against processes side by side of the version before replicas (0.1.0,
whose source folder is SRC). Both train the same network, that of preset `ours` in 0.1.0, in single precision;
`recipe_s` is an epoch of what preset `ours` is now. Starting up does not count: of 0.1.0, only the time in which all
its processes train does; an epoch of ours is timed on a GPU, and on a CPU read from the logs of `detours train`, whose
processes work side by side, too. Beside it: the share of the time in which the GPU works, and what no program for these
products could beat, their arithmetic and their memory traffic at the rates that the device reaches in a large product
and a large copy.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import detours
from detours.data import load, splits
from detours.store import Store
from detours.training.checkpoint import Checkpoint
from detours.training.devices import fabric_of
from detours.training.loop import Training
from detours.training.replicas.fit import Fit
from detours.training.runs import runs_of

SAME: dict[str, Any] = {
    **{"model": "mdnn", "backbone": "gin", "k": 4, "hidden": 64, "layers": 4, "encoder": "conv", "decoder": "conv"},
    **{"norm": "batch", "jump": "last", "gate": False, "skip": False, "pool": "max", "pool_of": "logits"},
    **{"head": "linear", "transformer_layers": 1, "token_norm": "batch", "pe": 8, "cycle_features": False},
    **{"edge_den": False, "node_den": False, "hop_den": False, "dropout": 0.0, "input_dropout": 0.0, "lr": 1e-3},
    **{"batch_size": 32, "weight_decay": 0.01, "schedule": "constant", "directed": False, "directions": "in"},
    "precision": "32-true",
}
"""The network of preset `ours` in 0.1.0, and its steps."""
EPOCHS = {"Texas": 24, "Chameleon": 6, "MUTAG": 7, "ENZYMES": 4, "NCI1": 3}
"""On a CPU."""
ON_GPU = {"Texas": 150, "Chameleon": 80, "MUTAG": 60, "ENZYMES": 16, "NCI1": 5}
"""Epochs of 0.1.0 on a GPU: there its processes need seconds until the last of them has begun."""
SECONDS = 6.0
"""About how long ours is timed on a GPU."""
PRODUCTS = ("mm", "bmm", "addmm", "baddbmm")


class Floor(NamedTuple):
    """The least that the products and the optimiser of an epoch take."""

    flops: float
    bytes: float

    def seconds(self, rates: Floor) -> Floor:
        """At so many operations and bytes a second."""
        return Floor(self.flops / rates.flops, self.bytes / rates.bytes)


class Counted(TorchDispatchMode):  # type: ignore[misc]  # PyTorch's types are not followed
    """Counts the operations of matrix products, and the bytes that they read and write at least."""

    def __init__(self) -> None:
        super().__init__()
        self.flops = self.bytes = 0.0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if function.overloadpacket.__name__.rstrip("_") in PRODUCTS:
            matrices = [each for each in args if isinstance(each, torch.Tensor)]
            self.product(*matrices[-2:], result)
        return result

    def product(self, one: torch.Tensor, other: torch.Tensor, result: torch.Tensor) -> None:
        """Count a product."""
        self.flops += 2 * result.numel() * other.size(-2)
        # what is shared by all networks lies in memory once
        self.bytes += sum(_held(each) for each in (one, other, result))


def _held(tensor: torch.Tensor) -> int:
    distinct = [size for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride]
    return int(torch.Size(distinct).numel()) * tensor.element_size()


def settings_of(level: str) -> dict[str, Any]:
    """Return what preset `ours` was in 0.1.0."""
    return SAME | ({"heads": 4, "dropout": 0.5} if level == "node" else {"heads": 1})


def fit_of(name: str, device: str, root: str | None, folder: Path, number: int = 10, *, same: bool = True) -> Fit:
    """Return so many folds of a data set, ready to train as replicas: with the network of 0.1.0, or with today's."""
    data = load(name, root)
    folds = splits(data, root)
    changed = settings_of(data.level) if same else {"model": "mdnn", "backbone": "gin", "k": None}
    lengths = (changed.pop("k"),)
    runs = runs_of(
        data,
        folds,
        Store(folder),
        numbers=range(number),
        seeds=(0,),
        ks=lengths,
        save=None,
        epochs=10_000,
        patience=10_000,
        **changed,
    )
    training = Training(
        fabric_of(device, "32-true"),
        runs,
        Checkpoint(folder / "none", [run.recipe for run in runs], 1e9),
        lambda *_: None,
    )
    training.begin([False] * len(runs))
    return training.fit


def floor_of(fit: Fit) -> Floor:
    """Count the products of an epoch as they are; the optimiser reads four numbers for each weight and writes three."""
    with Counted() as counted, _counted_maps(counted):
        for batch in fit.batches.training(1):
            fit._step(batch)
        fit._evaluate()
    fit.progress.filled.zero_()  # the numbers of this epoch are not read
    weights = fit.stack.flat.numel() * fit.stack.flat.element_size()
    return Floor(counted.flops, counted.bytes + 7 * weights * fit.batches.steps)


@contextmanager
def _counted_maps(counted: Counted) -> Iterator[None]:
    """Count the products of our own kernels, too, which torch does not see."""
    if find_spec("triton") is None:
        yield
        return
    from detours.nn.fused import maps_triton

    mapped = maps_triton.batched_linear

    def noted(x: torch.Tensor, matrix: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
        result = mapped(x, matrix, bias)
        counted.product(x, matrix, result)
        return result

    maps_triton.batched_linear = noted
    try:
        yield
    finally:
        maps_triton.batched_linear = mapped


def rates_of(device: torch.device) -> Floor:
    """Return the operations and bytes a second that the device reaches in a large product and a large copy."""
    fabric_of(device.type, "32-true")  # products as in training: a GPU takes them in TF32
    size = 8192 if device.type == "cuda" else 2048
    one, other = (torch.randn(size, size, device=device) for _ in range(2))
    long = torch.randn((2**28 if device.type == "cuda" else 2**25), device=device)
    target = torch.empty_like(long)
    product = _timed(lambda: torch.mm(one, other), device)
    copy = _timed(lambda: target.copy_(long), device)
    return Floor(2 * size**3 / product, 2 * long.numel() * long.element_size() / copy)


def _timed(work: Any, device: torch.device, seconds: float = 1.0) -> float:
    """Return the seconds that a call takes, after three of them."""
    for _ in range(3):
        work()
    calls, start = 0, _now(device)
    while time.perf_counter() - start < seconds:
        for _ in range(4):
            work()
        calls += 4
        if device.type == "cuda":
            torch.cuda.synchronize()
    return (_now(device) - start) / calls


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def epoch_of(fit: Fit) -> tuple[float, float | None]:
    """Return the seconds of an epoch of all replicas, and the share of them in which the GPU works."""

    def epoch() -> None:
        fit.epoch()
        if fit.full():
            fit.read()

    for _ in range(4):  # the first ones are captured as CUDA graphs
        epoch()
    start, epochs = _now(fit.device), 0
    while time.perf_counter() - start < SECONDS:
        epoch()
        epochs += 1
        if epochs % 8 == 0:
            _now(fit.device)
    seconds = (_now(fit.device) - start) / epochs
    if fit.device.type != "cuda":
        return seconds, None
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        epoch()
        _now(fit.device)
    spans = [(event.time_range.start, event.time_range.end) for event in seen.events() if event.self_device_time_total]
    return seconds, covered(spans) / 1e6 / seconds


def covered(spans: Sequence[tuple[float, float]]) -> float:
    """Return the length of what the spans cover together: kernels may run side by side."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def by_command(name: str, options: Sequence[str], jobs: int, folder: Path) -> float:
    """Return the seconds of an epoch of all folds, by the logs of `detours train` with so many processes."""
    command = [sys.executable, "-m", "detours", "train", "--data", name, "--model", "mdnn", "--backbone", "gin"]
    command += ["--epochs", str(EPOCHS[name]), "--jobs", str(jobs), *options, "--out", str(folder)]
    own = Path(detours.__file__).parents[1]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(own)}, check=True, capture_output=True)
    logs = [list(csv.DictReader(log.read_text().splitlines())) for log in folder.rglob("*.csv")]
    return epoch_of_stacks([[float(row["seconds"]) for row in log] for log in logs], jobs)


def epoch_of_stacks(logs: Sequence[Sequence[float]], jobs: int) -> float:
    """Return the seconds of an epoch of all runs, from the seconds at the ends of their epochs.

    Runs that train as one network have the same seconds. The first epoch does not count: libraries set themselves up.
    """
    stacks = {tuple(log) for log in logs}
    return sum((log[-1] - log[0]) / (len(log) - 1) for log in stacks) / min(jobs, len(stacks))


def before(names: Sequence[str], given: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Return the seconds of an epoch of all folds in 0.1.0, where its processes train side by side."""
    epochs = EPOCHS if given.device == "cpu" else ON_GPU
    options = ["--patience", "1000", "--precision", "32-true", "--device", given.device]
    options += ["--root", given.root] if given.root else []
    command = [sys.executable, str(Path(__file__).with_name("before.py")), str(given.jobs), str(folder)]
    command += [f"{name}:{epochs[name]}" for name in names] + ["--", *options]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(given.before)}, check=True)
    found = {}
    for name in names:
        logs = (folder / name).rglob("*.ends")
        found[name] = epoch_beside([[float(line) for line in log.read_text().split()] for log in logs], given.jobs)
    return found


def epoch_beside(ends: Sequence[Sequence[float]], jobs: int) -> float:
    """Return the seconds of an epoch of all runs, from the ends of their epochs, of which so many go side by side.

    A run trains from the end of its first epoch to that of its last. The time when fewer than `jobs` runs do does not
    count, nor do the epochs that end in it.
    """
    changes = sorted([(each[0], 1) for each in ends] + [(each[-1], -1) for each in ends])
    whole, epochs, training = 0.0, 0, 0
    for (begin, change), (end, _) in pairwise(changes):
        training += change
        if training == min(jobs, len(ends)):
            whole += end - begin
            epochs += sum(begin < time <= end for each in ends for time in each)
    if not epochs:
        raise ValueError(f"there is no time in which {min(jobs, len(ends))} runs train side by side; give more epochs.")
    return len(ends) * whole / epochs


def measured(name: str, given: argparse.Namespace, rates: Floor, folder: Path) -> dict[str, Any]:
    """Return the findings about a data set."""
    fit = fit_of(name, given.device, given.root, folder)
    floor = floor_of(fit).seconds(rates)
    if given.device == "cpu":  # where folds may be trained one by one, by several processes
        options = ["--device", given.device, "--set=patience=1000", *(["--root", given.root] if given.root else [])]
        settings = [f"--set={key}={_text(value)}" for key, value in settings_of(fit.recipes[0].level).items()]
        jobs = given.jobs if fit.recipes[0].level == "graph" else 1  # one graph is trained best by all cores together
        ours, busy = by_command(name, [*options, *settings], jobs, folder / "ours"), None
        recipe = by_command(name, options, jobs, folder / "recipe")
    else:
        ours, busy = epoch_of(fit)
        recipe, _ = epoch_of(fit_of(name, given.device, given.root, folder / "recipe", same=False))
    times = {"ours_s": ours, "busy": busy, "recipe_s": recipe}
    return {"data": name, **times, "arithmetic_s": floor.flops, "traffic_s": floor.bytes}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _tell(row: dict[str, Any]) -> None:
    shown = ", ".join(f"{key} {value:.4g}" for key, value in row.items() if isinstance(value, float))
    print(f"{row['data']}: {shown}", flush=True)


def _write(given: argparse.Namespace, found: list[dict[str, Any]]) -> None:
    if given.out is not None:
        findings = {"device": given.device, "jobs": given.jobs, "found": found}
        given.out.write_text(json.dumps(findings, indent=1) + "\n")


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a line for each data set, and write what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replicas", description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=list(EPOCHS), help=f"of {', '.join(EPOCHS)}")
    parser.add_argument("--before", type=Path, help="the source folder of 0.1.0; without it, ours alone")
    parser.add_argument("--jobs", type=int, help="processes of 0.1.0 (default: 10 on a GPU, else one per core)")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--root", help="the folder of the raw data sets")
    parser.add_argument("--out", type=Path, help="a JSON file for the findings")
    given = parser.parse_args(arguments)
    given.jobs = given.jobs or (10 if given.device == "cuda" else os.cpu_count() or 1)
    rates = rates_of(torch.device(given.device))
    print(f"a large product {rates.flops / 1e12:.3g} Tflop/s, a large copy {rates.bytes / 1e9:.3g} GB/s", flush=True)
    found: list[dict[str, Any]] = []
    for name in given.data:
        with TemporaryDirectory() as folder:
            found.append(measured(name, given, rates, Path(folder)))
        _tell(found[-1])
        _write(given, found)
    if given.before is not None:
        with TemporaryDirectory() as folder:
            old = before(given.data, given, Path(folder))
        for row in found:
            taken = old[row["data"]]
            row |= {"before_s": taken, "ratio": taken / row["ours_s"], "recipe_ratio": taken / row["recipe_s"]}
            _tell(row)
        _write(given, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
