"""Warnings about lists that were read but may mean something else, or will when they are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from detours.errors import short_repr, warn_caller
from detours.graph.edges import EdgeList
from detours.graph.files.shared.columns import known_header
from detours.graph.files.shared.lines import is_decimal, is_integer

NO_NODES = (
    *("", "#", "id", "index", "no", "row", "edge", "edge_id", "bond", "bond_id", "graph", "molecule", "weight"),
    *("year", "month", "week", "day", "date", "time", "datetime", "timestamp"),
    *("rating", "score", "count", "value", "label", "type"),
)
"""Names of columns that rarely hold nodes."""
_MISSING = {"nan", "NaN", "NA", "N/A", "#N/A", "NULL", "null", "None", "<NA>"}
_MIN_EDGES_FOR_HEADER = 2  # from which on a first line whose names occur nowhere else is suspicious
_MIN_EDGES_FOR_COUNTS = 4  # from which on a first line with the right counts is not a coincidence


def warn_of_direction(edges: EdgeList, kind: str) -> None:
    """Warn if a directed graph is written to a kind of file that does not say so."""
    if edges.directed:
        warn_caller(
            f"{kind} does not say that its edges are directed; read it with directed=True, or write .graphml or .npz.",
            UserWarning,
        )


def warn_of_header(edges: EdgeList, path: Path) -> None:
    """Warn if the first line, read as an edge, may be a header: its names occur in no other line."""
    ends = edges.edge_index
    if ends.shape[1] < _MIN_EDGES_FOR_HEADER or not isinstance(edges.names, tuple):
        return
    if all(np.count_nonzero(ends == node) == 1 for node in ends[:, 0]):
        names = " and ".join(short_repr(edges.names[node]) for node in ends[:, 0])
        _warn(
            path,
            "the first line was read as an edge, although its nodes occur in no other line; "
            f"if it is a header, name the columns of nodes, {names}.",
        )


def warn_of_columns(rows: Sequence[Sequence[str]], path: Path, *, header: bool) -> None:
    """Warn if other columns than the first two may hold the nodes.

    The second and third may if the first counts the rows or is named like that, or if they share nodes that the first,
    which may hold times, does not have. The first and third may if the second says how they are related. A third column
    with a name such as rating holds no nodes.

    Args:
        rows: The first rows, including a header.
        path: The file.
        header: Whether there is a header.
    """
    if not rows or len(rows[0]) < 3 or known_header(rows[0]) is not None:
        return
    first, below = rows[0], [row for row in rows[header:] if len(row) > 2]
    first_is_other, _, third_is_other = (header and name.strip().lower() in NO_NODES for name in first[:3])
    if third_is_other and (not first_is_other or len(first) == 3):
        return
    if first_is_other or (header and _first_counts(below)) or _share_nodes(below, 1, 2, other=0):
        better = 1, 2
    elif _second_relates(below):
        better = 0, 2
    else:
        return
    names = [short_repr(name) for name in first] if header else [str(column) for column in range(1, len(first) + 1)]
    _warn(
        path,
        f"the columns {names[0]} and {names[1]} were read as nodes; "
        f"if other columns hold them, name these, such as {names[better[0]]} and {names[better[1]]}.",
    )


def _first_counts(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first column counts the rows, and the third could be nodes."""
    integers = all(len(field) <= 18 and is_integer(field.encode()) for row in rows for field in (row[0], row[2]))
    return integers and len(rows) > 1 and all(int(b[0]) == int(a[0]) + 1 for a, b in pairwise(rows))


def _share_nodes(rows: Sequence[Sequence[str]], left: int, right: int, *, other: int) -> bool:
    """Return whether two columns have many values in common, but the left and the other column hardly any."""
    lefts, rights, others = ({row[column] for row in rows} for column in (left, right, other))
    common = len(lefts & rights)
    return common > 1 and 8 * len(others & lefts) <= len(others) and 4 * common >= max(len(lefts), len(rights))


def _second_relates(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the second column, of few distinct words, relates nodes in the first and the third."""
    nodes, words = ({row[column] for row in rows} for column in (0, 1))
    few = len(words) < len(nodes) and not any(is_decimal(word.encode()) for word in words)
    return few and _share_nodes(rows, 0, 2, other=1)


def warn_of_sets(rows: Sequence[Sequence[str]], path: Path) -> None:
    """Warn if lines may be sets of nodes, as of a hypergraph: the fields after the first two are nodes as well.

    Args:
        rows: The first rows, without a header.
        path: The file.
    """
    lengths = {len(row) for row in rows}
    nodes = {name for row in rows for name in row[:2]}
    rest = {name for row in rows for name in row[2:]}
    if len(lengths) > 2 and len(rest) > 1 and "" not in rest and 4 * len(rest - nodes) <= len(rest):
        _warn(
            path,
            f"lines have {min(lengths)} to {max(lengths)} columns, and the first two were read as nodes; "
            "if a line is a list of nodes, write a line for each of its edges.",
        )


def warn_of_missing(edges: EdgeList, path: Path) -> None:
    """Warn about nodes whose names denote a missing value."""
    found = sorted(_MISSING.intersection(edges.names)) if isinstance(edges.names, tuple) else []
    if found:
        names = ", ".join(found)
        _warn(path, f"{names} was read as a node, but may denote a missing value; if so, remove its edges.")


def warn_of_counts(edges: EdgeList, path: Path) -> None:
    """Warn if the first line, two integers read as an edge, may be the number of nodes and of edges."""
    ends, others = edges.edge_index, edges.edge_index[:, 1:]
    ids = [int(node if edges.names is None else edges.names[node]) for node in (*ends[:, 0], others.max(initial=0))]
    nodes, lines, largest = ids
    if _MIN_EDGES_FOR_COUNTS <= lines == others.shape[1] and largest <= nodes and len(np.unique(others)) <= nodes:
        _warn(
            path,
            f"the first line, {nodes} {lines}, was read as an edge, although it may be the number of "
            "nodes and of edges; if so, begin it with #.",
        )


def warn_of_comments(count: int, path: Path) -> None:
    """Warn about skipped comments that may be edges of nodes whose names begin with # or %."""
    if count:
        skipped = "one that may be an edge was" if count == 1 else f"{count} that may be edges were"
        _warn(path, f"lines that begin with # or % are comments, and {skipped} skipped; quote such names.")


def warn_of_zeros(path: Path) -> None:
    """Warn that ids that differ only in leading zeros are the same node."""
    _warn(path, "ids with leading zeros are read as numbers, so that 007 is the node 7.")


def _warn(path: Path, message: str) -> None:
    warn_caller(f"{path.name}: {message}", UserWarning)
