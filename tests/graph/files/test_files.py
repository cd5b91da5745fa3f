import re
import warnings
from pathlib import Path
from typing import get_args

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detours.cli.shared import options
from detours.errors import InputError
from detours.graph import Graph
from detours.graph.files import FORMATS
from tests.graph.cases import edges, put, refused

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("where", ["--format", "FILE", "Graph.read", "docs/guide.md"])
def test_help_and_docs_name_every_format(where):
    """Those of the command line are written down, as `detours --help` must not load NumPy; the others are prose."""
    text = {
        "--format": get_args(options.FileFormat)[1].help,
        "FILE": options.ENDINGS.replace("Edge list", ".edgelist"),
        "Graph.read": Graph.read.__doc__,
        "docs/guide.md": (ROOT / "docs" / "guide.md").read_text("utf-8").replace("edge lists", ".edgelist"),
    }[where]
    words = set(re.findall(r"\w+" if where == "--format" else r"(?<=\.)\w+", text))
    for name, format in FORMATS.items():
        named = name in words if where == "--format" else words.intersection(format.endings)
        assert named, f"{where} does not tell of {name}; CONTRIBUTING.md says where to write it"


def test_unknown_endings_and_formats(tmp_path):
    path = put(tmp_path, "g.docx", "0 1\n")
    refused(path, ".mtx")
    assert Graph.read(path, format="edgelist").num_edges == 1
    with pytest.raises(InputError, match="'edgelist', 'mtx'"):
        Graph.read(path, format="word")
    with pytest.raises(InputError, match=r"but it is 'smi'; files that end in \.smi are 'molecule'\.$"):
        Graph.read(path, format="smi")
    with pytest.raises(InputError, match=r"\.mtx"):
        Graph.read(put(tmp_path, "h.txt", "0 1\n")).write(tmp_path / "g.docx")


NAMED = nx.Graph([("anna", "bob"), ("bob", "carl"), ("dora", "anna")])


TEXTS = ["txt", "csv", "tsv", "edgelist.gz", "gexf", "net", "adjlist.gz"]
ENDINGS = [*TEXTS, "mtx", "graphml", "gml", "npz", "mtx.gz"]
WITHOUT_NAMES = ["graph", "graph.gz", "g6", "s6", "g6.gz"]


def test_every_format_that_is_written_is_tested_here() -> None:
    tested = {ending.removesuffix(".gz") for ending in (*ENDINGS, *WITHOUT_NAMES)}
    untested = [name for name, each in FORMATS.items() if not tested & set(each.endings)]
    assert untested == ["molecule"], "molecules are read only; add the endings of other formats to ENDINGS"


@pytest.mark.parametrize("ending", [*ENDINGS, *WITHOUT_NAMES])
def test_written_graphs_read_back(tmp_path, ending):
    path = tmp_path / f"g.{ending}"
    source = nx.connected_watts_strogatz_graph(40, 4, 0.3, seed=1)
    graph = Graph.from_networkx(source)
    graph.write(path)
    again = Graph.read(path, strict=True)
    assert np.array_equal(again.indptr, graph.indptr) and np.array_equal(again.indices, graph.indices)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    before = path.read_bytes()
    graph.write(path)
    assert path.read_bytes() == before or ending == "npz"


@pytest.mark.parametrize("ending", [ending for ending in ENDINGS if "mtx" not in ending])
def test_names_are_written(tmp_path, ending):
    graph = Graph.from_networkx(NAMED)
    graph.write(tmp_path / f"g.{ending}")
    assert Graph.read(tmp_path / f"g.{ending}") == graph


@pytest.mark.parametrize("ending", ENDINGS)
def test_directed_graphs_are_written(tmp_path, ending):
    graph = Graph.from_edge_index([[0, 1, 2, 0], [1, 2, 0, 2]], directed=True)
    graph.write(tmp_path / f"g.{ending}")
    again = Graph.read(tmp_path / f"g.{ending}", directed=True)
    assert again.to_edge_index().tolist() == graph.to_edge_index().tolist()


def test_what_a_format_cannot_hold_is_refused(tmp_path):
    directed = Graph.from_edge_index([[0], [1]], directed=True)
    for ending in ("g6", "s6"):
        with pytest.raises(InputError, match="undirected"):
            directed.write(tmp_path / f"g.{ending}")
    with pytest.raises(InputError, match=r"\.s6"):
        Graph.from_edge_index(np.empty((2, 0), int), 30_000).write(tmp_path / "g.g6")
    for name in ("a b", "#x", "", "a,b"):
        with pytest.raises(InputError, match="edge list"):
            Graph.from_networkx(nx.Graph([(name, "c")])).write(tmp_path / "g.txt")
    for ending in ("txt", "gml"):
        with pytest.raises(InputError, match="same name"):
            Graph.from_networkx(nx.Graph([("1", 1)])).write(tmp_path / f"g.{ending}")
    for ending in ("txt", "csv", "edgelist"):
        with pytest.raises(InputError, match="cannot hold a graph without edges"):
            Graph.from_edge_index(np.empty((2, 0), int), 3).write(tmp_path / f"g.{ending}")
    assert list(tmp_path.iterdir()) == []
    with pytest.warns(UserWarning, match="2 nodes without an edge"):
        Graph.from_edge_index([[0, 1], [1, 0]], 4).write(tmp_path / "g.txt")
    assert (tmp_path / "g.txt").read_text() == "0 1\n"


@pytest.mark.parametrize("ending", ["txt", "csv", "adjlist"])
def test_lists_do_not_say_that_they_are_directed(tmp_path, ending):
    with pytest.warns(UserWarning, match="does not say that its edges are directed; read it with directed=True"):
        Graph.from_edge_index([[0, 1], [1, 2]], directed=True).write(tmp_path / f"g.{ending}")


ODD = [
    "1.0",
    "1e5",
    "01",
    "1",
    "-0",
    "-1",
    "+1",
    "nan",
    "a,b",
    'a"b',
    '"a"',
    "#x",
    "%",
    "a;b;c",
    "source",
    "target",
    "{",
]
LOST = [" a", "a ", "", "\ta", "a\nb", "a\rb", "a\0", "\ud800", "\xa0"]
odd_names = st.sampled_from([*ODD, *LOST, "a b", "a -> b", "(a", "b)", "7", "8", "x", "y"]) | st.text(max_size=3)


@pytest.mark.parametrize("ending", ["csv", "tsv", "txt"])
@given(st.lists(st.tuples(odd_names, odd_names), min_size=1, max_size=5))
def test_names_are_read_as_they_were_written(tmp_path_factory, ending, pairs):
    path = tmp_path_factory.mktemp("odd") / f"g.{ending}"
    given = nx.Graph([(u, v) for u, v in pairs if u != v] or [("x", "y")])
    graph = Graph.from_networkx(given)
    try:
        graph.write(path)
    except InputError:
        assert ending == "txt" or any(
            name != name.strip() or set(name) & set("\n\r\0\ud800") or not name for name in given
        )
        assert not path.exists()
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*may denote a missing value")
        if ending == "txt":  # which has no header
            warnings.filterwarnings("ignore", message=".*the first line was read as an edge")
        found = Graph.read(path, strict=True)
    assert {frozenset(map(str, edge)) for edge in edges(found)} == set(map(frozenset, given.edges))


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_odd_names_are_quoted_or_refused(tmp_path, ending):
    path = tmp_path / f"g.{ending}"
    for name in ODD:
        Graph.from_networkx(nx.Graph([(name, "7"), ("7", "x")])).write(path)
        assert set(Graph.read(path).name_list()) == {name, "7", "x"}
    for name in LOST:
        with pytest.raises(InputError, match=r"would be read as another one; write \.graphml or \.npz, or rename"):
            Graph.from_networkx(nx.Graph([(name, "b")])).write(tmp_path / f"none.{ending}")
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(("ending", "sep"), [("csv", ","), ("tsv", "\t"), ("txt", " ")])
def test_names_next_to_numbers_are_quoted(tmp_path, ending, sep):
    graph = Graph.from_networkx(nx.Graph([("1", "2"), ("2", "a")]))
    graph.write(tmp_path / f"g.{ending}")
    assert (tmp_path / f"g.{ending}").read_text() == 'source target\n"1" "2"\n"2" "a"\n'.replace(" ", sep)
    assert Graph.read(tmp_path / f"g.{ending}") == graph


def test_an_interrupted_write_keeps_the_old_file(tmp_path, monkeypatch):
    graph = Graph.from_networkx(nx.path_graph(4))
    graph.write(tmp_path / "g.npz")
    before = (tmp_path / "g.npz").read_bytes()

    def interrupted(file, **arrays):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        graph.write(tmp_path / "g.npz")
    assert (tmp_path / "g.npz").read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["g.npz"]
    for target in (tmp_path / "none" / "g.npz", tmp_path):
        with pytest.raises(InputError):
            graph.write(target, format="npz")


def test_an_address_is_not_a_file() -> None:
    with pytest.raises(InputError, match=r"^https://example\.org/a\.csv is an address, not a file; download it first"):
        Graph.read("https://example.org/a.csv")


def test_an_open_file_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text("0 1\n")
    with open(tmp_path / "g.txt") as file:
        for given in (file, file.buffer):
            with pytest.raises(InputError, match="is not a graph"):
                Graph.from_any(given)
        assert file.readline() == "0 1\n"
