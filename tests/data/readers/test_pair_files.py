"""Benchmarks of pairs in graph6: every layout gives the same pairs, and wrong files say where."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from detours.data.readers.pair_files import read_pair_folder, read_pairs
from detours.errors import InputError
from detours.graph import Graph

PAIRS = [
    (nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))),
    (nx.path_graph(4), nx.star_graph(3)),
]
WORDS = [nx.to_graph6_bytes(graph, header=False).decode().strip() for pair in PAIRS for graph in pair]


def check(path: Path) -> None:
    data = read_pairs(path)
    assert data.name == "hard" and data.pairs == [(0, 1), (2, 3)]
    expected = [Graph.from_networkx(graph) for pair in PAIRS for graph in pair]
    assert data.graphs == expected


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(WORDS) + "\n",
        ">>graph6<<" + "\n".join(WORDS),
        f"{WORDS[0]} {WORDS[1]}\n\n{WORDS[2]}\t{WORDS[3]}\r\n",
    ],
)
def test_text(tmp_path: Path, text: str) -> None:
    (tmp_path / "hard.g6").write_bytes(text.encode())
    check(tmp_path / "hard.g6")


@pytest.mark.parametrize("shape", [(4,), (2, 2)])
@pytest.mark.parametrize("kind", ["U", "S"])
def test_arrays(tmp_path: Path, shape: tuple[int, ...], kind: str) -> None:
    np.save(tmp_path / "hard.npy", np.array(WORDS, kind).reshape(shape))
    check(tmp_path / "hard.npy")


def test_sparse6(tmp_path: Path) -> None:
    lines = b"".join(nx.to_sparse6_bytes(graph, header=False) for pair in PAIRS for graph in pair)
    (tmp_path / "hard.s6").write_bytes(lines)
    check(tmp_path / "hard.s6")


def test_a_folder_holds_a_category_per_file(tmp_path: Path) -> None:
    (tmp_path / "b.g6").write_text("\n".join(WORDS))
    np.save(tmp_path / "a.npy", np.array(WORDS))
    (tmp_path / "README.md").write_text("about")
    assert [data.name for data in read_pair_folder(tmp_path)] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.g6", f"{WORDS[0]}\n{WORDS[1]}\nE?\n".encode(), "x.g6, line 3: a graph6 line of 6 nodes has 3 characters"),
        ("x.g6", f"{WORDS[0]}\n".encode(), "x.g6: pairs need an even number of graphs, but the file has 1"),
        ("x.g6", b"A_ A_ A_\n", "x.g6, line 1: a line should contain one graph or a pair, but this one has 3"),
        ("x.g6", b"A_\n\x01\x02\n", "x.g6, line 2: this line is neither graph6 nor sparse6"),
        ("x.g6", b"", "x.g6: the file is empty"),
        ("x.npy", b"A_\nA_\n", "it is no .npy array"),
    ],
)
def test_wrong_files(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_pair_folder(tmp_path)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array(["A_", "A_?"]), "line 2"),
        (np.array([["A_", "A_"], ["A_", ""]]), "line 2: a graph is missing"),
        (np.array([["A_", "A_", "A_"]]), "one-dimensional or n × 2"),
        (np.arange(4), "should contain graph6 strings"),
        (np.array(["A_", None], object), "Python objects"),
    ],
)
def test_wrong_arrays(tmp_path: Path, array: np.ndarray, message: str) -> None:
    np.save(tmp_path / "x.npy", array, allow_pickle=True)
    with pytest.raises(InputError, match=message):
        read_pairs(tmp_path / "x.npy")


def test_wrong_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no category"):
        read_pair_folder(tmp_path)
    with pytest.raises(InputError, match="is not a folder"):
        read_pair_folder(tmp_path / "nowhere")
