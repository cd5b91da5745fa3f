"""Warnings of edge lists that were read, but may mean something else."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from detours.errors import shown, warn_caller
from detours.graph.edges import EdgeList
from detours.graph.files.shared.columns import known_header
from detours.graph.files.shared.lines import is_integer

NO_NODES = ("", "#", "id", "index", "no", "row", "edge", "edge_id", "bond", "bond_id", "graph", "molecule", "weight")
"""Names of a first column that seldom holds nodes."""
_SUSPECT = 2  # edges from which a first line whose names occur nowhere else is worth a warning


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


def warn_of_columns(rows: Sequence[Sequence[str]], path: Path) -> None:
    """Warn if others than the first two columns may hold the nodes: the first one counts the rows, or is named so.

    Args:
        rows: The first ones, the header among them.
        path: The file.
    """
    first, below = rows[0], [row for row in rows[1:] if len(row) > 2]
    if len(first) < 3 or known_header(first) is not None:
        return
    integers = all(len(field) <= 18 and is_integer(field.encode()) for row in below for field in (row[0], row[2]))
    counts = integers and len(below) > 1 and all(int(b[0]) == int(a[0]) + 1 for a, b in pairwise(below))
    if counts or first[0].strip().lower() in NO_NODES:
        warn_caller(
            f"{path.name}: the columns {shown(first[0])} and {shown(first[1])} were read as nodes; "
            f"if others hold them, name these, such as {shown(first[1])} and {shown(first[2])}.",
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
