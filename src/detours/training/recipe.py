"""Everything that defines a training run: the network, its inputs, how it is trained, and the fold.

`Recipe` is the one definition of every setting: name, type, documentation, allowed values, and the value in each
preset. A new setting is one line there; `detours train --set` and recipe files take it from there.
"""
# ruff: noqa: RUF009  (`setting` returns a dataclass field, not a default)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from detours.checks import check_choice, check_integer, check_number
from detours.errors import FileFormatError, InputError, shown

CODE = ("training", "nn", "data.encoder", "data.sampling", "data.sampling_numba")
"""The code that determines the numbers of a run; the content of data and splits is in its key."""
OTHER_CODE = tuple(
    f"training.{name}" for name in ("recipe", "folds", "logs", "pool", "door", "saved", "checkpoint", "search")
)
"""The recipe is in the key itself; the others move runs and results around."""

Level = Literal["graph", "node"]
Model = Literal["plain", "weighted", "mdnn"]
Backbone = Literal["gcn", "gat", "gin"]
Preset = Literal["ours", "paper"]
Precision = Literal["32-true", "bf16-mixed", "64-true"]
Ties = Literal["loss", "first"]
Schedule = Literal["constant", "linear", "cosine"]
Encoder = Literal["conv", "linear", "mlp", "hops"]
Decoder = Literal["conv", "none"]
Norm = Literal["batch", "layer", "none"]
Jump = Literal["last", "cat", "max", "mean"]
Pool = Literal["max", "mean", "add", "mean+max", "mean+add", "max+add", "mean+max+add"]
PoolOf = Literal["logits", "states"]
Head = Literal["linear", "mlp"]
Directions = Literal["in", "out", "both"]
Evaluation = Literal["whole", "sampled"]
Task = Literal["classification", "regression", "multilabel"]
Metric = Literal["accuracy", "roc_auc", "ap", "mae"]
ClassWeights = Literal["none", "balanced"]
RegressionLoss = Literal["l1", "mse"]

METRICS = {"classification": ("accuracy", "roc_auc", "ap"), "regression": ("mae",), "multilabel": ("roc_auc", "ap")}
"""The metrics of each task, its main one first."""
LOWER_IS_BETTER = ("mae",)
RANKED = ("roc_auc", "ap")
"""Metrics of a whole part, not the mean of a score of each answer."""

RECIPES = Path(__file__).with_name("recipes")
"""Recipe files of single data sets, for preset "ours"."""


class ByLevel(NamedTuple):
    """A value that differs between data sets of graphs and of nodes."""

    graph: Any
    node: Any


class Setting(NamedTuple):
    """What is known about a setting besides its name and type."""

    doc: str
    ours: Any
    paper: Any
    bounds: Mapping[str, Any]
    """What `check_integer` or `check_number` takes: minimum, maximum, above, below."""

    def default(self, preset: str, level: str) -> Any:
        """The value in a preset."""
        value = self.ours if preset == "ours" else self.paper
        return getattr(value, level) if isinstance(value, ByLevel) else value


def setting(doc: str, ours: Any, paper: Any = None, **bounds: float) -> Any:
    """Declare a setting of `Recipe`: its documentation, its value in both presets, and its bounds.

    Args:
        doc: One sentence, shown by `detours train --show-recipe`.
        ours: The value in the preset "ours"; a `ByLevel` if it depends on the kind of data.
        paper: The value in the preset "paper". Default: the same.
        bounds: What `check_integer` or `check_number` takes: `minimum`, `maximum`, `above`, `below`.
    """
    return field(metadata={"setting": Setting(doc, ours, ours if paper is None else paper, bounds)})


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One training run; `recipe` makes it from a preset.

    The whole recipe is part of the key of a finished run, so a run with any other value is another run. Values of
    "paper" are those of the paper (its appendix); where the paper gives none they are our choice, such as the batch
    size of graph data. Those of "ours" are small enough for a CPU; those of node data were chosen on the validation
    parts of Texas, Cornell and Wisconsin, the others by judgement. `recipes/` has values for single data sets.
    """

    # Which run it is: found from the data, not set.
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
    task: Task = setting("What is learned; found from the targets of the data unless it is given.", "classification")
    metric: Metric = setting(
        "What validation chooses the best epoch by, and what is reported; the default is that of the task.", "accuracy"
    )
    class_weights: ClassWeights = setting("Whether the loss gives all classes the same weight.", "none")
    regression_loss: RegressionLoss = setting("Regression: absolute or squared error of standardised targets.", "l1")
    k: int = setting("The longest detour counted, in edges.", 4, 2, minimum=2)
    log: bool = setting("Whether detour numbers enter as log(1 + number).", True, False)
    by_length: bool = setting("Whether MDNN sees one number per length of detour, or their sum.", True, False)
    use_den: bool = setting("Whether the tokens of MDNN carry detour numbers; false is the paper's ablation.", True)
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
    lr: float = setting("Learning rate of AdamW.", ByLevel(1e-3, 1e-2), 1e-5, above=0)
    weight_decay: float = setting("Weight decay of AdamW.", ByLevel(0.01, 0.1), 0.01, minimum=0)
    warmup: float = setting("Share of the epochs over which the learning rate rises.", 0.02, 0.005, minimum=0, below=1)
    schedule: Schedule = setting("How the learning rate falls to 0 at the last epoch, after it has risen.", "constant")
    epochs: int = setting("The most epochs.", 300, 500, minimum=1)
    patience: int = setting("Epochs without a better validation result before training stops.", 100, 250, minimum=1)
    # Validation parts are small (17 graphs of MUTAG), so many epochs tie in accuracy: in ours the loss decides.
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
    )
    precision: Precision = setting("Number format of the computation.", "32-true")
    seed: int = setting("Seed of weights and dropout, with the fold.", 0, minimum=0, maximum=2**32 - 1)

    def __post_init__(self) -> None:
        for name in settings():
            object.__setattr__(self, name, checked(name, getattr(self, name)))
        if self.hidden % self.heads:
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
        """The key of the finished run in the store, as JSON holds it."""
        from detours.store import code_digest  # not above: the command line imports this module at every start

        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}
        code = code_digest(*CODE, without=OTHER_CODE)
        return {"method": f"{self.model} {self.backbone}", **plain, "code": code}

    @property
    def skips_graphs(self) -> bool:
        """Whether a replica is the same if graphs that it masks are left out of batches: dropout sees their number."""
        return self.level == "graph" and not self.dropout and not self.input_dropout

    @property
    def arc_channels(self) -> int:
        """The number of features of every arc: counts of detours, then those of `cycle_features`."""
        return (self.k - 1 if self.by_length else 1) + self.cycle_features * (self.k + 1)

    @property
    def den_channels(self) -> int:
        """The number of detour values of every arc: the features that tokens or convolutions see, for model weighted a
        weight before them."""
        return (self.model == "weighted") + self.detour_features

    @property
    def detour_features(self) -> int:
        """The number of features of every arc that tokens (MDNN) or convolutions (`edge_den`) see of detours."""
        return self.arc_channels if self.edge_den or (self.model == "mdnn" and self.use_den) else 0

    @property
    def sees_detours(self) -> bool:
        """Whether detour numbers can enter the network (`use_den` aside)."""
        return self.model != "plain" or self.edge_den or self.node_den

    @property
    def blocks(self) -> int:
        """How many times as wide as the features the encoder hops makes the input."""
        ways = (1 + (self.model == "weighted" or self.hop_den)) * (1 + (self.directions == "both"))
        return 1 + self.hops * ways if self.encoder == "hops" else 1

    def differences(self, other: Mapping[str, Any]) -> str:
        """Describe where the key of another recipe differs; empty if nowhere."""
        return ", ".join(
            f"{name} {shown(other.get(name))} there and {shown(value)} here"
            for name, value in self.key().items()
            if other.get(name) != value
        )

    def to_toml(self, data: str | None = None) -> str:
        """Return the data set, by its name or as `data` says, and all settings as a recipe file."""
        import json

        data = self.data if data is None else data
        lines = [f"data = {json.dumps(data, ensure_ascii=False)}"] if data else []
        for name, each in settings().items():
            choices = (
                f" Choices: {', '.join(get_args(_types()[name]))}." if get_origin(_types()[name]) is Literal else ""
            )
            # JSON writes texts, numbers, flags and lists of numbers as TOML does.
            lines.append(f"{f'{name} = {json.dumps(getattr(self, name))}':<24}  # {each.doc}{choices}")
        return "\n".join(lines) + "\n"


def recipe(
    data: str,
    digest: str,
    splits: str,
    level: Level,
    *,
    fold: int = 0,
    experiment: str = "networks",
    preset: str = "ours",
    **changed: Any,
) -> Recipe:
    """Return the recipe of a preset with some settings changed; None keeps the value of the preset.

    Preset "ours" takes the values of `recipes/<data>.toml` in this package where there is such a file.
    """
    changed = {name: checked(name, value) for name, value in changed.items() if value is not None}
    preset = checked("preset", preset)
    values = {name: each.default(preset, level) for name, each in settings().items()} | {"preset": preset}
    shipped = shipped_recipe(data, changed.get("model", values["model"])) if preset == "ours" else {}
    values |= {"metric": METRICS[changed.get("task", values["task"])][0]} | shipped | changed
    if "log" not in changed and preset == "ours" and values["model"] == "weighted":
        values["log"] = values["backbone"] != "gcn"  # the normalisation of GCN absorbs the scale of its weights
    return Recipe(data=data, digest=digest, splits=splits, level=level, fold=fold, experiment=experiment, **values)


@cache
def shipped_recipe(data: str, model: str) -> dict[str, Any]:
    """Return the settings that the package has for a data set: those of all models, then those of the model's table."""
    import tomllib

    file = RECIPES / f"{data}.toml"
    found = tomllib.loads(file.read_text("utf-8")) if data and file.is_file() else {}
    tables = {name: found.pop(name, {}) for name in get_args(Model)}
    return {name: checked(name, value) for name, value in (found | tables[model]).items()}


def read_recipe(path: Path) -> dict[str, Any]:
    """Read the settings, and the data set if it is named, of a recipe file such as `Recipe.to_toml` makes."""
    import tomllib

    try:
        found = tomllib.loads(path.read_text("utf-8"))
        data = {"data": found.pop("data")} if isinstance(found.get("data"), str) else {}
        return data | {name: checked(name, value) for name, value in found.items()}
    except FileNotFoundError:
        raise FileFormatError("there is no such recipe file.", path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileFormatError(f"a recipe is a TOML file, but it cannot be read as one: {error}.", path) from None
    except InputError as error:
        raise FileFormatError(str(error), path) from None


def parse_setting(text: str) -> tuple[str, Any]:
    """Return the name and the value of "name=value".

    >>> parse_setting("neighbours=15,10")
    ('neighbours', (15, 10))
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"{text!r} is not of the form name=value, such as lr=1e-4.")
    return name.strip(), checked(name.strip(), value.strip())


@cache
def settings() -> dict[str, Setting]:
    """Every setting by its name, in the order of `Recipe`."""
    return {each.name: each.metadata["setting"] for each in fields(Recipe) if "setting" in each.metadata}


@cache
def _types() -> dict[str, Any]:
    return get_type_hints(Recipe)


def setting_type(name: str) -> Any:
    """Return the type of a setting."""
    return _types()[name]


def checked(name: str, value: Any) -> Any:
    """Return the value of a setting in its own type, given as such or as text, or raise `InputError`.

    >>> checked("lr", "1e-4"), checked("log", "false"), checked("hidden", 64)
    (0.0001, False, 64)
    """
    if name not in settings():
        near = get_close_matches(name, settings(), n=1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        raise InputError(f"a recipe has no setting {shown(name)}{meant}; it has {', '.join(settings())}.")
    kind, bounds = _types()[name], settings()[name].bounds
    if get_origin(kind) is Literal:
        check_choice(name, value, get_args(kind))
        return value
    if isinstance(value, str):
        value = _from_text(kind, value)
    if kind is bool:
        if not isinstance(value, bool):
            raise InputError(f"{name} must be true or false, but it is {shown(value)}.")
        return value
    if kind is int:
        return check_integer(name, value, **bounds)
    if kind is float:
        return check_number(name, value, **bounds)
    if not isinstance(value, list | tuple):
        raise InputError(f"{name} must be integers separated by commas, but it is {shown(value)}.")
    return tuple(check_integer(f"each of {name}", each, **bounds) for each in value)


def _from_text(kind: Any, text: str) -> Any:
    """Return the value that a text stands for, or the text itself if it stands for none."""
    try:
        if kind is bool:
            return {"true": True, "false": False}.get(text.lower(), text)
        if kind in (int, float):
            return kind(text)
        listed = text.strip("[] ")
        return tuple(map(int, listed.split(","))) if listed else ()
    except ValueError:
        return text
