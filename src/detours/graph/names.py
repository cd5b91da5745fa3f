"""Look up nodes by the caller's names."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from detours.errors import short_repr
from detours.graph.edges import Names


def find(name: Hashable, num_nodes: int, names: Mapping[Hashable, int] | Names | None) -> int | None:
    """Return the index of a name, or of the integer it spells; None if there is no such node."""
    index = _find(name, num_nodes, names)
    if index is None and isinstance(name, str) and _spells_integer(name):
        index = _find(int(name), num_nodes, names)
    return index


def _find(name: Hashable, num_nodes: int, names: Any) -> int | None:
    if isinstance(names, Mapping):
        try:
            return names.get(name)
        except TypeError:  # not hashable, so it cannot be a name
            return None
    if isinstance(name, bool) or not isinstance(name, (int, np.integer)):
        return None
    if names is None:
        return int(name) if 0 <= name < num_nodes else None
    found = np.flatnonzero(names == name)
    return int(found[0]) if len(found) else None


def _spells_integer(text: str) -> bool:
    digits = text[1:] if text[:1] == "-" else text
    return digits.isascii() and digits.isdigit() and len(digits) <= 18


def sample(names: Names | None, num_nodes: int) -> str:
    """Return the first few names, for a message."""
    if names is None:
        return f"0 to {num_nodes - 1}" if num_nodes else "none"
    first = names[:3].tolist() if isinstance(names, np.ndarray) else names[:3]
    return ", ".join(short_repr(name) for name in first) + (", ..." if num_nodes > 3 else "")
