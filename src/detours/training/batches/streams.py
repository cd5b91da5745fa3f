"""The batches of an epoch, which all replicas share: which graphs or nodes, in which order, with which signs.

They are a function of the epoch alone, so there is no state that a resumed run would have to restore, and a replica
sees the same batches whichever others are trained with it. Every process of a distributed run draws the same order and
takes its own share of every step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from detours.arrays import Int64
from detours.errors import InputError
from detours.training.batches.packed import Batch, Packed
from detours.training.devices import sent
from detours.training.recipe import Recipe

ORDER, SIGNS = 0, 1
"""What random numbers are drawn for, as part of the seed."""
EVALUATION = 4
"""An evaluation keeps nothing for a backward pass, so its batches are this many times as large as those of a step."""


class Assembled(Protocol):
    """A batch, or what one is put together from in the step that uses it."""

    fixed: bool
    """Whether the next step has this object again, its tensors in the same place and shape: what a CUDA graph needs."""

    def assembled(self) -> Batch: ...


class Batches(ABC):
    """Where the batches of a run come from."""

    steps: int
    """How many an epoch has."""
    packed: Packed
    """What they are made of."""
    whole: Batch | None = None
    """The one graph that every step and every evaluation sees; None where they see parts of the data."""

    @abstractmethod
    def training(self, epoch: int) -> Iterator[Assembled]:
        """Ask about all graphs or nodes of the data set once, in random order."""

    @abstractmethod
    def evaluation(self) -> list[Batch]:
        """Ask about all of them in their own order."""

    def keep_graphs(self, trained: Tensor | None, asked: Tensor) -> None:  # noqa: B027  # nodes are all needed
        """Hear on which graphs any replica is trained (None for all) and evaluated: others may be left out."""


def steps_of(recipe: Recipe, training: int) -> int:
    """Return the steps of an epoch: a step has, on average, `batch_size` graphs or nodes of a training part."""
    whole = recipe.level == "node" and not recipe.neighbours
    return 1 if whole else -(-training // recipe.batch_size)


class GraphBatches(Batches):
    """Batches of graphs, whose sizes differ by at most one: no small one at the end to upset the batch norms."""

    def __init__(self, packed: Packed, batch_size: int, steps: int, rank: int = 0, world: int = 1) -> None:
        if len(packed) // steps < world:
            raise InputError(f"{world} processes cannot share a batch of {len(packed) // steps} graphs; take fewer.")
        self.packed, self.batch_size, self.steps, self.rank, self.world = packed, batch_size, steps, rank, world
        self.trained: NDArray[np.bool_] = np.ones(len(packed), bool)
        """[graphs] those in the batches of a step."""
        self.asked: NDArray[np.bool_] = np.ones(len(packed), bool)
        """[graphs] those that are evaluated."""

    def keep_graphs(self, trained: Tensor | None, asked: Tensor) -> None:
        self.asked = asked.cpu().numpy()
        if trained is not None:
            self.trained = trained.cpu().numpy()

    def training(self, epoch: int) -> Iterator[Batch]:
        shares = [group[self.rank :: self.world] for group in epoch_groups(self.packed, epoch, self.steps)]
        # a step without any is a step all the same
        shares = [share[self.trained[share]] if self.trained[share].any() else share[:1] for share in shares]
        return self.packed.batches(shares, signs=epoch_signs(self.packed, epoch))

    def evaluation(self) -> list[Batch]:
        share = np.arange(self.rank, len(self.packed), self.world)
        share = share[self.asked[share]]
        parts = np.array_split(share, max(1, -(-len(share) // (EVALUATION * self.batch_size))))
        return list(self.packed.batches([part for part in parts if len(part)]))


class WholeGraph(Batches):
    """One graph whose nodes have classes, in one step."""

    steps = 1
    whole: Batch

    def __init__(self, packed: Packed) -> None:
        self.packed = packed
        self.whole, self.signed = (_about_nodes(packed) for _ in range(2))
        self.signed.fixed = True

    def training(self, epoch: int) -> Iterator[Batch]:
        torch.mul(self.packed.pe, epoch_signs(self.packed, epoch), out=self.signed.pe)
        yield self.signed

    def evaluation(self) -> list[Batch]:
        return [self.whole]


def _about_nodes(packed: Packed) -> Batch:
    """Return the one graph with a question about every node."""
    whole = packed.batch(np.zeros(1, np.int64))
    whole.y, whole.ids, whole.batch = packed.y, torch.arange(len(packed.y), device=packed.device), None
    return whole


def epoch_groups(packed: Packed, epoch: int, steps: int) -> list[Int64]:
    """Return the graphs of each step of an epoch, at random.

    The graphs are sorted by the number of their tokens, and of each `steps` of them in this order every step gets one:
    batches of one size, in graphs and nearly so in tokens.
    """
    generator, number = _generator(epoch, ORDER), len(packed)
    tokens = np.diff(packed.nodes) + np.diff(packed.arcs)
    order = np.lexsort((generator.random(number), tokens))
    # the step of each graph: in every run of `steps` graphs a random order of the steps
    step = generator.permuted(np.tile(np.arange(steps), (-(-number // steps), 1)), axis=1).reshape(-1)[:number]
    mixed = generator.permutation(number)
    return [order[mixed[step[mixed] == each]] for each in range(steps)]


def epoch_signs(packed: Packed, epoch: int) -> Tensor:
    """[graphs, eigenvectors]: an eigenvector has no sign, so training sees either, drawn anew in every epoch."""
    drawn = _generator(epoch, SIGNS).integers(0, 2, (len(packed), packed.pe.size(1)))
    return sent(2 * drawn - 1, packed.device, packed.pe.dtype)


def _generator(epoch: int, purpose: int) -> np.random.Generator:
    return np.random.default_rng([epoch, purpose])
