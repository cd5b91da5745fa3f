"""Which token sets are computed together: exact sizes where they are few, similar sizes where they are many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# So many distinct sizes get a bucket each; molecules have five.
EXACT = 8
# Beyond that, the largest set of a bucket is at most so much larger than its smallest.
SPREAD = 1.25
# Every bucket launches kernels of its own. On a GPU these cost more than a little padding: on NCI1, with 768 channels
# and batches of 256, exact buckets took 1.4 times as long as one that is padded (an H200).
GPU_SMALL, GPU_SPREAD = 8, 1.5


class Bucket(NamedTuple):
    """A run of sets, which lie next to each other in the order of the sets."""

    sets: int
    """How many sets."""
    size: int
    """The tokens of the largest; the others are padded to it."""
    tokens: int
    """The tokens of all, without padding."""
    numbers: tuple[tuple[int, int], ...]
    """(size, number of sets of this size) for each size in the bucket."""

    @property
    def mixed(self) -> bool:
        """Whether its sets differ in size, so that attention has to mask."""
        return len(self.numbers) > 1

    @property
    def padded(self) -> int:
        """Its tokens with padding."""
        return self.sets * self.size


def bucketed(sizes: Sequence[int], *, on_gpu: bool = False) -> tuple[Bucket, ...]:
    """Buckets for ``sizes[m]`` sets of m tokens, without padding or with at most a quarter; on a GPU, few buckets.

    >>> [(bucket.sets, bucket.size) for bucket in bucketed([0, 2, 7, 1])]
    [(2, 1), (7, 2), (1, 3)]
    >>> [bucket.size for bucket in bucketed([0] + [1] * 20)]
    [1, 2, 3, 5, 7, 10, 13, 17, 20]
    >>> [bucket.size for bucket in bucketed([0] + [1] * 20, on_gpu=True)]
    [8, 13, 20]
    """
    present = [(size, number) for size, number in enumerate(sizes) if number]
    if len(present) <= EXACT and not on_gpu:
        return tuple(_bucket([each]) for each in present)
    small, spread = (GPU_SMALL, GPU_SPREAD) if on_gpu else (0, SPREAD)
    runs: list[list[tuple[int, int]]] = []
    for size, number in present:
        if runs and size <= max(small, spread * runs[-1][0][0]):
            runs[-1].append((size, number))
        else:
            runs.append([(size, number)])
    return tuple(_bucket(run) for run in runs)


def single(buckets: Sequence[Bucket]) -> tuple[Bucket, ...]:
    """All sets in one bucket, padded to the largest."""
    merged = [each for bucket in buckets for each in bucket.numbers]
    return (_bucket(merged),) if merged else ()


def _bucket(numbers: Sequence[tuple[int, int]]) -> Bucket:
    sets = sum(number for _, number in numbers)
    tokens = sum(size * number for size, number in numbers)
    return Bucket(sets, numbers[-1][0], tokens, tuple(numbers))
