"""Batches of nodes with a sample of their neighbourhood: as they are drawn, or padded to one shape for a CUDA graph.

A padded batch has a fixed number of nodes and arcs, as in `fixed`. The host sends five rows of numbers: the nodes, how
many arcs end at each, the arcs, where these come from, and which nodes are asked about.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from detours.arrays import Int64
from detours.data import NeighborSampler
from detours.data.sampling import Sampled
from detours.nn.fused.groups import ends, tell_groups
from detours.nn.tokens import Tokens
from detours.training.batches.fixed import Arrangement, longer, room, shared_out
from detours.training.batches.inputs import Inputs
from detours.training.batches.packed import Batch, Packed
from detours.training.batches.streams import Assembled, Batches, WholeGraph, epoch_signs
from detours.training.devices import sent

LOOKED_AT = 256
"""Batches whose sizes decide the shape that all are padded to."""
SPREADS = 3
"""Standard deviations of these sizes that are added to the mean: few batches are larger, and these go unpadded."""


class SampledNodes(Batches):
    """Some nodes to a step, with a sample of their neighbourhood.

    Args:
        packed: The graph on its device.
        inputs: The graph as flat arrays.
        neighbours: How many are drawn in each hop.
        steps: The number of batches of an epoch.
        asked: Nodes to a batch of an evaluation, whose samples are drawn once; None to evaluate on the whole graph.
    """

    def __init__(
        self, packed: Packed, inputs: Inputs, neighbours: tuple[int, ...], steps: int, asked: int | None = None
    ) -> None:
        self.packed, self.asked = packed, asked
        number = len(inputs.x)
        self.sampler = NeighborSampler(
            inputs.edge_index, sizes=neighbours, batch_size=-(-number // steps), num_nodes=number
        )
        self.steps = len(self.sampler)

    def training(self, epoch: int) -> Iterator[Assembled]:
        signs = epoch_signs(self.packed, epoch)
        return (self.batch(sampled, signs) for sampled in self.sampler.epoch(epoch))

    def evaluation(self) -> list[Batch]:
        if self.asked is None:
            return WholeGraph(self.packed).evaluation()
        nodes = np.arange(self.sampler.num_nodes)
        parts = np.split(nodes, nodes[self.asked :: self.asked])
        same = self.packed.pe.new_ones(1, self.packed.pe.size(1))
        return [self.batch(self.sampler.sample(part, batch=at), same) for at, part in enumerate(parts)]

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
            packed.arc_features[arcs],
            packed.pe[nodes] * signs,
            packed.y[asked],
            ids=asked,
            tokens=tokens,
            rows=torch.arange(sampled.batch_size, device=packed.device),
        )


class FixedSamples(Batches):
    """Batches as those of `SampledNodes`, padded to one shape; one that is too large for it comes as it is.

    Args:
        plain: The batches without padding.
    """

    fixed = True

    def __init__(self, plain: SampledNodes) -> None:
        self.plain, self.packed, self.steps = plain, plain.packed, plain.steps
        device, asked = self.packed.device, plain.sampler.batch_size
        self.num_nodes, self.num_arcs = room(*usual_sizes(plain.sampler))
        self.x, self.arc_features, self.pe, self.y = (
            longer(each) for each in (self.packed.x, self.packed.arc_features, self.packed.pe, self.packed.y)
        )
        self.signs = self.packed.pe.new_zeros(1, self.packed.pe.size(1))
        lengths = (*[self.num_nodes] * 2, *[self.num_arcs] * 2, asked)
        self.numbers = torch.zeros(sum(lengths), dtype=torch.long, device=device)
        self.nodes, self.degrees, self.arcs, self.source, self.ids = self.numbers.split(lengths)
        self.rows = torch.arange(asked, device=device)

    def waste(self) -> float:
        """Return the tokens with padding over those of a usual batch without."""
        samples = list(self.plain.sampler.epoch(1))
        tokens = sum(len(sampled.n_id) + len(sampled.e_id) for sampled in samples)
        return float(len(samples) * (self.num_nodes + self.num_arcs) / max(1, tokens))

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
        (source, target), number = sampled.edge_index, len(sampled.n_id)
        if number >= self.num_nodes or len(target) > self.num_arcs:
            return None
        added = shared_out(self.num_arcs - len(target), self.num_nodes - number)
        degrees = np.concatenate([np.bincount(target, minlength=number), added])
        order = np.argsort(target, kind="stable")
        # what is added is arcs from nodes that are added to themselves
        sources = np.concatenate([source[order], np.repeat(np.arange(number, self.num_nodes), added)])
        nodes, arcs, ids = (
            np.concatenate([known, np.full(length - len(known), nothing)])
            for known, length, nothing in (
                (sampled.n_id, self.num_nodes, len(self.packed.x)),
                (sampled.e_id[order], self.num_arcs, len(self.packed.arc_features)),
                (sampled.n_id[: sampled.batch_size], len(self.ids), len(self.packed.y)),
            )
        )
        return np.concatenate([nodes, degrees, arcs, sources, ids])

    def assembled(self) -> Batch:
        """Return the batch whose numbers `training` has put there; nothing waits for the device."""
        arranged = Arrangement.of(self.degrees, self.num_arcs)
        edge_index = torch.stack([self.source, arranged.target])
        tell_groups(ends(edge_index)[1], arranged.begins)
        return Batch(
            self.x[self.nodes],
            edge_index,
            self.arc_features[self.arcs],
            self.pe[self.nodes] * self.signs,
            self.y[self.ids],
            ids=self.ids,
            tokens=None if self.packed.set_sizes is None else arranged.tokens(self.source),
            rows=self.rows,
            real=self.nodes < len(self.packed.x),
        )


def usual_sizes(sampler: NeighborSampler) -> tuple[int, int]:
    """How many nodes and arcs there is room for: a sample has seldom more."""
    epochs = range(1, 1 + -(-LOOKED_AT // len(sampler)))
    found = [(len(sampled.n_id), len(sampled.e_id)) for epoch in epochs for sampled in sampler.epoch(epoch)]
    usual = np.ceil(np.mean(found, axis=0) + SPREADS * np.std(found, axis=0))
    nodes, arcs = np.maximum(np.max(found, axis=0), usual).astype(np.int64).tolist()
    return nodes, arcs


def _token_sizes(sampled: Sampled) -> Int64:
    """[nodes] the tokens of each node of a sample: itself and its arcs in."""
    arcs: Int64 = np.bincount(sampled.edge_index[1], minlength=len(sampled.n_id))
    return arcs + 1
