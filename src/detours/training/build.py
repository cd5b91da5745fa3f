"""The networks of the paper's tables, built from a recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from detours.errors import InputError
from detours.nn import MDNN, NetworkOptions, PlainNetwork, WeightedNetwork
from detours.training.batches.inputs import ArcColumns
from detours.training.batches.packed import Batch
from detours.training.recipe import Recipe, settings

SHARED = tuple(field.name for field in fields(NetworkOptions) if field.name in settings() or field.name == "level")
"""Options of all networks that a recipe has under the same name."""
OF_MDNN = tuple(
    each.name
    for each in signature(MDNN).parameters.values()
    if each.kind is each.KEYWORD_ONLY and each.name in settings()
)
"""Options of MDNN alone that a recipe has under the same name."""


def network_of(recipe: Recipe, in_channels: int, outputs: int, edge_width: int = 0) -> nn.Module:
    """Return the network of a recipe, its parameters drawn from the recipe's seed and fold.

    Args:
        recipe: The recipe.
        in_channels: Columns of x, with those that `prepared` has added to the features.
        outputs: The number of outputs.
        edge_width: The number of edge features that the network sees.
    """
    with _DrawnFrom(torch.Generator().manual_seed(1_000_003 * recipe.seed + recipe.fold)):
        return _network(recipe, in_channels, outputs, edge_width)


def networks_of(recipes: Sequence[Recipe], in_channels: int, outputs: int, edge_width: int = 0) -> list[nn.Module]:
    """Return the network of each recipe; their parameters are drawn in parallel."""
    first = network_of(
        recipes[0], in_channels, outputs, edge_width
    )  # first: PyG changes the class of a layer when it is first created
    # torch records the default dtype, and whether a mode is active, per process: the outermost one restores both
    with _DrawnFrom(torch.Generator()), ThreadPoolExecutor(max_workers=torch.get_num_threads()) as pool:
        return [first, *pool.map(lambda each: network_of(each, in_channels, outputs, edge_width), recipes[1:])]


class _DrawnFrom(TorchDispatchMode):  # type: ignore[misc]  # PyTorch's types are not followed
    """Draw the random numbers of this thread from a given generator, in 32 bits: in 64 bits they would be others."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.generator = generator

    def __enter__(self) -> _DrawnFrom:
        self.default_dtype = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        torch.set_default_dtype(self.default_dtype)

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if any(each.name == "generator" for each in function._schema.arguments):
            kwargs["generator"] = self.generator
        return function(*args, **kwargs)


def _network(recipe: Recipe, in_channels: int, outputs: int, edge_width: int) -> nn.Module:
    common: dict[str, Any] = {name: getattr(recipe, name) for name in SHARED}
    common |= {"num_layers": recipe.layers, "edge_channels": recipe.edge_den * recipe.arc_channels + edge_width}
    sizes = (in_channels // recipe.blocks, recipe.hidden, outputs, recipe.backbone)
    if recipe.model == "plain":
        return PlainNetwork(*sizes, **common)
    if recipe.model == "weighted":
        return WeightedNetwork(*sizes, **common)
    common |= {name: getattr(recipe, name) for name in OF_MDNN}
    # edge features enter tokens where detour numbers do, so this input may exist without detours
    common["use_den"] = recipe.use_den or edge_width > 0
    den_channels = recipe.use_den * recipe.detour_features + edge_width
    return MDNN(*sizes, **common, den_channels=den_channels, pe_channels=recipe.pe)


def arguments(
    batch: Batch, recipe: Recipe, x: Tensor | None = None, counted: Tensor | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a network for a batch.

    Args:
        batch: The batch.
        recipe: The recipe of the network.
        x: Features in place of those of the batch.
        counted: [nodes] those that count in batch norms; None for all.
    """
    model, pe, features, columns = recipe.model, batch.pe, batch.arc_features, ArcColumns.of(recipe)
    den = edge_attr = None
    if features is not None:
        # the last columns are features of edges, if there are any
        edge_attr = features[:, (columns.detours if recipe.edge_den else columns.edges).start :]
        if model == "weighted":
            den = features[:, columns.weight].squeeze(1)
        elif model == "mdnn":
            den = features[:, (columns.detours if recipe.use_den else columns.edges).start :]
    positional = (
        batch.x if x is None else x,
        batch.edge_index,
        den,
        pe if model == "mdnn" and pe is not None and pe.size(1) else None,
        batch.batch,
    )
    named = {"num_graphs": batch.num_graphs, "tokens": batch.tokens, "counted": counted, "edge_attr": edge_attr}
    return positional, named


def load_weights(network: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Load weights into a network, or raise `InputError` if they are those of another."""
    expected = network.state_dict()
    different = [name for name in expected.keys() | weights.keys() if name not in expected or name not in weights]
    different = different or [name for name, value in weights.items() if value.shape != expected[name].shape]
    if different:
        raise InputError(
            f"{where} holds the weights of another network ({sorted(different)[0]} differs); take its own."
        )
    network.load_state_dict(dict(weights))
