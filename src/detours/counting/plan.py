"""Which engine, how many lanes, which word size: decided from the graph's own figures before anything runs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from detours.counting.formulas import MAX_LENGTH
from detours.counting.reduce import Reduced
from detours.errors import EngineError, InputError

Engine = Literal["auto", "rows", "search"]

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass(frozen=True)
class Plan:
    """What will be done; print it to read it."""

    engine: str
    k: int
    directed: bool
    n_jobs: int
    lanes: int
    word: type
    order: str
    seconds: float
    bytes: int
    reason: str
    nodes: int = 0
    arcs: int = 0
    blocks: int = 0

    def __str__(self) -> str:
        return self.reason


def make_plan(
    reduced: Reduced,
    k: int,
    *,
    engine: str = "auto",
    n_jobs: int = 1,
    memory_limit: int | str | None = None,
) -> Plan:
    if engine not in ("auto", "rows", "search"):
        raise InputError(f"engine={engine!r} is not known; choose 'auto', 'rows' or 'search'")
    if engine == "rows" and k > MAX_LENGTH:
        raise EngineError(f"engine='rows' has closed forms up to k = {MAX_LENGTH}, not for k = {k}; use engine='search' or 'auto'")
    if engine == "auto":
        engine = "rows" if k <= MAX_LENGTH else "search"
    jobs = check_jobs(n_jobs)
    limit = parse_bytes(memory_limit)
    word = np.int32 if largest_count(reduced, k) < 2.0**31 else np.int64
    return Plan(engine, k, reduced.directed, jobs, 32, word, "degree", 0.0, limit or 0, "")


def largest_count(reduced: Reduced, k: int) -> float:
    """A bound on the detours of any one length <= k on any arc.

    A path of length L is fixed by its first L - 1 steps, and no step goes back: count walks that never turn round, where the
    forbidden neighbour is taken to be the one with the fewest continuations.
    """
    from detours.counting.lanes import continuations

    if reduced.num_arcs == 0 or k < 3:
        return float(reduced.num_nodes)
    indptr, indices = reduced.indptr, reduced.indices
    ahead = np.ones(reduced.num_nodes)
    for _ in range(k - 3):
        ahead = continuations(indptr, indices, ahead, not reduced.directed)
    return float(continuations(indptr, indices, ahead, False).max()) * (1 + 1e-9)


def check_jobs(n_jobs: Any) -> int:
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0 or n_jobs < -1:
        raise InputError(f"n_jobs={n_jobs!r} is not a number of threads; give an integer >= 1, or -1 for all cores")
    return (os.cpu_count() or 1) if n_jobs == -1 else int(n_jobs)


def parse_bytes(limit: int | str | None) -> int | None:
    """Bytes from 2_000_000, "2GB", "512 MiB" ...; None means no limit of ours."""
    if limit is None:
        return None
    size: float = 0
    if isinstance(limit, str):
        text = limit.strip().upper().removesuffix("B").removesuffix("I").strip()
        unit = text[-1:] if text[-1:] in _UNITS else ""
        try:
            size = float(text.removesuffix(unit)) * _UNITS[unit]
        except ValueError:
            size = 0
    elif not isinstance(limit, bool) and isinstance(limit, int | float | np.integer):
        size = float(limit)
    if not size >= 1 or size == float("inf"):
        raise InputError(f"memory_limit={limit!r} is not a size; give a positive number of bytes or a text like '2GB'")
    return int(size)
