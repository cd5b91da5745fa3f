"""Labels that come with a graph of another library, and texts as integers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from detours.arrays import Int64
from detours.errors import InputError

TEXT = 1 << 62
"""Integers from here on stand for short texts, those below its negative for long ones."""
SHORT = 7
"""The most bytes of a text that is kept in its integer."""
_long_texts: dict[int, str] = {}
"""The longer texts that were read, for messages."""


class Labels(NamedTuple):
    """The labels of the nodes and edges of a graph, in their order; None for those without any."""

    of_nodes: Sequence[Hashable] | None
    of_edges: Sequence[Hashable] | None


def labels_of(graph: Any, nodes: bool = True, edges: bool = True) -> Labels:
    """Return the requested labels that come with a graph of NetworkX or igraph ("label"), or a molecule of RDKit.

    >>> import networkx as nx
    >>> labels_of(nx.path_graph(2))
    Labels(of_nodes=None, of_edges=None)
    """
    if hasattr(graph, "is_multigraph"):
        return Labels(
            _attribute(graph.nodes(data="label")) if nodes else None,
            _attribute(graph.edges(data="label")) if edges else None,
        )
    if hasattr(graph, "get_edgelist"):
        return Labels(_column(graph.vs) if nodes else None, _column(graph.es) if edges else None)
    if hasattr(graph, "GetBonds"):
        symbols = [atom.GetSymbol() for atom in graph.GetAtoms()] if nodes else None
        return Labels(symbols, [str(bond.GetBondType()) for bond in graph.GetBonds()] if edges else None)
    return Labels(None, None)


def as_integers(labels: Sequence[Hashable]) -> Int64:
    """Return labels as int64: texts become integers that depend on the text alone, so that all data sets agree.

    Raises:
        InputError: If an integer is as large as those that stand for texts.

    >>> as_integers([1, 2.0]).tolist(), [as_given(number) for number in as_integers(["C", "Cl"])]
    ([1, 2], ['C', 'Cl'])
    """
    return np.array([_as_integer(label) for label in labels], np.int64)


def _as_integer(label: Hashable) -> int:
    if isinstance(label, int | np.integer) or (isinstance(label, float | np.floating) and label.is_integer()):
        if abs(int(label)) >= TEXT:
            raise InputError(
                f"labels that are integers must be below 2^62 in size, but one is {label}; give it as text."
            )
        return int(label)
    text = str(label)
    content = text.encode()
    if len(content) <= SHORT:
        return TEXT + int.from_bytes(b"\x01" + content, "big")
    number = -TEXT - int.from_bytes(sha256(content).digest()[:SHORT], "big")
    _long_texts[number] = text
    return number


def as_given(number: int) -> int | str:
    """Return a label for a message: the integer or the text that was given.

    Of a text of more than `SHORT` bytes that was not read by this process, as that of a saved model, only the hash is
    known.
    """
    if number >= TEXT:
        content = (int(number) - TEXT).to_bytes(SHORT + 1, "big").lstrip(b"\x00")[1:]
        return content.decode(errors="replace")
    if number > -TEXT:
        return int(number)
    return _long_texts.get(int(number), f"a text with hash {-TEXT - int(number):x}")


def _is_nan(label: Hashable) -> bool:
    return isinstance(label, float | np.floating) and bool(np.isnan(label))


def _attribute(rows: Iterable[Any]) -> list[Any] | None:
    """The last entry of every row, None where it is NaN, or None if all of them are None."""
    labels = [None if _is_nan(row[-1]) else row[-1] for row in rows]
    return None if all(label is None for label in labels) else labels


def _column(sequence: Any) -> list[Any] | None:
    """The attribute "label" of the vertices or edges of an igraph graph, or None if none of them has it."""
    return _attribute(zip(sequence["label"], strict=True)) if "label" in sequence.attributes() else None
