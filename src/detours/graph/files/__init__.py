"""Graph files: the ending of the name determines the format, and the content must match it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from detours.checks import check_choice
from detours.errors import FileFormatError, InputError
from detours.graph.edges import EdgeList
from detours.graph.files import edgelist, graph6, markup, matrix_market, metis, molecule, npz
from detours.graph.files.saved import is_saved_graph
from detours.graph.files.shared.format import Format, ending
from detours.graph.files.shared.source import check_size
from detours.graph.files.table import read_table

__all__ = ["FORMATS", "is_saved_graph", "read", "write"]

FORMATS = {
    "edgelist": edgelist.FORMAT,
    "mtx": matrix_market.FORMAT,
    "graphml": markup.GRAPHML,
    "gml": markup.GML,
    "gexf": markup.GEXF,
    "pajek": markup.PAJEK,
    "adjlist": markup.ADJLIST,
    "metis": metis.FORMAT,
    "g6": graph6.GRAPH6,
    "s6": graph6.SPARSE6,
    "npz": npz.FORMAT,
    "molecule": molecule.FORMAT,
}
_BY_ENDING = {ending: name for name, format in FORMATS.items() for ending in format.endings}


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    columns: Sequence[str | int] | None = None,
    sep: str | None = None,
) -> EdgeList:
    """Return the edges in a file; of several graphs only the first is read, with a warning."""
    if not os.fspath(path):
        raise InputError("the name of a file is expected, but it is empty.")
    path = Path(path)
    if not os.path.exists(path):
        if re.match(r"(?!file:)\w{2,}:/", str(path)):  # Path has removed the second slash
            raise InputError(f"{str(path).replace(':/', '://', 1)} is an address, not a file; download it first.")
        smiles = molecule.parse_smiles(str(path)) is not None
        hint = "; of a SMILES, give a .smi file or RDKit's molecule" * smiles
        raise FileFormatError(f"there is no such file{hint}.", path)
    if path.is_dir():
        raise FileFormatError("this is a folder, not a file, and not one written by Graph.save.", path)
    if columns is not None or sep is not None:
        if _format(path, format) is not FORMATS["edgelist"]:
            raise InputError(f"columns and sep are for edge lists, but {path} is not one by its name.")
        edges = read_table(path, columns, sep)
    else:
        edges = _format(path, format).read(path)
    check_size(edges.num_nodes, edges.edge_index.shape[1], path)
    return edges


def write(edges: EdgeList, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write an edge list that has every arc, in the given format or that of the file name."""
    path = Path(path)
    _format(path, format, writing=True).write(edges, path)


def check_format(name: object) -> None:
    """Raise `InputError` unless this is the name of a format."""
    suggestion = _BY_ENDING.get(name, "") if isinstance(name, str) else ""
    check_choice("format", name, FORMATS, hint=suggestion and f"; files that end in .{name} are {suggestion!r}")


def _format(path: Path, name: str | None, *, writing: bool = False) -> Format:
    if name is not None:
        check_format(name)
        return FORMATS[name]
    given = ending(path)
    if given and given not in _BY_ENDING:
        known = [each for each in _BY_ENDING if not (writing and each in molecule.ENDINGS)]
        raise FileFormatError(
            f"the ending .{given} is unknown; it may be .{', .'.join(known)}, each also with .gz. With "
            f'format="edgelist", a file with any ending is {"written" if writing else "read"} as an edge list.',
            path,
        )
    return FORMATS[_BY_ENDING[given] if given else "edgelist"]
