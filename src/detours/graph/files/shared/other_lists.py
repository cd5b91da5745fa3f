"""What looks like an edge list and is none, so that every line would be read as another edge than it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from detours.errors import FileFormatError
from detours.graph.files.shared.lines import is_data, is_decimal, is_integer
from detours.graph.files.shared.metis_header import metis_header

_HEAD = 1 << 16  # bytes that are looked at
_SURE = 20  # arcs of a METIS file, of which one sees the beginning
_WEIGHTS = rb"unweighted|positive|posweighted|signed|multisigned|weighted|multiweighted|dynamic"
_KONECT = re.compile(rb"%[ \t]*(sym|asym|bip)[ \t]+(?:" + _WEIGHTS + rb")\s")
_DIMACS = re.compile(rb"^p[ \t]+(?:sp|edges?|col|max|min|asn)[ \t]+\d+[ \t]+\d+[ \t]*\r?$", re.MULTILINE)
_BRACKETS = re.compile(rb"\s*(?:\([^()\[\],]*,[^()\[\],]*(?:,.*)?\)|\[[^()\[\],]*,[^()\[\],]*(?:,.*)?\]),?\s*")
_ARROW = re.compile(rb"\s*\S+[ \t]+(?:-+>|--|=>|\xe2\x86\x92)[ \t]+\S.*")

_COLON = re.compile(rb"\s*[^\s:,;]+:(?:\s.*)?")
_LONE_HASH = re.compile(rb"\n#[ \t\r]*\n")
_MARKS = (
    (rb"%%matrixmarket", 'a Matrix Market file; name it .mtx or give format="mtx"'),
    (rb"\*(?:vertices|network)\b", 'a Pajek network; name it .net or give format="pajek"'),
    (rb"graph\s*(?:\[|$)|creator\s+\"[^\"]*\"$", 'GML; name it .gml or give format="gml"'),
    (rb"dl(?:\s+n[rcm]?\s*=|\s*$)", "a DL file of UCINET; write a line of two nodes for every edge"),
    (rb"(?:strict\s+)?(?:di)?graph\b[^{]*\{(?!'|\}$)", "a DOT file; read it with networkx.nx_pydot.read_dot"),
    (rb"nodedef\s*>", "a GDF file; keep the lines below its edgedef"),
    (rb"\{\s*(?:\"|$)|\[\s*(?:\{|$)", "JSON; read it with json and networkx.node_link_graph, say"),
)
"""How the first line of a file of another kind begins."""


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
    """Raise `FileFormatError` for matrices, lists of neighbours, arrows, and all that `refuse_marked` knows."""
    refuse_matrix(text, path)
    refuse_metis(text, path)
    refuse_adjacency_list(text, path)
    refuse_marked(text, path)
    rows = _rows(text)
    if len(rows) > 1 and all(map(_COLON.fullmatch, rows)):
        raise FileFormatError(
            'its lines are a node, a colon and its neighbours; leave out the colons and give format="adjlist".', path
        )
    if rows and all(map(_ARROW.fullmatch, rows)):
        raise FileFormatError(
            "its lines have an arrow between their nodes; give columns=(1, 3), and directed=True if it has a meaning.",
            path,
        )


def refuse_marked(text: bytes, path: Path) -> None:
    """Raise `FileFormatError` for files of other formats and pairs in brackets, whose lines say what they are."""
    head = text[:_HEAD]
    rows = _rows(text)
    first = (head if head.startswith(b"%%") else rows[0] if rows else b"").split(b"\n")[0].strip()
    for mark, what in _MARKS:
        if re.match(mark, first, re.IGNORECASE):
            raise FileFormatError(f"this is {what}.", path)
    if _DIMACS.search(head):
        raise FileFormatError(
            "this is a file of DIMACS; keep its lines that begin with a or e, and name the columns of nodes, 2 and 3.",
            path,
        )
    _refuse_tgf(text, path)
    if rows and all(map(_BRACKETS.fullmatch, rows)):
        raise FileFormatError("its lines are pairs in brackets; write two columns, without brackets.", path)


def _refuse_tgf(text: bytes, path: Path) -> None:
    """Raise `FileFormatError` for a list of nodes and their labels, a line of # alone, and the edges."""
    halves = _LONE_HASH.split(text, 2) if b"#" in text else []
    if len(halves) != 2:
        return
    above = [line.split() for line in halves[0].split(b"\n") if is_data(line) and line.split()]
    nodes = {row[0] for row in above}
    if len(nodes) < len(above) or all(_is_edge(row, nodes) and row[0] != row[1] for row in above):
        return
    below = [line.split() for line in halves[1].split(b"\n") if is_data(line) and line.split()]
    if below and all(_is_edge(row, nodes) for row in below):
        raise FileFormatError("this is a TGF file, which has nodes above a # and edges below it; keep these.", path)


def _is_edge(row: list[bytes], nodes: set[bytes]) -> bool:
    return len(row) > 1 and nodes.issuperset(row[:2])


def _rows(text: bytes) -> list[bytes]:
    return [line for line in text[:_HEAD].split(b"\n")[:-1] if is_data(line)]


def refuse_matrix(text: bytes, path: Path) -> None:
    """Raise `FileFormatError` for a square of numbers that can only be an adjacency matrix, with names or without: read
    as edges, its first columns would be nodes."""
    first = next((line for line in text.split(b"\n", 9) if is_data(line)), b"")
    columns = len(_cells(first))
    if columns < 3 or not columns <= text.count(b"\n") + 1 <= 2 * columns + 9:
        return
    rows = [_cells(line) for line in text.split(b"\n") if is_data(line)]
    _refuse_names_twice(rows, text.count(b"\n", 0, text.index(first)) + 1, path)
    if len(rows) != columns or any(len(row) != columns for row in rows):
        return
    try:
        matrix = np.array([[float(cell) for cell in row] for row in rows])
    except ValueError:
        return
    mutual = np.array_equal(matrix, matrix.T) and not np.diagonal(matrix).any()
    if mutual or (columns > 3 and np.isin(matrix, (0, 1)).all()):
        raise FileFormatError(
            "this is an adjacency matrix, not a list of edges; read it with NumPy and give Graph.from_scipy, or write "
            "a line for every edge.",
            path,
        )


def _refuse_names_twice(rows: list[list[bytes]], line: int, path: Path) -> None:
    """Raise `FileFormatError` for a matrix whose columns and rows have the same names."""
    header, names = rows[0], [row[0] for row in rows[1:] if row]
    plain = len(header) == len(names) or not header[0].isdigit()  # else it may be the lists of all other nodes
    if len(names) > 1 and plain and header[-len(names) :] == names and {len(row) for row in rows[1:]} == {len(rows)}:
        raise FileFormatError(
            "its columns and its rows have the same names, as in a matrix; an adjacency matrix is read with pandas and "
            "networkx.from_pandas_adjacency.",
            path,
            line,
        )


def _cells(line: bytes) -> list[bytes]:
    return [cell for cell in re.split(rb"[\s,;]+", line) if cell]


def refuse_adjacency_list(text: bytes, path: Path) -> None:
    """Raise `FileFormatError` for lines of a node and its neighbours: read as edges, all but the first would be lost.

    They have a line for every node, and not all the same length, or no other numbers than those of nodes.
    """
    lines = _rows(text)
    sep = next((sign for sign in (b";", b",") if any(sign in line for line in lines)), None)
    kept = (line.strip(b" \r" + (sep or b"")) for line in lines)
    rows = [[cell.strip() for cell in line.split(sep)] for line in kept if line.strip()]
    if max(map(len, rows), default=0) < 4 or any(b"\t" in line for line in lines):
        return
    nodes = {row[0] for row in rows}
    if len(nodes) < len(rows):
        return
    whole = len(text) <= _HEAD and all(len(set(row)) == len(row) and nodes.issuperset(row) for row in rows)
    integers = all(cell.isdigit() for row in rows for cell in row)
    ragged = len({len(line.split(sep)) for line in lines}) > 1  # a table is not, even if columns at its end are empty
    if whole or (integers and ragged):
        blanks = "" if sep is None else f"write blanks for {sep.decode()} in it, "
        raise FileFormatError(
            f"its lines are those of an adjacency list, a node and its neighbours; {blanks}name the file .adjlist or "
            'give format="adjlist" (--format adjlist), and if they are edges, columns=(1, 2).',
            path,
        )


def refuse_row_names(rows: Sequence[Sequence[str]], path: Path) -> None:
    """Raise `FileFormatError` for rows with a column more than their header, the first of which counts them.

    R writes its names of rows so, and they would be nodes.
    """
    header, *below = rows
    if not all(rows):  # blanks of other kinds alone
        return
    counted = [row[0] for row in below] == [str(number) for number in range(1, len(rows))]
    if not (counted and len(below) > 1 and all(len(row) == len(header) + 1 > 2 for row in below)):
        return
    weights = all(is_decimal(row[2].encode()) and not is_integer(row[2].encode()) for row in below)
    if not weights and not any(is_decimal(name.encode()) for name in header):
        raise FileFormatError(
            "its rows have a column more than its header, and the first counts them, as R does; "
            "write it with row.names=FALSE, or name all columns.",
            path,
        )


def refuse_metis(text: bytes, path: Path) -> None:
    """Raise `FileFormatError` for a METIS file: numbers of nodes and edges, then a line of neighbours for every node.

    It is one if each node that is in the line of another has that other in its own line, as far as one can see.
    """
    lines = [line.split() for line in text[:_HEAD].split(b"\n")[:-1] if not line.lstrip().startswith(b"%")]
    lines = lines[next((at for at, line in enumerate(lines) if line), 0) :]
    if not all(cell.isdigit() and len(cell) <= 10 for line in lines for cell in line):
        return
    header, whole = metis_header(list(map(int, lines[0]))) if lines else None, len(text) <= _HEAD
    if header is None:
        return
    rows = lines[1 : header.nodes + 1]
    arcs = [(node, int(cell)) for node, row in enumerate(rows, 1) for cell in row[header.skip :: header.step]]
    if any(lines[header.nodes + 1 :]) or (whole and (len(rows), len(arcs)) != (header.nodes, 2 * header.edges)):
        return
    if any(node == other for node, other in arcs):
        return
    seen = {(node, other) for node, other in arcs if other <= len(rows)}
    if len(seen) < (2 if whole else _SURE) or any((other, node) not in seen for node, other in seen):
        return
    raise FileFormatError(
        'this is a METIS file; name it .graph or give format="metis" (--format metis), and if its lines are edges, '
        "columns=(1, 2).",
        path,
    )
