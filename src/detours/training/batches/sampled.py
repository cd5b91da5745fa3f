"""Batches of seed nodes with a sample of their neighbourhood: as drawn, or padded to one shape for a CUDA graph.

A padded batch has a fixed number of nodes and arcs, as in `fixed`. The host sends five arrays: the nodes, their
in-degrees, the arcs, the sources of these, and the seed nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from detours.arrays import Int64
from detours.data import NeighborSampler
from detours.data.sampling import Sampled
from detours.nn.fused.groups import declare_groups, ends
from detours.nn.tokens import Tokens
from detours.training.batches.fixed import Arrangement, padded_sizes, padding_degrees, with_zero_row
from detours.training.batches.inputs import Inputs
from detours.training.batches.packed import Batch, Packed
from detours.training.batches.streams import Batches, BatchSource, WholeGraph, epoch_signs
from detours.training.devices import sent

MEASURED = 256
"""Batches whose sizes determine the shape that all are padded to."""
DEVIATIONS = 3
"""Standard deviations of these sizes that are added to the mean: few batches are larger, and these go unpadded."""


class SenderSampler:
    """Seeds with a sample of the nodes whose messages reach them; arcs are those of the graph, sorted by target.

    Args:
        inputs: The graph as flat arrays.
        sizes: The number of neighbours to draw in each hop.
        steps: The number of batches of an epoch.
        directions: "in", "out" or "both": the neighbours of a node that send messages to it.
    """

    def __init__(self, inputs: Inputs, sizes: tuple[int, ...], steps: int, directions: str) -> None:
        along, self.num_nodes, self.directions = inputs.edge_index, len(inputs.x), directions
        arcs = {"in": (along,), "out": (along[::-1],), "both": (along, along[::-1])}[directions]
        self.batch_size, self._num_arcs = -(-self.num_nodes // steps), along.shape[1]
        self._sampler = NeighborSampler(np.concatenate(arcs, axis=1), sizes, self.batch_size, num_nodes=self.num_nodes)

    def __len__(self) -> int:
        return len(self._sampler)

    def epoch(self, number: int) -> Iterator[Sampled]:
        """Yield the batches of an epoch."""
        return map(self._as_in_graph, self._sampler.epoch(number))

    def sample(self, seeds: Int64, batch: int) -> Sampled:
        """Return one batch with exactly these seeds."""
        return self._as_in_graph(self._sampler.sample(seeds, batch=batch))

    def _as_in_graph(self, sampled: Sampled) -> Sampled:
        if self.directions == "in":
            return sampled
        # with both directions, an arc may have been drawn at each of its ends
        arcs, first = np.unique(sampled.e_id % self._num_arcs, return_index=True)
        is_reversed = (sampled.e_id[first] >= self._num_arcs) if self.directions == "both" else np.True_
        source, target = sampled.edge_index[:, first]
        source, target = np.where(is_reversed, (target, source), (source, target))
        order = np.argsort(target, kind="stable")
        return sampled._replace(edge_index=np.stack([source, target])[:, order], e_id=arcs[order])


class SampledNodes(Batches):
    """Batches of seed nodes with a sample of their neighbourhood.

    Args:
        packed: The graph on its device.
        inputs: The graph as flat arrays.
        neighbours: Neighbours to sample in each hop.
        directions: Those of the network: messages come from in-neighbours, out-neighbours or both.
        steps: The number of batches of an epoch.
        eval_batch_size: Seed nodes per batch of an evaluation, whose samples are drawn once; None to evaluate on the
            whole graph.
    """

    def __init__(
        self,
        packed: Packed,
        inputs: Inputs,
        neighbours: tuple[int, ...],
        steps: int,
        eval_batch_size: int | None = None,
        directions: str = "in",
    ) -> None:
        self.packed, self.eval_batch_size = packed, eval_batch_size
        self.sampler = SenderSampler(inputs, neighbours, steps, directions)
        self.steps = len(self.sampler)

    def training(self, epoch: int) -> Iterator[BatchSource]:
        signs = epoch_signs(self.packed, epoch)
        return (self.batch(sampled, signs) for sampled in self.sampler.epoch(epoch))

    def evaluation(self) -> list[Batch]:
        if self.eval_batch_size is None:
            return WholeGraph(self.packed).evaluation()
        nodes = np.arange(self.sampler.num_nodes)
        seeds = np.split(nodes, nodes[self.eval_batch_size :: self.eval_batch_size])
        signs = self.packed.pe.new_ones(1, self.packed.pe.size(1))
        return [self.batch(self.sampler.sample(part, batch=index), signs) for index, part in enumerate(seeds)]

    def batch(self, sampled: Sampled, signs: Tensor) -> Batch:
        """Return a sample as a batch, without padding."""
        packed = self.packed
        nodes, arcs = (torch.from_numpy(each).to(packed.device) for each in (sampled.n_id, sampled.e_id))
        edge_index = torch.from_numpy(sampled.edge_index).to(packed.device)
        seeds = nodes[: sampled.batch_size]
        tokens = None
        if packed.set_sizes is not None:
            sizes = np.bincount(_token_sizes(sampled))
            tokens = Tokens.of(edge_index, len(nodes), sizes=sizes.tolist())
        return Batch(
            packed.x[nodes],
            edge_index,
            packed.arc_features[arcs],
            packed.pe[nodes] * signs,
            packed.y[seeds],
            ids=seeds,
            tokens=tokens,
            rows=torch.arange(sampled.batch_size, device=packed.device),
        )


class FixedSamples(Batches):
    """Batches as those of `SampledNodes`, padded to one shape; those that are too large for it stay as they are.

    Args:
        plain: The batches without padding.
    """

    fixed = True

    def __init__(self, plain: SampledNodes) -> None:
        self.plain, self.packed, self.steps = plain, plain.packed, plain.steps
        device, batch_size = self.packed.device, plain.sampler.batch_size
        self.num_nodes, self.num_arcs = padded_sizes(*usual_sizes(plain.sampler))
        self.x, self.arc_features, self.pe, self.y = (
            with_zero_row(each) for each in (self.packed.x, self.packed.arc_features, self.packed.pe, self.packed.y)
        )
        self.signs = self.packed.pe.new_zeros(1, self.packed.pe.size(1))
        lengths = (*[self.num_nodes] * 2, *[self.num_arcs] * 2, batch_size)
        self.buffer = torch.zeros(sum(lengths), dtype=torch.long, device=device)
        """The five arrays of a batch, one after the other."""
        self.nodes, self.degrees, self.arcs, self.source, self.ids = self.buffer.split(lengths)
        self.rows = torch.arange(batch_size, device=device)

    def waste(self) -> float:
        """Return the ratio of tokens with padding to tokens without, in one epoch."""
        samples = list(self.plain.sampler.epoch(1))
        tokens = sum(len(sampled.n_id) + len(sampled.e_id) for sampled in samples)
        return float(len(samples) * (self.num_nodes + self.num_arcs) / max(1, tokens))

    def training(self, epoch: int) -> Iterator[BatchSource]:
        """Write the indices of each batch into the static tensors that `assemble` reads."""
        self.signs.copy_(epoch_signs(self.packed, epoch))
        samples = list(self.plain.sampler.epoch(epoch))
        padded = [self._padded(sampled) for sampled in samples]
        table = [each for each in padded if each is not None]
        rows = iter(sent(np.stack(table), self.packed.device) if table else ())
        for sampled, indices in zip(samples, padded, strict=True):
            if indices is None:
                yield self.plain.batch(sampled, self.signs)
            else:
                self.buffer.copy_(next(rows))
                yield self

    def evaluation(self) -> list[Batch]:
        return self.plain.evaluation()

    def _padded(self, sampled: Sampled) -> Int64 | None:
        """Return what `buffer` holds for a sample; None if it is too large for the shape."""
        (source, target), num_nodes = sampled.edge_index, len(sampled.n_id)
        if num_nodes >= self.num_nodes or len(target) > self.num_arcs:
            return None
        padding = padding_degrees(self.num_arcs - len(target), self.num_nodes - num_nodes)
        degrees = np.concatenate([np.bincount(target, minlength=num_nodes), padding])
        order = np.argsort(target, kind="stable")
        # padding arcs are loops at padding nodes
        sources = np.concatenate([source[order], np.repeat(np.arange(num_nodes, self.num_nodes), padding)])
        nodes, arcs, ids = (
            np.concatenate([real, np.full(length - len(real), fill)])
            for real, length, fill in (
                (sampled.n_id, self.num_nodes, len(self.packed.x)),
                (sampled.e_id[order], self.num_arcs, len(self.packed.arc_features)),
                (sampled.n_id[: sampled.batch_size], len(self.ids), len(self.packed.y)),
            )
        )
        return np.concatenate([nodes, degrees, arcs, sources, ids])

    def assemble(self) -> Batch:
        """Return the batch whose indices `training` has written, without synchronising."""
        arranged = Arrangement.of(self.degrees, self.num_arcs)
        edge_index = torch.stack([self.source, arranged.target])
        declare_groups(ends(edge_index)[1], arranged.offsets)
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


def usual_sizes(sampler: SenderSampler) -> tuple[int, int]:
    """Return node and arc counts that samples rarely exceed."""
    epochs = range(1, 1 + -(-MEASURED // len(sampler)))
    sizes = [(len(sampled.n_id), len(sampled.e_id)) for epoch in epochs for sampled in sampler.epoch(epoch)]
    usual = np.ceil(np.mean(sizes, axis=0) + DEVIATIONS * np.std(sizes, axis=0))
    nodes, arcs = np.maximum(np.max(sizes, axis=0), usual).astype(np.int64).tolist()
    return nodes, arcs


def _token_sizes(sampled: Sampled) -> Int64:
    """[nodes] the number of tokens of each node of a sample: itself and its incoming arcs."""
    arcs: Int64 = np.bincount(sampled.edge_index[1], minlength=len(sampled.n_id))
    return arcs + 1
