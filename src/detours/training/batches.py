"""The steps of an epoch: which graphs or nodes, in which order, with which signs; a function of seed, fold and epoch.

Nothing here has a state that a resumed run would have to restore. Every process of a distributed run draws the same
order and takes its own share of every step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from detours.data import NeighborSampler
from detours.errors import InputError
from detours.nn.tokens import Tokens
from detours.training.inputs import Inputs
from detours.training.packed import Batch, Packed
from detours.training.recipe import Recipe

Ints = NDArray[np.int64]

ORDER, SIGNS = 0, 1
"""What random numbers are drawn for, as part of the seed."""
EVALUATION = 4
"""An evaluation keeps nothing for a backward pass, so it takes so many times the graphs of a step at once."""


class Batches(Protocol):
    """Where the batches of a run come from."""

    def training(self, ids: Ints, epoch: int) -> Iterator[Batch]:
        """One epoch over the graphs or nodes of the training part."""

    def evaluation(self, ids: Ints) -> Iterator[Batch]:
        """Each of these graphs or nodes once."""

    def steps(self, number: int) -> int:
        """How many batches an epoch over so many graphs or nodes has."""


def batches_of(inputs: Inputs, recipe: Recipe, device: torch.device, rank: int = 0, world: int = 1) -> Batches:
    """The batches that a recipe asks for."""
    dtype = torch.float64 if recipe.precision == "64-true" else torch.float32
    packed = Packed(inputs, device, dtype=dtype, tokens=recipe.model == "mdnn")
    if recipe.level == "graph":
        return GraphBatches(packed, recipe, rank, world)
    if world > 1:
        raise InputError(
            f"{recipe.data} is one graph, which one device holds; train its folds side by side with --jobs instead."
        )
    return SampledNodes(packed, inputs, recipe) if recipe.neighbours else WholeGraph(packed, recipe)


class GraphBatches:
    """Batches of graphs, whose sizes differ by at most one: no small one at the end to upset the batch norms."""

    def __init__(self, packed: Packed, recipe: Recipe, rank: int = 0, world: int = 1) -> None:
        if recipe.batch_size < world:
            raise InputError(
                f"{world} processes cannot share a batch of {recipe.batch_size} graphs; take a larger batch_size."
            )
        self.packed, self.recipe, self.rank, self.world = packed, recipe, rank, world

    def steps(self, number: int) -> int:
        return -(-number // self.recipe.batch_size)

    def training(self, ids: Ints, epoch: int) -> Iterator[Batch]:
        if len(ids) < self.world:
            raise InputError(f"{len(ids)} graphs cannot be shared by {self.world} processes; take fewer processes.")
        order = _generator(self.recipe, epoch, ORDER).permutation(ids)
        groups = np.array_split(order, self.steps(len(ids)))
        shares = [group[self.rank :: self.world] for group in groups]
        signs = _signs(self.packed, self.recipe, epoch)
        return self.packed.batches(shares, signs=signs, totals=[len(group) for group in groups])

    def evaluation(self, ids: Ints) -> Iterator[Batch]:
        share = ids[self.rank :: self.world]
        parts = np.array_split(share, max(1, -(-len(share) // (EVALUATION * self.recipe.batch_size))))
        return self.packed.batches([part for part in parts if len(part)])


class WholeGraph:
    """One graph whose nodes have classes, in one step."""

    def __init__(self, packed: Packed, recipe: Recipe) -> None:
        self.packed, self.recipe = packed, recipe
        self.whole = packed.batch(np.zeros(1, np.int64))

    def steps(self, number: int) -> int:
        return 1

    def training(self, ids: Ints, epoch: int) -> Iterator[Batch]:
        yield self._asked(ids, _signs(self.packed, self.recipe, epoch))

    def evaluation(self, ids: Ints) -> Iterator[Batch]:
        yield self._asked(ids, None)

    def _asked(self, ids: Ints, signs: Tensor | None) -> Batch:
        whole, rows = self.whole, torch.from_numpy(ids.copy()).to(self.packed.device)
        pe = whole.pe if signs is None or whole.pe is None else whole.pe * signs
        return Batch(whole.x, whole.edge_index, whole.den, pe, self.packed.y[rows], tokens=whole.tokens, rows=rows)


class SampledNodes:
    """Some nodes to a step, with a sample of their neighbourhood; evaluated on the whole graph."""

    def __init__(self, packed: Packed, inputs: Inputs, recipe: Recipe) -> None:
        self.packed, self.recipe = packed, recipe
        self.whole = WholeGraph(packed, recipe)
        self.sampler = NeighborSampler(
            inputs.edge_index,
            sizes=recipe.neighbours,
            batch_size=recipe.batch_size,
            num_nodes=len(inputs.x),
            seed=_seed(recipe),
        )

    def steps(self, number: int) -> int:
        return -(-number // self.recipe.batch_size)

    def training(self, ids: Ints, epoch: int) -> Iterator[Batch]:
        packed, signs = self.packed, _signs(self.packed, self.recipe, epoch)
        for sampled in self.sampler.epoch(epoch, ids):
            nodes, arcs = (torch.from_numpy(each).to(packed.device) for each in (sampled.n_id, sampled.e_id))
            edge_index = torch.from_numpy(sampled.edge_index).to(packed.device)
            rows = torch.arange(sampled.batch_size, device=packed.device)
            yield Batch(
                packed.x[nodes],
                edge_index,
                packed.den[arcs],
                packed.pe[nodes] * signs,
                packed.y[nodes[: sampled.batch_size]],
                tokens=self._tokens(sampled.edge_index, edge_index, len(nodes)),
                rows=rows,
            )

    def evaluation(self, ids: Ints) -> Iterator[Batch]:
        return self.whole.evaluation(ids)

    def _tokens(self, on_host: Ints, edge_index: Tensor, num_nodes: int) -> Tokens | None:
        if self.packed.set_sizes is None:
            return None
        sizes = np.bincount(1 + np.bincount(on_host[1], minlength=num_nodes))
        tokens: Tokens = Tokens.of(edge_index, num_nodes, sizes=sizes.tolist())
        return tokens


def _signs(packed: Packed, recipe: Recipe, epoch: int) -> Tensor:
    """[graphs, eigenvectors]: an eigenvector has no sign, so training sees either, drawn anew in every epoch."""
    drawn = _generator(recipe, epoch, SIGNS).integers(0, 2, (len(packed), packed.pe.size(1)))
    return torch.from_numpy(2 * drawn - 1).to(packed.device, packed.pe.dtype)


def _generator(recipe: Recipe, epoch: int, purpose: int) -> np.random.Generator:
    return np.random.default_rng([recipe.seed, recipe.fold, epoch, purpose])


def _seed(recipe: Recipe) -> int:
    return int(np.random.SeedSequence([recipe.seed, recipe.fold]).generate_state(1)[0])
