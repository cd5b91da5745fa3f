"""Files that look like an edge list but are not, whose lines would be read as wrong edges."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from detours.errors import FileFormatError
from detours.graph.files.shared.lines import is_data, is_decimal, is_integer
from detours.graph.files.shared.metis_header import metis_header

_HEAD = 1 << 16  # bytes that are examined
_MIN_ARCS = 20  # seen in the first bytes of a METIS file, to be sure that it is one
_WEIGHTS = rb"unweighted|positive|posweighted|signed|multisigned|weighted|multiweighted|dynamic"
_KONECT = re.compile(rb"%[ \t]*(sym|asym|bip)[ \t]+(?:" + _WEIGHTS + rb")\s")
_DIMACS = re.compile(rb"^p[ \t]+(?:sp|edges?|col|max|min|asn)[ \t]+\d+[ \t]+\d+[ \t]*\r?$", re.MULTILINE)
_BRACKETS = re.compile(rb"\s*(?:\([^()\[\],]*,[^()\[\],]*(?:,.*)?\)|\[[^()\[\],]*,[^()\[\],]*(?:,.*)?\]),?\s*")
_ARROW = re.compile(rb"\s*\S+[ \t]+(?:-+>|--|=>|\xe2\x86\x92)[ \t]+\S.*")

_COLON = re.compile(rb"\s*[^\s:,;]+:(?:\s.*)?")
_LONE_HASH = re.compile(rb"\n#[ \t\r]*\n")
_SIGNATURES = (
    (rb"%%matrixmarket", 'a Matrix Market file; name it .mtx or give format="mtx"'),
    (rb"\*(?:vertices|network)\b", 'a Pajek network; name it .net or give format="pajek"'),
    (rb"graph\s*(?:\[|$)|creator\s+\"[^\"]*\"$", 'GML; name it .gml or give format="gml"'),
    (rb"dl(?:\s+n[rcm]?\s*=|\s*$)", "a DL file of UCINET; write a line of two nodes for every edge"),
    (rb"(?:strict\s+)?(?:di)?graph\b[^{]*\{(?!'|\}$)", "a DOT file; read it with networkx.nx_pydot.read_dot"),
    (rb"nodedef\s*>", "a GDF file; keep the lines below its edgedef"),
    (rb"\{\s*(?:\"|$)|\[\s*(?:\{|$)", "JSON; read it with json and networkx.node_link_graph, for example"),
)
"""The beginning of the first line in other formats."""


def says_directed(text: bytes, path: Path) -> bool:
    """Return whether the first line of a KONECT file says that it is directed; refuse a bipartite one."""
    found = _KONECT.match(text)
    if found is not None and found[1] == b"bip":
        raise FileFormatError(
            "its first line says bip: each column numbers its own nodes from 1, so the node 1 of one would be mistaken "
            "for that of the other; rename the nodes of one column.",
            path,
            1,
        )
    return found is not None and found[1] == b"asym"


def refuse_other_lists(text: bytes, path: Path) -> None:
    """Raise `FileFormatError` for matrices, lists of neighbours, arrows, and all that `refuse_marked` recognises."""
    refuse_matrix(text, path)
    _refuse_metis(text, path)
    _refuse_adjacency_list(text, path)
    refuse_marked(text, path)
    rows = _rows(text)
    if len(rows) > 1 and all(map(_COLON.fullmatch, rows)):
        raise FileFormatError(
            'its lines are a node, a colon and its neighbours; remove the colons and give format="adjlist".', path
        )
    if rows and all(map(_ARROW.fullmatch, rows)):
        raise FileFormatError(
            "its lines have an arrow between their nodes; give columns=(1, 3), and directed=True if it has a meaning.",
            path,
        )


def refuse_marked(text: bytes, path: Path) -> None:
    """Raise `FileFormatError` for pairs in brackets and for other formats with a signature."""
    head = text[:_HEAD]
    rows = _rows(text)
    first = (head if head.startswith(b"%%") else rows[0] if rows else b"").split(b"\n")[0].strip()
    for signature, format in _SIGNATURES:
        if re.match(signature, first, re.IGNORECASE):
            raise FileFormatError(f"this is {format}.", path)
    if _DIMACS.search(head):
        raise FileFormatError(
            "this is a DIMACS file; keep its lines that begin with a or e, and name the columns of nodes, 2 and 3.",
            path,
        )
    _refuse_tgf(text, path)
    if rows and all(map(_BRACKETS.fullmatch, rows)):
        raise FileFormatError("its lines are pairs in brackets; write two columns, without brackets.", path)


def _refuse_tgf(text: bytes, path: Path) -> None:
    """Raise `FileFormatError` for TGF: nodes and their labels, a line with only #, and the edges."""
    halves = _LONE_HASH.split(text, 2) if b"#" in text else []
    if len(halves) != 2:
        return
    above = [line.split() for line in halves[0].split(b"\n") if is_data(line) and line.split()]
    nodes = {row[0] for row in above}
    if len(nodes) < len(above) or all(_is_edge(row, nodes) and row[0] != row[1] for row in above):
        return
    below = [line.split() for line in halves[1].split(b"\n") if is_data(line) and line.split()]
    if below and all(_is_edge(row, nodes) for row in below):
        raise FileFormatError("this is a TGF file, with nodes above a # and edges below it; keep only the edges.", path)


def _is_edge(row: list[bytes], nodes: set[bytes]) -> bool:
    return len(row) > 1 and nodes.issuperset(row[:2])


def _rows(text: bytes) -> list[bytes]:
    return [line for line in text[:_HEAD].split(b"\n")[:-1] if is_data(line)]


def refuse_matrix(text: bytes, path: Path, *, lists: bool = False) -> None:
    """Raise `FileFormatError` for a square of numbers that can only be an adjacency matrix, with or without names.

    Read as edges, its first columns would be nodes. With `lists`, rows that all hold the same different names are
    accepted: they list the neighbours of nodes that are all joined to each other.
    """
    first = next((line for line in text.split(b"\n", 9) if is_data(line)), b"")
    columns = len(_cells(first))
    if columns < 3 or not columns <= text.count(b"\n") + 1 <= 2 * columns + 9:
        return
    rows = [_cells(line) for line in text.split(b"\n") if is_data(line)]
    if lists and len(set(rows[0])) == columns and all(sorted(row) == sorted(rows[0]) for row in rows):
        return
    _refuse_named_matrix(rows, text.count(b"\n", 0, text.index(first)) + 1, path)
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


def _refuse_named_matrix(rows: list[list[bytes]], line: int, path: Path) -> None:
    """Raise `FileFormatError` for a matrix with the same names of columns and rows."""
    header, names = rows[0], [row[0] for row in rows[1:] if row]
    plain = len(header) == len(names) or not header[0].isdigit()  # else they may be lists of all other nodes
    if len(names) > 1 and plain and header[-len(names) :] == names and {len(row) for row in rows[1:]} == {len(rows)}:
        raise FileFormatError(
            "its columns and its rows have the same names, as in a matrix; an adjacency matrix is read with pandas and "
            "networkx.from_pandas_adjacency.",
            path,
            line,
        )


def _cells(line: bytes) -> list[bytes]:
    return [cell for cell in re.split(rb"[\s,;]+", line) if cell]


def _refuse_adjacency_list(text: bytes, path: Path) -> None:
    """Raise `FileFormatError` for lines of a node and its neighbours, of which only the first would be read.

    There is a line for every node, and lines differ in length or hold nothing but nodes.
    """
    lines = _rows(text)
    sep = next((char for char in (b";", b",") if any(char in line for line in lines)), None)
    stripped = (line.strip(b" \r" + (sep or b"")) for line in lines)
    rows = [[cell.strip() for cell in line.split(sep)] for line in stripped if line.strip()]
    if max(map(len, rows), default=0) < 4 or any(b"\t" in line for line in lines):
        return
    nodes = {row[0] for row in rows}
    if len(nodes) < len(rows):
        return
    only_nodes = len(text) <= _HEAD and all(len(set(row)) == len(row) and nodes.issuperset(row) for row in rows)
    integers = all(cell.isdigit() for row in rows for cell in row)
    ragged = len({len(line.split(sep)) for line in lines}) > 1  # a table is not, even if its last columns are empty
    if only_nodes or (integers and ragged):
        blanks = "" if sep is None else f"replace {sep.decode()} by blanks, "
        raise FileFormatError(
            f"its lines look like an adjacency list, a node and its neighbours; {blanks}name the file .adjlist or give "
            'format="adjlist" (--format adjlist), but if they are edges, give columns=(1, 2).',
            path,
        )


def refuse_row_names(rows: Sequence[Sequence[str]], path: Path) -> None:
    """Raise `FileFormatError` for rows with one more column than their header, the first of which counts them.

    R writes row names like this, which would be read as nodes.
    """
    header, *below = rows
    if not all(rows):  # a line of nothing but form feeds, for example
        return
    counted = [row[0] for row in below] == [str(number) for number in range(1, len(rows))]
    if not (counted and len(below) > 1 and all(len(row) == len(header) + 1 > 2 for row in below)):
        return
    weights = all(is_decimal(row[2].encode()) and not is_integer(row[2].encode()) for row in below)
    if not weights and not any(is_decimal(name.encode()) for name in header):
        raise FileFormatError(
            "its rows have one more column than its header, and the first counts them, as R does; "
            "write it with row.names=FALSE, or name all columns.",
            path,
        )


def _refuse_metis(text: bytes, path: Path) -> None:
    """Raise `FileFormatError` for a METIS file: a header, then a line of neighbours for every node.

    It is one if neighbours list each other, as far as the first bytes show.
    """
    lines = [line.split() for line in text[:_HEAD].split(b"\n")[:-1] if not line.lstrip().startswith(b"%")]
    lines = lines[next((i for i, line in enumerate(lines) if line), 0) :]
    if not all(cell.isdigit() and len(cell) <= 10 for line in lines for cell in line):
        return
    header, complete = metis_header(list(map(int, lines[0]))) if lines else None, len(text) <= _HEAD
    if header is None:
        return
    rows = lines[1 : header.nodes + 1]
    arcs = [(node, int(cell)) for node, row in enumerate(rows, 1) for cell in row[header.skip :: header.step]]
    if any(lines[header.nodes + 1 :]) or (complete and (len(rows), len(arcs)) != (header.nodes, 2 * header.edges)):
        return
    if any(node == other for node, other in arcs):
        return
    seen = {(node, other) for node, other in arcs if other <= len(rows)}
    if len(seen) < (2 if complete else _MIN_ARCS) or any((other, node) not in seen for node, other in seen):
        return
    raise FileFormatError(
        'this is a METIS file; name it .graph or give format="metis" (--format metis), but if its lines are edges, '
        "give columns=(1, 2).",
        path,
    )
