"""The last part of `detours demo`: a network that cannot see cycles, and one that can, on a task made of cycles."""

import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console

GRAPHS, SIZES, K, EPOCHS = 200, (3, 4, 5), 4, 40
MODELS = {"plain": "plain GIN", "mdnn": "MDNN-GIN"}
FIGURE = Path("results", "demo", "learning")
_BARS = " ▁▂▃▄▅▆▇█"


class Curve(NamedTuple):
    """The learning curve of a network: validation accuracy by epoch, and test accuracy at the best epoch."""

    validation: list[float]
    test: float
    seconds: float


def show_training(console: "Console", progress: bool | None, figure: Path = FIGURE) -> None:
    """Train both networks and show their learning curves, also as a figure if matplotlib is installed."""
    from detours.cli.shared.console import plain_table, show

    console.print()
    console.rule("[bold]A network that sees cycles", align="left")
    if missing := [name for name in ("torch", "torch_geometric", "lightning") if find_spec(name) is None]:
        reason = f"Skipped: this needs {', '.join(missing)}; run: pip install 'detours[torch]'"
        console.print(reason, style="dim", markup=False)  # brackets would be markup
        return
    console.print(
        f"{GRAPHS} graphs: two rings of equal size, or one of twice the size, with the same\n"
        f"trees attached. Message passing sees the same neighbourhoods in both; MDNN also\n"
        f"sees the {K}-DeN of every edge:\n"
    )
    curves = {name: train(model, progress) for model, name in MODELS.items()}
    bars_heading = f"50 % … 100 %, epochs 1 … {EPOCHS}"
    table = plain_table("Validation accuracy by epoch", ["network", bars_heading], ["test %", "seconds"])
    for name, curve in curves.items():
        bars = "".join(_bar(accuracy) for accuracy in curve.validation)
        table.add_row(name, bars, f"[bold green]{100 * curve.test:.1f}[/]", f"[dim]{curve.seconds:.0f}[/]")
    show(console, table)
    if find_spec("matplotlib") is not None:
        from detours.viz import draw_learning, saved

        figure.parent.mkdir(parents=True, exist_ok=True)
        files = saved(draw_learning({name: curve.validation for name, curve in curves.items()}).figure, figure)
        console.print(f"\nFigure: {files[0]}", style="dim")


def train(model: str, progress: bool | None) -> Curve:
    """Train one network on the built-in task, on one fold."""
    from detours.cli.shared.progress import progress_bar

    with progress_bar("Loading torch", show=progress):
        import torch

        from detours.data import Encoder, rings, stratified_splits
        from detours.training.batches.inputs import prepared
        from detours.training.devices import fabric_of
        from detours.training.recipe import recipe
        from detours.training.replicas.fit import Fit
    torch.set_num_threads(1)  # with networks this small, threads would mostly wait for each other
    data = rings(GRAPHS, sizes=SIZES)
    folds = stratified_splits(data)
    settings = recipe(data.name, data.digest, folds.source, "graph", model=model, k=K, epochs=EPOCHS)
    inputs = prepared(data, Encoder.of(data), data.targets, settings)
    fit = Fit(fabric_of("cpu", settings.precision), [settings], inputs, [folds[0]], outputs=2)
    start, validation = time.perf_counter(), []
    with progress_bar(f"Training {MODELS[model]}", show=progress) as report:
        for epoch in range(1, EPOCHS + 1):
            fit.epoch()
            ((row,),) = fit.read()
            validation.append(row.val_score)
            if report is not None:
                report(epoch, EPOCHS)
    return Curve(validation, fit.progress.best_of(0).test_score, time.perf_counter() - start)


def _bar(accuracy: float) -> str:
    """Return a block whose height shows the accuracy above chance."""
    return _BARS[round(max(0.0, 2 * accuracy - 1) * (len(_BARS) - 1))]
