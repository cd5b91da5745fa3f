"""The options of `detours train` and how their values are read; what the preset decides is None unless given."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from detours.cli.options import _parse_k


class ModelName(StrEnum):
    plain = "plain"
    weighted = "weighted"
    mdnn = "mdnn"


class BackboneName(StrEnum):
    gcn = "gcn"
    gat = "gat"
    gin = "gin"


class PresetName(StrEnum):
    ours = "ours"
    paper = "paper"


class PrecisionName(StrEnum):
    single = "32-true"
    bf16 = "bf16-mixed"
    double = "64-true"


def parsed_numbers(text: str) -> list[int]:
    """Numbers and ranges, in order and once each.

    >>> parsed_numbers("0-2,7")
    [0, 1, 2, 7]
    """
    numbers: list[int] = []
    for part in str(text).split(","):
        found = re.fullmatch(r"\s*(\d{1,6})(?:\s*-\s*(\d{1,6}))?\s*", part)
        if found is None or int(found[2] or found[1]) < int(found[1]):
            raise typer.BadParameter(f"{text!r}: give numbers and ranges, such as 0-9 or 0,3,5-7")
        numbers += range(int(found[1]), int(found[2] or found[1]) + 1)
    return list(dict.fromkeys(numbers))


def _parse_ks(text: str) -> list[int]:
    return [_parse_k(k) for k in parsed_numbers(text)]


def _parse_neighbours(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\s*-?\d{1,9}(\s*,\s*-?\d{1,9})*\s*", text):
        raise typer.BadParameter(f"{text!r}: give how many to sample in each hop, such as 15,10")
    return tuple(map(int, text.split(",")))


def _preset(help: str, *names: str, **more: Any) -> Any:
    """An option whose default is the preset's."""
    return typer.Option(*names, help=f"{help}  [default: the preset's]", show_default=False, **more)


Data = Annotated[
    str,
    typer.Option(metavar="NAME", help="A data set of the paper, or built in: rings, fused-rings, ring-lattice."),
]
Root = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="The folder of the raw data sets.  [default: $DETOURS_DATA]", show_default=False),
]
Model = Annotated[ModelName, typer.Option(help="Plain, DeN-weighted, or with detour tokens.")]
Backbone = Annotated[BackboneName, typer.Option(help="The convolution.")]
Folds = Annotated[str, typer.Option(metavar="LIST", parser=str, help="Which folds, such as 0-9 or 0,3.")]
Preset = Annotated[PresetName, typer.Option(help="Our settings, or the paper's to the letter.")]
Ks = Annotated[
    Any,
    _preset("The longest detour; of several, such as 2-5, validation chooses.", "-k", metavar="K", parser=_parse_ks),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of weights, order, signs and dropout.")]
Out = Annotated[str, typer.Option(metavar="DIR", help="The folder of finished runs and logs.")]
Save = Annotated[Path | None, typer.Option(metavar="DIR", help="Keep the best models there, for `detours predict`.")]
Jobs = Annotated[int, typer.Option(min=1, metavar="N", help="Folds to train side by side.")]
Device = Annotated[str, typer.Option(metavar="NAME", help="auto, cpu, cuda or cuda:0.")]
Devices = Annotated[int, typer.Option(min=1, metavar="N", help="Processes that share every step.")]
Precision = Annotated[
    PrecisionName | None,
    typer.Option(help="[default: 32-true; bf16-mixed on a GPU, unless the preset is paper]", show_default=False),
]
Compile = Annotated[bool, typer.Option("--compile", help="Let torch compile the network.")]
Hidden = Annotated[int | None, _preset("Channels.", min=1)]
Layers = Annotated[int | None, _preset("Layers between encoder and decoder.", min=1)]
TransformerLayers = Annotated[int | None, _preset("Transformer layers in each of them.", min=1)]
Heads = Annotated[int | None, _preset("Heads of attention.", min=1)]
Pe = Annotated[int | None, _preset("Laplacian eigenvectors to a node.", min=0)]
Norm = Annotated[bool | None, _preset("Batch norm between the layers, or none.", "--norm/--no-norm")]
Dropout = Annotated[float | None, _preset("After every layer.", min=0, max=1)]
LearningRate = Annotated[float | None, _preset("Learning rate.")]
WeightDecay = Annotated[float | None, _preset("Of AdamW.", min=0)]
Warmup = Annotated[float | None, _preset("Share of the epochs in which the learning rate rises.", min=0, max=1)]
Epochs = Annotated[int | None, _preset("At most so many.", min=1)]
Patience = Annotated[int | None, _preset("Epochs without a better validation result before it ends.", min=1)]
BatchSize = Annotated[int | None, _preset("Graphs, or sampled nodes, to a step.", min=1)]
Neighbours = Annotated[
    Any, _preset("Node data: sample so many in each hop, such as 15,10.", metavar="LIST", parser=_parse_neighbours)
]
Log = Annotated[bool | None, _preset("log(1 + DeN), or DeN as it is.", "--log/--raw")]
UseDen = Annotated[bool, typer.Option("--den/--no-den", help="Tokens with detour numbers, or without: the ablation.")]
CheckpointEvery = Annotated[
    float, typer.Option(min=0, metavar="SECONDS", help="A run that is killed loses about so much.")
]
TensorBoard = Annotated[bool, typer.Option("--tensorboard", help="Also write logs for TensorBoard.")]
