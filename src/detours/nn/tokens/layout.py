"""Tokens in buckets: views of the array of tokens, or of a copy with padding."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from detours.nn.functional import gather, rearranged, split_rows
from detours.nn.tokens.buckets import Bucket


class Layout(NamedTuple):
    """The positions of the tokens of each bucket after all its sets are padded to the same size."""

    buckets: tuple[Bucket, ...]
    """In the order of the sets; stored on the host."""
    position: Tensor | None
    """[T] the position of each token in the padded array; None without padding, when the array is used as it is."""
    real: Tensor | None
    """[padded tokens] True for a token, False for padding; None without padding."""
    token: Tensor | None
    """[padded tokens] the token at each position, for padding the first of its set; None without padding."""

    def split(self, tokens: Tensor) -> list[Tensor]:
        """The tokens of each bucket as [sets, size, …]; padding repeats the first token of a set without gradients."""
        if self.position is not None and self.token is not None:
            tokens = rearranged(tokens, self.token, self.position)
        # One split, not a slice per bucket: the gradient of a slice is as large as the full array.
        parts = split_rows(tokens, [bucket.padded for bucket in self.buckets])
        return [part.unflatten(0, (bucket.sets, bucket.size)) for part, bucket in zip(parts, self.buckets, strict=True)]

    def masks(self) -> list[Tensor | None]:
        """For each bucket [sets, size], True for real tokens; None if all are."""
        if self.real is None:
            return [None] * len(self.buckets)
        parts = self.real.split([bucket.padded for bucket in self.buckets])
        return [
            part.view(bucket.sets, bucket.size) if bucket.mixed else None
            for part, bucket in zip(parts, self.buckets, strict=True)
        ]

    def join(self, parts: list[Tensor]) -> Tensor:
        """The tokens of all buckets, [sets, size, …] each, as one array without padding."""
        tokens = torch.cat([part.flatten(0, 1) for part in parts])
        return tokens if self.position is None else gather(tokens, self.position)

    def split_sets(self, values: Tensor) -> tuple[Tensor, ...]:
        """One row per set, in the order of the sets, bucket by bucket."""
        return split_rows(values, [bucket.sets for bucket in self.buckets])

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Layout:
        """The same layout on another device."""
        tensors = (self.position, self.real, self.token)
        moved = (None if each is None else each.to(device, non_blocking=non_blocking) for each in tensors)
        return Layout(self.buckets, *moved)


def build_layout(buckets: tuple[Bucket, ...], set_of_token: Tensor, first: Tensor) -> Layout:
    """The layout of tokens that are stored set by set; `first` is the first token of each set."""
    if not any(bucket.mixed for bucket in buckets):
        return Layout(buckets, None, None, None)
    device, starts, end = first.device, [], 0
    for bucket in buckets:
        starts.append(torch.arange(end, end + bucket.padded, bucket.size, device=device))
        end += bucket.padded
    shift = torch.cat(starts) - first
    position = shift.index_select(0, set_of_token) + torch.arange(set_of_token.numel(), device=device)
    real = torch.zeros(end, dtype=torch.bool, device=device).index_fill(0, position, True)
    parts = zip(first.split([bucket.sets for bucket in buckets]), buckets, strict=True)
    token = torch.cat([part.repeat_interleave(bucket.size) for part, bucket in parts])
    token.index_copy_(0, position, torch.arange(len(position), device=device))
    return Layout(buckets, position, real, token)
