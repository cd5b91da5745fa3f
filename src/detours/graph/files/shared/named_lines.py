"""Lines of names: two nodes, and perhaps a weight."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from detours.arrays import Int64
from detours.errors import FileFormatError
from detours.graph.files.shared.columns import first_fields
from detours.graph.files.shared.doubts import warn_of_comments
from detours.graph.files.shared.lines import check_weight, is_data, quoted
from detours.graph.files.shared.name_index import NameIndex, Row


def read_names(text: Iterable[bytes], separator: bytes | None, first: int, path: Path) -> tuple[Int64, list[bytes]]:
    """Return int64 [2, lines], the two nodes of every line, and the node names in no particular order.

    Args:
        text: Pieces that end with a line feed.
        separator: The separator between two nodes; None for blanks.
        first: The number of the first line of nodes. Comments below it that hold a separator could be edges.
        path: The file.
    """
    comments = 0

    def rows(piece: bytes, at: int, line: int) -> Iterator[Row]:
        nonlocal comments
        while at < len(piece):
            end = piece.index(b"\n", at)
            raw, at = piece[at:end], end + 1
            if is_data(raw):
                yield Row(_two_names(first_fields(raw, separator), line, path), line, at)
            elif separator is not None and line > first:
                comments += separator in raw
            line += 1

    index = NameIndex(rows, (separator or b" ").decode(), (0, 1), weight=2)
    parts, line = [np.empty((2, 0), np.int64)], 1
    for piece in text:
        parts.append(index.add_text(piece, line=line))
        line += piece.count(b"\n")
    warn_of_comments(comments, path)
    return parts[1] if len(parts) == 2 else np.concatenate(parts, axis=1), list(index.ids)


def _two_names(fields: list[bytes], line: int, path: Path) -> list[bytes]:
    if len(fields) > 2 and not fields[0] and all(fields[1:]):
        raise FileFormatError(
            f"the first column is empty; if it numbers the rows, name the columns of nodes, such as "
            f"{quoted(fields[1])} and {quoted(fields[2])}; read an adjacency matrix with pandas.",
            path,
            line,
        )
    if len(fields) > 2 and not fields[1] and fields[0] and fields[2]:
        raise FileFormatError(
            f"the second column is empty, between {quoted(fields[0])} and {quoted(fields[2])}; write one tab or comma "
            "between two nodes, or name the columns of nodes, as in columns=(1, 3).",
            path,
            line,
        )
    if len(fields) < 2 or not fields[0] or not fields[1]:
        raise FileFormatError(
            f"a line must hold two nodes, but there is only {quoted(b' '.join(fields).strip())}.",
            path,
            line,
        )
    if len(fields) > 2:
        check_weight(fields[2], line, path)
    return fields[:2]
