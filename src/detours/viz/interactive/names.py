"""Names of nodes as text that is safe to display: short, on one line, and without bidirectional controls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from detours.errors import escape_control

MAX_CHARACTERS = 120
"""The maximal number of characters of a name in a page; longer names end in an ellipsis."""


def shown_name(name: Any) -> str:
    """Return the name of a node as one line of text, with hidden characters escaped.

    >>> shown_name("left\\u202eright"), shown_name(7), len(shown_name("a" * 10_000))
    ('left\\\\u202eright', '7', 120)
    """
    text = str(name)
    cut = text[: MAX_CHARACTERS - 1] + "…" if len(text) > MAX_CHARACTERS else text
    return escape_control(cut)


def shown_names(names: Iterable[Any]) -> list[str]:
    """Return the names of many nodes as `shown_name` does."""
    return [shown_name(name) for name in names]
