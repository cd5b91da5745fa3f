"""Saved models: weights with all that is needed to use them on new graphs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from detours import __version__
from detours.arrays import Int64
from detours.atomic import replacing
from detours.containers import load_tensors
from detours.data import Encoder, GraphSet, load
from detours.data.readers.graphs import graph_set_of_graphs
from detours.errors import FileFormatError, InputError, warn_caller
from detours.graph import Graph
from detours.graph.graph import is_one_graph
from detours.training.batches.choose import batches_of
from detours.training.batches.inputs import Scaling, as_trained, prepared
from detours.training.build import arguments, load_weights, network_of
from detours.training.devices import chosen_device
from detours.training.recipe import Recipe, as_before


@dataclass(frozen=True, repr=False)
class SavedModel:
    """A trained network with the recipe it came from, and how features and classes are numbered.

    The file is what `torch.save` makes of a text and tensors: reading it runs no code.
    """

    recipe: Recipe
    encoder: Encoder
    classes: Int64
    """The classes in the order of the outputs; the numbers of the columns for other tasks."""
    scaling: Scaling
    weights: Mapping[str, Tensor]
    targets: Scaling | None = None
    """Shift and scale of the targets of regression."""

    def __repr__(self) -> str:
        recipe, weights = self.recipe, sum(each.numel() for each in self.weights.values())
        outputs = f"{len(self.classes):,} {'classes' if recipe.task == 'classification' else 'outputs'}"
        return f"SavedModel({recipe.model} {recipe.backbone}, {recipe.level}s; {outputs}; {weights:,} weights)"

    def save(self, path: str | Path) -> None:
        """Write the file, whole or not at all."""
        path = Path(path)
        about = {
            "detours": __version__,
            "recipe": asdict(self.recipe),
            "encoder": self.encoder.to_json(),
            "classes": self.classes.tolist(),
            "scaling": self.scaling.to_json(),
            "targets": None if self.targets is None else self.targets.to_json(),
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            torch.save({"about": json.dumps(about), "weights": dict(self.weights)}, file)

    @classmethod
    def load(cls, path: str | Path) -> SavedModel:
        """Read a file written by `save`."""
        path = Path(path)
        if not path.exists():
            raise FileFormatError("there is no such file; `detours train --save DIR` writes models.", path)
        if path.is_dir():
            raise FileFormatError(f"this is a folder; {_models_in(path)}.", path)
        try:
            found = load_tensors(path)
            about = json.loads(found["about"])
            known = about["recipe"]
            return cls(
                Recipe(**as_before(known["preset"], known["level"]) | known),
                Encoder.from_json(about["encoder"]),
                np.array(about["classes"], np.int64),
                Scaling.from_json(about["scaling"]),
                found["weights"],
                None if about["targets"] is None else Scaling.from_json(about["targets"], np.float64),
            )
        except (RuntimeError, AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
            if isinstance(error, InputError) and not isinstance(error, FileFormatError):
                raise
            raise FileFormatError("this is no model of `detours train --save`, or it is damaged.", path) from None

    def read(self, data: Any, root: str | Path | None = None) -> GraphSet:
        """Return whatever `detours.data.load` takes, with targets or without, as data that the network can be used on.

        A single graph of any library is taken as a list of it; its nodes are asked about if the network was trained on
        nodes.
        """
        one = is_one_graph(data) and not isinstance(data, str | os.PathLike)
        single = one and (isinstance(data, Graph) or not hasattr(data, "edge_index"))
        read = graph_set_of_graphs([data], targets=False) if single else load(data, root, targets=False)
        read.check_graphs()
        level = self.recipe.level
        if len(read) == 1 and (not len(read.y) or read.graphs[0].num_nodes == 1):
            return replace(read, y=np.empty(0), level=level)  # a graph of one node may be meant either way
        if read.level != level:
            has = f"targets of {read.level}s" if len(read.y) else "several graphs"
            raise InputError(
                f"the model was trained on targets of {level}s, but {read.name} has {has}; give data of its own kind."
            )
        return read

    def probabilities(self, data: Any, device: torch.device | str = "cpu") -> NDArray[np.float64]:
        """float64 [graphs or nodes, classes]: how likely the network finds each class, or each label of several."""
        if self.recipe.task == "regression":
            raise InputError("the model predicts numbers, which have no probabilities; use predict.")
        return self.predict(data, device)

    def predict(self, data: Any, device: torch.device | str = "cpu") -> NDArray[np.float64]:
        """float64 [graphs or nodes, outputs]: probabilities of classes or labels, or numbers.

        Args:
            data: Whatever `detours.data.load` takes, such as a `GraphSet`, PyG data or a path, or a single graph.
                Targets are not used, and need not be there.
            device: Where to compute: "auto", "cpu", "cuda" or "cuda:0".
        """
        where = torch.device(chosen_device(device))
        data = self.read(data)
        number = len(data) if data.level == "graph" else data.graphs[0].num_nodes
        data = as_trained(data, self.recipe)
        _tell_large_degrees(data, self.encoder)
        inputs = prepared(data, self.encoder, np.zeros(number, np.int64), self.recipe)
        dtype = torch.float64 if self.recipe.precision == "64-true" else torch.float32
        network = network_of(self.recipe, inputs.x.shape[1], len(self.classes), inputs.edge_width).to(dtype)
        load_weights(network, self.weights, "the model")
        network = network.to(where).eval()
        batches = batches_of(self.scaling.apply(inputs), self.recipe, where)
        answers = []
        with torch.no_grad():
            for batch in batches.evaluation():
                positional, named = arguments(batch, self.recipe)
                found = network(*positional, **named)
                answers.append(found if batch.rows is None else found[batch.rows])
        outputs = torch.cat(answers).double().cpu()
        predicted: NDArray[np.float64]
        if self.targets is not None:
            predicted = outputs.numpy() * self.targets.scale + self.targets.shift
        else:
            predicted = (outputs.softmax(1) if self.recipe.task == "classification" else outputs.sigmoid()).numpy()
        return predicted


def _tell_large_degrees(data: GraphSet, encoder: Encoder) -> None:
    """Warn of nodes whose degree the training data did not have: they share the column of the largest."""
    largest = encoder.largest_degree
    if largest is None:
        return
    degrees = np.concatenate([graph.degree for graph in data.graphs])
    number = int((degrees > largest).sum())
    if number:
        have, they = ("has", "it is") if number == 1 else ("have", "they are")
        warn_caller(
            f"{number:,} of {len(degrees):,} nodes {have} a degree above {largest}, the largest of the training data; "
            f"{they} taken for {largest}.",
            UserWarning,
        )


def _models_in(folder: Path) -> str:
    """Return what to give instead of a folder."""
    names = sorted(file.name for file in folder.glob("*.pt"))
    if not names:
        return "give a .pt file that `detours train --save DIR` wrote: none is in it"
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return f"give a file in it: {', '.join(names[:3])}{more}"
