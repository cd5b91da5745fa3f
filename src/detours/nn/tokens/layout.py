"""Tokens in buckets: views of the array of tokens, or of a copy that leaves room for the padding."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from detours.nn.functional import gather, rearranged, split_rows
from detours.nn.tokens.buckets import Bucket


class Layout(NamedTuple):
    """Where the tokens of each bucket lie once every set has the size of its bucket."""

    buckets: tuple[Bucket, ...]
    """In the order of the sets; known on the host."""
    place: Tensor | None
    """[T] the place of each token with padding; None where there is none, and the array of tokens serves as it is."""
    real: Tensor | None
    """[tokens with padding] True for a token, False for padding; None where there is none."""
    token: Tensor | None
    """[tokens with padding] the token at each place, for padding the first of its set; None where there is none."""

    def split(self, tokens: Tensor) -> list[Tensor]:
        """The tokens of each bucket as [sets, size, …]; padding is the first token of its set, without a gradient."""
        if self.place is not None and self.token is not None:
            tokens = rearranged(tokens, self.token, self.place)
        # One split, not a slice per bucket: the gradient of a slice is as large as all tokens.
        parts = split_rows(tokens, [bucket.padded for bucket in self.buckets])
        return [part.unflatten(0, (bucket.sets, bucket.size)) for part, bucket in zip(parts, self.buckets, strict=True)]

    def masks(self) -> list[Tensor | None]:
        """For each bucket [sets, size], True for real tokens; None where all are."""
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
        return tokens if self.place is None else gather(tokens, self.place)

    def split_sets(self, values: Tensor) -> tuple[Tensor, ...]:
        """One row per set, in the order of the sets, bucket by bucket."""
        return split_rows(values, [bucket.sets for bucket in self.buckets])

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Layout:
        """The same layout on another device."""
        tensors = (self.place, self.real, self.token)
        moved = (None if each is None else each.to(device, non_blocking=non_blocking) for each in tensors)
        return Layout(self.buckets, *moved)


def laid_out(buckets: tuple[Bucket, ...], set_of_token: Tensor, first: Tensor) -> Layout:
    """The layout of tokens that lie set by set, `first` being the first of each set."""
    if not any(bucket.mixed for bucket in buckets):
        return Layout(buckets, None, None, None)
    device, begins, end = first.device, [], 0
    for bucket in buckets:
        begins.append(torch.arange(end, end + bucket.padded, bucket.size, device=device))
        end += bucket.padded
    shift = torch.cat(begins) - first
    place = shift.index_select(0, set_of_token) + torch.arange(set_of_token.numel(), device=device)
    real = torch.zeros(end, dtype=torch.bool, device=device).index_fill(0, place, True)
    parts = zip(first.split([bucket.sets for bucket in buckets]), buckets, strict=True)
    token = torch.cat([part.repeat_interleave(bucket.size) for part, bucket in parts])
    token.index_copy_(0, place, torch.arange(len(place), device=device))
    return Layout(buckets, place, real, token)
