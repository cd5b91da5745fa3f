"""What is learned: the loss of every answer, and whether it is right."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def losses(logits: Tensor, y: Tensor) -> Tensor:
    """Return the cross entropy of every answer, [R, rows], for logits [R, rows, classes] and classes y [rows]."""
    number, rows, classes = logits.shape
    every = F.cross_entropy(logits.reshape(-1, classes), y.repeat(number), reduction="none")
    return every.view(number, rows)


def count_right(logits: Tensor, y: Tensor) -> Tensor:
    """Return whether the most likely class is the right one, [R, rows]."""
    return logits.detach().argmax(2) == y
