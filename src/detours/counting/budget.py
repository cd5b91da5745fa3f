"""Limits on listing: the number of items, and the time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from detours.checks import check_integer, check_number
from detours.errors import BudgetExceeded

Item = TypeVar("Item")


def within_budget(
    batches: Iterable[Iterable[Item]], what: str, argument: str, most: int | None, time_limit: float | None
) -> Iterator[Item]:
    """Return an iterator over the items of all batches, which raises `BudgetExceeded` when a limit is reached.

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
