from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import networkx as nx
import numpy as np
import pytest

from detours.choices import Level
from detours.data import GRAPH_SETS, HETEROPHILOUS_SETS, MORE_SETS, NODE_SETS, TASKS, load
from detours.data.catalogue import PAIR_SETS, TU_SETS
from detours.data.known import KNOWN, TU, Known
from detours.data.overview import ALL_NAMES, is_available
from detours.data.readers.labels import as_given
from detours.data.split_files import _PUBLISHED
from detours.errors import InputError
from detours.kernels import labelled
from tests import real_data


def test_every_known_data_set_is_listed_once_with_a_level_and_a_reader() -> None:
    assert sorted((*GRAPH_SETS, *NODE_SETS, *MORE_SETS, *TASKS)) == sorted(ALL_NAMES) and tuple(KNOWN) == ALL_NAMES
    assert {*PAIR_SETS, *TU_SETS, *HETEROPHILOUS_SETS} < set(ALL_NAMES) and len(
        {name.lower() for name in ALL_NAMES}
    ) == len(ALL_NAMES)
    raws = [each.raw for each in KNOWN.values() if each.raw]
    assert len(set(raws)) == len(raws) == len(ALL_NAMES) - len(TASKS)
    for name, each in KNOWN.items():
        assert each.name == name and each.level in get_args(Level) and callable(each.family.read)
        assert each.splits.partition("/")[0] in ("", "shipped", *_PUBLISHED)
        assert (each.family.fetch is None) == (name in (*PAIR_SETS, *TASKS))


@pytest.mark.parametrize("name", ALL_NAMES)
def test_data_are_of_the_level_that_is_listed(name: str) -> None:
    if not is_available(name, real_data.data_folder()):
        pytest.skip("real data not found (set DETOURS_DATA to the folder that holds the data sets)")
    data = load(name, real_data.data_folder())
    assert data.level == KNOWN[name].level and data.name == name


def test_one_line_adds_a_data_set(tiny_tu: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = as_own(tiny_tu)
    expected = load(folder)
    monkeypatch.setitem(KNOWN, "COX2", Known("COX2", TU, in_paper=False))
    data = load("cox2", tiny_tu)
    assert data.name == "COX2" and data.digest == expected.digest and data.root == tiny_tu


@pytest.mark.parametrize("name", TASKS)
def test_synthetic_tasks_have_names(name: str) -> None:
    assert load(name.upper()).name == name and load(name).x is None


def test_unknown_names_raise_an_error_with_all_names() -> None:
    with pytest.raises(InputError, match=r"There is no data set 'no such set'; give one of EXP, .*Texas"):
        load("no such set")


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
def test_unknown_names_get_the_closest_match(name: str, meant: str) -> None:
    with pytest.raises(InputError, match=rf"There is no data set '{name}' \(did you mean {meant}.*; give one of EXP"):
        load(name)


@pytest.mark.parametrize("name", [3, None, ""])
def test_invalid_names(name: object) -> None:
    with pytest.raises(InputError, match=r"There is no data set '';|is not a data set; give a name, a path, PyG data"):
        load(name)


def as_own(root: Path) -> Path:
    """Rename the data set in a test folder to one that is not in the catalogue."""
    raw = root / "TUDataset" / "MUTAG" / "raw"
    for file in raw.iterdir():
        file.rename(raw / file.name.replace("MUTAG", "COX2"))
    return raw.parent.rename(root / "TUDataset" / "COX2")


def test_any_folder_in_the_tu_format(tiny_tu: Path) -> None:
    expected = load("MUTAG", tiny_tu)
    folder = as_own(tiny_tu)
    for data in (load(str(folder)), load(folder / "raw"), load("COX2", tiny_tu)):
        assert data.name == "COX2" and data.digest == expected.digest
    with pytest.raises(
        InputError, match=r"There is no data set 'COX3'.*the path of a folder in the TU Dortmund format"
    ):
        load("COX3", tiny_tu)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("../bad", r"^\.\./bad: this is a folder, but no file in it ends in _A\.txt.*give a folder that has one, or a"),
        ("karate.txt", r"^karate\.txt: this is not a data set; give a \.pt file with PyG data, or a folder in the TU"),
        ("MY/MY_A.txt", r"^MY/MY_A\.txt: this is one file of a data set; give its folder MY\.$"),
    ],
)
def test_paths_that_are_not_data_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, says: str) -> None:
    (tmp_path / "here" / "MY").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    Path("../bad").mkdir()
    Path("karate.txt").write_text("0 1\n")
    Path("MY/MY_A.txt").write_text("1, 2\n")
    with pytest.raises(InputError, match=says):
        load(path)


def test_a_folder_with_the_name_of_a_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rings").mkdir()
    assert load("rings").name == load("Rings").name == "rings"


def test_graphs_of_any_kind_with_targets() -> None:
    graphs = [nx.cycle_graph(4), nx.path_graph(3)]
    assert load(graphs, y=["ring", "chain"]).y.tolist() == [1, 0]
    assert load(graphs, y=[0.5, 1.5]).task == "regression"
    for graph, target in zip(graphs, (3, 7), strict=True):
        graph.graph["y"] = target
        nx.set_node_attributes(graph, {node: "CN"[node % 2] for node in graph}, "label")
    data = load(graphs)
    assert data.y.tolist() == [3, 7] and texts(data.labels) == ["CNCN", "CNC"] and data.edge_labels is None
    assert load(data) is data
    with pytest.raises(InputError, match="graph number 0 has no attribute"):
        load([nx.path_graph(2)])
    with pytest.raises(InputError, match="a target for each of the 2 graphs, but it has 3"):
        load(graphs, y=[1, 2, 3])


def texts(labels: Any) -> list[str]:
    return ["".join(map(str, map(as_given, each))) for each in labels]


def test_labels_of_graphs_of_any_kind() -> None:
    path = nx.path_graph(3)
    nx.set_node_attributes(path, dict(enumerate("CNC")), "label")
    nx.set_edge_attributes(path, {(0, 1): 1, (1, 2): 2}, "label")
    single = nx.Graph()
    single.add_node(0, label="O")
    data = load([path, labelled([path])[0], single], y=[0, 1, 0])
    assert texts(data.labels) == ["CNC", "CNC", "O"] and texts(data.edge_labels) == ["12", "12", ""]
    path.nodes[1]["label"] = np.nan
    assert load([path, single], y=[0, 1]).labels is None
    path.nodes[1].pop("label")
    assert load([path, single], y=[0, 1]).labels is None
    path.add_node(1, label=2**62)
    with pytest.raises(InputError, match=r"integers must be below 2\^62 in size, but one is 4611686018427387904"):
        load([path, single], y=[0, 1])
    igraph = pytest.importorskip("igraph")
    drawn = igraph.Graph(3, [(0, 1), (1, 2)], vertex_attrs={"label": list("CNC")}, edge_attrs={"label": [1, 2]})
    data = load([drawn], y=[0])
    assert texts(data.labels) == ["CNC"] and texts(data.edge_labels) == ["12"]


def test_labels_of_molecules() -> None:
    chem = pytest.importorskip("rdkit.Chem")
    data = load([chem.MolFromSmiles("CC=O"), chem.MolFromSmiles("N"), chem.MolFromSmiles("c1ccccc1")], y=[0, 1, 1])
    assert texts(data.labels) == ["CCO", "N", "C" * 6]
    assert texts(data.edge_labels) == ["SINGLEDOUBLE", "", "AROMATIC" * 6]


def test_pyg_data() -> None:
    torch, pyg = pytest.importorskip("torch"), pytest.importorskip("torch_geometric.data")
    edge = torch.tensor([[0, 1], [1, 0]])
    assert load([pyg.Data(edge_index=edge, y=torch.tensor([at % 2]), num_nodes=2) for at in range(4)]).y.sum() == 2
    bare = [pyg.Data(edge_index=edge, x=torch.tensor([[at], [7]])) for at in range(4)]
    data = load(bare, y=["a", "b", "b", "b"])
    assert data.y.tolist() == [0, 1, 1, 1] and data.labels is not None and data.labels[3].tolist() == [3, 7]
    with pytest.raises(InputError, match="a target for each of the 4 graphs"):
        load(bare, y=[1, 2])


def test_a_missing_data_set_says_where_it_should_be_and_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"NCI1 is not in .*TUDataset/NCI1/raw; put them there, .*to have PyG fetch them"
    ):
        load("NCI1", tmp_path)
    with pytest.raises(InputError, match=r"EXP is not in .*EXP/raw; .*take the GRAPHSAT.txt of EXP"):
        load("EXP", tmp_path)


def test_detours_data_is_the_default_root(tiny_tu: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DETOURS_DATA", str(tiny_tu))
    assert len(load("MUTAG")) == 3


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
