"""Limits: the memory of a result, and the number of items and the time of listing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from detours.checks import check_integer, check_number, readable_bytes
from detours.containers import machine_memory
from detours.errors import BudgetExceeded, InputError
from detours.graph import Graph

Item = TypeVar("Item")


def check_size(graph: Graph, k: int, otherwise: str = "") -> None:
    """Refuse counts that need more memory than the machine has, as for a k far beyond the number of nodes.

    ``otherwise`` is what else the caller can do; the message ends with it.
    """
    size, available = 8 * (k - 1) * graph.num_arcs * (1 + graph.directed), machine_memory()
    if available is not None and size > available:
        raise InputError(
            f"the counts of {graph.num_arcs:,} arcs by length up to k = {k} take {readable_bytes(size)}, and this "
            f"machine has {readable_bytes(available)}; no path here has more than {graph.num_nodes - 1:,} edges"
            + otherwise
        )


def within_budget(
    batches: Iterable[Iterable[Item]], what: str, argument: str, most: int | None, time_limit: float | None
) -> Iterator[Item]:
    """Return an iterator over the items of all batches, which raises `BudgetExceeded` when a limit is exceeded.

    Args:
        batches: The items, some at a time; the time is checked after each batch.
        what: The items in the plural, as the message names them.
        argument: The caller's argument that limits their number.
        most: That limit, or None.
        time_limit: Seconds from the first request for an item, or None.
    """
    if most is not None:
        check_integer(argument, most, minimum=1, otherwise="None for no limit")
    if time_limit is not None:
        check_number("time_limit", time_limit, above=0, otherwise="None for no limit")
    if most is None and time_limit is None:
        return (item for batch in batches for item in batch)
    return _limited(batches, what, argument, most, time_limit)


def _limited(
    batches: Iterable[Iterable[Item]], what: str, argument: str, most: int | None, time_limit: float | None
) -> Iterator[Item]:
    found: list[Item] = []
    started = time.perf_counter()
    for batch in batches:
        for item in batch:
            if len(found) == most:
                message = f"there are more than {argument} = {most} {what}; allow more, or lower k"
                raise BudgetExceeded(message, found, argument)
            found.append(item)
            yield item
        if time_limit is not None and time.perf_counter() - started >= time_limit:
            message = f"time_limit = {time_limit:g} s was reached after {len(found)} {what}; allow more, or lower k"
            raise BudgetExceeded(message, found, "time_limit")
