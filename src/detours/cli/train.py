"""`detours train`: a network on the folds of a data set, from raw files to mean ± deviation."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from detours.cli import train_options as options
from detours.cli.command import print_json, reported, standard_output
from detours.cli.options import Json, Progress, Quiet
from detours.cli.train_options import BackboneName, ModelName, PrecisionName, PresetName, parsed_numbers
from detours.errors import InputError

if TYPE_CHECKING:
    from detours.store import Cell

NEEDED = ("torch", "torch_geometric", "lightning")


def check_installed() -> None:
    """Say in one sentence what is missing, before anything slow is imported."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise InputError(f"networks need {' and '.join(missing)}; run: pip install 'detours[torch]'")


@reported
def train(
    data: options.Data,
    model: options.Model = ModelName.mdnn,
    backbone: options.Backbone = BackboneName.gin,
    folds: options.Folds = "0-9",
    preset: options.Preset = PresetName.ours,
    k: options.Ks = None,
    seed: options.Seed = 0,
    root: options.Root = None,
    out: options.Out = "results",
    save: options.Save = None,
    jobs: options.Jobs = 1,
    device: options.Device = "auto",
    devices: options.Devices = 1,
    precision: options.Precision = None,
    compiled: options.Compile = False,
    hidden: options.Hidden = None,
    layers: options.Layers = None,
    transformer_layers: options.TransformerLayers = None,
    heads: options.Heads = None,
    pe: options.Pe = None,
    norm: options.Norm = None,
    dropout: options.Dropout = None,
    lr: options.LearningRate = None,
    weight_decay: options.WeightDecay = None,
    warmup: options.Warmup = None,
    epochs: options.Epochs = None,
    patience: options.Patience = None,
    batch_size: options.BatchSize = None,
    neighbours: options.Neighbours = None,
    log: options.Log = None,
    den: options.UseDen = True,
    checkpoint_every: options.CheckpointEvery = 5.0,
    tensorboard: options.TensorBoard = False,
    as_json: Json = False,
    quiet: Quiet = False,
    progress: Progress = None,
) -> None:
    """Train a network on the folds of a data set.

    Prints the test accuracy at the best validation epoch of every fold, and their mean. A finished fold is one JSON
    file in the folder of --out, with a CSV log beside it; stopped at any moment, the same command goes on there.

    \b
    Examples:
      detours train --data rings -k 5 --folds 0-2
      detours train --data MUTAG --model mdnn --backbone gin --folds 0-9 --jobs 4
      detours train --data Chameleon --preset paper --root raw --save models
    """
    check_installed()
    if tensorboard and find_spec("tensorboard") is None:
        raise InputError("--tensorboard needs TensorBoard, which is not installed; run: pip install tensorboard")

    from detours.cli.train_table import fold_table
    from detours.data import load, splits
    from detours.store import Store
    from detours.training.devices import chosen_device
    from detours.training.folds import Workplace, best_of, run_all, runs_of

    place = Workplace(chosen_device(device), devices, jobs)
    numbers, store, loaded = parsed_numbers(folds), Store(out), load(data, root)
    runs = runs_of(
        loaded,
        splits(loaded, root),
        store,
        numbers=numbers,
        ks=k or (None,),
        save=save,
        every=checkpoint_every,
        tensorboard=tensorboard,
        compiled=compiled,
        model=model.value,
        backbone=backbone.value,
        preset=preset.value,
        seed=seed,
        precision=_precision(precision, preset, place.device),
        hidden=hidden,
        layers=layers,
        transformer_layers=transformer_layers,
        heads=heads,
        pe=pe,
        norm=norm,
        dropout=dropout,
        lr=lr,
        weight_decay=weight_decay,
        warmup=warmup,
        epochs=epochs,
        patience=patience,
        batch_size=batch_size,
        neighbours=neighbours,
        log=log,
        use_den=den,
    )
    if save is not None:
        _make_folder(save)
    first = devices == 1 or int(os.environ.get("RANK") or os.environ.get("SLURM_PROCID") or 0) == 0
    show = progress if first and not (quiet and progress is None) else False
    with fold_table(runs, show=show):
        cells = run_all(store, runs, place)
    chosen = [best_of([cell for cell in cells if cell.key["fold"] == fold]) for fold in numbers]
    if first and as_json:
        print_json(_summary(chosen))
    elif first and not quiet:
        _show(chosen, several=len(runs) > len(chosen))
        models = "" if save is None else f" and {save}"
        print(f"Wrote {store.path(runs[0].recipe.key()).parent}{models}", file=sys.stderr)


def _make_folder(folder: Path) -> None:
    """Make it now: after hours of training is no time to learn that it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be made ({error.strerror}); choose another.") from None


def _precision(given: PrecisionName | None, preset: PresetName, device: str) -> str:
    if given is not None:
        return given.value
    return "bf16-mixed" if device.startswith("cuda") and preset == PresetName.ours else "32-true"


def _summary(cells: "list[Cell]") -> dict[str, Any]:
    """Mean and standard deviation over the folds, with what they are made of."""
    import numpy as np

    test = np.array([cell.value["test_accuracy"] for cell in cells])
    key = cells[0].key
    kept = {name: key[name] for name in ("data", "model", "backbone", "preset", "splits", "seed")}
    folds = [{"fold": cell.key["fold"], "k": cell.key["k"], **cell.value, "seconds": cell.seconds} for cell in cells]
    return {
        **kept,
        "mean": float(test.mean()),
        "std": float(test.std(ddof=1)) if len(test) > 1 else None,
        "folds": folds,
    }


def _show(cells: "list[Cell]", several: bool) -> None:
    from rich.markup import escape

    from detours.cli.summary import plain_table, show

    table = plain_table()
    for heading in ("fold", "k", "validation %", "test %", "best epoch", "epochs", "seconds"):
        table.add_column(heading, justify="right")
    for cell in cells:
        value = cell.value
        accuracies = (f"{100 * value[part]:.1f}" for part in ("val_accuracy", "test_accuracy"))
        counted = (cell.key["fold"], cell.key["k"], *accuracies, value["best_epoch"], value["epochs"])
        table.add_row(*map(str, counted), f"{cell.seconds:.1f}")
    console, summary = standard_output(), _summary(cells)
    show(console, table)
    number = f"{len(cells)} fold{'s' * (len(cells) != 1)}"
    k = "k by validation" if several else f"k = {cells[0].key['k']}"
    spread = "" if summary["std"] is None else f" ± {100 * summary['std']:.1f}"
    console.print(
        f"\n[bold]{100 * summary['mean']:.1f}{spread} %[/] on the test parts of {number}: "
        f"{escape(summary['data'])}, {summary['model']} {summary['backbone']}, {k}, preset {summary['preset']}, "
        f"splits {escape(summary['splits'].split(';')[0])}",
        soft_wrap=True,
    )
