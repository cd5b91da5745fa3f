"""python -m benchmarks.networks [--case NAME …]: time and memory of MDNN on a CPU.

`epoch`: an epoch of training on MUTAG with one thread; batches of 32 are created before timing starts, tokens are built
within the epoch. MDNN-GIN is compared with a model of PyG's `GPSConv` layers around the same GIN, of the same width and
depth.
`tokens`: memory of a `DetourTransformer` on Squirrel, in a separate process, compared with the minimum for its tokens
and with padding every node to the largest token set.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks import cases
from benchmarks.measure import Timing, duration, race
from benchmarks.peak import _peak, _reset_peak, _status
from benchmarks.report import Sheet

WIDTH, DEPTH, BATCH, POSITIONS, K = 64, 4, 32, 8, 4
OURS, GPS = "MDNN-GIN, 1 attention layer each", "GPSConv"
EPOCH_GOAL = 2.0
"""Ours may take at most this many times as long as PyG's model."""
MEMORY_GOAL = 3.0
"""Ours may use at most this many times the minimum memory for its tokens."""


def mutag() -> list[Any]:
    """Batches of MUTAG with the inputs of both models."""
    import torch
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader
    from torch_geometric.transforms import AddLaplacianEigenvectorPE

    from detours.data import Encoder, load
    from detours.transforms import AddDetourNumber

    root = cases.data_root()
    if not (root / "TUDataset" / "MUTAG").is_dir():
        raise cases.MissingData(f"MUTAG is not in {root}; set DETOURS_DATA to the folder that contains TUDataset/")
    task = load("MUTAG", root)
    _, classes = np.unique(task.y, return_inverse=True)
    add_pe = AddLaplacianEigenvectorPE(POSITIONS, attr_name="pe", is_undirected=True)
    graphs = [
        add_pe(Data(x=torch.from_numpy(x), edge_index=torch.from_numpy(graph.to_edge_index()), y=torch.tensor([y])))
        for graph, x, y in zip(task.graphs, Encoder.of(task).encode(task), classes.tolist(), strict=True)
    ]
    torch.manual_seed(0)
    return list(DataLoader(AddDetourNumber(K, by_length=True)(graphs), batch_size=BATCH, shuffle=True))


def gps(in_channels: int, width: int) -> Any:
    """As in PyG's GraphGPS example: encode features and positions, GPS layers with GIN, pooling, a linear decoder."""
    import torch
    from torch import nn
    from torch_geometric.nn import GPSConv, global_max_pool

    from detours.nn import convolution

    class Gps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Linear(in_channels + POSITIONS, width)
            self.layers = nn.ModuleList(GPSConv(width, convolution("gin", width, width)) for _ in range(DEPTH))
            self.decoder = nn.Linear(width, 2)

        def forward(self, data: Any) -> Any:
            state = self.encoder(torch.cat([data.x, data.pe], dim=1))
            for layer in self.layers:
                state = layer(state, data.edge_index, data.batch)
            return self.decoder(global_max_pool(state, data.batch, size=data.num_graphs))

    return Gps()


def mdnn(in_channels: int, transformer_layers: int) -> Any:
    """An MDNN that is called with a batch."""
    from torch import nn

    from detours.nn import MDNN

    class Ours(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            options = {"transformer_layers": transformer_layers, "den_channels": K - 1, "pe_channels": POSITIONS}
            self.network = MDNN(in_channels, WIDTH, 2, "gin", num_layers=DEPTH, **options)

        def forward(self, data: Any) -> Any:
            return self.network(data.x, data.edge_index, data.den, data.pe, data.batch, num_graphs=data.num_graphs)

    return Ours()


def epoch_of(model: Any, batches: list[Any]) -> Callable[[], float]:
    """Return a function that trains for one epoch and returns the mean loss."""
    import torch
    from torch.nn.functional import cross_entropy

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def epoch() -> float:
        total = 0.0
        for data in batches:
            optimizer.zero_grad()
            loss = cross_entropy(model(data), data.y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        return total / len(batches)

    return epoch


def epochs() -> dict[str, Timing]:
    """The fastest epoch of each model."""
    import torch

    torch.set_num_threads(1)
    batches = mutag()
    width = batches[0].x.size(1)
    torch.manual_seed(0)
    models = {
        OURS: mdnn(width, 1),
        "MDNN-GIN, 2 attention layers each": mdnn(width, 2),
        GPS: gps(width, WIDTH),
        f"GPSConv, width {2 * WIDTH}": gps(width, 2 * WIDTH),
    }
    return race({name: epoch_of(model, batches) for name, model in models.items()}, budget=10.0, max_repeats=12)[0]


def epoch_sheet(best: dict[str, Timing]) -> Sheet:
    """Times, also as multiples of PyG's model."""
    ratios = {name: timing.seconds / best[GPS].seconds for name, timing in best.items()}
    rows = [[name, duration(best[name].seconds), f"{ratios[name]:.2f}"] for name in best]
    verdict = "met" if ratios[OURS] <= EPOCH_GOAL else "MISSED"
    note = f"epoch: goal {EPOCH_GOAL:g} times GPSConv of the same width and depth, it is {ratios[OURS]:.2f}: {verdict}"
    title = f"An epoch of MUTAG, width {WIDTH}, {DEPTH} layers, batches of {BATCH}"
    width_note = (
        f"the outputs of MDNN's layers have {2 * WIDTH} channels: {WIDTH} of the convolution, {WIDTH} of the attention"
    )
    return Sheet(title, ["model", "CPU time", "times GPSConv"], rows, [note, width_note])


def measure_tokens() -> dict[str, float]:
    """Peak memory of one and two layers on Squirrel in this process, evaluating and training, above that at the start.

    The last layer needs no keys and values of its tokens, so a single layer uses less memory than each of several."""
    import torch

    from detours.nn import DetourTransformer, Tokens

    torch.set_num_threads(1)
    graph = cases.wikipedia("squirrel")
    sources = torch.from_numpy(np.repeat(np.arange(graph.num_nodes), graph.degree))
    edge_index = torch.stack([sources, torch.from_numpy(graph.indices.astype(np.int64))])
    torch.manual_seed(0)
    one, two = (
        DetourTransformer(WIDTH, WIDTH, num_layers=layers, den_channels=K - 1, pe_channels=POSITIONS)
        for layers in (1, 2)
    )
    x, pe = torch.randn(graph.num_nodes, WIDTH), torch.randn(graph.num_nodes, POSITIONS)
    den = torch.rand(edge_index.size(1), K - 1)
    tokens = Tokens.of(edge_index, graph.num_nodes)

    def peak(work: Callable[[], Any]) -> int:
        _reset_peak()
        before = _status("VmRSS") or _peak()
        result = work()  # keeps the graph of autograd alive
        used = _peak() - before
        del result
        return used

    small = torch.tensor([[0, 1], [1, 0]])
    peaks: dict[str, float] = {}
    for name, model in (("", one), (" two", two)):
        model(torch.randn(2, WIDTH), small, torch.rand(2, K - 1), torch.randn(2, POSITIONS)).sum().backward()  # warm
        with torch.no_grad():
            peaks["evaluating" + name] = peak(lambda net=model: net.eval()(x, edge_index, den, pe, tokens=tokens))
        peaks["training" + name] = peak(lambda net=model: net.train()(x, edge_index, den, pe, tokens=tokens))
    row = 4 * WIDTH
    return {
        "tokens": tokens.num_tokens,
        "ragged": tokens.num_tokens * row,
        "attended": sum(bucket.padded for bucket in tokens.buckets) * row,
        "padded": graph.num_nodes * (int(graph.degree.max()) + 1) * row,
        **peaks,
    }


def tokens_sheet(sizes: dict[str, float]) -> Sheet:
    """Bytes, also as multiples of the minimum."""
    names = {
        "ragged": "minimum: every token once",
        "evaluating": "peak of one layer, evaluating",
        "training": "peak of one layer, training, with everything saved for the backward pass",
        "evaluating two": "peak of two layers, evaluating",
        "training two": "peak of two layers, training",
        "attended": "every token once, padded as in attention",
        "padded": "every token once, padded to the largest degree",
    }
    rows = [[name, f"{sizes[key] / 1e6:,.0f} MB", f"{sizes[key] / sizes['ragged']:.2f}"] for key, name in names.items()]
    ratio = sizes["evaluating"] / sizes["ragged"]
    verdict = "met" if ratio <= MEMORY_GOAL else "MISSED"
    note = f"tokens: goal {MEMORY_GOAL:g} times the minimum, one layer evaluating takes {ratio:.2f}: {verdict}"
    title = f"Tokens of Squirrel: {int(sizes['tokens']):,}, width {WIDTH}"
    return Sheet(title, ["", "memory", "times the minimum"], rows, [note])


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    names = ["epoch", "tokens"]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.networks", description="MDNN on a CPU: time and memory."
    )
    parser.add_argument("--case", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.alone:
        print(json.dumps(measure_tokens()))
        return 0
    console = Console()
    if "epoch" in options.case:
        try:
            epoch_sheet(epochs()).show(console)
        except cases.MissingData as error:
            print(f"epoch skipped, {error}", file=sys.stderr)
    if "tokens" in options.case:
        command = [sys.executable, "-m", "benchmarks.networks", "--alone"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"tokens skipped, {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        else:
            tokens_sheet(json.loads(done.stdout)).show(console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
