"""Everything that defines a training run: the network, its inputs, how it is trained, and the fold.

`Recipe` is the only definition of every setting: name, type, documentation, allowed values, and the value in each
preset. A new setting is a field there, which `detours train --set` and recipe files use, too.
"""
# ruff: noqa: RUF009  (`setting` returns a dataclass field, not a default)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from detours.choices import DROPOUTS, Backbone, Decoder, Directions, Encoder, Head, Jump, Level, Norm, PoolOf
from detours.errors import InputError, short_repr
from detours.training.recipe.choices import (
    METRICS,
    ClassWeights,
    Evaluation,
    Metric,
    Model,
    Pool,
    Precision,
    Preset,
    RegressionLoss,
    Schedule,
    Task,
    Ties,
)
from detours.training.recipe.idle import idle
from detours.training.recipe.values import ByLevel, Setting, in_type, setting

CODE = ("training", "nn", "data.encoder", "data.sampling", "data.sampling_numba")
"""The code that determines the results of a run; digests of data and splits are in its key."""
OTHER_CODE = tuple(
    f"training.{name}"
    for name in (
        "recipe",
        "runs",
        "stacks",
        "logs",
        "pool",
        "door",
        "saved",
        "checkpoint",
        "search",
        "divergence",
        "cost",
    )
)
"""The recipe is in the key itself; the others manage runs and results, or explain errors."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One training run; `recipe` creates it from a preset.

    The whole recipe is part of the key of a finished run, so a run with any other value is another run. Values of
    "paper" are those of the paper (its appendix); where the paper gives none they are our choice, such as the batch
    size of graph data. Those of "ours" are small enough for a CPU; those of node data were chosen on the validation
    parts of Texas, Cornell and Wisconsin, the others by judgement. `recipes/` has values for single data sets.
    """

    # the identity of the run, derived from the data: not settings
    data: str
    digest: str
    splits: str
    fold: int
    level: Level
    experiment: str = "networks"
    """The folder of the store that the finished run is kept in."""

    preset: Preset = setting("The preset all other values start from.", "ours", "paper")
    model: Model = setting("The network: plain, weighted by detour numbers, or with detour tokens.", "mdnn")
    backbone: Backbone = setting("The convolution.", "gin")
    task: Task = setting("What is learned; by default inferred from the targets of the data.", "classification")
    metric: Metric = setting(
        "The metric that chooses the best epoch and is reported; the default is that of the task.", "accuracy"
    )
    class_weights: ClassWeights = setting("Whether the loss gives all classes the same weight.", "none")
    regression_loss: RegressionLoss = setting("Regression: absolute or squared error of standardised targets.", "l1")
    k: int = setting(
        "The longest detour counted, in edges; model plain sees none without edge_den or node_den.", 4, 2, minimum=2
    )
    log: bool = setting("Whether detour numbers enter as log(1 + number).", True, False)
    by_length: bool = setting("Whether MDNN sees one number per length of detour, or their sum.", True, False)
    use_den: bool = setting(
        "Whether the tokens of MDNN carry detour numbers; false, for edge_den and node_den too, is the ablation.", True
    )
    directed: bool = setting(
        "Node data: whether arcs are used as stored, or in both directions.", False, ByLevel(False, True)
    )
    directions: Directions = setting("With directed=true: along which arcs messages go.", "in")
    standardise: bool = setting("Whether node attributes other than 0/1 columns are standardised.", True, False)
    hidden: int = setting("Channels of every layer.", 64, 768, minimum=1)
    layers: int = setting("Layers between encoder and decoder.", ByLevel(4, 1), 4, minimum=0)
    encoder: Encoder = setting(
        "From features to the first state; hops is a map per distance.", ByLevel("conv", "linear"), "conv"
    )
    hops: int = setting("Encoder hops: the longest walk, in arcs.", 2, minimum=1)
    hop_den: bool = setting("Encoder hops of MDNN: whether detour numbers weight a second set of walks.", False)
    decoder: Decoder = setting("From the last state to the readout.", ByLevel("conv", "none"), "conv")
    norm: Norm = setting("Norm before every activation between layers.", ByLevel("batch", "none"), "none")
    jump: Jump = setting("Which states the decoder sees: the last, or all of them.", "last")
    gate: bool = setting("Whether what a layer adds is scaled by a learned number that starts at 0.", False)
    skip: bool = setting("Whether the readout also sees the raw features.", ByLevel(False, True), False)
    pool: Pool = setting("Graph data: the pools over the nodes.", "max")
    pool_of: PoolOf = setting("Graph data: what is pooled.", "logits")
    head: Head = setting("From the readout to the logits.", "linear")
    transformer_layers: int = setting("Transformer layers in each layer of MDNN.", 1, ByLevel(12, 2), minimum=1)
    heads: int = setting("Attention heads.", ByLevel(1, 4), minimum=1)
    token_norm: Norm = setting("Norm inside the transformers of MDNN.", ByLevel("batch", "none"), "batch")
    den_bias: bool = setting("Whether detour numbers also bias the attention of MDNN.", False)
    detour_gate: bool = setting(
        "Whether MDNN starts as the plain network: detours enter scaled by a learned number that starts at 0.", False
    )
    pe: int = setting("Laplacian eigenvectors per node.", ByLevel(8, 0), 8, minimum=0)
    cycle_features: bool = setting(
        "Whether arcs also carry the length of their shortest detour, and whether they are bridges.", False
    )
    edge_den: bool = setting("Whether convolutions see the features of arcs that MDNN's tokens have.", False)
    edge_features: bool = setting(
        "Whether tokens and convolutions see the labels and attributes that the edges of the data have.", False
    )
    node_den: bool = setting("Whether log(1 + detour numbers) of nodes are among their features.", False)
    dropout: float = setting("Dropout after every layer.", 0.0, minimum=0, below=1)
    input_dropout: float = setting("Dropout of the features.", ByLevel(0.0, 0.5), 0.0, minimum=0, below=1)
    layer_dropout: float = setting(
        "Share of the nodes to which a layer adds nothing in training.", 0.0, minimum=0, below=1
    )
    lr: float = setting("Learning rate of AdamW.", ByLevel(1e-3, 1e-2), 1e-5, above=0)
    weight_decay: float = setting("Weight decay of AdamW.", ByLevel(0.01, 0.1), 0.01, minimum=0)
    warmup: float = setting("Share of the epochs over which the learning rate rises.", 0.02, 0.005, minimum=0, below=1)
    schedule: Schedule = setting("How the learning rate falls to 0 at the last epoch, after it has risen.", "constant")
    epochs: int = setting("Maximum number of epochs.", 300, 500, minimum=1)
    patience: int = setting("Epochs without a better validation result before training stops.", 100, 250, minimum=1)
    # Validation parts are small (17 graphs of MUTAG), so many epochs tie in accuracy: in "ours" the loss decides.
    ties: Ties = setting("Best of the epochs with equal validation score.", "loss", "first")
    smooth: float = setting(
        "Share of earlier epochs in the validation score that decides which epoch is best.", 0.0, minimum=0, below=1
    )
    average: float = setting(
        "Share of earlier steps in the weights that are evaluated and saved, an average.", 0.0, minimum=0, below=1
    )
    batch_size: int = setting(
        "Graphs per step, or nodes where neighbours are sampled.", ByLevel(32, 256), ByLevel(16, 256), minimum=1
    )
    neighbours: tuple[int, ...] = setting(
        "Node data: neighbours sampled per hop, -1 for all; empty for the whole graph in one step.",
        (),
        ByLevel((), (15, 10)),
        minimum=-1,
    )
    evaluation: Evaluation = setting(
        "With neighbours: whether validation and test see the whole graph, or samples as training does.",
        "whole",
        ByLevel("whole", "sampled"),
        before="whole",
    )
    precision: Precision = setting("Number format of the computation.", "32-true")
    seed: int = setting("Seed of weights and dropout, with the fold.", 0, minimum=0, maximum=2**32 - 1)

    def __post_init__(self) -> None:
        for name in settings():
            object.__setattr__(self, name, checked(name, getattr(self, name)))
        if self.hidden % self.heads and "heads" not in idle(vars(self)):
            raise InputError(f"{self.heads} heads do not divide the {self.hidden} hidden channels; change either.")
        if not self.use_den and self.model != "mdnn":
            raise InputError(f"use_den=false needs model mdnn, but the model is {self.model}; use model plain instead.")
        if self.directions != "in" and not self.directed:
            raise InputError(f"directions={self.directions} needs directed=true: edges have no direction.")
        if self.encoder == "hops" and self.level == "graph":
            raise InputError(f"encoder hops applies to node data, but {self.data} has classes of graphs.")
        if self.hop_den and (self.model != "mdnn" or self.encoder != "hops"):
            raise InputError(f"hop_den=true needs model mdnn with encoder hops, not {self.model} with {self.encoder}.")
        if "+" in self.pool and self.pool_of == "logits":
            raise InputError(f"pool={self.pool} needs pool_of=states.")
        if self.metric not in METRICS[self.task]:
            allowed = " or ".join(METRICS[self.task])
            raise InputError(f"task={self.task} is measured by {allowed}, but metric={self.metric} was given.")
        if self.class_weights != "none" and self.task == "regression":
            raise InputError(f"class_weights={self.class_weights} needs classes, but the task is regression.")
        if 0 in self.neighbours:
            raise InputError(f"neighbours must be 1 or more per hop, or -1 for all, but they are {self.neighbours}.")
        if self.level == "graph" and (self.neighbours or self.directed):
            name = "neighbours" if self.neighbours else "directed"
            raise InputError(f"{name} applies to node data, but {self.data} has classes of graphs; leave it out.")

    def key(self) -> dict[str, Any]:
        """Return the key of the finished run in the store, as JSON represents it."""
        from detours.store import code_digest  # here: the command line imports this module at every start

        plain = {name: _plain(value) for name, value in vars(self).items()}
        code = code_digest(*CODE, without=OTHER_CODE)
        return {"method": f"{self.model} {self.backbone}", **plain, "code": code}

    @property
    def skips_graphs(self) -> bool:
        """Whether masked graphs can be left out of batches: with dropout, they change the random bits of others."""
        return self.level == "graph" and not any(getattr(self, name) for name in DROPOUTS)

    @property
    def arc_channels(self) -> int:
        """The number of features of every arc: counts of detours, then those of `cycle_features`."""
        return (self.k - 1 if self.by_length else 1) + self.cycle_features * (self.k + 1)

    @property
    def detour_columns(self) -> int:
        """The number of detour values of every arc: for model weighted a weight, then the features that tokens or
        convolutions see."""
        return (self.model == "weighted") + self.detour_features

    @property
    def detour_features(self) -> int:
        """The number of detour features of every arc that tokens (MDNN) or convolutions (`edge_den`) see."""
        return self.arc_channels if self.edge_den or (self.model == "mdnn" and self.use_den) else 0

    @property
    def sees_detours(self) -> bool:
        """Whether detour numbers enter the network."""
        return "k" not in idle(vars(self))

    @property
    def blocks(self) -> int:
        """The width of the input in multiples of the features: above 1 for encoder hops."""
        per_hop = (1 + (self.model == "weighted" or self.hop_den)) * (1 + (self.directions == "both"))
        return 1 + self.hops * per_hop if self.encoder == "hops" else 1

    def differences(self, other: Mapping[str, Any]) -> str:
        """Describe where the key of another recipe differs; empty if nowhere."""
        return ", ".join(
            f"{name} {short_repr(other.get(name))} there and {short_repr(value)} here"
            for name, value in self.key().items()
            if other.get(name) != value
        )

    def to_toml(self, data: str | None = None) -> str:
        """Return the data set, by its name or as `data` says, and all settings as a recipe file."""
        import json

        data = self.data if data is None else data
        lines = [f"data = {json.dumps(data, ensure_ascii=False)}"] if data else []
        for name, each in settings().items():
            choices = f" Choices: {', '.join(choices_of(name))}." if choices_of(name) else ""
            # JSON writes strings, numbers, booleans and lists of numbers as TOML does.
            lines.append(f"{f'{name} = {json.dumps(getattr(self, name))}':<24}  # {each.doc}{choices}")
        return "\n".join(lines) + "\n"


@cache
def settings() -> dict[str, Setting]:
    """Every setting by its name, in the order of `Recipe`."""
    return {each.name: each.metadata["setting"] for each in fields(Recipe) if "setting" in each.metadata}


def as_before(preset: str, level: str) -> dict[str, Any]:
    """Return the values, as JSON represents them, that stand for the time before each setting existed, for a preset.

    Finished runs and saved models lack settings that were added later; these values complete them.
    """
    return {name: _plain(each.as_before(preset, level)) for name, each in settings().items()}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@cache
def _types() -> dict[str, Any]:
    return get_type_hints(Recipe)


def setting_type(name: str) -> Any:
    """Return the type of a setting."""
    return _types()[name]


def choices_of(name: str) -> tuple[str, ...]:
    """Return the values that a setting may have; none if it is not a choice.

    >>> choices_of("schedule")
    ('constant', 'linear', 'cosine')
    """
    kind = setting_type(name)
    return get_args(kind) if get_origin(kind) is Literal else ()


def checked(name: str, value: Any) -> Any:
    """Return the value of a setting in its type, given as such or as a string, or raise `InputError`.

    >>> checked("lr", "1e-4"), checked("log", "false"), checked("hidden", 64)
    (0.0001, False, 64)
    """
    if name not in settings():
        words = [word for word in name.split("_") if word in settings()]  # pe of pe_channels
        similar = words or get_close_matches(name, settings(), n=1)
        instead = f"did you mean {similar[0]}?" if similar else f"it has {', '.join(settings())}."
        raise InputError(f"a recipe has no setting {short_repr(name)}; {instead}")
    return in_type(name, value, setting_type(name), settings()[name].bounds)
