"""Batches of nodes with a sample of their neighbourhood: as they are drawn, or padded to one shape for a CUDA graph.

A padded batch has a fixed number of nodes with m tokens, for each m; its nodes are numbered by the size of their token
sets. So where arcs end and how tokens lie in memory is the same for all batches, as in `fixed`, and the host sends five
rows of numbers: the nodes, the arcs, where these come from, and which nodes are asked about.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from detours.arrays import Int64
from detours.data import NeighborSampler
from detours.data.sampling import Sampled
from detours.nn.tokens import Tokens
from detours.training.batches.fixed import Shape, longer
from detours.training.batches.inputs import Inputs
from detours.training.batches.packed import Batch, Packed
from detours.training.batches.streams import Assembled, WholeGraph, epoch_signs
from detours.training.devices import sent

LOOKED_AT = 256
"""Batches whose sizes decide the shape that all are padded to."""
SPREADS = 4
"""Standard deviations of these sizes that are added to the mean: few batches are larger, and these go unpadded."""


class SampledNodes:
    """Some nodes to a step, with a sample of their neighbourhood; evaluated on the whole graph."""

    def __init__(self, packed: Packed, inputs: Inputs, neighbours: tuple[int, ...], steps: int) -> None:
        self.packed = packed
        self.whole = WholeGraph(packed)
        number = len(inputs.x)
        self.sampler = NeighborSampler(
            inputs.edge_index, sizes=neighbours, batch_size=-(-number // steps), num_nodes=number
        )
        self.steps = len(self.sampler)

    def training(self, epoch: int) -> Iterator[Assembled]:
        signs = epoch_signs(self.packed, epoch)
        return (self.batch(sampled, signs) for sampled in self.sampler.epoch(epoch))

    def evaluation(self) -> list[Batch]:
        return self.whole.evaluation()

    def batch(self, sampled: Sampled, signs: Tensor) -> Batch:
        """Return a sample as a batch, without padding."""
        packed = self.packed
        nodes, arcs = (torch.from_numpy(each).to(packed.device) for each in (sampled.n_id, sampled.e_id))
        edge_index = torch.from_numpy(sampled.edge_index).to(packed.device)
        asked = nodes[: sampled.batch_size]
        tokens = None
        if packed.set_sizes is not None:
            sizes = np.bincount(_token_sizes(sampled))
            tokens = Tokens.of(edge_index, len(nodes), sizes=sizes.tolist())
        return Batch(
            packed.x[nodes],
            edge_index,
            packed.den[arcs],
            packed.pe[nodes] * signs,
            packed.y[asked],
            ids=asked,
            tokens=tokens,
            rows=torch.arange(sampled.batch_size, device=packed.device),
        )


class FixedSamples:
    """Batches as those of `SampledNodes`, padded to one shape; one that is too large for it comes as it is.

    Args:
        plain: The batches without padding.
    """

    fixed = True

    def __init__(self, plain: SampledNodes) -> None:
        self.plain, self.packed, self.steps = plain, plain.packed, plain.steps
        device = self.packed.device
        self.sizes = usual_sizes(plain.sampler)
        self.shape = Shape(self.sizes, device, self.packed.set_sizes is not None)
        size_of_node = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.begin = np.cumsum(self.sizes) - self.sizes
        """The first node of each size."""
        self.first_arc = np.cumsum(size_of_node - 1) - (size_of_node - 1)
        self.target = self.shape.arrangement.target.cpu().numpy()
        self.x, self.den, self.pe, self.y = (
            longer(each) for each in (self.packed.x, self.packed.den, self.packed.pe, self.packed.y)
        )
        self.signs = self.packed.pe.new_zeros(1, self.packed.pe.size(1))
        lengths = (self.shape.nodes, self.shape.arcs, self.shape.arcs, *[plain.sampler.batch_size] * 2)
        self.numbers = torch.zeros(sum(lengths), dtype=torch.long, device=device)
        self.nodes, self.arcs, self.source, self.rows, self.ids = self.numbers.split(lengths)

    def waste(self) -> float:
        """Return the tokens with padding over those of a usual batch without."""
        samples = list(self.plain.sampler.epoch(1))
        tokens = sum(len(sampled.n_id) + len(sampled.e_id) for sampled in samples)
        return float(len(samples) * (self.shape.nodes + self.shape.arcs) / max(1, tokens))

    def training(self, epoch: int) -> Iterator[Assembled]:
        """Put the numbers of each batch where `assembled` finds them."""
        self.signs.copy_(epoch_signs(self.packed, epoch))
        samples = list(self.plain.sampler.epoch(epoch))
        found = [self._placed(sampled) for sampled in samples]
        table = [each for each in found if each is not None]
        rows = iter(sent(np.stack(table), self.packed.device) if table else ())
        for sampled, numbers in zip(samples, found, strict=True):
            if numbers is None:
                yield self.plain.batch(sampled, self.signs)
            else:
                self.numbers.copy_(next(rows))
                yield self

    def evaluation(self) -> list[Batch]:
        return self.plain.evaluation()

    def _placed(self, sampled: Sampled) -> Int64 | None:
        """Return what `numbers` holds for a sample; None if the shape has no room for it."""
        size = _token_sizes(sampled)
        number = np.bincount(size, minlength=len(self.sizes))
        if len(number) > len(self.sizes) or (number > self.sizes).any():
            return None
        order = np.argsort(size, kind="stable")
        place = np.empty(len(size), np.int64)
        place[order] = np.repeat(self.begin - (np.cumsum(number) - number), number) + np.arange(len(size))
        nodes = np.full(self.shape.nodes, len(self.packed.x))
        nodes[place] = sampled.n_id
        source, target = place[sampled.edge_index]
        by_target = np.argsort(target, kind="stable")
        degree = size - 1
        before = np.zeros(self.shape.nodes, np.int64)  # the arcs of earlier nodes, in the order of the places
        before[place[order]] = np.cumsum(degree[order]) - degree[order]
        slot = (self.first_arc - before)[target[by_target]] + np.arange(len(target))
        arcs, sources = np.full(self.shape.arcs, len(self.packed.den)), self.target.copy()
        arcs[slot], sources[slot] = sampled.e_id[by_target], source[by_target]
        rows, ids = np.zeros(len(self.rows), np.int64), np.full(len(self.ids), len(self.packed.y))
        rows[: sampled.batch_size], ids[: sampled.batch_size] = (
            place[: sampled.batch_size],
            sampled.n_id[: sampled.batch_size],
        )
        return np.concatenate([nodes, arcs, sources, rows, ids])

    def assembled(self) -> Batch:
        """Return the batch whose numbers `training` has put there; nothing waits for the device."""
        return Batch(
            self.x[self.nodes],
            torch.stack([self.source, self.shape.arrangement.target]),
            self.den[self.arcs],
            self.pe[self.nodes] * self.signs,
            self.y[self.ids],
            ids=self.ids,
            tokens=self.shape.arrangement.tokens(self.source, self.shape.layout) if self.shape.layout else None,
            rows=self.rows,
            real=self.nodes < len(self.packed.x),
        )


def usual_sizes(sampler: NeighborSampler) -> Int64:
    """[m] how many nodes with m tokens there is room for: a sample has seldom more."""
    epochs = range(1, 1 + -(-LOOKED_AT // len(sampler)))
    samples = [sampled for epoch in epochs for sampled in sampler.epoch(epoch)]
    counted = [np.bincount(_token_sizes(sampled)) for sampled in samples]
    table = np.zeros((len(counted), max(map(len, counted))))
    for row, found in zip(table, counted, strict=True):
        row[: len(found)] = found
    usual = np.ceil(table.mean(axis=0) + SPREADS * table.std(axis=0))
    sizes: Int64 = np.maximum(table.max(axis=0), usual).astype(np.int64)
    return sizes


def _token_sizes(sampled: Sampled) -> Int64:
    """[nodes] the tokens of each node of a sample: itself and its arcs in."""
    arcs: Int64 = np.bincount(sampled.edge_index[1], minlength=len(sampled.n_id))
    return arcs + 1
