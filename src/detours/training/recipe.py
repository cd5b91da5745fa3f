"""All that defines a training run: the network, what it is given, how it is trained, and on which fold.

A recipe goes whole into the key of the finished run, so a run under other conditions is another run. The presets are
those of the protocol: "paper" follows the paper to the letter, "ours" is what we recommend.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from detours.checks import check_choice, check_integer, check_k, check_number
from detours.errors import InputError, shown

Level = Literal["graph", "node"]
Model = Literal["plain", "weighted", "mdnn"]
Backbone = Literal["gcn", "gat", "gin"]
Preset = Literal["ours", "paper"]
Precision = Literal["32-true", "bf16-mixed", "64-true"]
Ties = Literal["loss", "first"]

MODELS, BACKBONES, PRESETS = get_args(Model), get_args(Backbone), get_args(Preset)
PRECISIONS = get_args(Precision)


@dataclass(frozen=True)
class Recipe:
    """One training run. Make it with `recipe`, which knows the presets."""

    data: str
    digest: str
    """Of the content of the data set."""
    splits: str
    """Where the folds come from."""
    fold: int
    level: Level
    model: Model
    backbone: Backbone
    preset: Preset
    k: int
    """The longest detour counted, in edges."""
    log: bool
    """Detour numbers enter as log(1 + number), or as they are."""
    by_length: bool
    """MDNN is given a number for every length, or one for all of them."""
    use_den: bool
    """False leaves detour numbers out of the tokens: the paper's ablation."""
    directed: bool
    """Arcs as stored, or taken both ways."""
    standardise: bool
    """Node attributes that are no 0/1 columns are shifted and scaled by mean and deviation of the training part."""
    hidden: int
    layers: int
    transformer_layers: int
    heads: int
    pe: int
    """Laplacian eigenvectors to a node."""
    norm: bool
    """Batch norm between the layers, which the paper does not have."""
    dropout: float
    lr: float
    weight_decay: float
    warmup: float
    """Share of the epochs over which the learning rate rises to `lr`."""
    epochs: int
    patience: int
    """Epochs without a better validation result after which training ends."""
    ties: Ties
    """Among epochs of equal validation accuracy, the one with the lowest validation loss is best, or the first."""
    batch_size: int
    """Graphs to a step; nodes to a step where neighbours are sampled."""
    neighbours: tuple[int, ...] | None
    """Node level: how many neighbours are sampled hop by hop; None for the whole graph in one step."""
    precision: Precision
    seed: int

    def key(self) -> dict[str, Any]:
        """What the store of finished runs knows it by."""
        return {"experiment": "networks", "method": f"{self.model} {self.backbone}", **asdict(self)}

    @property
    def den_channels(self) -> int:
        """How many numbers an arc carries."""
        if self.model == "plain":
            return 0
        return self.k - 1 if self.model == "mdnn" and self.by_length else 1

    def differences(self, other: Mapping[str, Any]) -> str:
        """In words, where another recipe's key differs; empty if nowhere."""
        mine = {**self.key(), "neighbours": None if self.neighbours is None else list(self.neighbours)}
        return ", ".join(
            f"{name} {shown(other.get(name))} there and {shown(value)} here"
            for name, value in mine.items()
            if other.get(name) != value
        )


# PROTOCOL §4 and §5. The batch of the paper's graph level is not said there ("depending on the data size").
_PAPER: dict[str, Any] = {
    "k": 2,
    "log": False,
    "by_length": False,
    "directed": True,
    "standardise": False,
    "hidden": 768,
    "layers": 4,
    "pe": 8,
    "norm": False,
    "dropout": 0.0,
    "lr": 1e-5,
    "weight_decay": 0.01,
    "warmup": 0.005,
    "epochs": 500,
    "patience": 250,
    "ties": "first",
}
# Chosen by judgement, not by a search: small enough for a CPU, and one transformer layer to a block, since four blocks
# follow each other.
# Validation parts are small (17 graphs of MUTAG), so many epochs tie in accuracy: the loss decides among them.
_OURS: dict[str, Any] = {
    "k": 4,
    "log": True,
    "by_length": True,
    "directed": False,
    "standardise": True,
    "hidden": 64,
    "layers": 4,
    "transformer_layers": 1,
    "pe": 8,
    "norm": True,
    "dropout": 0.0,
    "lr": 1e-3,
    "weight_decay": 0.01,
    "warmup": 0.02,
    "epochs": 300,
    "patience": 100,
    "ties": "loss",
}
_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    ("paper", "graph"): {**_PAPER, "transformer_layers": 12, "heads": 1, "batch_size": 16, "neighbours": None},
    ("paper", "node"): {**_PAPER, "transformer_layers": 2, "heads": 4, "batch_size": 256, "neighbours": (15, 10)},
    ("ours", "graph"): {**_OURS, "heads": 1, "batch_size": 32, "neighbours": None},
    ("ours", "node"): {**_OURS, "heads": 4, "dropout": 0.5, "batch_size": 256, "neighbours": None},
}
_NAMES = frozenset(field.name for field in fields(Recipe))


def recipe(
    data: str,
    digest: str,
    splits: str,
    level: Level,
    *,
    fold: int = 0,
    model: str = "mdnn",
    backbone: str = "gin",
    preset: str = "ours",
    precision: str = "32-true",
    seed: int = 0,
    use_den: bool = True,
    **changed: Any,
) -> Recipe:
    """A run of a preset, with whatever is to be changed in it; None leaves a value as the preset has it."""
    for what, given, allowed in (
        ("model", model, MODELS),
        ("backbone", backbone, BACKBONES),
        ("preset", preset, PRESETS),
        ("precision", precision, PRECISIONS),
        ("ties", changed.get("ties") or "loss", get_args(Ties)),
    ):
        check_choice(what, given, allowed)
    if not use_den and model != "mdnn":
        raise InputError(f"only mdnn can leave out detour numbers, but the model is {model}; take --model plain.")
    if unknown := changed.keys() - _NAMES:
        raise InputError(f"a recipe has no {sorted(unknown)[0]!r}; it has {', '.join(sorted(_NAMES))}.")
    values = _DEFAULTS[preset, level] | {name: value for name, value in changed.items() if value is not None}
    if model == "weighted" and preset == "ours" and changed.get("log") is None:
        values["log"] = backbone != "gcn"  # the normalisation of GCN absorbs the scale of its weights
    if level == "graph":
        values["directed"] = False  # the graphs of graph data are undirected
    if values["neighbours"] is not None:
        values["neighbours"] = tuple(values["neighbours"])
        if level == "graph":
            raise InputError(f"neighbours are sampled around nodes, but {data} has classes of graphs; leave it out.")
    _check(values)
    named: dict[str, Any] = {"model": model, "backbone": backbone, "preset": preset, "precision": precision}
    where: dict[str, Any] = {"data": data, "digest": digest, "splits": splits, "level": level, "fold": fold}
    return Recipe(**where, **named, seed=seed, use_den=use_den, **values)


def _check(values: Mapping[str, Any]) -> None:
    check_k(values["k"])
    for name in ("hidden", "layers", "transformer_layers", "heads", "epochs", "patience", "batch_size"):
        check_integer(name, values[name], minimum=1)
    if values["hidden"] % values["heads"]:
        raise InputError(
            f"{values['heads']} heads do not divide the {values['hidden']} hidden channels; change either."
        )
    check_integer("pe, the number of eigenvectors,", values["pe"], minimum=0)
    check_number("lr", values["lr"], above=0)
    check_number("weight_decay", values["weight_decay"], minimum=0)
    for name in ("dropout", "warmup"):
        check_number(name, values[name], minimum=0, below=1)
    if values["neighbours"] is not None and any(size < 1 and size != -1 for size in values["neighbours"]):
        raise InputError(f"neighbours {shown(values['neighbours'])}: give how many for each hop, or -1 for all.")
