"""Lists of edges that other programs write: what their first lines say, and those that are no plain columns."""

from __future__ import annotations

import re
from pathlib import Path

from detours.errors import FileFormatError
from detours.graph.files.shared.lines import is_data

_HEAD = 1 << 16  # bytes that are looked at
_WEIGHTS = rb"unweighted|positive|posweighted|signed|multisigned|weighted|multiweighted|dynamic"
_KONECT = re.compile(rb"%[ \t]*(sym|asym|bip)[ \t]+(?:" + _WEIGHTS + rb")\s")
_DIMACS = re.compile(rb"^p[ \t]+(?:sp|edges?|col|max|min|asn)[ \t]+\d+[ \t]+\d+[ \t]*\r?$", re.MULTILINE)
_BRACKETS = re.compile(rb"\s*(?:\([^()\[\],]*,[^()\[\],]*\)|\[[^()\[\],]*,[^()\[\],]*\]),?\s*")


def says_directed(text: bytes, path: Path) -> bool:
    """Return whether a list of KONECT says in its first line that it has arcs; refuse one of two kinds of nodes."""
    found = _KONECT.match(text)
    if found is not None and found[1] == b"bip":
        raise FileFormatError(
            "its first line says bip: each column numbers nodes of its own from 1, so that the node 1 of one would be "
            "that of the other; give the nodes of a column other names.",
            path,
            1,
        )
    return found is not None and found[1] == b"asym"


def refuse_other_lists(text: bytes, path: Path) -> None:
    """Raise `FileFormatError` for lists of which every line would be read as another edge than it is."""
    head = text[:_HEAD]
    if _DIMACS.search(head):
        raise FileFormatError(
            "this is a file of DIMACS; keep its lines that begin with a or e, and name the columns of nodes, 2 and 3.",
            path,
        )
    rows = [line for line in head.split(b"\n")[:-1] if is_data(line)]
    if rows and all(map(_BRACKETS.fullmatch, rows)):
        raise FileFormatError("its lines are pairs in brackets; write two columns, without brackets.", path)
