"""Wide features with columns of zeros: a device reads and multiplies rows faster that start at certain addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.training.batches.inputs import Inputs, Scaling

NARROW = 256
"""Features up to this width stay as they are."""
MULTIPLE = 8
"""Wider ones become a multiple of this: rows of 16-bit values then start at multiples of 16 bytes."""


def widened(inputs: Inputs, scalings: Sequence[Scaling], blocks: int) -> tuple[Inputs, list[Scaling]]:
    """Add columns of zeros to wide features, which are several blocks of columns side by side."""

    def padded(columns: NDArray[Any], value: float = 0) -> NDArray[Any]:
        split = columns.reshape(*columns.shape[:-1], blocks, -1)
        more = [(0, 0)] * (split.ndim - 1) + [(0, _missing(split.shape[-1]))]
        return np.pad(split, more, constant_values=value).reshape(*columns.shape[:-1], -1)

    if not _missing(inputs.x.shape[1] // blocks):
        return inputs, list(scalings)
    padded_scalings = [Scaling(padded(each.shift), padded(each.scale, 1)) for each in scalings]
    return replace(inputs, x=padded(inputs.x)), padded_scalings


def _missing(width: int) -> int:
    return -width % MULTIPLE if width > NARROW else 0
