"""Node names as plain arrays, without pickle: an untrusted file cannot run code."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from detours.errors import InputError, short_repr
from detours.graph.edges import Names

KEYS = ("names", "names_text", "names_ends", "names_literal")
_MAX_LENGTH, _MAX_DEPTH = 10_000, 50  # of literals


def pack_names(names: Names | None) -> dict[str, Any]:
    """Return names as arrays: integers as such, strings as joined UTF-8, other literals (tuples) by their `repr`."""
    if names is None:
        return {}
    if isinstance(names, np.ndarray):
        return {"names": names}
    names = [name.item() if isinstance(name, np.generic) else name for name in names]  # as Python numbers and strings
    if all(type(name) is int and -(2**63) <= name < 2**63 for name in names):
        return {"names": np.array(names, dtype=np.int64)}
    literal = not all(type(name) is str for name in names)
    texts = [_to_literal(name) if literal else str(name) for name in names]
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return {
        "names_text": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        "names_ends": np.cumsum([len(text) for text in encoded], dtype=np.int64),
        "names_literal": np.bool_(literal),
    }


def _to_literal(name: object) -> str:
    text = repr(name)
    try:
        restored = ast.literal_eval(text) == name
    except (ValueError, SyntaxError, TypeError):
        restored = False
    if not restored or len(text) > _MAX_LENGTH or text.count("(") > _MAX_DEPTH:
        raise InputError(
            f"The node name {short_repr(name)} ({type(name).__name__}) cannot be stored; "
            "use numbers, strings or tuples of these as names."
        )
    return text


def unpack_names(arrays: Mapping[str, Any]) -> Names | None:
    """Return the names that `pack_names` packed, or raise `ValueError` if the arrays do not fit together."""
    if "names" in arrays:
        names = arrays["names"]
        if names.ndim != 1 or names.dtype.kind not in "iuU":
            raise ValueError("the node names must be a one-dimensional array of integers or strings")
        if names.dtype.kind == "U":
            return tuple(names.tolist())
        return np.ascontiguousarray(names, dtype=np.int64)
    if "names_text" not in arrays:
        return None
    text, ends = arrays["names_text"], arrays["names_ends"]
    if text.dtype != np.uint8 or ends.dtype != np.int64 or text.ndim != 1 or ends.ndim != 1:
        raise ValueError("the node names are damaged")
    starts = np.concatenate(([0], ends[:-1]))
    if (ends < starts).any() or ends[-1:].sum() != len(text):
        raise ValueError("the node names are cut off")
    encoded = text.tobytes()
    bounds = zip(starts.tolist(), ends.tolist(), strict=True)
    texts = [encoded[a:b].decode("utf-8", "surrogatepass") for a, b in bounds]
    return tuple(map(_from_literal, texts)) if arrays["names_literal"].item() else tuple(texts)


def _from_literal(text: str) -> Hashable:
    """Return the name that a literal spells; only short and shallow ones reach Python's parser."""
    if len(text) > _MAX_LENGTH or text.count("(") > _MAX_DEPTH:
        raise ValueError("the literal of a node name is too long")
    name: Hashable = ast.literal_eval(text)
    hash(name)  # raises `TypeError` for a list
    return name
