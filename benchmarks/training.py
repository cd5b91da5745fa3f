"""python -m benchmarks.training [--device cuda] [--root DIR] [--out FILE]: training speed of MDNN.

Networks of the paper's size (768 channels, 4 layers with 12 transformer layers each for graphs, 2 for nodes) on a GPU.
The rival is a naive implementation of the same network: PyG's DataLoader, batches of 16, token sets padded to the
largest degree of the batch, the same precision. Steps are timed after a warm-up, with the device synchronised at both
ends.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from lightning.fabric import Fabric
from rich.console import Console
from torch import nn

from benchmarks.straightforward import padded
from detours.data import Encoder, GraphSet, Split, load, splits
from detours.nn.detour_transformer import DetourTransformer, TokenLayer
from detours.store import Store
from detours.training.batches.inputs import Inputs, prepared
from detours.training.build import network_of
from detours.training.devices import fabric_of
from detours.training.recipe import Recipe, recipe
from detours.training.replicas.fit import Fit
from detours.training.runs import runs_of
from detours.training.stacks import Resources, run_all

GRAPH_DATA = ("MUTAG", "PTC_FM", "ENZYMES", "NCI1", "IMDB-BINARY", "DD")
NODE_DATA = ("Chameleon", "Squirrel", "Actor", "Cornell", "Wisconsin", "Texas")
PRECISION = "bf16-mixed"
TOKENS = 24_000
"""Tokens per step, enough to keep an H200 busy."""
PARTS = ("nci1", "ways", "squirrel", "cells", "exp")
SMALL: dict[str, Any] = {"hidden": 32, "layers": 2, "transformer_layers": 2}
"""Settings instead of the paper's, to try this out on a CPU."""


class Case(NamedTuple):
    """A data set with its first fold, a recipe, and the inputs of the network."""

    data: GraphSet
    split: Split
    recipe: Recipe
    inputs: Inputs


class Bench:
    """A device, the options of all measurements, and their results."""

    def __init__(self, device: str, root: str | None, small: bool, console: Console) -> None:
        self.precision = PRECISION if device == "cuda" else "32-true"
        self.fabric: Fabric = fabric_of(device, self.precision)
        self.root = root
        self.changes = SMALL if small else {}
        self.console = console
        self.results: dict[str, Any] = {"device": self._device_name(), "torch": torch.__version__}

    def _device_name(self) -> str:
        return torch.cuda.get_device_name() if self.fabric.device.type == "cuda" else "cpu"

    def note(self, name: str, **values: Any) -> None:
        """Record a result and print it."""
        self.results[name] = values
        shown = ", ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in values.items()
        )
        self.console.print(f"{name}: {shown}", highlight=False)

    def synchronize(self) -> None:
        """Wait until the device has finished."""
        if self.fabric.device.type == "cuda":
            torch.cuda.synchronize()

    def case(self, name: str, **changes: Any) -> Case:
        """A data set, and the recipe of the paper's MDNN-GIN for it with some changes."""
        data = load(name, self.root)
        folds = splits(data, self.root)
        settings = recipe(name, data.digest, folds.source, data.level, preset="paper", **self.changes)
        settings = replace(settings, **changes)
        return Case(data, folds[0], settings, prepared(data, Encoder.of(data), data.targets, settings))

    def fit(self, name: str, **changes: Any) -> Fit:
        """Our network, ready to train."""
        case = self.case(name, **changes)
        if self.fabric.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        return Fit(self.fabric, [case.recipe], case.inputs, [case.split], len(case.data.classes))

    def peak(self) -> float | None:
        """Peak memory of the device in GB since the last `fit`."""
        return torch.cuda.max_memory_allocated() / 1e9 if self.fabric.device.type == "cuda" else None

    def timed(self, step: Callable[[], None], seconds: float = 4.0, warm_up: int = 3) -> float:
        """Mean seconds of a step, measured for about `seconds` after some steps of warm-up."""
        for _ in range(warm_up):
            step()
        self.synchronize()
        start, steps = time.perf_counter(), 0
        while time.perf_counter() - start < seconds or steps < 3:
            for _ in range(5 if self.fabric.device.type == "cuda" else 1):
                step()
                steps += 1
            self.synchronize()
        return (time.perf_counter() - start) / steps


def stepper(fit: Fit) -> Callable[[], None]:
    """Return a function that does one training step of ours per call, epoch after epoch."""

    def batches() -> Iterator[Any]:
        epoch = 0
        while True:
            epoch += 1
            yield from fit.batches.training(epoch)

    stream = batches()
    return lambda: fit._step(next(stream))


def busy(bench: Bench, step: Callable[[], None], steps: int = 10) -> float | None:
    """GPU utilisation: the share of time in which a kernel runs. There is one stream, so kernels do not overlap."""
    if bench.fabric.device.type != "cuda":
        return None
    from torch.profiler import ProfilerActivity, profile

    bench.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    bench.synchronize()
    wall = time.perf_counter() - start
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(steps):
            step()
        bench.synchronize()
    kernels = sum(event.self_device_time_total for event in profiler.key_averages()) / 1e6
    return kernels / wall


def ours_on_graphs(bench: Bench, name: str, batch_size: int, attention: str = "auto", compiled: bool = False) -> float:
    """Graphs per second of our network."""
    fit = bench.fit(name, batch_size=batch_size)
    for module in fit.stack.network.modules():
        if isinstance(module, DetourTransformer):
            module.attention = attention
    if compiled:
        compile_layers(fit.stack.network)
    step = stepper(fit)
    seconds = bench.timed(step, warm_up=10 if compiled else 3)
    rate = _examples_per_step(fit) / seconds
    label = f"{name}, ours, batch {batch_size}, attention {attention}" + (", layers compiled" if compiled else "")
    bench.note(label, graphs_per_s=rate, steps_per_s=1 / seconds, gpu_busy=busy(bench, step), peak_gb=bench.peak())
    return rate


def compile_layers(network: nn.Module) -> None:
    """Compile the layers of all transformers; they share one compilation."""
    for module in network.modules():
        if isinstance(module, TokenLayer):
            module.compile(dynamic=True)


def _examples_per_step(fit: Fit) -> float:
    """The mean number of graphs or nodes per step."""
    return int(fit.train_mask[0].sum()) / fit.batches.steps


def straightforward_on_graphs(bench: Bench, name: str, batch_size: int = 16, workers: int = 4) -> float:
    """Graphs per second of the naive implementation of the same network."""
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader

    data, split, settings, inputs = bench.case(name)
    graphs = []
    for i in split.train:
        nodes, arcs = (slice(offsets[i], offsets[i + 1]) for offsets in (inputs.nodes, inputs.arcs))
        arrays = inputs.x[nodes], inputs.edge_index[:, arcs], inputs.arc_features[arcs], inputs.pe[nodes]
        x, edge_index, den, pe = (torch.from_numpy(np.ascontiguousarray(each)) for each in arrays)
        graphs.append(Data(x=x, edge_index=edge_index, den=den, pe=pe, y=torch.tensor([int(inputs.y[i])])))
    model = padded(network_of(settings, inputs.x.shape[1], len(data.classes)))
    _check_same_logits(bench, settings, inputs, len(data.classes), graphs[:8])
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.lr)
    module, optimizer = bench.fabric.setup(model, optimizer)
    on_gpu = bench.fabric.device.type == "cuda"
    loader = DataLoader(graphs, batch_size=batch_size, shuffle=True, num_workers=workers if on_gpu else 0,
                        persistent_workers=on_gpu, pin_memory=on_gpu, drop_last=True)  # fmt: skip

    def endless() -> Iterator[Any]:
        while True:
            yield from loader

    stream = endless()

    def step() -> None:
        batch = next(stream).to(bench.fabric.device)
        logits = module(batch.x, batch.edge_index, batch.den, batch.pe, batch.batch, num_graphs=batch.num_graphs)
        optimizer.zero_grad()
        bench.fabric.backward(F.cross_entropy(logits, batch.y))
        optimizer.step()

    seconds = bench.timed(step)
    bench.note(
        f"{name}, straightforward, batch {batch_size}", graphs_per_s=batch_size / seconds, steps_per_s=1 / seconds
    )
    return batch_size / seconds


def _check_same_logits(bench: Bench, settings: Recipe, inputs: Inputs, classes: int, graphs: list[Any]) -> None:
    """Check that both networks have the same logits for the same parameters, in float64."""
    from torch_geometric.data import Batch

    batch = Batch.from_data_list(graphs)
    logits = []
    for change in (lambda model: model, padded):
        model = change(network_of(settings, inputs.x.shape[1], classes)).double().eval()
        with torch.no_grad():
            logits.append(model(batch.x.double(), batch.edge_index, batch.den.double(), batch.pe.double(), batch.batch))
    difference = float((logits[0] - logits[1]).abs().max())
    if not difference < 1e-9 * max(1.0, float(logits[0].abs().max())):
        raise SystemExit(f"the logits of the straightforward network differ from ours by {difference}")
    bench.note("both networks agree to", difference=difference)


def nodes_per_second(bench: Bench, name: str) -> None:
    """Our network on nodes: with the whole graph in a step, and with sampled neighbourhoods."""
    for label, neighbours in (("whole graph", ()), ("sampled 15, 10", (15, 10))):
        fit = bench.fit(name, neighbours=neighbours)
        step = stepper(fit)
        seconds = bench.timed(step)
        bench.note(f"{name}, {label}", train_nodes_per_s=_examples_per_step(fit) / seconds, steps_per_s=1 / seconds,
                   gpu_busy=busy(bench, step), peak_gb=bench.peak())  # fmt: skip


def straightforward_on_nodes(bench: Bench, name: str) -> None:
    """The padded network on a whole graph: its number of tokens, and whether it trains."""
    data, _, settings, inputs = bench.case(name, neighbours=())
    max_tokens = 1 + int(np.bincount(inputs.edge_index[1]).max())
    ragged, full = inputs.edge_index.shape[1] + len(inputs.x), len(inputs.x) * max_tokens
    model = padded(network_of(settings, inputs.x.shape[1], len(data.classes))).to(bench.fabric.device)
    tensors = [torch.from_numpy(np.ascontiguousarray(each)).to(bench.fabric.device)
               for each in (inputs.x, inputs.edge_index, inputs.arc_features, inputs.pe)]  # fmt: skip
    try:
        with bench.fabric.autocast():
            F.cross_entropy(model(*tensors), torch.from_numpy(inputs.y).to(bench.fabric.device)).backward()
        outcome = "trains"
    except torch.OutOfMemoryError:
        outcome = "out of memory"
    bench.note(f"{name}, straightforward", tokens=ragged, padded=full, ratio=full / ragged, outcome=outcome)


def full_cells(bench: Bench, names: tuple[str, ...]) -> None:
    """Seconds per epoch, and hours for the ten folds of a cell with the paper's 500 epochs; batches that fill a GPU."""
    for name in names:
        case = bench.case(name, neighbours=())
        tokens = (case.inputs.edge_index.shape[1] + len(case.inputs.x)) / case.inputs.num_graphs
        fit = bench.fit(name, neighbours=(), batch_size=max(8, min(len(case.split.train), int(TOKENS / tokens))))
        fit.epoch()
        bench.synchronize()
        start, epochs = time.perf_counter(), 0
        while time.perf_counter() - start < 5 and epochs < 20:
            fit.epoch()
            epochs += 1
        bench.synchronize()
        seconds = (time.perf_counter() - start) / epochs
        hours = 10 * fit.recipes[0].epochs * seconds / 3600
        steps = fit.batches.steps
        bench.note(f"{name}, a cell", steps=steps, epoch_s=seconds, ten_folds_h=hours, peak_gb=bench.peak())


def distinguished(bench: Bench, epochs: int = 40) -> None:
    """EXP and CEXP as classification, ten folds: plain message passing can only guess, MDNN separates them."""
    for name in ("EXP", "CEXP"):
        data = load(name, bench.root)
        for model in ("mdnn", "plain"):
            with TemporaryDirectory() as folder:
                store = Store(folder)
                runs = runs_of(data, splits(data, bench.root), store, numbers=range(10), model=model, epochs=epochs)
                cells = run_all(store, runs, Resources(bench.fabric.device.type, jobs=10))
            accuracy = 100 * np.array([cell.value["test_accuracy"] for cell in cells])
            bench.note(f"{name}, {model} gin", accuracy=float(accuracy.mean()), deviation=float(accuracy.std(ddof=1)))


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and write the results."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.training", description="Training speed of MDNN against a naive implementation."
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--root", help="folder of the raw data sets")
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    parser.add_argument("--small", action="store_true", help="small networks, to try this out on a CPU")
    parser.add_argument("--only", nargs="*", default=PARTS, choices=PARTS, help="only these measurements")
    options = parser.parse_args(arguments)
    console = Console(file=sys.stdout, width=200)
    bench = Bench(options.device, options.root, options.small, console)
    if "nci1" in options.only:
        rival = straightforward_on_graphs(bench, "NCI1")
        rates = {size: ours_on_graphs(bench, "NCI1", size) for size in (16, 64, 256, 512)}
        for size, rate in rates.items():
            bench.note(f"NCI1, ours with batches of {size} against straightforward", ratio=rate / rival)
    if "ways" in options.only:
        for attention in ("bucketed", "padded"):
            for size in (64, 256):
                ours_on_graphs(bench, "NCI1", size, attention)
        ours_on_graphs(bench, "NCI1", 256, compiled=True)
    if "squirrel" in options.only:
        nodes_per_second(bench, "Squirrel")
        straightforward_on_nodes(bench, "Squirrel")
    if "cells" in options.only:
        full_cells(bench, (*GRAPH_DATA, *NODE_DATA))
    if "exp" in options.only:
        distinguished(bench)
    if options.out is not None:
        options.out.write_text(json.dumps(bench.results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
