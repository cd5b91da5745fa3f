"""Own data: PyG data in memory and in files, and TU folders."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset  # noqa: E402
from torch_geometric.datasets import FakeDataset  # noqa: E402
from torch_geometric.loader import DataLoader  # noqa: E402

from detours.data import graph_set_of, read_own, splits  # noqa: E402
from detours.data.readers.graphs import graph_set_of_graphs  # noqa: E402
from detours.errors import DroppedEdgesWarning, FileFormatError, InputError  # noqa: E402
from detours.graph import Graph  # noqa: E402
from tests.data.conftest import write  # noqa: E402

ARCS = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def path(y: Any, **more: Any) -> Data:
    """A path of three nodes."""
    return Data(edge_index=ARCS, num_nodes=3, y=torch.as_tensor(y), **more)


def test_targets() -> None:
    assert graph_set_of([path([1]), path([0])]).task == "classification"
    numbers = graph_set_of([path([1.5]), path(2.0)])
    assert numbers.task == "regression" and numbers.y.tolist() == [1.5, 2.0]
    labels = graph_set_of([path([[1, 0]]), path([[0, 0]])])
    assert labels.task == "multilabel" and labels.y.shape == (2, 2)
    several = graph_set_of([path([[1.5, 0.0]]), path([[0.0, 0.0]])])
    assert several.task == "regression" and several.y.shape == (2, 2)
    assert graph_set_of([path([1, 0, 1])]).level == "node"  # as Planetoid and its like
    nodes = graph_set_of(path([[1.0], [0.5], [np.nan]]))
    assert nodes.level == "node" and nodes.task == "regression" and nodes.y.shape == (3,)
    with pytest.raises(InputError, match="graph 1 of data has no target y; give it one"):
        graph_set_of([path([1]), Data(edge_index=ARCS, num_nodes=3), path([0])])


def test_features() -> None:
    made = graph_set_of([path([1], x=torch.tensor([[3], [5], [3]]), edge_attr=torch.tensor([1, 1, 2, 2]))] * 2)
    assert made.labels[1].tolist() == [3, 5, 3] and made.edge_labels[0].tolist() == [1, 1, 2, 2] and made.x is None
    made = graph_set_of([path([1], x=torch.rand(3, 2), edge_attr=torch.rand(4))])
    assert made.x[0].shape == (3, 2) and made.edge_x[0].shape == (4, 1) and made.edge_labels is None
    with pytest.raises(InputError, match="graph 1 has no x, but others have"):
        graph_set_of([path([1], x=torch.rand(3, 2)), path([0])])


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"edge_attr": torch.ones(3, 2)}, r"edge_attr of graph 1 has the shape \(3, 2\), but the graph has 4 edges"),
        ({"x": torch.ones(2, 2)}, r"x of graph 1 has the shape \(2, 2\), but the graph has 3 nodes"),
        ({"num_nodes": 2}, "graph 1: edge_index holds the node id 2, but with num_nodes=2"),
        ({"edge_index": ARCS + 0.5}, "graph 1: edge_index holds 0.5; node ids must be integers"),
        (
            {"x": torch.ones(3, 1)},
            "x of graph 1 has the width 1, but those before have 2; give all of them the same width",
        ),
        ({"x": torch.ones(3, 2, 2)}, r"x of graph 1 has the shape \(3, 2, 2\); give it two dimensions, .* \(3, 4\)"),
        ({"edge_attr": torch.ones(4, 1, 2)}, r"edge_attr of graph 1 has the shape \(4, 1, 2\); .* \(4, 2\)"),
        ({"x": torch.ones(3, 2) * 1j}, "x of graph 1 must contain .* real numbers, but there is a torch.complex64"),
        ({"x": list("CON")}, "x of graph 1 must contain .* real numbers, but there is the text 'C'"),
        ({"x": [[1], [2, 3], [4]]}, "x of graph 1 must contain .* real numbers, but there is a list"),
        ({"y": "toxic"}, "y of graph 1 must contain .* but there is the text 'toxic'; number classes from 0"),
        ({"y": np.array(["1"])}, "y of graph 1 must contain .* but there is the text '1'; number classes from 0"),
        ({"y": torch.tensor([1j])}, "y of graph 1 must contain .* but there is a torch.complex64"),
        ({"y": torch.tensor([1, 0])}, r"y must contain one target, .* but that of graph 1 has the shape \(2,\)"),
        ({"y": torch.tensor([1, 0])}, r"; a row of targets has the shape \(1, 2\)\.$"),
        (
            {"x": torch.full((3, 2), 1e300, dtype=torch.double)},
            r"x of graph 1 contains 1e\+300, which overflows float32",
        ),
    ],
)
def test_errors_name_the_invalid_graph(wrong: dict[str, Any], sentence: str) -> None:
    right = path([1], x=torch.ones(3, 2), edge_attr=torch.ones(4, 2))
    other = right.clone()
    for name, value in wrong.items():
        setattr(other, name, value)
    with pytest.raises(InputError, match=sentence):
        graph_set_of([right, other])


def test_sparse_features() -> None:
    x = torch.tensor([[0.0, 1.5], [0.0, 0.0], [2.0, 0.0]])
    for sparse in (x.to_sparse(), x.to_sparse_csr()):
        assert graph_set_of([path([1], x=sparse), path([0], x=x)]).x[0].tolist() == x.tolist()


def test_invalid_node_targets() -> None:
    for wrong, sentence in (
        (torch.zeros(2), r"but that of graph 0 has the shape \(2,\)"),
        (torch.zeros(0), r"but that of graph 0 has the shape \(0,\)"),
        (torch.zeros(3, 2, 2), r"but that of graph 0 has the shape \(3, 2, 2\)"),
        (["a", "b", "a"], "y of graph 0 must contain .* but there is the text 'a'"),
    ):
        data = path([1])
        data.y = wrong
        with pytest.raises(InputError, match=sentence):
            graph_set_of(data)
        assert not graph_set_of(data, targets=False).y.size  # not read for prediction


def test_features_of_any_type() -> None:
    for x in (torch.ones(3, 2, requires_grad=True), torch.ones(3, 2, dtype=torch.bfloat16), [[1.0, 1.0]] * 3):
        assert graph_set_of([path([1], x=x), path([0], x=x)]).x[0].tolist() == [[1.0, 1.0]] * 3
    whole = graph_set_of([path([1]), Data(edge_index=ARCS.double(), num_nodes=3, y=torch.tensor([0]))])
    assert np.array_equal(whole.graphs[1].edge_index, ARCS)  # whole numbers are node ids, as everywhere


def test_one_warning_for_arcs_of_all_graphs() -> None:
    one_way = Data(edge_index=ARCS[:, ::2], num_nodes=3, y=torch.tensor([0]))
    sentence = r"^2 of the 3 graphs of mine had 4 one-way arcs: .* of graphs are learned without directions; give both"
    with pytest.warns(DroppedEdgesWarning, match=sentence) as caught:
        graph_set_of([one_way, path([1]), one_way], name="mine")
    assert len(caught) == 1
    with pytest.warns(DroppedEdgesWarning, match=r"^2 of the 2 graphs of data had 4 one-way arcs") as caught:
        graph_set_of_graphs([Graph.from_edge_index(ARCS[:, ::2], directed=True)] * 2, [0, 1])
    assert len(caught) == 1
    nodes = Data(edge_index=ARCS[:, ::2], num_nodes=3, y=torch.tensor([0, 1, 0]))
    with pytest.warns(DroppedEdgesWarning, match=r"^The graph of data had 2 one-way arcs: .* unless the setting"):
        graph_set_of(nodes)
    loop = Data(edge_index=torch.tensor([[0], [0]]), num_nodes=1, y=torch.tensor([0]))
    with pytest.warns(DroppedEdgesWarning, match=r"^1 of the 2 graphs of data had 1 loop: .* both ways\.$"):
        graph_set_of([loop, path([1])])


@pytest.mark.filterwarnings("ignore::detours.errors.DroppedEdgesWarning")
def test_one_way_arcs_are_kept_where_nodes_have_targets() -> None:
    one_way = {"edge_index": ARCS[:, ::2], "num_nodes": 3}
    nodes, graph = Data(**one_way, y=torch.tensor([0, 1, 0])), Data(**one_way, y=torch.tensor([0]))
    unfit = [Data(**one_way, y=y) for y in (torch.tensor([0, 1]), torch.empty(0), ["a", "b", "c"])]
    for data, targets in ((nodes, True), (nodes, False), (Data(**one_way), False), *((each, False) for each in unfit)):
        (kept,) = graph_set_of(data, targets=targets).graphs
        assert kept.directed and kept.to_edge_index().tolist() == [[0, 1], [1, 2]]
    assert not graph_set_of(graph).graphs[0].directed
    assert not any(each.directed for each in graph_set_of([Data(**one_way)] * 2, targets=False).graphs)
    assert not graph_set_of(path([0, 1, 0])).graphs[0].directed


def test_arcs_are_kept_where_their_features_depend_on_the_direction() -> None:
    both = [([1, 1, 2, 2], False), ([1, 3, 2, 2], True), ([0.5, 0.5, 1, 1], False), ([0.5, 1, 1, 1], True)]
    for features, kept in both:
        data = path([0, 1, 0], edge_attr=torch.tensor(features))
        assert graph_set_of(data).graphs[0].directed is kept
        assert not graph_set_of(path([1], edge_attr=torch.tensor(features))).graphs[0].directed
    assert not graph_set_of(path([0, 1, 0], edge_attr=torch.full((4, 2), torch.nan))).graphs[0].directed
    repeated = Data(torch.ones(3, 1), ARCS.repeat(1, 2), torch.arange(8), torch.tensor([0, 1, 0]))
    with pytest.warns(DroppedEdgesWarning, match="4 repeated edges"):
        assert not graph_set_of(repeated).graphs[0].directed


def test_classes_given_as_strings_keep_their_names() -> None:
    graphs = [Graph.from_edge_index(ARCS)] * 3
    made = graph_set_of_graphs(graphs, ["safe", "acid", "safe"])
    assert made.y.tolist() == [1, 0, 1] and made.class_names == ("acid", "safe")
    assert made.subset([0, 2]).classes_as_given == ["safe"]
    numbered = graph_set_of_graphs(graphs, [1, 0, 1])
    assert numbered.class_names is None and numbered.classes_as_given == [0, 1] and numbered.digest != made.digest
    with pytest.raises(InputError, match="class_names has 2 names, for the classes 0 to 1, but y has others"):
        replace(made, y=np.array([0, 1, 2]))


def test_invalid_targets_of_a_list_of_graphs() -> None:
    graphs = [Graph.from_edge_index(ARCS)] * 3
    for wrong, sentence in (
        (5, "y must be a list with a target for each graph, but it is 5"),
        (np.array(5), "y must be a list with a target for each graph, but it is"),
        (
            [0, "a", 1],
            "the target of graph 1 must contain .* but there is the text 'a'; classes are integers, or strings",
        ),
        ([0, None, 1], "the target of graph 1 must contain .* but there is a NoneType"),
        (
            [[0.5], [1, 2], [1]],
            r"targets must be one number, or the same number .* that of graph 1 has the shape \(2,\)",
        ),
    ):
        with pytest.raises(InputError, match=sentence):
            graph_set_of_graphs(graphs, wrong)
    assert graph_set_of_graphs(graphs, list("aba")).y.tolist() == [0, 1, 0]
    assert graph_set_of_graphs(graphs, [[0.5, 1], [1, 2], [1, 0]]).y.shape == (3, 2)


def test_graphs_without_nodes_or_edges() -> None:
    assert graph_set_of([path([1], x=torch.empty(3, 0)), path([0], x=torch.empty(3, 0))]).x[0].shape == (3, 0)
    none, labels = torch.empty(2, 0, dtype=torch.long), torch.ones(3, 1, dtype=torch.long)
    alone = Data(edge_index=none, x=labels[:1], edge_attr=torch.empty(0, 1), y=torch.tensor([0]))
    made = graph_set_of([path([1], x=labels, edge_attr=torch.ones(4, dtype=torch.long)), alone])
    assert made.labels is not None and [len(each) for each in made.edge_labels or ()] == [4, 0]
    made = graph_set_of([alone, path([1], x=labels, edge_attr=torch.rand(4, 2))])
    assert [each.shape for each in made.edge_x or ()] == [(0, 2), (4, 2)]
    single = graph_set_of([Data(edge_index=none, x=labels[:1], edge_attr=torch.empty(0, 2), y=torch.tensor([0]))])
    assert single.edge_labels is None and [each.shape for each in single.edge_x or ()] == [(0, 2)]
    assert [len(each) for each in graph_set_of([alone]).edge_labels or ()] == [0]
    with pytest.raises(InputError, match="at least one graph, but the list is empty"):
        graph_set_of([])
    empty = Data(edge_index=none, x=torch.empty(0, 1), edge_attr=torch.empty(0, 1), y=torch.tensor([0]))
    made = graph_set_of([path([1], x=labels, edge_attr=torch.rand(4, 1)), empty])
    with pytest.raises(InputError, match="graph 1 of data has no nodes; leave it out"):
        made.check_graphs()


def test_batches() -> None:
    batch = Batch.from_data_list([path([1]), path([0])])
    assert [graph.num_edges for graph in graph_set_of(batch).graphs] == [2, 2]
    for order in ({}, {"shuffle": True, "drop_last": True}):  # folds name the graphs of the data set
        assert graph_set_of(DataLoader([path([1]), path([0]), path([1])], 2, **order)).y.tolist() == [1, 0, 1]
    part = torch.utils.data.Subset([path([1]), path([0]), path([1])], [2, 1])
    assert graph_set_of(DataLoader(part, 2)).y.tolist() == [1, 0]
    batch.edge_index = torch.cat([batch.edge_index, torch.tensor([[0, 2], [2, 0]])], 1)
    with pytest.raises(
        InputError, match="the edges of the batch have changed since it was created; give the graphs as"
    ):
        graph_set_of(batch)


def test_hetero_data() -> None:
    with pytest.raises(InputError, match=r"^A PyG HeteroData was given; call its to_homogeneous\(\) first\.$"):
        graph_set_of(HeteroData(paper={"x": torch.rand(3, 2)}))


def test_masks_are_folds() -> None:
    mask = torch.eye(3, dtype=torch.bool)
    made = graph_set_of(path([0, 1, 0], train_mask=mask[:, :2], val_mask=mask[:, 1:], test_mask=mask[:, 2]))
    found = splits(made)
    assert found.source == "of the data"
    assert [[part.tolist() for part in fold] for fold in found] == [[[0], [1], [2]], [[1], [2], [2]]]
    with pytest.raises(InputError, match="the same number of columns"):
        graph_set_of(path([0, 1, 0], train_mask=mask[:, :2], val_mask=mask, test_mask=mask[:, 2]))


@pytest.mark.parametrize("wrong", [[True, False], [0, 1, 2], [[[True]], [[True]], [[False]]]])
def test_invalid_masks(wrong: list[Any]) -> None:
    mask = torch.tensor([True, False, True])
    with pytest.raises(InputError, match=r"^val_mask must be True or False for each of the 3 nodes "):
        graph_set_of(path([0, 1, 0], train_mask=mask, val_mask=torch.tensor(wrong), test_mask=~mask))


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([2, 5, -1], [2, 5, 2]),
        ([0.5, 2.0, torch.nan], [0.5, 2.0, 0.5]),
        ([[0.5, 1.0], [2.0, 1.0], [3.0, torch.nan]], [0.5, 1.0, 2.0, 1.0, 3.0, 1.0]),
    ],
)
def test_nodes_in_no_mask_may_be_unknown(y: list[Any], expected: list[float]) -> None:
    masks = {"train_mask": [True, False, False], "val_mask": [False, True, False], "test_mask": [False] * 3}
    made = graph_set_of(path(y, **{name: torch.tensor(mask) for name, mask in masks.items()}))
    assert made.y.reshape(-1).tolist() == expected
    masks["test_mask"][2] = True
    if y[2] == -1:
        made = graph_set_of(path(y, **{name: torch.tensor(mask) for name, mask in masks.items()}))
        assert made.classes.tolist() == [-1, 2, 5]


def test_labels_of_nodes_in_no_mask_may_be_unknown() -> None:
    mask = torch.eye(3, dtype=torch.bool)
    masks = {"train_mask": mask[0], "val_mask": mask[1], "test_mask": torch.zeros(3, dtype=torch.bool)}
    made = graph_set_of(path([[0, 1], [1, 0], [-1, 0]], **masks))
    assert made.task == "multilabel"
    np.testing.assert_array_equal(made.y, [[0, 1], [1, 0], [np.nan, 0]])
    assert graph_set_of(path([[0, 1], [1, 0], [-1, 0]], **{**masks, "test_mask": mask[2]})).task == "regression"


def test_many_labels_give_a_warning() -> None:
    nodes = torch.arange(1000)
    arcs = torch.stack([nodes, nodes.roll(1)])
    ring = Data(edge_index=torch.cat([arcs, arcs.flip(0)], 1), x=nodes, y=nodes % 2)
    with pytest.warns(UserWarning, match=r"^x of data is one column of 1,000 different integers, taken as labels"):
        graph_set_of(ring)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ring.x = nodes.float()
        assert graph_set_of(ring).labels is None


def test_classes_as_floats_give_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"^The targets of data are 0 to 1, but not integers: .* such as y\.long\(\)"):
        assert graph_set_of([path([1.0]), path([0.0])]).task == "regression"
    with pytest.warns(UserWarning, match=r"^The targets of data are 0 to 2, but not integers: "):
        graph_set_of(path([[1.0], [0.0], [2.0]]))


def test_a_class_that_may_mean_unknown_gives_a_warning() -> None:
    with pytest.warns(
        UserWarning, match=r"^data has the class -100 in addition to 0 to 1; .* nodes out of all masks\.$"
    ):
        assert graph_set_of(path([1, -100, 0])).classes.tolist() == [-100, 0, 1]
    with pytest.warns(UserWarning, match=r"^data has the class -1 in addition to 0 to 1; .* leave such graphs out\.$"):
        graph_set_of([path([1]), path([-1]), path([0])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph_set_of([path([1]), path([-1])])  # as in MUTAG


def test_rows_with_a_number_that_may_mean_unknown_give_a_warning() -> None:
    edge = torch.tensor([[0, 1], [1, 0]])
    rows = [Data(edge_index=edge, y=torch.tensor([[at % 2, at % 3 - 1]]), num_nodes=2) for at in range(6)]
    with pytest.warns(UserWarning, match="are rows of -1, 0 and 1: they are taken as regression targets.*NaN"):
        assert graph_set_of(rows).task == "regression"


def test_missing_masks() -> None:
    mask = torch.eye(3, dtype=torch.bool)
    for given in ({"train_mask": None, "val_mask": mask[1], "test_mask": mask[2]}, {"train_mask": mask[0]}):
        made = graph_set_of(path([0, 1, 0], **given))  # valid with folds given in Python
        with pytest.raises(InputError, match="only some of train_mask, val_mask and test_mask; give all three"):
            splits(made)
    assert graph_set_of(path([0, 1, 0], train_mask=None)).folds is None
    assert graph_set_of([path([0], train_mask=mask[0]), path([1])]).folds is None  # of graphs, not of nodes


def test_classes_with_gaps_give_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"data has no class 0; all are 5\."):
        assert repr(graph_set_of([path([5]), path([5])])) == "GraphSet(data: 2 graphs, 6 nodes, 1 class)"
    with pytest.warns(UserWarning, match=r"data has no class 1; its 2 classes are \[0, 2\]"):
        made = graph_set_of([path([0]), path([2])])
    assert made.targets.tolist() == [0, 1]


class Own(InMemoryDataset):  # type: ignore[misc]
    """A class that is not part of PyG."""


@pytest.mark.parametrize(
    ("saved", "number"),
    [
        (path([1, 0, 1]), 1),
        ([path([1]), path([0])], 2),
        (InMemoryDataset.collate([path([1]), path([0])]), 2),
        (FakeDataset(3), 3),
    ],
    ids=["one graph", "a list", "collated", "a data set"],
)
def test_files(saved: Any, number: int, tmp_path: Path) -> None:
    torch.save(saved, tmp_path / "mine.pt")
    made = read_own(tmp_path / "mine.pt")
    assert made.name == "mine" and len(made) == number


def test_files_of_in_memory_dataset_save(tmp_path: Path) -> None:
    InMemoryDataset.save([path([1]), path([0])], str(tmp_path / "mine.pt"))
    assert read_own(tmp_path / "mine.pt").y.tolist() == [1, 0]


def test_invalid_files(tmp_path: Path) -> None:
    own = Own()
    own._data, own.slices = InMemoryDataset.collate([path([1]), path([0])])
    torch.save(own, tmp_path / "own.pt")
    (tmp_path / "cut.pt").write_bytes(b"PK")
    (tmp_path / "text.csv").write_text("1,2")
    for name, sentence in (
        ("own.pt", "can be read without running code; save it with torch.save"),
        ("cut.pt", "this is not PyG data"),
        ("text.csv", r"give a \.pt file with PyG data, or a folder"),
        ("none.pt", "there is no such file"),
    ):
        with pytest.raises(FileFormatError, match=sentence):
            read_own(tmp_path / name)


def test_folders(tmp_path: Path) -> None:
    files = {"A": "1, 2\n2, 1\n3, 4\n4, 3\n", "graph_indicator": "1\n1\n2\n2\n", "graph_labels": "7\n8\n"}
    write(tmp_path / "some" / "raw", **{f"MINE_{name}": text for name, text in files.items()})
    made = read_own(tmp_path / "some")
    assert made.name == "MINE" and made.y.tolist() == [7, 8]
    with pytest.raises(FileFormatError, match=r": this is a folder, but no file in it ends in _A\.txt"):
        read_own(tmp_path)
    with pytest.raises(FileFormatError, match=r"one file of a data set; give its folder .*some.raw\.$"):
        read_own(tmp_path / "some" / "raw" / "MINE_A.txt")
    (tmp_path / "some" / "raw" / "MINE_graph_labels.txt").unlink()
    write(tmp_path / "some" / "raw", MINE_graph_attributes="0.5\n-1\n")
    assert read_own(tmp_path / "some").task == "regression"
    write(tmp_path / "some" / "raw", MINE_graph_attributes="1700000001\n1700000002.5\n")
    assert read_own(tmp_path / "some").y.tolist() == [1700000001, 1700000002.5]  # neither fits in float32
    write(tmp_path / "some" / "raw", MINE_edge_attributes="0.5\n0.5\n1\n1\n")
    edge_x = read_own(tmp_path / "some").edge_x
    assert edge_x is not None and [x.tolist() for x in edge_x] == [[[0.5], [0.5]], [[1], [1]]]


def test_one_way_arcs_of_a_folder_give_a_warning(tmp_path: Path) -> None:
    files = {"A": "1, 2\n3, 4\n4, 3\n4, 3\n", "graph_indicator": "1\n1\n2\n2\n", "graph_labels": "0\n1\n"}
    write(tmp_path, **{f"MINE_{name}": text for name, text in files.items()})
    told = r"^The graphs of MINE had 1 repeated edge and 1 one-way arc: .* both ways, since targets of graphs"
    with pytest.warns(DroppedEdgesWarning, match=told):
        assert [graph.num_edges for graph in read_own(tmp_path).graphs] == [1, 1]
