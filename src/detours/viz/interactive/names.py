"""Names of nodes as text that is safe to display: short, on one line, and without bidirectional controls."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

MAX_CHARACTERS = 120
"""The maximal number of characters of a name in a page; longer names end in an ellipsis."""
# Controls, format characters such as bidirectional marks, surrogates, private use, unassigned, and line breaks.
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # part of ordinary words in some scripts, and of emoji


def shown_name(name: Any) -> str:
    """Return the name of a node as one line of text, with invisible characters written as escapes.

    >>> shown_name("left\\u202eright"), shown_name(7), len(shown_name("a" * 10_000))
    ('left\\\\u202eright', '7', 120)
    """
    text = str(name)
    cut = text[: MAX_CHARACTERS - 1] + "…" if len(text) > MAX_CHARACTERS else text
    return "".join(_visible(character) for character in cut)


def shown_names(names: Iterable[Any]) -> list[str]:
    """Return the names of many nodes as `shown_name` does."""
    return [shown_name(name) for name in names]


def _visible(character: str) -> str:
    if character in _JOINERS or unicodedata.category(character) not in _HIDDEN:
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"
