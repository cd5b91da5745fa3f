"""Training of replicas: their state between two epochs, a training epoch, and the evaluation after it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from lightning.fabric import Fabric
from torch import Tensor

from detours.arrays import Int64
from detours.data import Split
from detours.training.batches.choose import batches_of
from detours.training.batches.inputs import Inputs, Scaling
from detours.training.batches.packed import Batch
from detours.training.batches.streams import Batches, BatchSource, steps_of
from detours.training.build import arguments, network_of, networks_of
from detours.training.devices import sent
from detours.training.recipe import LOWER_IS_BETTER, Recipe
from detours.training.replicas.adamw import AdamW
from detours.training.replicas.average import Averaged
from detours.training.replicas.capture import Captured
from detours.training.replicas.copies import BestWeights
from detours.training.replicas.objective import Objective
from detours.training.replicas.progress import ROWS, Progress, Row, Scores
from detours.training.replicas.schedule import rate
from detours.training.replicas.side_stream import Fork, SideStream
from detours.training.replicas.stack import Call, Stack, statistics
from detours.training.replicas.wide import widened
from detours.training.tasks import Targets

NOISE, FACTORS = 2, 3
"""Purposes of random numbers, part of their seed; 0 and 1 are used by the batches."""

FACTOR = ".factor"
"""Suffix of the buffers of dropout that differ between epochs."""


class EvaluationRows(NamedTuple):
    """The graphs or nodes of an evaluation, over all its batches."""

    y: Tensor
    ids: Tensor
    masks: Tensor
    """[2, 1, R, rows] the rows of the validation and of the test part of each replica."""


class Fit:
    """Networks of one shape, trained together on one data set.

    Each has its own training, validation and test part, its own parameters, learning rate, weight decay, dropout and
    patience. All see the same batches; in each, the graphs or nodes outside its training part count neither in its loss
    nor, where graphs have classes, in its batch norms. The order of the batches, the signs of the eigenvectors and the
    random bits of dropout are functions of the epoch, so a replica is the same whichever others are trained with it,
    but for rounding.

    Args:
        fabric: Device, precision and processes; several processes share every step of one replica.
        recipes: A recipe of each replica; they may differ in what `shape_of` a run leaves out.
        inputs: The graphs.
        splits: The parts of each replica.
        outputs: The number of outputs of a network: classes, labels, or regression targets.
        scalings: How each replica scales its features; empty to leave them as they are.
        keep_weights: Whether the weights of the best epoch are kept.
    """

    def __init__(
        self,
        fabric: Fabric,
        recipes: Sequence[Recipe],
        inputs: Inputs,
        splits: Sequence[Split],
        outputs: int,
        *,
        scalings: Sequence[Scaling] = (),
        keep_weights: bool = False,
    ) -> None:
        self.fabric, self.recipes, self.device = fabric, list(recipes), fabric.device
        self.dtype = torch.float64 if recipes[0].precision == "64-true" else torch.float32
        networks = networks_of(recipes, inputs.x.shape[1], outputs, inputs.edge_width)
        inputs, scalings = widened(inputs, scalings, recipes[0].blocks)
        with torch.device("meta"):
            wide = network_of(recipes[0], inputs.x.shape[1], outputs, inputs.edge_width)
        self.stack = Stack(networks, self.device, self.dtype, wide)
        inputs, self.scales = _scaled(inputs, scalings, self.device, self.dtype, recipes[0].precision)
        mixed = recipes[0].precision == "bf16-mixed"
        # several processes sum their gradients in full precision
        self.linear_dtype = torch.bfloat16 if mixed and fabric.world_size == 1 else None
        groups = [(each.lr, each.weight_decay, each.schedule, each.warmup, each.epochs) for each in recipes]
        self.optimizer = AdamW(self.stack.flat, [each.weight_decay for each in recipes], groups)
        decay = self._per_replica("average", self.dtype).unsqueeze(1)
        self.averaged = Averaged(self.stack, decay) if any(each.average for each in recipes) else None
        self.progress = Progress(
            self._per_replica("patience", torch.long),
            self._per_replica("epochs", torch.long),
            torch.tensor([each.ties == "loss" for each in recipes], device=self.device),
            self._per_replica("smooth", torch.float64),
            lower=recipes[0].metric in LOWER_IS_BETTER,
        )
        self.objective = Objective(recipes, inputs.y, splits, self.device, self.dtype)
        steps = steps_of(recipes[0], len(splits[0].train))
        max_epochs = max(each.epochs for each in recipes)
        self.batches: Batches = batches_of(
            inputs, recipes[0], self.device, steps, fabric.global_rank, fabric.world_size, epochs=max_epochs + ROWS
        )
        self.train_mask, self.val_mask, self.test_mask = (
            _masks([split[part] for split in splits], inputs.y).to(self.device) for part in range(3)
        )
        self.best = BestWeights(self.stack) if keep_weights else None
        self.done = 0
        """Epochs completed."""
        self.unread = 0
        """Epochs whose results have not been read from the device yet."""
        self._prepare()

    def _per_replica(self, name: str, dtype: torch.dtype) -> Tensor:
        return torch.tensor([getattr(each, name) for each in self.recipes], dtype=dtype, device=self.device)

    def _prepare(self) -> None:
        """Allocate what depends on the number of replicas."""
        replicas = len(self.stack)
        self.rates = torch.zeros((replicas, 1), dtype=self.dtype, device=self.device)
        self.sums = torch.zeros((2, replicas), dtype=torch.float64, device=self.device)
        """Loss and score of the epoch, summed over the training part of each replica."""
        self.factors = torch.ones(replicas, dtype=torch.int32, device=self.device)
        for name in self.stack.buffers:
            if name.endswith(FACTOR):  # one tensor for all layers
                self.stack.buffers[name] = self.factors
        evaluated = self.val_mask | self.test_mask | (self.train_mask if self.objective.ranked else False)
        skips = self.device.type == "cpu" and self.recipes[0].skips_graphs
        self.batches.keep_graphs(self.train_mask.any(0)[:-1] if skips else None, evaluated.any(0)[:-1])
        self.evaluation = self.batches.evaluation()
        y, ids = (torch.cat([getattr(batch, name) for batch in self.evaluation]) for name in ("y", "ids"))
        masks = torch.stack([self.val_mask[:, ids], self.test_mask[:, ids]]).unsqueeze(1)
        self.evaluation_rows = EvaluationRows(y, ids, masks)
        parts = (self.train_mask, self.val_mask, self.test_mask)
        self.sizes = torch.stack([part.sum(1).clamp(min=1) for part in parts]).repeat_interleave(2, 0)
        """[6, R] the size of the part that each field of `Scores` is a mean over."""
        self.features = None
        """[R, nodes, width] of a single graph, if replicas scale its features differently."""
        if self.scales is not None and self.batches.full_batch is not None:
            shift, scale = self.scales
            self.features = (self.batches.full_batch.x - shift.unsqueeze(1)).div_(scale.unsqueeze(1))
        source = self.averaged or self.stack
        tensors = {"flat": source.flat, "sums": self.sums, **statistics(source.buffers)}
        self.side_stream = SideStream(self._evaluate, tensors, self._capture_device())
        self._steps: dict[int, Captured] = {}
        self.fork = Fork(self.device)

    def _capture_device(self) -> torch.device:
        return torch.device("cpu") if self.fabric.world_size > 1 else self.device

    def epoch(self) -> None:
        """Train all replicas for an epoch and evaluate them, without synchronising with the device."""
        self.done += 1
        self.unread += 1
        self._seed()
        schedule = self._schedule()
        for step, batch in enumerate(self.batches.training(self.done)):
            self.rates.copy_(schedule[step])
            if not batch.fixed:
                self._step(batch)
                continue
            if id(batch) not in self._steps:
                self._steps[id(batch)] = Captured(partial(self._step, batch), self._capture_device())
            self._steps[id(batch)]()
        self.side_stream.start()

    def full(self) -> bool:
        """Whether the results of the last epochs must be read before the next one."""
        return self.unread == ROWS

    def read(self) -> list[list[Row]]:
        """Return the results of the epochs since the last call: for each epoch, a row of each replica."""
        epochs, self.unread = self.unread, 0
        self.side_stream.wait()
        return self.progress.read(epochs)

    def keep(self, replicas: Sequence[int]) -> None:
        """Drop all replicas but these."""
        self.release()
        index = torch.tensor(replicas, device=self.device)
        self.recipes = [self.recipes[replica] for replica in replicas]
        for part in (self.stack, self.optimizer, self.progress, self.objective, self.averaged, self.best):
            if part is not None:
                part.keep(index)
        parts = (self.train_mask, self.val_mask, self.test_mask)
        self.train_mask, self.val_mask, self.test_mask = (part[index] for part in parts)
        if self.scales is not None:
            self.scales = (self.scales[0][index], self.scales[1][index])
        self._prepare()

    def release(self) -> None:
        """Drop what refers back to this object, so that its memory is freed without a garbage collection."""
        self.side_stream.release()
        self._steps.clear()

    def weights(self, replica: int) -> dict[str, Tensor]:
        """Return the weights of a replica in its best epoch."""
        assert self.best is not None
        self.side_stream.wait()
        weights: dict[str, Tensor] = self.stack.weights(replica, self.best.flat, self.best.buffers)
        return weights

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        self.side_stream.wait()
        return {
            "done": self.done,
            "flat": self.stack.flat,
            "buffers": self.stack.buffers,
            "optimizer": self.optimizer.state(),
            "progress": self.progress.state(),
            "averaged": None if self.averaged is None else self.averaged.state(),
            "best": None if self.best is None else self.best.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Restore a state from a checkpoint."""
        self.side_stream.wait()
        self.done = int(state["done"])
        self.stack.flat.copy_(state["flat"])
        for name, value in state["buffers"].items():
            self.stack.buffers[name].copy_(value)
        self.optimizer.load(state["optimizer"])
        self.progress.load(state["progress"])
        if self.averaged is not None:
            self.averaged.load(**state["averaged"])
        if self.best is not None:
            self.best.load(**state["best"])

    # ------------------------------------------------------------ an epoch

    def _seed(self) -> None:
        """Seed the random numbers of the epoch, and clear its sums."""
        noise = _entropy(self.done, NOISE, self.fabric.global_rank)
        torch.default_generator.manual_seed(noise)  # `torch.manual_seed` would also seed all GPUs
        if self.device.type == "cuda":
            with torch.cuda.device(self.device):
                torch.cuda.manual_seed(noise)
        factors = [_entropy(self.done, FACTORS, each.seed, each.fold) for each in self.recipes]
        odd = np.array([factor | 1 for factor in factors], np.uint32).view(np.int32)
        self.factors.copy_(sent(odd, self.device))
        self.sums.zero_()

    def _schedule(self) -> Tensor:
        """Return the learning rates of the epoch, [steps, R, 1]."""
        steps = self.batches.steps
        ends = [self.done - 1 + (step + 1) / steps for step in range(steps)]
        rates = [[rate(each, end) for each in self.recipes] for end in ends]
        return sent(np.array(rates), self.device, self.dtype).unsqueeze(2)

    def _step(self, source: BatchSource) -> None:
        batch = source.assemble()
        mask = self.train_mask[:, batch.ids]
        leaves = [each.detach().requires_grad_() for each in self.stack.leaves(self.stack.flat, self.linear_dtype)]
        self.stack.network.train()
        outputs = self._forward(leaves, batch, mask if batch.batch is not None else None)
        losses = torch.where(mask, self.objective.losses(outputs, batch.y), 0)
        with self.fork.beside(), torch.no_grad():
            scores = torch.where(mask, self.objective.scores(outputs, batch.y), 0)
            self.sums += torch.stack([losses.double().sum(1), scores.double().sum(1)])
        count = self._all_reduce(mask.sum(1)).clamp(min=1)
        loss = (losses.sum(1) / count).sum()
        gradients = torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)
        self.optimizer.step(self.stack.flat, [self._all_reduce(each) for each in gradients], self.rates)
        if self.averaged is not None:
            self.averaged.update(self.stack, self.optimizer.steps[0])
        self.fork.join()

    def _evaluate(self) -> None:
        self.stack.network.eval()
        buffers = dict(self.side_stream.copies)
        weights, sums = buffers.pop("flat"), buffers.pop("sums")
        with torch.no_grad():
            leaves = self.stack.leaves(weights, self.linear_dtype)
            batches = [self._forward(leaves, batch, buffers=buffers) for batch in self.evaluation]
        outputs = batches[0] if len(batches) == 1 else torch.cat(batches, dim=1)
        y, ids, masks = self.evaluation_rows
        both = torch.stack([self.objective.losses(outputs, y), self.objective.scores(outputs, y)]).double()
        # rows outside a part may have any value, even NaN
        parts = torch.where(masks, both, 0).sum(3).flatten(0, 1)
        scores = Scores(*(self._all_reduce(torch.cat([sums, parts])) / self.sizes))
        if self.objective.ranked:
            scores = self._ranked(scores, outputs, y, ids)
        better = self.progress.update(scores)
        if self.best is not None:
            self.best.update(weights, buffers, better)

    def _ranked(self, scores: Scores, outputs: Tensor, y: Tensor, ids: Tensor) -> Scores:
        """Return the scores of an epoch, computed from a ranking of each part; losses stay as they are."""
        if self.fabric.world_size > 1:  # every process has some of the outputs
            rows = self.train_mask.size(1)
            gathered = outputs.new_zeros(len(outputs), rows, outputs.size(2))
            outputs = self._all_reduce(gathered.index_copy_(1, ids, outputs))
            y = torch.cat([self.batches.packed.y, self.batches.packed.y[:1]])
            ids = torch.arange(rows, device=self.device)
        parts = zip(
            ("train_score", "val_score", "test_score"), (self.train_mask, self.val_mask, self.test_mask), strict=True
        )
        return scores._replace(**{name: self.objective.part_scores(outputs, y, part[:, ids]) for name, part in parts})

    def _forward(
        self,
        leaves: Sequence[Tensor],
        batch: Batch,
        counted: Tensor | None = None,
        buffers: dict[str, Tensor] | None = None,
    ) -> Tensor:
        """Return the outputs, [R, rows, outputs]; `counted` [R, graphs] are those whose nodes count in batch norms."""
        shift, scale = (None, None) if self.scales is None or self.features is not None else self.scales
        mixed = self.fabric.device.type if self.recipes[0].precision == "bf16-mixed" else None
        nodes = None
        if counted is not None and batch.batch is not None:
            # one more, for padding nodes
            nodes = torch.cat([counted, counted.new_zeros(len(counted), 1)], dim=1)[:, batch.batch]
        elif batch.real is not None:
            nodes = batch.real.expand(len(self.stack), -1)
        # no cache of cast weights: it would outlive the memory of a CUDA graph
        with torch.autocast(mixed or "cpu", torch.bfloat16, enabled=mixed is not None, cache_enabled=False):
            call = _call(batch, self.recipes[0])
            logits = self.stack.forward(leaves, call, nodes, self.features, shift, scale, buffers=buffers)
        if batch.rows is not None:
            logits = logits.index_select(1, batch.rows)
        return logits if logits.dtype == torch.float64 else logits.float()

    def _all_reduce(self, values: Tensor) -> Tensor:
        """Return the sum over all processes."""
        if self.fabric.world_size > 1:
            dist.all_reduce(values)
        return values


def _call(batch: Batch, recipe: Recipe) -> Call:
    def call(counted: Tensor | None, features: Tensor | None, shift: Tensor | None, scale: Tensor | None) -> Any:
        x = batch.x if features is None else features
        x = x if shift is None else (x - shift) / scale
        return arguments(batch, recipe, x, counted)

    return call


def _scaled(
    inputs: Inputs, scalings: Sequence[Scaling], device: torch.device, dtype: torch.dtype, precision: str
) -> tuple[Inputs, tuple[Tensor, Tensor] | None]:
    """Scale the features here if all replicas scale them alike; otherwise return [R, width] of each."""
    if not scalings:
        return inputs, None
    shift, scale = (np.stack([getattr(each, name) for each in scalings]) for name in ("shift", "scale"))
    if (shift == shift[0]).all() and (scale == scale[0]).all():
        return scalings[0].apply(inputs, precision), None
    return inputs, (torch.from_numpy(shift).to(device, dtype), torch.from_numpy(scale).to(device, dtype))


def _masks(parts: Sequence[Int64], targets: Targets) -> Tensor:
    """Return [R, rows + 1], the rows of each part that have a known target; the last one is that of padding."""
    masks = np.zeros((len(parts), len(targets) + 1), bool)
    for mask, ids in zip(masks, parts, strict=True):
        mask[ids] = True
    if targets.ndim > 1:
        masks[:, :-1] &= ~np.isnan(targets).all(axis=1)
    return torch.from_numpy(masks)


def _entropy(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])
