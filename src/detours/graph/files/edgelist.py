"""Edge lists: one edge per line, two integers or two names; a third column is a weight, and the rest is ignored."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from detours.atomic import atomic_write
from detours.errors import FileFormatError, InputError, warn_caller
from detours.graph.edges import EdgeList
from detours.graph.files.shared.columns import HEADERS
from detours.graph.files.shared.doubts import (
    warn_of_columns,
    warn_of_counts,
    warn_of_direction,
    warn_of_header,
    warn_of_missing,
    warn_of_sets,
    warn_of_zeros,
)
from detours.graph.files.shared.format import Format, ending
from detours.graph.files.shared.head import Head, read_head
from detours.graph.files.shared.lines import MAX_ID, NoWeight, pieces, quoted, read_integers
from detours.graph.files.shared.name_index import sorted_by_name
from detours.graph.files.shared.named_lines import read_names
from detours.graph.files.shared.source import open_file
from detours.graph.files.table import read_table
from detours.graph.pairs import renumber

_ROWS = 100_000
_ID = re.compile("0|[1-9][0-9]{0,18}")
_WORD = re.compile(r"[^\W\d]\w*(?:[ .:'-]\w+)*")
_HEADER_WORDS = {word for header in HEADERS for word in header}


def read(path: Path) -> EdgeList:
    """Return the edges of a file; its first lines show whether it holds integers, names or a table."""
    with open_file(path) as file:
        head = read_head(pieces(file), path)
        if head.kind == "table":
            return read_table(path, sep=head.sep, text=b"".join(head.text))
        if head.padded:
            warn_of_zeros(path)
        rows = head.rows()
        warn_of_columns(rows, path, header=head.header)
        warn_of_sets(rows[head.header :], path)
        try:
            edges = _read_integers(head.text, path) if head.kind == "integers" else _read_names(head, path)
        except NoWeight:
            if not head.may_hold_text() or not path.is_file():  # a pipe cannot be read twice
                raise
            return read_table(path, sep=head.sep)
        if head.kind == "names" and not head.header:
            warn_of_header(edges, path)
        elif not head.header and len(head.lines[0].fields) == 2:
            warn_of_counts(edges, path)
        warn_of_missing(edges, path)
        return replace(edges, directed=head.directed)


def _read_integers(text: Iterable[bytes], path: Path) -> EdgeList:
    ids = read_integers(text, path)
    if not ids.size:
        raise FileFormatError("the file holds no edges.", path)
    edges, names, num_nodes = renumber(ids)
    return EdgeList(edges, num_nodes, names, "lines")


def _read_names(head: Head, path: Path) -> EdgeList:
    first = head.lines[0]
    ends, names = read_names(head.text, first.separator, first.number, path)
    if not ends.size:
        raise FileFormatError("the file holds no edges.", path)
    return sorted_by_name(ends, _decoded(names, path))


def _decoded(names: list[bytes], path: Path) -> list[str]:
    decoded = []
    for name in names:
        try:
            decoded.append(name.decode("utf-8"))
        except UnicodeDecodeError:
            raise FileFormatError(f"the name {quoted(name)} is not UTF-8 text; save the file as UTF-8.", path) from None
    return decoded


def write(edges: EdgeList, path: Path) -> None:
    """Write one edge per line (arcs if directed), in the caller's names.

    Names that could be read as something else are quoted, below a header.
    """
    separator = {"csv": ",", "tsv": "\t"}.get(ending(path), " ")
    names = [str(name) for name in edges.name_list()]
    _check_names(names, separator, path)
    if not edges.edge_index.size:
        raise InputError("an edge list cannot hold a graph without edges; write .graphml, .mtx, .npz or .g6.")
    warn_of_direction(edges, "an edge list")
    degree = np.bincount(edges.edge_index.ravel(), minlength=edges.num_nodes)
    isolated = int(np.count_nonzero(degree == 0))
    if isolated:
        warn_caller(
            f"{isolated} node{'s' * (isolated != 1)} without an edge cannot be kept in an edge list; "
            "write .graphml, .mtx, .npz or .g6 to keep them.",
            UserWarning,
        )
    sources, targets = edges.once()
    header = "" if _are_ids(names) or all(map(_is_word, names)) else separator.join(HEADERS[0]) + "\n"
    if header:
        names = ['"' + name.replace('"', '""') + '"' for name in names]
    with atomic_write(path) as file:
        file.write(header.encode())
        for start in range(0, len(sources), _ROWS):
            rows = slice(start, start + _ROWS)
            pairs = zip(sources[rows].tolist(), targets[rows].tolist(), strict=True)
            file.write("".join([f"{names[u]}{separator}{names[v]}\n" for u, v in pairs]).encode("utf-8"))


def _check_names(names: list[str], separator: str, path: Path) -> None:
    for name in names:
        plain = bool(name) and name == name.strip() and not set(name) & set("\n\r\0") and _is_unicode(name)
        if separator == " ":
            plain = plain and name.split() == [name] and name[0] not in "#%" and not set(name) & set(',"')
        if not plain:
            others = ".csv, .tsv, .graphml" if separator == " " else ".graphml"
            raise InputError(
                f"The node name {name!r} cannot be written to an edge list ({path}), as it would be read as another "
                f"one; write {others} or .npz, or rename the nodes."
            )
    if len(set(names)) < len(names):
        raise InputError(f"Two nodes have the same name when written as text ({path}); write .npz or rename them.")


def _is_unicode(name: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in name)


def _are_ids(names: list[str]) -> bool:
    """Return whether all names are integers in plain digits."""
    return all(_ID.fullmatch(name) and int(name) <= MAX_ID for name in names)


def _is_word(name: str) -> bool:
    """Return whether a name cannot be read as anything else, wherever it is in the file."""
    return _WORD.fullmatch(name) is not None and name.lower() not in _HEADER_WORDS


FORMAT = Format(("edgelist", "edges", "edge", "el", "txt", "csv", "tsv", "dat", "list", "links", "ncol"), read, write)
