"""Benchmarks of graph pairs in graph6: a folder with a file per category.

A category is a `.g6` or `.s6` file (optionally .gz) with one or two graphs per line, or an `.npy` array of strings or
bytes, one-dimensional or n × 2. Graphs 2i and 2i + 1 are pair i.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from detours.containers import parse_array
from detours.data.graph_set import GraphSet
from detours.errors import FileFormatError, InputError
from detours.graph import Graph
from detours.graph.files import graph6
from detours.graph.files.shared.source import open_file, read_text
from detours.graph.graph import build_graph

ENDINGS = (".g6", ".s6", ".g6.gz", ".s6.gz", ".npy")


def read_pair_folder(folder: str | os.PathLike[str]) -> list[GraphSet]:
    """Return the categories of a folder, sorted by name; every graph has its own class."""
    root = Path(folder)
    if not root.is_dir():
        raise InputError(f"{folder} is not a folder; give the one with the .g6 or .npy files of the categories.")
    files = sorted(file for file in root.iterdir() if file.name.lower().endswith(ENDINGS))
    if not files:
        raise InputError(f"{folder} contains no category: none of its files ends in {', '.join(ENDINGS)}.")
    categories = [read_pairs(file) for file in files]
    names = [data.name for data in categories]
    if duplicates := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{folder} contains two files for the category {duplicates[0]!r}; rename one of them.")
    return categories


def read_graphs(file: Path) -> list[Graph]:
    """Return all graphs of a file."""
    words = _array_words(file) if file.suffix.lower() == ".npy" else _line_words(file)
    return [_graph(word, file, line) for line, word in words]


def read_pairs(file: Path) -> GraphSet:
    """Return one category: the name of the file without its ending, its graphs and their pairs."""
    graphs = read_graphs(file)
    if not graphs or len(graphs) % 2:
        raise FileFormatError(f"pairs need an even number of graphs, but the file has {len(graphs)}.", file)
    pairs = [(first, first + 1) for first in range(0, len(graphs), 2)]
    name = file.name[: -len(next(ending for ending in ENDINGS if file.name.lower().endswith(ending)))]
    return GraphSet(name, graphs, np.arange(len(graphs)), pairs=pairs)


def _line_words(file: Path) -> list[tuple[int, bytes]]:
    numbered = []
    for number, line in enumerate(read_text(file).split(b"\n"), 1):
        words = line.split()
        if len(words) > 2:
            raise FileFormatError(
                f"a line should contain one graph or a pair, but this one has {len(words)} words.", file, number
            )
        numbered += [(number, word) for word in words]
    return numbered


def _array_words(file: Path) -> list[tuple[int, bytes]]:
    with open_file(file) as source:
        array = parse_array(source.read(), file)
    if array.dtype.kind not in "SU" or array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] != 2):
        kind = f"{array.dtype} {list(array.shape)}"
        raise FileFormatError(
            f"the array should contain graph6 strings, one-dimensional or n × 2, but it is {kind}.", file
        )
    # Row i of the array counts as line i + 1, as in a text file.
    width = array.shape[1] if array.ndim == 2 else 1
    words = (word if isinstance(word, bytes) else word.encode() for word in array.ravel().tolist())
    return [(at // width + 1, word) for at, word in enumerate(words)]


def _graph(word: bytes, file: Path, line: int) -> Graph:
    word = graph6.strip_header(word)
    if not word:
        raise FileFormatError("a graph is missing after the header.", file, line)
    return build_graph(graph6.decode(word, file, line))
