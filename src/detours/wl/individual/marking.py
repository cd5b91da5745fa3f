"""The next level of copies, each with one more node marked: it gets a colour of its own."""

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

    Return a digest of each, if wanted the copies themselves, and whether any of them has a target cell.
    """
    total = len(choices.node)
    digests = [b""] * total
    targets = [False]
    refined: dict[int, Partitions] = {}

    def work(_: None, begin: int, end: int, stop: Stop) -> None:
        part, words, begins = copies.refine(Choices(choices.copy[begin:end], choices.node[begin:end]))
        digests[begin:end] = digest_words(words, begins)
        if keep:
            refined[begin] = part
        elif part.target.max() >= 0:
            targets[0] = True

    def report_share(done: float, total: float) -> None:
        if report is not None:
            report(done / total)

    run_ranges(total, 1, work, lambda: None, n_jobs, report_share)
    if not keep:
        return digests, None, targets[0]
    return digests, replace(copies, partitions=_joined([refined[begin] for begin in sorted(refined)])), True


def digest_words(words: Int64, begins: Int64) -> list[bytes]:
    """Return the SHA-256 of the description of every copy."""
    words = words.astype("<i8", copy=False)
    return [hashlib.sha256(words[start:end].data).digest() for start, end in pairwise(begins.tolist())]


def _joined(parts: list[Partitions]) -> Partitions:
    graph, cell, target = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("graph", "cell", "target")
    )
    sizes = np.concatenate([np.diff(part.begins) for part in parts])
    return Partitions(graph, np.concatenate([[0], np.cumsum(sizes)]), cell, target)
