"""Which batches a recipe asks for."""

from __future__ import annotations

import torch

from detours.errors import InputError
from detours.nn.tokens.attention import has_custom_kernel
from detours.training.batches.fixed import WASTE, FixedBatches
from detours.training.batches.inputs import Inputs
from detours.training.batches.packed import Packed
from detours.training.batches.sampled import FixedSamples, SampledNodes
from detours.training.batches.streams import Batches, GraphBatches, WholeGraph
from detours.training.recipe import Recipe


def batches_of(
    inputs: Inputs,
    recipe: Recipe,
    device: torch.device,
    steps: int = 1,
    rank: int = 0,
    world: int = 1,
    *,
    epochs: int = 0,
) -> Batches:
    """Return the batches that a recipe asks for.

    Args:
        inputs: The graphs.
        recipe: The recipe.
        device: Where the batches are used.
        steps: Steps of an epoch of graphs, or of sampled nodes.
        rank: The rank of this process among those that share every step.
        world: The number of these processes.
        epochs: The most epochs; 0 if there is no training.
    """
    dtype = torch.float64 if recipe.precision == "64-true" else torch.float32
    packed = Packed(inputs, device, dtype=dtype, tokens=recipe.model == "mdnn")
    if recipe.level == "graph":
        plain = GraphBatches(packed, recipe.batch_size, steps, rank, world)
        if world > 1 or not epochs or not may_be_fixed(recipe, packed):
            return plain
        fixed = FixedBatches(plain, epochs)
        return fixed if fixed.waste() <= WASTE else plain
    if world > 1:
        raise InputError(f"{recipe.data} is one graph, which one device holds; take --devices 1.")
    if not recipe.neighbours:
        return WholeGraph(packed)
    # a step has half as many nodes of the training part, which has about half of all nodes
    eval_batch_size = 2 * recipe.batch_size if recipe.evaluation == "sampled" else None
    sampled = SampledNodes(packed, inputs, recipe.neighbours, steps, eval_batch_size, recipe.directions)
    if not epochs or not may_be_fixed(recipe, packed):
        return sampled
    padded = FixedSamples(sampled)
    return padded if padded.waste() <= WASTE else sampled


def may_be_fixed(recipe: Recipe, packed: Packed) -> bool:
    """Whether batches are padded to one shape, for CUDA graphs.

    Token sets are then not sorted by size: attention of self tokens works so, and with our kernel that of all tokens.
    The tokens of reversed arcs would need another shape.
    """
    on_gpu = bool(packed.device.type == "cuda")
    if recipe.model != "mdnn":
        return on_gpu
    any_order = recipe.transformer_layers == 1 or (has_custom_kernel(packed.x) and not recipe.den_bias)
    return on_gpu and recipe.directions == "in" and any_order
