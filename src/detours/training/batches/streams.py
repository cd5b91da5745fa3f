"""The batches of an epoch, which all replicas share: which graphs or nodes, in which order, with which signs.

They are a function of the epoch only, so a resumed run has no state to restore, and a replica sees the same batches
whichever others are trained with it. Every process of a distributed run draws the same order and takes its share of
every step.
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
"""Purposes of random numbers, part of their seed."""
EVALUATION = 4
"""Evaluation stores nothing for a backward pass, so its batches are this many times as large as those of a step."""


class BatchSource(Protocol):
    """A batch, or the static tensors from which the step that uses it assembles one."""

    fixed: bool
    """Whether the next step gets this object again, with tensors of the same address and shape, for a CUDA graph."""

    def assemble(self) -> Batch: ...


class Batches(ABC):
    """The batches of a run."""

    steps: int
    """Steps of an epoch."""
    packed: Packed
    """The data set on the device."""
    full_batch: Batch | None = None
    """The one graph that every step and every evaluation sees; None if they see parts of the data."""

    @abstractmethod
    def training(self, epoch: int) -> Iterator[BatchSource]:
        """Return the batches of an epoch: every graph or node of the data set once, in random order."""

    @abstractmethod
    def evaluation(self) -> list[Batch]:
        """Return the batches of an evaluation: every graph or node once, in the order of the data set."""

    def keep_graphs(self, trained: Tensor | None, evaluated: Tensor) -> None:  # noqa: B027  # all nodes are needed
        """Set the masks of the graphs that any replica is trained on (None for all) or evaluated on; others may be
        left out."""


def steps_of(recipe: Recipe, num_training: int) -> int:
    """Return the steps of an epoch: a step has, on average, `batch_size` graphs or nodes of a training part."""
    full_batch = recipe.level == "node" and not recipe.neighbours
    return 1 if full_batch else -(-num_training // recipe.batch_size)


class GraphBatches(Batches):
    """Batches of graphs, whose sizes differ by at most one: a small last batch would upset batch norms."""

    def __init__(self, packed: Packed, batch_size: int, steps: int, rank: int = 0, world: int = 1) -> None:
        if len(packed) // steps < world:
            raise InputError(f"{world} processes cannot share a batch of {len(packed) // steps} graphs; take fewer.")
        self.packed, self.batch_size, self.steps, self.rank, self.world = packed, batch_size, steps, rank, world
        self.trained: NDArray[np.bool_] = np.ones(len(packed), bool)
        """[graphs] mask of those in training batches."""
        self.evaluated: NDArray[np.bool_] = np.ones(len(packed), bool)
        """[graphs] mask of those in evaluation batches."""

    def keep_graphs(self, trained: Tensor | None, evaluated: Tensor) -> None:
        self.evaluated = evaluated.cpu().numpy()
        if trained is not None:
            self.trained = trained.cpu().numpy()

    def training(self, epoch: int) -> Iterator[Batch]:
        shares = [group[self.rank :: self.world] for group in epoch_groups(self.packed, epoch, self.steps)]
        # a step without any of them keeps one graph
        shares = [share[self.trained[share]] if self.trained[share].any() else share[:1] for share in shares]
        return self.packed.batches(shares, signs=epoch_signs(self.packed, epoch))

    def evaluation(self) -> list[Batch]:
        share = np.arange(self.rank, len(self.packed), self.world)
        share = share[self.evaluated[share]]
        parts = np.array_split(share, max(1, -(-len(share) // (EVALUATION * self.batch_size))))
        return list(self.packed.batches([part for part in parts if len(part)]))


class WholeGraph(Batches):
    """One graph with targets of nodes, as one full batch."""

    steps = 1
    full_batch: Batch

    def __init__(self, packed: Packed) -> None:
        self.packed = packed
        self.full_batch, self.signed = (_node_batch(packed) for _ in range(2))
        self.signed.fixed = True

    def training(self, epoch: int) -> Iterator[Batch]:
        torch.mul(self.packed.pe, epoch_signs(self.packed, epoch), out=self.signed.pe)
        yield self.signed

    def evaluation(self) -> list[Batch]:
        return [self.full_batch]


def _node_batch(packed: Packed) -> Batch:
    """Return the one graph as a batch with the targets of all nodes."""
    batch = packed.batch(np.zeros(1, np.int64))
    batch.y, batch.ids, batch.batch = packed.y, torch.arange(len(packed.y), device=packed.device), None
    return batch


def epoch_groups(packed: Packed, epoch: int, steps: int) -> list[Int64]:
    """Return the graphs of each step of an epoch, at random.

    The graphs are sorted by their number of tokens, and of every `steps` consecutive ones each step gets one: batches
    have the same number of graphs, and nearly the same number of tokens.
    """
    generator, num_graphs = _generator(epoch, ORDER), len(packed)
    tokens = np.diff(packed.nodes) + np.diff(packed.arcs)
    order = np.lexsort((generator.random(num_graphs), tokens))
    # the step of each graph: in every run of `steps` graphs a random order of the steps
    step = generator.permuted(np.tile(np.arange(steps), (-(-num_graphs // steps), 1)), axis=1).reshape(-1)[:num_graphs]
    shuffled = generator.permutation(num_graphs)
    by_step = shuffled[np.argsort(step[shuffled], kind="stable")]
    return np.split(order[by_step], np.cumsum(np.bincount(step, minlength=steps))[:-1])


def epoch_signs(packed: Packed, epoch: int) -> Tensor:
    """Return random signs, [graphs, eigenvectors]: that of an eigenvector is arbitrary, so every epoch draws anew."""
    bits = _generator(epoch, SIGNS).integers(0, 2, (len(packed), packed.pe.size(1)))
    return sent(2 * bits - 1, packed.device, packed.pe.dtype)


def _generator(epoch: int, purpose: int) -> np.random.Generator:
    return np.random.default_rng([epoch, purpose])
