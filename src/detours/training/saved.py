"""Saved models: weights with everything needed to use them on new graphs."""

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
from detours.atomic import atomic_write
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
    """A trained network with its recipe, and the numbering of its features and classes.

    The file holds a string and tensors, written by `torch.save`: reading it runs no code.

    >>> from tempfile import TemporaryDirectory
    >>> from detours.data import rings
    >>> from detours.training import fit
    >>> with TemporaryDirectory() as folder:
    ...     cells = fit(rings(40), folds=[0], epochs=1, hidden=8, layers=1, device="cpu", save=folder)
    ...     (file,) = Path(folder).glob("*.pt")
    ...     SavedModel.load(file).predict(rings(10)).shape
    (10, 2)
    """

    recipe: Recipe
    encoder: Encoder
    classes: Int64
    """The classes in the order of the outputs; the indices of the columns for other tasks."""
    scaling: Scaling
    weights: Mapping[str, Tensor]
    targets: Scaling | None = None
    """Shift and scale of the targets of regression."""
    class_names: tuple[str, ...] | None = None
    """The names of `classes` if they were given as strings."""

    def __repr__(self) -> str:
        recipe, weights = self.recipe, sum(each.numel() for each in self.weights.values())
        outputs = f"{len(self.classes):,} {'classes' if recipe.task == 'classification' else 'outputs'}"
        return f"SavedModel({recipe.model} {recipe.backbone}, {recipe.level}s; {outputs}; {weights:,} weights)"

    def save(self, path: str | Path) -> None:
        """Write the file, completely or not at all."""
        path = Path(path)
        about = {
            "detours": __version__,
            "recipe": asdict(self.recipe),
            "encoder": self.encoder.to_json(),
            "classes": self.classes.tolist(),
            "scaling": self.scaling.to_json(),
            "targets": None if self.targets is None else self.targets.to_json(),
            "class_names": self.class_names,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
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
            content = load_tensors(path)
            about = json.loads(content["about"])
            recipe = about["recipe"]
            return cls(
                Recipe(**as_before(recipe["preset"], recipe["level"]) | recipe),
                Encoder.from_json(about["encoder"]),
                np.array(about["classes"], np.int64),
                Scaling.from_json(about["scaling"]),
                content["weights"],
                None if about["targets"] is None else Scaling.from_json(about["targets"], np.float64),
                tuple(names) if (names := about.get("class_names")) else None,  # older models have none
            )
        except (RuntimeError, AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
            if isinstance(error, InputError) and not isinstance(error, FileFormatError):
                raise
            raise FileFormatError("this is not a model of `detours train --save`, or it is damaged.", path) from None

    def read(self, data: Any, root: str | Path | None = None) -> GraphSet:
        """Return data for the network, from anything that `detours.data.load` takes, with targets or without.

        A single graph of any library is taken as a list of one graph; outputs are those of its nodes if the network was
        trained on nodes.
        """
        level = self.recipe.level
        directed = None if level == "node" else False
        if level == "node" and isinstance(data, list | tuple) and len(data) == 1 and _is_in_memory(data[0]):
            data = data[0]
        single = _is_in_memory(data) and (isinstance(data, Graph) or not hasattr(data, "edge_index"))
        if single:
            read = graph_set_of_graphs([data], targets=False, directed=directed)
        else:
            read = load(data, root, targets=False)
        read.check_graphs()
        if len(read) == 1 and (not len(read.y) or read.graphs[0].num_nodes == 1):
            return replace(read, y=np.empty(0), level=level)  # one node: the level cannot be inferred
        if read.level != level:
            has = f"targets of {read.level}s" if len(read.y) else "several graphs"
            raise InputError(
                f"the model was trained on targets of {level}s, but {read.name} has {has}; give data of the same kind."
            )
        return read

    def probabilities(self, data: Any, device: torch.device | str = "cpu") -> NDArray[np.float64]:
        """Return float64 [graphs or nodes, classes], the probability of each class, or of each label."""
        if self.recipe.task == "regression":
            raise InputError("the model predicts numbers, which have no probabilities; use predict.")
        return self.predict(data, device)

    def predict(self, data: Any, device: torch.device | str = "cpu") -> NDArray[np.float64]:
        """Return float64 [graphs or nodes, outputs]: probabilities of classes or labels, or predicted numbers.

        Args:
            data: Anything that `detours.data.load` takes, such as a `GraphSet`, PyG data or a path, or a single graph.
                Targets are optional, and not used.
            device: Where to compute: "auto", "cpu", "cuda" or "cuda:0".
        """
        where = torch.device(chosen_device(device))
        data = self.read(data)
        rows = len(data) if data.level == "graph" else data.graphs[0].num_nodes
        data = as_trained(data, self.recipe)
        _warn_large_degrees(data, self.encoder)
        inputs = prepared(data, self.encoder, np.zeros(rows, np.int64), self.recipe)
        dtype = torch.float64 if self.recipe.precision == "64-true" else torch.float32
        network = network_of(self.recipe, inputs.x.shape[1], len(self.classes), inputs.edge_width).to(dtype)
        load_weights(network, self.weights, "the model")
        network = network.to(where).eval()
        batches = batches_of(self.scaling.apply(inputs, self.recipe.precision), self.recipe, where)
        collected = []
        with torch.no_grad():
            for batch in batches.evaluation():
                positional, named = arguments(batch, self.recipe)
                output = network(*positional, **named)
                collected.append(output if batch.rows is None else output[batch.rows])
        outputs = torch.cat(collected).double().cpu()
        predicted: NDArray[np.float64]
        if self.targets is not None:
            predicted = outputs.numpy() * self.targets.scale + self.targets.shift
        else:
            predicted = (outputs.softmax(1) if self.recipe.task == "classification" else outputs.sigmoid()).numpy()
        return predicted


def _is_in_memory(data: Any) -> bool:
    return is_one_graph(data) and not isinstance(data, str | os.PathLike)


def _warn_large_degrees(data: GraphSet, encoder: Encoder) -> None:
    """Warn of nodes with a degree above those of the training data: they share the column of the largest."""
    largest = encoder.largest_degree
    if largest is None:
        return
    degrees = np.concatenate([graph.degree for graph in data.graphs])
    count = int((degrees > largest).sum())
    if count:
        have, they = ("has", "it is") if count == 1 else ("have", "they are")
        warn_caller(
            f"{count:,} of {len(degrees):,} nodes {have} a degree above {largest}, the largest of the training data; "
            f"{they} treated as {largest}.",
            UserWarning,
        )


def _models_in(folder: Path) -> str:
    """Return a hint what to give instead of a folder."""
    names = sorted(file.name for file in folder.glob("*.pt"))
    if not names:
        return "give a .pt file that `detours train --save DIR` wrote: none is in it"
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return f"give a file in it: {', '.join(names[:3])}{more}"
