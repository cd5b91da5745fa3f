"""python -m benchmarks.replicas --before SRC [--device cuda] [--root DIR] [--out FILE] [DATA …]: all folds at once.

Ten folds of MDNN-GIN as replicas of one network, against parallel processes of 0.1.0, the version before replicas,
whose source folder is SRC. Both train the same network, that of preset `ours` in 0.1.0, in single precision; `recipe_s`
is an epoch of today's preset `ours`. Start-up does not count: of 0.1.0, only the time in which all its processes train
does; an epoch of ours is timed on a GPU, and on a CPU it is taken from the logs of `detours train`, whose processes run
in parallel, too. Also reported are the GPU utilisation and lower bounds for any implementation of the same products:
their arithmetic and their memory traffic at the rates that the device reaches in a large product and a large copy.
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
"""The network and the optimisation of preset `ours` in 0.1.0."""
EPOCHS = {"Texas": 24, "Chameleon": 6, "MUTAG": 7, "ENZYMES": 4, "NCI1": 3}
"""Epochs on a CPU."""
GPU_EPOCHS = {"Texas": 150, "Chameleon": 80, "MUTAG": 60, "ENZYMES": 16, "NCI1": 5}
"""Epochs of 0.1.0 on a GPU: more, as it takes seconds until all its processes train."""
SECONDS = 6.0
"""How long ours is timed on a GPU, approximately."""
PRODUCTS = ("mm", "bmm", "addmm", "baddbmm")


class Floor(NamedTuple):
    """The operations and bytes that the products and the optimiser of an epoch need at least."""

    flops: float
    bytes: float

    def seconds(self, rates: Floor) -> Floor:
        """The times at these rates per second."""
        return Floor(self.flops / rates.flops, self.bytes / rates.bytes)


class Counted(TorchDispatchMode):  # type: ignore[misc]  # PyTorch's types are not followed
    """Counts the operations of matrix products, and the bytes that they must read and write."""

    def __init__(self) -> None:
        super().__init__()
        self.flops = self.bytes = 0.0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if function.overloadpacket.__name__.rstrip("_") in PRODUCTS:
            tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
            self.add_product(*tensors[-2:], result)
        return result

    def add_product(self, left: torch.Tensor, right: torch.Tensor, result: torch.Tensor) -> None:
        """Count a product."""
        self.flops += 2 * result.numel() * right.size(-2)
        self.bytes += sum(_stored_bytes(tensor) for tensor in (left, right, result))


def _stored_bytes(tensor: torch.Tensor) -> int:
    """The size in memory, where expanded dimensions, which all networks share, are stored once."""
    distinct = [size for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride]
    return int(torch.Size(distinct).numel()) * tensor.element_size()


def settings_of(level: str) -> dict[str, Any]:
    """Return the settings of preset `ours` in 0.1.0."""
    return SAME | ({"heads": 4, "dropout": 0.5} if level == "node" else {"heads": 1})


def fit_of(name: str, device: str, root: str | None, folder: Path, num_folds: int = 10, *, same: bool = True) -> Fit:
    """Return folds of a data set, ready to train as replicas: with the network of 0.1.0, or with today's."""
    data = load(name, root)
    folds = splits(data, root)
    changes = settings_of(data.level) if same else {"model": "mdnn", "backbone": "gin", "k": None}
    ks = (changes.pop("k"),)
    runs = runs_of(
        data,
        folds,
        Store(folder),
        numbers=range(num_folds),
        seeds=(0,),
        ks=ks,
        save=None,
        epochs=10_000,
        patience=10_000,
        **changes,
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
    """Count the products of an epoch; the optimiser reads four values for each weight and writes three."""
    with Counted() as counted, _counted_maps(counted):
        for batch in fit.batches.training(1):
            fit._step(batch)
        fit._evaluate()
    fit.progress.filled.zero_()  # discards the metrics of this epoch
    weights = fit.stack.flat.numel() * fit.stack.flat.element_size()
    return Floor(counted.flops, counted.bytes + 7 * weights * fit.batches.steps)


@contextmanager
def _counted_maps(counted: Counted) -> Iterator[None]:
    """Also count the products of our Triton kernels, which torch does not dispatch."""
    if find_spec("triton") is None:
        yield
        return
    from detours.nn.fused import maps_triton

    batched_linear = maps_triton.batched_linear

    def counting(x: torch.Tensor, matrix: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
        result = batched_linear(x, matrix, bias)
        counted.add_product(x, matrix, result)
        return result

    maps_triton.batched_linear = counting
    try:
        yield
    finally:
        maps_triton.batched_linear = batched_linear


def rates_of(device: torch.device) -> Floor:
    """Return the operations and bytes per second that the device reaches in a large product and a large copy."""
    fabric_of(device.type, "32-true")  # sets the precision of products as in training: TF32 on a GPU
    size = 8192 if device.type == "cuda" else 2048
    left, right = (torch.randn(size, size, device=device) for _ in range(2))
    source = torch.randn((2**28 if device.type == "cuda" else 2**25), device=device)
    target = torch.empty_like(source)
    product = _timed(lambda: torch.mm(left, right), device)
    copy = _timed(lambda: target.copy_(source), device)
    return Floor(2 * size**3 / product, 2 * source.numel() * source.element_size() / copy)


def _timed(work: Any, device: torch.device, seconds: float = 1.0) -> float:
    """Return the mean seconds of a call, after three calls of warm-up."""
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
    """Return the seconds of an epoch of all replicas, and the GPU utilisation."""

    def epoch() -> None:
        fit.epoch()
        if fit.full():
            fit.read()

    for _ in range(4):  # CUDA graphs are captured in the first epochs
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

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        epoch()
        _now(fit.device)
    kernels = [event.time_range for event in profiler.events() if event.self_device_time_total]
    return seconds, union_length([(kernel.start, kernel.end) for kernel in kernels]) / 1e6 / seconds


def union_length(intervals: Sequence[tuple[float, float]]) -> float:
    """Return the length of the union of intervals: kernels may overlap."""
    total, covered_until = 0.0, float("-inf")
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, covered_until))
        covered_until = max(covered_until, end)
    return total


def by_command(name: str, options: Sequence[str], jobs: int, folder: Path) -> float:
    """Return the seconds of an epoch of all folds, from the logs of `detours train` with `jobs` processes."""
    command = [sys.executable, "-m", "detours", "train", "--data", name, "--model", "mdnn", "--backbone", "gin"]
    command += ["--epochs", str(EPOCHS[name]), "--jobs", str(jobs), *options, "--out", str(folder)]
    source = Path(detours.__file__).parents[1]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(source)}, check=True, capture_output=True)
    logs = [list(csv.DictReader(log.read_text().splitlines())) for log in folder.rglob("*.csv")]
    return epoch_of_stacks([[float(row["seconds"]) for row in log] for log in logs], jobs)


def epoch_of_stacks(logs: Sequence[Sequence[float]], jobs: int) -> float:
    """Return the seconds of an epoch of all runs, from the times at which their epochs end.

    Runs that train as one network have the same times. The first epoch does not count, as libraries initialise then.
    """
    stacks = {tuple(log) for log in logs}
    return sum((log[-1] - log[0]) / (len(log) - 1) for log in stacks) / min(jobs, len(stacks))


def before(names: Sequence[str], options: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Return the seconds of an epoch of all folds in 0.1.0, while its processes train in parallel."""
    epochs = EPOCHS if options.device == "cpu" else GPU_EPOCHS
    command = [sys.executable, str(Path(__file__).with_name("before.py")), str(options.jobs), str(folder)]
    command += [f"{name}:{epochs[name]}" for name in names]
    command += ["--", "--patience", "1000", "--precision", "32-true", "--device", options.device]
    command += ["--root", options.root] if options.root else []
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(options.before)}, check=True)
    seconds = {}
    for name in names:
        logs = (folder / name).rglob("*.ends")
        ends = [[float(line) for line in log.read_text().split()] for log in logs]
        seconds[name] = epoch_of_processes(ends, options.jobs)
    return seconds


def epoch_of_processes(ends: Sequence[Sequence[float]], jobs: int) -> float:
    """Return the seconds of an epoch of all runs, `jobs` of which train in parallel, from the ends of their epochs.

    A run trains from the end of its first epoch to that of its last. Periods with fewer than `jobs` runs do not
    count, nor do the epochs that end in them.
    """
    changes = sorted([(times[0], 1) for times in ends] + [(times[-1], -1) for times in ends])
    seconds, epochs, training = 0.0, 0, 0
    for (start, change), (end, _) in pairwise(changes):
        training += change
        if training == min(jobs, len(ends)):
            seconds += end - start
            epochs += sum(start < time <= end for times in ends for time in times)
    if not epochs:
        raise ValueError(f"there is no time in which {min(jobs, len(ends))} runs train in parallel; give more epochs.")
    return len(ends) * seconds / epochs


def measure(name: str, options: argparse.Namespace, rates: Floor, folder: Path) -> dict[str, Any]:
    """Return the results for a data set."""
    fit = fit_of(name, options.device, options.root, folder)
    floor = floor_of(fit).seconds(rates)
    if options.device == "cpu":  # where several processes may train folds one by one
        arguments = ["--device", options.device, "--set=patience=1000"]
        arguments += ["--root", options.root] if options.root else []
        settings = [f"--set={key}={_text(value)}" for key, value in settings_of(fit.recipes[0].level).items()]
        jobs = options.jobs if fit.recipes[0].level == "graph" else 1  # a single graph trains fastest on all cores
        ours, busy = by_command(name, [*arguments, *settings], jobs, folder / "ours"), None
        recipe = by_command(name, arguments, jobs, folder / "recipe")
    else:
        ours, busy = epoch_of(fit)
        recipe, _ = epoch_of(fit_of(name, options.device, options.root, folder / "recipe", same=False))
    times = {"ours_s": ours, "busy": busy, "recipe_s": recipe}
    return {"data": name, **times, "arithmetic_s": floor.flops, "traffic_s": floor.bytes}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _print(row: dict[str, Any]) -> None:
    values = ", ".join(f"{key} {value:.4g}" for key, value in row.items() if isinstance(value, float))
    print(f"{row['data']}: {values}", flush=True)


def _write(options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    if options.out is not None:
        results = {"device": options.device, "jobs": options.jobs, "found": rows}
        options.out.write_text(json.dumps(results, indent=1) + "\n")


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a line for each data set, and write the results."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.replicas",
        description="MDNN: ten folds as replicas of one network against parallel processes of 0.1.0.",
    )
    parser.add_argument("data", nargs="*", default=list(EPOCHS), help=f"data sets (default: {', '.join(EPOCHS)})")
    parser.add_argument("--before", type=Path, help="source folder of 0.1.0; without it, only ours is measured")
    parser.add_argument("--jobs", type=int, help="processes of 0.1.0 (default: 10 on a GPU, else one per core)")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--root", help="folder of the raw data sets")
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    options = parser.parse_args(arguments)
    options.jobs = options.jobs or (10 if options.device == "cuda" else os.cpu_count() or 1)
    rates = rates_of(torch.device(options.device))
    print(f"large product: {rates.flops / 1e12:.3g} Tflop/s, large copy: {rates.bytes / 1e9:.3g} GB/s", flush=True)
    rows: list[dict[str, Any]] = []
    for name in options.data:
        with TemporaryDirectory() as folder:
            rows.append(measure(name, options, rates, Path(folder)))
        _print(rows[-1])
        _write(options, rows)
    if options.before is not None:
        with TemporaryDirectory() as folder:
            seconds = before(options.data, options, Path(folder))
        for row in rows:
            old = seconds[row["data"]]
            row |= {"before_s": old, "ratio": old / row["ours_s"], "recipe_ratio": old / row["recipe_s"]}
            _print(row)
        _write(options, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
