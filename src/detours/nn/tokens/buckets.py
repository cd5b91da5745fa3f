"""Which token sets are computed together: sets of equal size if there are few sizes, else sets of similar size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# Up to this many distinct sizes get a bucket each; molecules have five.
EXACT = 8
# Beyond that, the largest set of a bucket is at most this many times the smallest.
SPREAD = 1.25
# Every bucket launches its own kernels, which on a GPU cost more than a little padding: on NCI1, with 768 channels and
# batches of 256, exact buckets took 1.4 times as long as a single padded one (on an H200).
GPU_SMALL, GPU_SPREAD = 8, 1.5


class Bucket(NamedTuple):
    """A run of consecutive sets."""

    sets: int
    """The number of sets."""
    size: int
    """The size of the largest set, to which the others are padded."""
    tokens: int
    """The number of tokens, without padding."""
    size_counts: tuple[tuple[int, int], ...]
    """(size, number of sets of this size) for each size in the bucket."""

    @property
    def mixed(self) -> bool:
        """Whether the sets differ in size, so that attention needs a mask."""
        return len(self.size_counts) > 1

    @property
    def padded(self) -> int:
        """The number of tokens, with padding."""
        return self.sets * self.size


def bucketed(sizes: Sequence[int], *, on_gpu: bool = False) -> tuple[Bucket, ...]:
    """Buckets for ``sizes[m]`` sets of m tokens, with at most a quarter of padding; on a GPU, fewer buckets.

    >>> [(bucket.sets, bucket.size) for bucket in bucketed([0, 2, 7, 1])]
    [(2, 1), (7, 2), (1, 3)]
    >>> [bucket.size for bucket in bucketed([0] + [1] * 20)]
    [1, 2, 3, 5, 7, 10, 13, 17, 20]
    >>> [bucket.size for bucket in bucketed([0] + [1] * 20, on_gpu=True)]
    [8, 13, 20]
    """
    present = [(size, count) for size, count in enumerate(sizes) if count]
    if len(present) <= EXACT and not on_gpu:
        return tuple(_bucket([each]) for each in present)
    small, spread = (GPU_SMALL, GPU_SPREAD) if on_gpu else (0, SPREAD)
    runs: list[list[tuple[int, int]]] = []
    for size, count in present:
        if runs and size <= max(small, spread * runs[-1][0][0]):
            runs[-1].append((size, count))
        else:
            runs.append([(size, count)])
    return tuple(_bucket(run) for run in runs)


def single(buckets: Sequence[Bucket]) -> tuple[Bucket, ...]:
    """All sets in one bucket, padded to the largest."""
    merged = [each for bucket in buckets for each in bucket.size_counts]
    return (_bucket(merged),) if merged else ()


def _bucket(size_counts: Sequence[tuple[int, int]]) -> Bucket:
    sets = sum(count for _, count in size_counts)
    tokens = sum(size * count for size, count in size_counts)
    return Bucket(sets, size_counts[-1][0], tokens, tuple(size_counts))
