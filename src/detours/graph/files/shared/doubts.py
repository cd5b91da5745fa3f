"""Warnings of edge lists that were read, but may mean something else."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from detours.errors import shown, warn_caller
from detours.graph.edges import EdgeList
from detours.graph.files.shared.columns import known_header
from detours.graph.files.shared.lines import is_decimal, is_integer

NO_NODES = (
    *("", "#", "id", "index", "no", "row", "edge", "edge_id", "bond", "bond_id", "graph", "molecule", "weight"),
    *("year", "month", "week", "day", "date", "time", "datetime", "timestamp"),
    *("rating", "score", "count", "value", "label", "type"),
)
"""Names of columns that seldom hold nodes."""
_MISSING = {"nan", "NaN", "NA", "N/A", "#N/A", "NULL", "null", "None", "<NA>"}
_SUSPECT = 2  # edges from which a first line whose names occur nowhere else is worth a warning
_FEW = 4  # edges from which their number is no accident


def warn_of_header(edges: EdgeList, path: Path) -> None:
    """Warn if the first line, read as an edge, may be a header: its names are in no other line."""
    ends = edges.edge_index
    if ends.shape[1] < _SUSPECT or not isinstance(edges.names, tuple):
        return
    if all(np.count_nonzero(ends == node) == 1 for node in ends[:, 0]):
        names = " and ".join(shown(edges.names[node]) for node in ends[:, 0])
        warn_caller(
            f"{path.name}: the first line was read as an edge, although its nodes are in no other line; "
            f"if it is a header, name the columns of nodes, {names}.",
            UserWarning,
        )


def warn_of_columns(rows: Sequence[Sequence[str]], path: Path, *, header: bool) -> None:
    """Warn if others than the first two columns may hold the nodes.

    They may if the first column counts the rows, or is named so, or if the third has nodes of the second and the first
    has none, as where it holds times, or nodes of the first and the second has none, as where it says what joins them.
    A third column that is named rating, say, has none.

    Args:
        rows: The first ones, the header among them.
        path: The file.
        header: Whether there is one.
    """
    if not rows or len(rows[0]) < 3 or known_header(rows[0]) is not None:
        return
    first, below = rows[0], [row for row in rows[header:] if len(row) > 2]
    strange, _, value = (header and name.strip().lower() in NO_NODES for name in first[:3])
    if value and (not strange or len(first) == 3):
        return
    if strange or (header and _count(below)) or _are_nodes(below, 1, 2, but=0):
        better = 1, 2
    elif _joins(below):
        better = 0, 2
    else:
        return
    names = [shown(name) for name in first] if header else [str(place) for place in range(1, len(first) + 1)]
    warn_caller(
        f"{path.name}: the columns {names[0]} and {names[1]} were read as nodes; "
        f"if others hold them, name these, such as {names[better[0]]} and {names[better[1]]}.",
        UserWarning,
    )


def _count(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first column counts the rows, and the third could be nodes."""
    integers = all(len(field) <= 18 and is_integer(field.encode()) for row in rows for field in (row[0], row[2]))
    return integers and len(rows) > 1 and all(int(b[0]) == int(a[0]) + 1 for a, b in pairwise(rows))


def _are_nodes(rows: Sequence[Sequence[str]], left: int, right: int, *, but: int) -> bool:
    """Return whether two columns hold the same things, and a third one others than the left, or nearly so."""
    one, two, other = ({row[column] for row in rows} for column in (left, right, but))
    both = len(one & two)
    return both > 1 and 8 * len(other & one) <= len(other) and 4 * both >= max(len(one), len(two))


def _joins(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the second column says, in few words, what joins the nodes of the first and the third."""
    nodes, words = ({row[column] for row in rows} for column in (0, 1))
    few = len(words) < len(nodes) and not any(is_decimal(word.encode()) for word in words)
    return few and _are_nodes(rows, 0, 2, but=1)


def warn_of_sets(rows: Sequence[Sequence[str]], path: Path) -> None:
    """Warn if lines hold more nodes than two, as those of hypergraphs do: all that stands behind two nodes is a node.

    Args:
        rows: The first ones, without a header.
        path: The file.
    """
    lengths = {len(row) for row in rows}
    nodes = {name for row in rows for name in row[:2]}
    rest = {name for row in rows for name in row[2:]}
    if len(lengths) > 2 and len(rest) > 1 and "" not in rest and 4 * len(rest - nodes) <= len(rest):
        warn_caller(
            f"{path.name}: lines have {min(lengths)} to {max(lengths)} columns, and the first two were read as nodes; "
            "if a line is a list of nodes, write a line for each of its edges.",
            UserWarning,
        )


def warn_of_missing(edges: EdgeList, path: Path) -> None:
    """Warn of nodes whose names stand for a missing value."""
    found = sorted(_MISSING.intersection(edges.names)) if isinstance(edges.names, tuple) else []
    if found:
        warn_caller(
            f"{path.name}: {', '.join(found)} was read as a node, but may stand for a missing value; if so, remove its "
            "edges.",
            UserWarning,
        )


def warn_of_counts(edges: EdgeList, path: Path) -> None:
    """Warn if the first line, two integers read as an edge, may be the numbers of nodes and edges."""
    ends, others = edges.edge_index, edges.edge_index[:, 1:]
    ids = [int(node if edges.names is None else edges.names[node]) for node in (*ends[:, 0], others.max(initial=0))]
    nodes, lines, largest = ids
    if _FEW <= lines == others.shape[1] and largest <= nodes and len(np.unique(others)) <= nodes:
        warn_caller(
            f"{path.name}: the first line, {nodes} {lines}, was read as an edge, although it may be the numbers of "
            "nodes and edges; if so, begin it with #.",
            UserWarning,
        )


def warn_of_comments(number: int, path: Path) -> None:
    """Warn of so many lines of a table that were skipped, though they may be edges of nodes whose names begin so."""
    if number:
        skipped = "one that may be an edge was" if number == 1 else f"{number} that may be edges were"
        warn_caller(
            f"{path.name}: lines that begin with # or % are comments, and {skipped} skipped; quote such names.",
            UserWarning,
        )


def warn_of_zeros(path: Path) -> None:
    """Warn that ids which differ in leading zeros alone are the same node."""
    warn_caller(f"{path.name}: ids with leading zeros are read as numbers, so that 007 is the node 7.", UserWarning)
