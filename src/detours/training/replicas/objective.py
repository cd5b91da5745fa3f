"""Losses and scores of the outputs of all replicas."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from detours.data import Split
from detours.training.recipe import RANKED, Recipe
from detours.training.replicas.metrics import average_precision, roc_auc
from detours.training.tasks import Targets, balanced, target_scaling


class Objective:
    """Losses and scores of R replicas.

    Args:
        recipes: The recipe of each replica; they share task, metric and loss.
        targets: The targets of all graphs or nodes, see `targets_of`.
        splits: The parts of each replica; class weights and the scale of targets are those of its training part.
        device: The device of the outputs.
        dtype: Their dtype.
    """

    def __init__(
        self,
        recipes: Sequence[Recipe],
        targets: Targets,
        splits: Sequence[Split],
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        first = recipes[0]
        self.task, self.metric, self.squared = first.task, first.metric, first.regression_loss == "mse"
        self.weights = self.shift = self.scale = None
        if first.task == "regression":
            scalings = [target_scaling(targets, split.train) for split in splits]
            self.shift, self.scale = (
                torch.from_numpy(np.stack([getattr(each, name) for each in scalings])).to(device, dtype).unsqueeze(1)
                for name in ("shift", "scale")
            )
        elif first.class_weights == "balanced":
            weights = np.stack([balanced(targets, split.train) for split in splits])
            self.weights = torch.from_numpy(weights).to(device, dtype)

    @property
    def ranked(self) -> bool:
        """Whether the score is that of a ranking of the part, not the mean of a score of each row."""
        return self.metric in RANKED

    def keep(self, replicas: Tensor) -> None:
        """Drop all replicas but these."""
        for name in ("weights", "shift", "scale"):
            if (values := getattr(self, name)) is not None:
                setattr(self, name, values[replicas])

    def losses(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the loss of every row, [R, rows], for outputs [R, rows, columns] and targets y [rows, …]."""
        if self.task == "classification":
            return self._cross_entropy(outputs, y)
        if self.task == "regression":
            error = outputs - self._standardised(y)
            return (error.square() if self.squared else error.abs()).mean(2)
        known = ~torch.isnan(y)
        labels = torch.where(known, y, 0).expand_as(outputs)
        losses = F.binary_cross_entropy_with_logits(outputs, labels, reduction="none")
        if self.weights is not None:
            losses = losses * torch.where(labels > 0, self.weights[:, 1:2], self.weights[:, 0:1])
        # the mean over the known labels of a row
        return torch.where(known, losses, 0).sum(2) / known.sum(1).clamp(min=1)

    def scores(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the score of every row, [R, rows]; the score of a part is the mean over its rows."""
        outputs = outputs.detach()
        if self.metric == "accuracy":
            return outputs.argmax(2) == y
        if self.metric == "mae":
            return ((outputs - self._standardised(y)) * self.scale).abs().mean(2)
        return outputs.new_zeros(outputs.shape[:2])

    def part_scores(self, outputs: Tensor, y: Tensor, part: Tensor) -> Tensor:
        """Return the score of a part, [R], for outputs [R, rows, columns] and `part` [R, rows]."""
        measure = roc_auc if self.metric == "roc_auc" else average_precision
        if self.task == "classification":
            return measure(outputs[:, :, 1] - outputs[:, :, 0], y == 1, part)
        known = (part.unsqueeze(2) & ~torch.isnan(y)).transpose(1, 2)
        # the mean over the labels that have both values in this part
        return measure(outputs.transpose(1, 2), (y == 1).t(), known).nanmean(1)

    def _cross_entropy(self, logits: Tensor, y: Tensor) -> Tensor:
        replicas, rows, classes = logits.shape
        losses = F.cross_entropy(logits.reshape(-1, classes), y.repeat(replicas), reduction="none").view(replicas, rows)
        return losses if self.weights is None else losses * self.weights[:, y]

    def _standardised(self, y: Tensor) -> Tensor:
        assert self.shift is not None and self.scale is not None
        return (y - self.shift) / self.scale
