"""Kill counts, training, experiments and graph saves with SIGKILL at random moments; then resume and compare.

A case is a kill. After one to six of them the same work is run to its end, and its files must be identical to those of
work that was never killed. Children are forked from a process that has imported and compiled everything, so that most
kills hit the work and not the imports.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import warnings
from argparse import Namespace
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

import detours
from fuzz.running import Outcome, Unit, parser, run

MOST_KILLS = 6
SECONDS = 120  # after which work counts as hanging
OUTPUT = ".said"  # hidden, so that it does not count as a result

Bits = dict[str, Any]


class Scenario(NamedTuple):
    """Work in a folder, and how to read its results."""

    work: Callable[[Path], None]
    bits: Callable[[Path], Bits]
    check: Callable[[Path], None] | None = None
    """Called after every kill; raises if something that was finished before is damaged."""


# ---------------------------------------------------------------- counts


@cache
def graph_of(nodes: int, degree: int, directed: bool) -> detours.Graph:
    graph = nx.gnm_random_graph(nodes, nodes * degree // 2, seed=nodes, directed=directed)
    return detours.Graph.from_networkx(graph, directed=directed)


def counting(nodes: int, degree: int, k: int, directed: bool = False, **options: Any) -> Scenario:
    """Return the scenario of a count into a folder."""

    def work(folder: Path) -> None:
        graph = graph_of(nodes, degree, directed)
        if "memory_limit" in options:
            if not (folder / "graph").exists():
                graph.save(folder / "graph")
            graph = detours.Graph.open(folder / "graph")
        detours.count(graph, k, out=folder / "out", **options)

    def bits(folder: Path) -> Bits:
        files = sorted((folder / "out").iterdir())
        counts = {file.name: file.read_bytes() for file in files if file.suffix == ".npy"}
        return {**counts, "left": [file.name for file in files]}

    def check(folder: Path) -> None:
        for block in (folder / "out").glob("blocks/*.npz"):
            with np.load(block) as arrays:
                assert all(arrays[name].size >= 0 for name in arrays.files), block

    return Scenario(work, bits, check)


def parquet(folder: Path) -> None:
    detours.count(graph_of(600, 8, False), 4, out=folder / "out.parquet")


def parquet_bits(folder: Path) -> Bits:
    import pyarrow.parquet

    return {"rows": pyarrow.parquet.read_table(folder / "out.parquet").to_pylist(), "left": _visible(folder)}


# ---------------------------------------------------------------- saved graphs


def replace_graph(folder: Path) -> None:
    """Replace a saved graph by another repeatedly."""
    for i in range(30):
        graph_of(200, 4 + 2 * (i % 2), False).save(folder / "graph")


def check_graph(folder: Path) -> None:
    """Check that one of the two graphs is stored completely, once the first has been saved."""
    if (folder / "graph").exists():
        (folder / "seen").touch()
    if (folder / "seen").exists():
        assert detours.Graph.open(folder / "graph") in (graph_of(200, 4, False), graph_of(200, 6, False))


def graph_bits(folder: Path) -> Bits:
    return {file.name: file.read_bytes() for file in sorted((folder / "graph").iterdir())}


# ---------------------------------------------------------------- learning


def train(folder: Path) -> None:
    """Train three folds, with a checkpoint after every epoch."""
    import torch

    from detours.data import rings, stratified_splits
    from detours.store import Store
    from detours.training.loop import Run
    from detours.training.recipe import recipe
    from detours.training.stacks import Resources, run_all

    torch.set_num_threads(1)
    data = rings(24, sizes=(3, 4), seed=5)
    store, runs = Store(folder / "cells"), []
    options = {"hidden": 8, "layers": 1, "pe": 3, "epochs": 12, "batch_size": 8, "k": 4, "dropout": 0.2}
    for i, fold in enumerate(stratified_splits(data, folds=3)):
        settings = recipe(data.name, data.digest, "here", data.level, fold=i, patience=6 + 2 * i, **options)
        runs.append(Run(settings, data, fold, store.path(settings.key()), model=folder / f"{i}.pt", every=0.0))
    run_all(store, runs, Resources("cpu"))


def train_bits(folder: Path) -> Bits:
    import torch

    models = {file.name: torch.load(file, weights_only=True)["weights"] for file in sorted(folder.glob("*.pt"))}
    weights = {name: {key: value.numpy().tobytes() for key, value in model.items()} for name, model in models.items()}
    return {"weights": weights, "left": _visible(folder), **_cells(folder / "cells")}


def reproduce(folder: Path) -> None:
    """Run an experiment from the command line: pairs of graphs, of which each test distinguishes some."""
    from detours import cli

    (folder / "pairs").mkdir(exist_ok=True)
    for n in (3, 4, 5):
        graphs = (nx.cycle_graph(2 * n), nx.disjoint_union(nx.cycle_graph(n), nx.cycle_graph(n)))
        text = b"".join(nx.to_graph6_bytes(graph, header=False) for graph in graphs)
        (folder / "pairs" / f"{n}.g6").write_bytes(text)
    arguments = ["reproduce", "pairs", str(folder / "pairs"), "-k", "4", "--jobs", "1", "--no-progress"]
    with redirect_stdout(io.StringIO()):
        code = cli.run([*arguments, "--out", str(folder / "results")])
    assert code == 0, code


def reproduce_bits(folder: Path) -> Bits:
    return {"left": _visible(folder), **_cells(folder / "results")}


def _cells(folder: Path) -> Bits:
    """Return the finished results, without times."""
    cells = {}
    for file in sorted(folder.glob("*/*.json")):
        cell = json.loads(file.read_text())
        cells[file.name] = json.dumps({"key": cell["key"], "value": _without_times(cell["value"])})
    return cells


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_times(item) for name, item in value.items() if "second" not in name and name != "ms"}
    return value


def _visible(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if not file.name.startswith("."))


@cache
def scenarios() -> dict[str, Scenario]:
    """Return the scenarios by name; those that need PyTorch or pyarrow only if it is installed."""
    result = {
        "count rows": counting(2500, 10, 5, engine="rows"),
        "count directed": counting(1500, 8, 4, directed=True, engine="rows", n_jobs=2),
        "count search": counting(400, 6, 8, engine="search"),
        "count dense": counting(160, 20, 6, engine="dense"),
        "count parts": counting(1200, 6, 4, memory_limit=400_000),
        "count directed parts": counting(800, 6, 4, directed=True, memory_limit=600_000),
        "save": Scenario(replace_graph, graph_bits, check_graph),
        "reproduce": Scenario(reproduce, reproduce_bits),
    }
    try:
        import pyarrow.parquet  # noqa: F401

        result["count parquet"] = Scenario(parquet, parquet_bits)
    except ImportError:
        pass
    try:
        import lightning  # noqa: F401
        import torch_geometric  # noqa: F401

        result["train"] = Scenario(train, train_bits)
    except ImportError:
        pass
    return result


# ---------------------------------------------------------------- killing


def start_child(work: Callable[[], None], output: Path) -> int:
    """Run a function in a forked process that prints to a file; return the process id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, 1)
        os.dup2(file, 2)
        signal.alarm(SECONDS)
        work()
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def wait_for(pid: int, seconds: float | None = None) -> int | None:
    """Return the exit code of a child, or None if it is still running after some seconds."""
    deadline = None if seconds is None else time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(pid, 0 if deadline is None else os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if deadline is not None and time.monotonic() >= deadline:
            return None
        time.sleep(0.002)


def finish(scenario: Scenario, folder: Path) -> tuple[Bits, float]:
    """Run a scenario to its end; return its results and its duration."""
    start, output = time.monotonic(), folder / OUTPUT
    code = wait_for(start_child(lambda: scenario.work(folder), output))
    if code != 0:
        raise AssertionError(f"code {code}: {output.read_text()[-500:]}")
    output.unlink()
    (folder / "seen").unlink(missing_ok=True)
    return scenario.bits(folder), time.monotonic() - start


@cache
def undisturbed(name: str) -> tuple[Bits, float]:
    """Return the results and the duration of a scenario that is not killed."""
    with tempfile.TemporaryDirectory(prefix="detours-soak-") as folder:
        return finish(scenarios()[name], Path(folder))


def check_round(unit: Unit, options: Namespace) -> Outcome:
    """Kill a scenario several times, run it to its end, and compare its results."""
    warnings.simplefilter("ignore")
    random = Random(str(unit))
    name = random.choice(sorted(scenarios()))
    scenario, (expected, seconds) = scenarios()[name], undisturbed(name)
    kills, failures = 0, []
    folder = Path(tempfile.mkdtemp(prefix="detours-soak-"))
    try:
        for _ in range(random.randint(1, MOST_KILLS)):
            pid = start_child(lambda: scenario.work(folder), folder / OUTPUT)
            if wait_for(pid, random.uniform(0, seconds) ** 1.3) is not None:
                break
            os.kill(pid, signal.SIGKILL)
            wait_for(pid)
            kills += 1
            if scenario.check is not None:
                scenario.check(folder)
        result, _ = finish(scenario, folder)
        if result != expected:
            different = [key for key in {*result, *expected} if result.get(key) != expected.get(key)]
            failures.append({"kind": "loss", "says": f"{name}: {different} after {kills} kills"})
    except Exception as error:
        failures.append({"kind": "loss", "says": f"{name} after {kills} kills: {error!r}"})
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Outcome({"cases": kills, "rounds": 1, f"kills of {name}": kills}, failures)


def prepare() -> None:
    """Import and compile, so that children spend little time on anything but the work."""
    for scenario in scenarios().values():
        with tempfile.TemporaryDirectory(prefix="detours-soak-") as folder:
            if scenario.work is not train:  # PyTorch would start threads, which a fork does not copy
                scenario.work(Path(folder))


if __name__ == "__main__":
    sys.exit(run("soak", check_round, parser(__doc__ or "").parse_args(), hang=600, prepare=prepare))
