"""The next level of copies, each with one more node marked, that is, in a colour that no other node has."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from detours.arrays import Int64
from detours.counting.engines.threads import Stop, run_ranges
from detours.wl.individual.copies import Choices, Copies
from detours.wl.individual.copies_numba import Partitions


def mark(
    copies: Copies, choices: Choices, n_jobs: int, keep: bool, report: Callable[[float], None] | None = None
) -> tuple[list[bytes], Copies | None, bool]:
    """Refine a copy for each choice.

    Return the digest of each, the copies themselves if `keep` is set, and whether any copy has a target cell.
    """
    total = len(choices.node)
    digests = [b""] * total
    has_target = [False]
    refined: dict[int, Partitions] = {}

    def refine_range(_: None, start: int, end: int, stop: Stop) -> None:
        partitions, words, word_offsets = copies.refine(Choices(choices.copy[start:end], choices.node[start:end]))
        digests[start:end] = digest_words(words, word_offsets)
        if keep:
            refined[start] = partitions
        elif partitions.target.max() >= 0:
            has_target[0] = True

    def report_share(done: float, total: float) -> None:
        if report is not None:
            report(done / total)

    run_ranges(total, 1, refine_range, lambda: None, n_jobs, report_share)
    if not keep:
        return digests, None, has_target[0]
    return digests, replace(copies, partitions=_joined([refined[start] for start in sorted(refined)])), True


def digest_words(words: Int64, word_offsets: Int64) -> list[bytes]:
    """Return the SHA-256 of the description of every copy."""
    words = words.astype("<i8", copy=False)
    return [hashlib.sha256(words[start:end].data).digest() for start, end in pairwise(word_offsets.tolist())]


def _joined(parts: list[Partitions]) -> Partitions:
    graph, cell, target = (
        np.concatenate([getattr(partitions, name) for partitions in parts]) for name in ("graph", "cell", "target")
    )
    sizes = np.concatenate([np.diff(partitions.offsets) for partitions in parts])
    return Partitions(graph, np.concatenate([[0], np.cumsum(sizes)]), cell, target)
