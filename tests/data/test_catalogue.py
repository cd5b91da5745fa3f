"""The data sets: equal to what slow, obvious readers find, and one sentence for whatever is wrong with a file."""

import pickle
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from detours.data import GRAPH_SETS, NODE_SETS, TASKS, GraphSet, load
from detours.data.attributes import Attributes
from detours.data.catalogue import TU_SETS
from detours.errors import FileFormatError, InputError
from tests import real_data
from tests.oracles.features import geom_gcn_features, tu_attributes


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text)
    return folder


@pytest.fixture
def tiny_tu(tmp_path: Path) -> Path:
    """MUTAG with three graphs: a path with a repeated edge, a node by itself, and a triangle given one way only."""
    write(
        tmp_path / "TUDataset" / "MUTAG" / "raw",
        MUTAG_A="1, 2\n2, 1\n1, 2\n2, 3\n3, 2\n5, 6\n6, 7\n7, 5\n",
        MUTAG_graph_indicator="1\n1\n1\n2\n3\n3\n3\n",
        MUTAG_graph_labels="-1\n1\n1\n",
        MUTAG_node_labels="0\n1\n0\n5\n2\n2\n2\n",
    )
    return tmp_path


@pytest.fixture
def tiny_exp(tmp_path: Path) -> Path:
    write(tmp_path / "EXP" / "raw", GRAPHSAT="2\n3 1\n0 1 1\n1 2 0 2\n0 1 1\n2 0\n0 1 1\n1 1 0\n")
    return tmp_path


@pytest.fixture
def tiny_texas(tmp_path: Path) -> Path:
    write(
        tmp_path / "WebKB" / "texas" / "raw",
        out1_graph_edges="node_id\tnode_id\n0\t1\n1\t2\n2\t0\n0\t1\n2\t2\n",
        out1_node_feature_label="node_id\tfeature\tlabel\n2\t0,1\t4\n0\t1,1\t1\n1\t0,0\t0\n",
    )
    return tmp_path


def test_tu_graphs_are_undirected_and_tidied_without_a_word(tiny_tu: Path, recwarn: pytest.WarningsRecorder) -> None:
    data = load("mutag", tiny_tu)
    assert data.name == "MUTAG" and len(data) == 3 and data.pairs is None and data.level == "graph"
    assert [(g.num_nodes, g.num_edges, g.directed) for g in data.graphs] == [
        (3, 2, False),
        (1, 0, False),
        (3, 3, False),
    ]
    assert data.graphs[0].indices.tolist() == [1, 0, 2, 1]
    assert data.y.tolist() == [-1, 1, 1]
    assert data.labels is not None and [labels.tolist() for labels in data.labels] == [[0, 1, 0], [5], [2, 2, 2]]
    assert not recwarn.list


def with_edge_labels(root: Path, labels: str) -> Path:
    write(root / "TUDataset" / "MUTAG" / "raw", MUTAG_edge_labels="\n".join(labels.split()))
    return root


def test_labels_of_edges_follow_the_edges(tiny_tu: Path) -> None:
    assert load("MUTAG", tiny_tu).edge_labels is None
    data = load("MUTAG", with_edge_labels(tiny_tu, "4 4 4 7 7 0 1 2"))  # 1–2 2–1 1–2 2–3 3–2, 5–6 6–7 7–5
    assert data.edge_labels is not None
    assert [labels.tolist() for labels in data.edge_labels] == [[4, 4, 7, 7], [], [0, 2, 0, 1, 2, 1]]
    part = data.subset([2, 0])
    assert part.edge_labels is not None and part.edge_labels[1].tolist() == [4, 4, 7, 7]
    assert data.graphs[2].edge_index.T.tolist()[1] == [0, 2]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("4 4 4 7 7 0 1", r"edge_labels.txt: there are 7 labels for 8 edges"),
        ("4 4 4 7 6 0 1 2", r"edge_labels.txt, line 4: the edge 2, 3 has the label 7 here and another elsewhere"),
        ("4 4 5 7 7 0 1 2", r"edge_labels.txt, line 1: the edge 1, 2 has the label 4 here and another elsewhere"),
    ],
)
def test_wrong_labels_of_edges(tiny_tu: Path, labels: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load("MUTAG", with_edge_labels(tiny_tu, labels))


def test_a_subset_keeps_what_belongs_together(tiny_tu: Path) -> None:
    data = load("MUTAG", tiny_tu)
    part = data.subset([2, 0])
    assert part.graphs == [data.graphs[2], data.graphs[0]] and part.y.tolist() == [1, -1]
    assert part.labels is not None and part.labels[0].tolist() == [2, 2, 2]


def test_pairs_of_exp(tiny_exp: Path) -> None:
    data = load("EXP", tiny_exp)
    assert data.pairs == [(0, 1)] and data.y.tolist() == [1, 0]
    assert [graph.num_edges for graph in data.graphs] == [2, 1]
    assert data.labels is not None and data.labels[0].tolist() == [0, 1, 0]


def test_node_data_keep_their_direction(tiny_texas: Path, recwarn: pytest.WarningsRecorder) -> None:
    data = load("Texas", tiny_texas)
    (graph,) = data.graphs
    assert data.level == "node" and graph.directed and graph.num_edges == 3 and data.y.tolist() == [1, 0, 4]
    assert graph.dropped.loops == 1 and graph.dropped.duplicates == 1
    assert not recwarn.list
    with pytest.raises(InputError, match="no subset"):
        data.subset([0])


def test_the_digest_depends_on_the_content_only(tiny_tu: Path) -> None:
    data = load("MUTAG", tiny_tu)
    assert data.digest == load("MUTAG", tiny_tu).digest
    assert data.labels is not None
    changed = [
        GraphSet("MUTAG", data.graphs[::-1], data.y, data.labels),
        GraphSet("MUTAG", data.graphs, -data.y, data.labels),
        GraphSet("MUTAG", data.graphs, data.y, None),
        load("MUTAG", with_edge_labels(tiny_tu, "4 4 4 7 7 0 1 2")),
        load("MUTAG", with_edge_labels(tiny_tu, "4 4 4 7 7 0 1 1")),
    ]
    assert len({data.digest, *(other.digest for other in changed)}) == 6
    assert GraphSet("other name", data.graphs, data.y, data.labels).digest == data.digest


def test_classes_are_any_integers_and_targets_count_from_0(tiny_tu: Path, tiny_texas: Path) -> None:
    data = load("MUTAG", tiny_tu)
    assert data.classes.tolist() == [-1, 1] and data.targets.tolist() == [0, 1, 1]
    assert load("Texas", tiny_texas).targets.tolist() == [1, 0, 2]
    assert data.targets_among([-1, 0, 1]).tolist() == [0, 2, 2]
    with pytest.raises(InputError, match=r"MUTAG has the class -1, but the classes to choose from are \[0, 1\]"):
        data.targets_among([0, 1])


@pytest.mark.parametrize("name", TASKS)
def test_tasks_made_in_code_have_names(name: str) -> None:
    assert load(name.upper()).name == name and load(name).x is None


# ---------------------------------------------------------------- attributes of nodes


def with_attributes(root: Path, rows: str) -> Path:
    write(root / "TUDataset" / "MUTAG" / "raw", MUTAG_node_attributes=rows.replace(";", "\n"))
    return root


def test_attributes_of_a_tu_set(tiny_tu: Path) -> None:
    assert load("MUTAG", tiny_tu).x is None
    plain = load("MUTAG", tiny_tu)
    data = load("MUTAG", with_attributes(tiny_tu, " 1, 2;-3,4.5;5,6;7,8;9,1e3;1,1; 0,0"))
    assert data.x is not None and [x.tolist() for x in data.x] == [
        [[1, 2], [-3, 4.5], [5, 6]],
        [[7, 8]],
        [[9, 1000], [1, 1], [0, 0]],
    ]
    assert data.x[0].dtype == np.float32
    assert data.digest == plain.digest and data.full_digest != plain.full_digest == plain.digest
    part = data.subset([2, 1])
    assert part.x is not None and part.x[1].tolist() == [[7, 8]] and len(part.x) == 2
    again = pickle.loads(pickle.dumps(data))
    assert type(again.x) is list and again.full_digest == data.full_digest


def test_features_of_node_data(tiny_texas: Path) -> None:
    data = load("Texas", tiny_texas)
    assert data.x is not None and len(data.x) == 1
    assert data.x[0].tolist() == [[1, 1], [0, 0], [0, 1]] and data.x[0].dtype == np.float32


def test_features_given_by_their_columns(tmp_path: Path) -> None:
    write(
        tmp_path / "Actor" / "raw",
        out1_graph_edges="node_id\tnode_id\n0\t1\n",
        out1_node_feature_label="node_id\tfeature(feature_amount:4)\tlabel\n1\t3,0\t4\n0\t1\t1\n",
    )
    x = load("Actor", tmp_path).x
    assert x is not None and x[0].tolist() == [[0, 1, 0, 0], [1, 0, 0, 1]]


def test_attributes_are_read_once_and_not_before_they_are_asked_for() -> None:
    calls = []

    def read() -> list[np.ndarray]:
        calls.append(1)
        return [np.zeros((2, 3), np.float32), np.ones((1, 3), np.float32)]

    x = Attributes(read)
    part = x.chosen([1])
    assert not calls
    assert part[0].tolist() == [[1, 1, 1]] and len(x) == 2 and [len(each) for each in x] == [2, 1]
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "1,2;3,nan;5,6;7,8;9,0;1,1;0,0",
            r"attributes.txt, line 2: attributes must be finite, but number 2 here is nan",
        ),
        ("1,2;3,4;;-inf,6;7,8;9,0;1,1;0,0", r"attributes.txt, line 4: .* number 1 here is -inf"),
        ("1,2;3,4;5,6;7,8;9,1e60;1,1;0,0", r"attributes.txt, line 5: .* number 2 here is 1e\+60"),
        ("1,2;3,4;5,6", r"attributes.txt: there are 3 rows for 7 nodes"),
        ("1,2;3;5,6", r"attributes.txt, line 2: a line should hold as many numbers as the first, but it holds 1"),
        ("1,2;3,x", r"attributes.txt, line 2: .* 'x' is none"),
    ],
)
def test_wrong_attributes(tiny_tu: Path, rows: str, message: str) -> None:
    data = load("MUTAG", with_attributes(tiny_tu, rows))
    assert data.x is not None
    with pytest.raises(FileFormatError, match=message):
        list(data.x)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("h\n0\t0,1\t2\n1\t0,nan\t2\n", "label.txt, line 3: features must be finite, but number 2 here is nan"),
        ("h\n0\t0,1\t2\n1\tinf,1\t2\n", "label.txt, line 3: features must be finite, but number 1 here is inf"),
        ("h\n0\t0,1\t2\n1\t0\t2\n", "label.txt, line 3: the nodes before have 2 features, but this one has 1"),
        ("h\n0\t0,1\t2\n1\t0;1\t2\n", "label.txt, line 3: the nodes before have 2 features, but this one has 1"),
        ("h\n0\t0,x\t2\n1\t0,1\t2\n", "label.txt, line 2: features should be numbers"),
        ("feature_amount\n0\t1,2\t2\n1\t-1\t2\n", "label.txt, line 3: here should stand the columns that hold a 1"),
        ("feature_amount\n0\t1,2\t2\n1\t99999999999\t2\n", "line 3: here should stand the columns"),
    ],
)
def test_wrong_features(tiny_texas: Path, lines: str, message: str) -> None:
    write(tiny_texas / "WebKB" / "texas" / "raw", out1_node_feature_label=lines, out1_graph_edges="h\th\n0\t1\n")
    x = load("Texas", tiny_texas).x
    assert x is not None
    with pytest.raises(FileFormatError, match=message):
        x[0]


def test_features_of_any_size(tiny_texas: Path) -> None:
    lines = "h\n0\t0,-1.5,7\t2\n1\t10,2,3\t2\n"
    write(tiny_texas / "WebKB" / "texas" / "raw", out1_node_feature_label=lines, out1_graph_edges="h\th\n0\t1\n")
    x = load("Texas", tiny_texas).x
    assert x is not None and x[0].tolist() == [[0, -1.5, 7], [10, 2, 3]]


# ---------------------------------------------------------------- what is wrong


def test_unknown_names_are_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"There is no data set 'PROTEINS'; give one of EXP, .*Texas"):
        load("PROTEINS")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("mutga", "MUTAG"),
        ("imdb", "IMDB-BINARY"),
        ("ptc-fm", "PTC_FM"),
        ("SQUIREL", "Squirrel"),
        ("ring_lattice", "ring-l"),
    ],
)
def test_unknown_names_are_told_the_nearest(name: str, meant: str) -> None:
    with pytest.raises(InputError, match=rf"There is no data set '{name}' \(did you mean {meant}.*; give one of EXP"):
        load(name)


@pytest.mark.parametrize("name", [3, None, ""])
def test_no_names(name: object) -> None:
    with pytest.raises(InputError, match=rf"There is no data set {name!r}; give one of EXP"):
        load(name)  # type: ignore[arg-type]


def test_a_missing_data_set_says_where_it_should_be_and_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"NCI1 is not in .*TUDataset/NCI1/raw; put them there, .*to have PyG fetch them"
    ):
        load("NCI1", tmp_path)
    with pytest.raises(InputError, match=r"EXP is not in .*EXP/raw; .*take the GRAPHSAT.txt of EXP"):
        load("EXP", tmp_path)


def test_the_environment_says_where_data_are(tiny_tu: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DETOURS_DATA", str(tiny_tu))
    assert len(load("MUTAG")) == 3


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("MUTAG_A", "1, 2\n\n2, x\n", r"_A.txt, line 3: a line should hold 2 whole numbers, but 'x' is none"),
        ("MUTAG_A", "1, 2\n2\n", r"_A.txt, line 2: a line should hold 2 whole numbers, but it holds 1"),
        ("MUTAG_A", "1, 2, 3\n", r"_A.txt, line 1: a line should hold 2 whole numbers, but it holds 3"),
        ("MUTAG_A", "1, 2\n2, 8\n", r"_A.txt, line 2: nodes are numbered 1 .. 7, but this edge is 2, 8"),
        ("MUTAG_A", "1, 2\n0, 1\n", r"_A.txt, line 2: nodes are numbered 1 .. 7, but this edge is 0, 1"),
        ("MUTAG_A", "1, 2\n3, 4\n", r"_A.txt, line 2: the ends of the edge 3, 4 lie in two graphs"),
        ("MUTAG_A", "", r"_A.txt: the file holds no numbers"),
        ("MUTAG_A", "\x00\xff", r"_A.txt"),
        ("MUTAG_graph_indicator", "1\n2\n1\n", r"indicator.txt, line 3: the graphs of the nodes should ascend"),
        ("MUTAG_graph_indicator", "1\n1\n4\n", r"indicator.txt, line 3: .* from 1 to 3.*here stands 4"),
        ("MUTAG_node_labels", "1\n2\n", r"node_labels.txt: there are 2 labels for 7 nodes"),
    ],
)
def test_damaged_tu_files(tiny_tu: Path, file: str, text: str, message: str) -> None:
    (tiny_tu / "TUDataset" / "MUTAG" / "raw" / f"{file}.txt").write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=message):
        load("MUTAG", tiny_tu)


def test_a_missing_file(tiny_tu: Path) -> None:
    (tiny_tu / "TUDataset" / "MUTAG" / "raw" / "MUTAG_A.txt").unlink()
    with pytest.raises(InputError, match=r"MUTAG_A.txt: there is no such file"):
        load("MUTAG", tiny_tu)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2\n3 1\n0 1 1\n", "line 4: the file ends where the tag, degree and neighbours"),
        ("1\n2 1\n0 1 1\n1 2 0\n", "line 4: the node should have 2 neighbours, but 1 are listed"),
        ("1\n2 1\n0 1 2\n1 1 0\n", "line 3: node 2 is not in the graph, whose nodes are 0 .. 1"),
        ("1\n2 q\n", "line 2: here should stand the number of nodes"),
        ("1\n1 0\n0 0\n1 0\n", "line 4: the first line says 1 graphs, but the file goes on"),
        ("1\n1 0\n0 0\n", "should hold pairs"),
        (f"1\n1 {2**63}\n0 0\n", "line 2: here should stand the number of nodes and the class"),
    ],
)
def test_damaged_pairs(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path / "CEXP" / "raw", GRAPHSAT=text)
    with pytest.raises(InputError, match=message):
        load("CEXP", tmp_path)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("out1_graph_edges", "a\tb\n0\t1\n1\t9\n", "edges.txt, line 3: nodes are numbered 0 .. 2, but this arc is 1 9"),
        ("out1_graph_edges", "a\tb\n0\t1\nx\t1\n", "edges.txt, line 3: .*'x' is none"),
        ("out1_node_feature_label", "h\n0\t1\t2\n0\t1\t2\n", "label.txt, line 3: here should stand the id of another"),
        ("out1_node_feature_label", "h\n0\t1\t2\n5\t1\t2\n", "label.txt: the 2 nodes should be numbered 0 .. 1"),
        ("out1_node_feature_label", "h\n0\t1\n", "label.txt, line 2"),
        (
            "out1_node_feature_label",
            f"h\n0\t1\t{2**63}\n",
            "line 2: a class must fit into 64 bits, but here it is 9223",
        ),
    ],
)
def test_damaged_node_data(tiny_texas: Path, file: str, text: str, message: str) -> None:
    write(tiny_texas / "WebKB" / "texas" / "raw", **{file: text})
    with pytest.raises(InputError, match=message):
        load("Texas", tiny_texas)


# ---------------------------------------------------------------- over the network


@pytest.fixture
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DETOURS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "detours"


def test_pyg_fetches_what_is_not_here(no_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch_geometric.datasets

    asked = []

    def fetch(root: str, name: str) -> None:
        asked.append((root, name))
        write(
            Path(root) / name / "raw",
            **{f"{name}_A": "1, 2\n2, 1\n", f"{name}_graph_indicator": "1\n1\n", f"{name}_graph_labels": "7\n"},
        )

    monkeypatch.setattr(torch_geometric.datasets, "TUDataset", fetch)
    assert load("NCI1").y.tolist() == [7] and load("NCI1").labels is None
    assert asked == [(str(no_data / "TUDataset"), "NCI1")]  # the second time it lies in the cache


def test_a_failed_fetch_is_one_sentence(no_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch_geometric.datasets

    def fail(root: str, name: str) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(torch_geometric.datasets, "WebKB", fail)
    with pytest.raises(InputError, match=r"Texas could not be fetched .*no route to host.*DETOURS_DATA"):
        load("Texas")


def test_without_pyg_nothing_is_fetched(no_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detours.data.readers.fetch.find_spec", lambda name: None)
    with pytest.raises(
        InputError, match=r"MUTAG is not on this machine: set DETOURS_DATA .* or install torch_geometric"
    ):
        load("MUTAG")
    with pytest.raises(InputError, match=r"EXP cannot be fetched; put its GRAPHSAT.txt into DIR/EXP/raw"):
        load("EXP")


# ---------------------------------------------------------------- the real ones


def _tidy(num_nodes: int, arcs: np.ndarray) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(num_nodes))
    graph.add_edges_from(arcs.T.tolist())
    return graph


@pytest.mark.parametrize("name", GRAPH_SETS)
def test_graph_sets_equal_a_plain_reading(name: str) -> None:
    reader: Callable[[str], list[tuple[int, np.ndarray]]]
    reader = real_data.molecule_graphs if name in TU_SETS else real_data.pair_graphs
    expected = reader(name)
    data = load(name, real_data.data_folder())
    assert len(data) == len(expected) == len(data.y)
    for at in range(0, len(data), max(1, len(data) // 50)):
        assert nx.utils.graphs_equal(data.graphs[at].to_networkx(), _tidy(*expected[at])), at


@pytest.mark.parametrize("name", NODE_SETS)
def test_node_sets_hold_the_arcs_as_stored(name: str) -> None:
    stored = {(a, b) for a, b in real_data.node_graph(name).T.tolist() if a != b}
    data = load(name, real_data.data_folder())
    assert set(map(tuple, data.graphs[0].to_edge_index().T.tolist())) == stored
    assert len(data.y) == data.graphs[0].num_nodes and len(np.unique(data.y)) == 5


@pytest.mark.parametrize("name", ["Actor", "Cornell", "Wisconsin", "Chameleon"])
def test_features_equal_a_plain_reading(name: str) -> None:
    real_data.node_graph(name)  # skips where there are no data
    x = load(name, real_data.data_folder()).x
    file = real_data.data_folder() / real_data.NODE_DATA[name] / "out1_node_feature_label.txt"
    assert x is not None and np.array_equal(x[0], geom_gcn_features(file))


def test_attributes_of_enzymes_equal_a_plain_reading() -> None:
    real_data.molecule_graphs("ENZYMES")  # skips where there are no data
    data = load("ENZYMES", real_data.data_folder())
    expected = tu_attributes(real_data.data_folder() / "TUDataset" / "ENZYMES" / "raw", "ENZYMES")
    assert data.x is not None and len(data.x) == 600
    assert all(np.array_equal(x, np.float32(rows)) for x, rows in zip(data.x, expected, strict=True))


def test_features_are_those_of_pyg(tmp_path: Path) -> None:
    from torch_geometric.datasets import Actor

    real_data.node_graph("Actor")  # skips where there are no data
    (tmp_path / "raw").symlink_to((real_data.data_folder() / "Actor" / "raw").resolve())
    theirs = Actor(str(tmp_path))[0]
    data = load("Actor", real_data.data_folder())
    assert data.x is not None and np.array_equal(data.x[0], theirs.x.numpy())
    assert np.array_equal(data.targets, theirs.y.numpy())


# As these were before attributes were read: finished runs are kept by the digest.
@pytest.mark.parametrize(("name", "digest"), [("ENZYMES", "0f8f46e280c7f871"), ("Actor", "a4754c5b2608f56a")])
def test_attributes_leave_the_digest_alone(name: str, digest: str) -> None:
    if not real_data.data_folder().exists():
        pytest.skip("real data not found (set DETOURS_DATA to the folder that holds the data sets)")
    assert load(name, real_data.data_folder()).digest == digest


@pytest.mark.parametrize(
    ("name", "graphs", "nodes", "edges"),
    [("MUTAG", 188, 17.93, 19.79), ("NCI1", 4110, 29.87, 32.30), ("DD", 1178, 284.32, 715.66)],
)
def test_profiles_are_those_of_the_paper(name: str, graphs: int, nodes: float, edges: float) -> None:
    if not (real_data.data_folder() / "TUDataset" / name).exists():
        pytest.skip("real data not found (set DETOURS_DATA to the folder that holds the data sets)")
    data = load(name, real_data.data_folder())
    assert len(data) == graphs
    assert round(np.mean([graph.num_nodes for graph in data.graphs]), 2) == nodes
    assert round(np.mean([graph.num_edges for graph in data.graphs]), 2) == edges
