"""What all transforms have in common: the data objects they take, their arguments, and what they leave unchanged."""

import pickle
from typing import Any

import networkx as nx
import pytest

pytest.importorskip("torch_geometric")

import torch
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import Compose, ToSparseTensor

from detours.errors import DroppedEdgesWarning, InputError
from detours.transforms import AddDetourNumber, AddDetourTokens, AddDetourWeights
from detours.transforms.base import DetourTransform
from tests.transforms.cases import HOMOGENEOUS, every, hetero, ring, same


@every
def test_only_the_documented_attributes_are_added(transform: DetourTransform) -> None:
    data = ring(5, x=torch.ones(5, 2), name="five", edge_attr=torch.ones(10, 3))
    kept = dict(data.to_dict())
    result = transform(data)
    assert data.to_dict() == kept, "the input was modified"
    assert all(result[name] is value for name, value in kept.items())
    assert set(result.keys()) - set(kept) in (
        {"den", "phi"},
        {"den"},
        {"edge_den"},
        {"token_index", "token_den"},
        {"edge_weight"},
        {"w"},
    )


@every
def test_any_iterable_of_data(transform: DetourTransform) -> None:
    graphs = [ring(size) for size in (3, 4, 5)]
    expected = transform(graphs)
    iterables = (iter(graphs), (each for each in graphs), tuple(graphs), torch.utils.data.Subset(graphs, [0, 1, 2]))
    for iterable in iterables:
        result = transform(iterable)
        assert isinstance(result, list) and all(map(same, result, expected)) and len(result) == 3
    with pytest.raises(InputError, match="but 7 was given"):
        transform(each for each in [ring(3), 7])


class Transformed(torch.utils.data.Dataset):
    """Applies a transform on access, as the data sets of PyG do."""

    def __init__(self, graphs: list[Data], transform: DetourTransform) -> None:
        self.graphs, self.transform = graphs, transform

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, index: int) -> Data:
        return self.transform(self.graphs[index])


@every
def test_loader_workers_apply_the_transform(transform: DetourTransform) -> None:
    graphs = [ring(size) for size in (3, 4, 5, 6)]
    loader = DataLoader(Transformed(graphs, transform), batch_size=2, num_workers=1)
    expected = DataLoader(transform(graphs), batch_size=2)
    assert all(same(one, other) for one, other in zip(loader, expected, strict=True))


class Rings(InMemoryDataset):
    """A PyG data set that is processed once and stored."""

    @property
    def processed_file_names(self) -> str:
        return "rings.pt"

    def process(self) -> None:
        graphs = [ring(size) for size in (3, 4, 5)]
        if self.pre_transform is not None:
            graphs = [self.pre_transform(graph) for graph in graphs]
        self.save(graphs, self.processed_paths[0])

    def __init__(self, root: str, **options: Any) -> None:
        super().__init__(root, **options)
        self.load(self.processed_paths[0])


@every
def test_as_pre_transform_of_a_dataset(transform: DetourTransform, tmp_path: Any) -> None:
    stored = Rings(str(tmp_path / "with"), pre_transform=transform)
    counted = transform(Rings(str(tmp_path / "without")))
    assert isinstance(counted, list)
    assert all(same(one, other) for one, other in zip(stored, counted, strict=True))


@every
def test_pickle_and_compose(transform: DetourTransform) -> None:
    again = pickle.loads(pickle.dumps(transform))
    assert vars(again) == vars(transform)
    assert same(Compose([again])(ring(4)), transform(ring(4)))


def test_functional_names() -> None:
    from torch.utils.data.datapipes.iter import IterableWrapper

    pipe = IterableWrapper([ring(3)]).add_detour_number(2, log=False).add_detour_weights(2).add_detour_tokens(2)
    (result,) = pipe
    assert {"den", "edge_weight", "token_index"} <= set(result.keys())


@every
@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_graphs_without_edges(transform: DetourTransform, nodes: int) -> None:
    empty = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=nodes)
    result = transform(empty)
    assert not any(result[name].any() for name in set(result.keys()) - {"num_nodes", "token_index"})
    assert transform([]) == []


@every
def test_every_edge_type_within_one_node_type_is_a_graph(transform: DetourTransform) -> None:
    result = transform(hetero())
    for edge_type in HOMOGENEOUS:
        alone = transform(Data(edge_index=hetero()[edge_type].edge_index, num_nodes=4))
        for name, value in result[edge_type].to_dict().items():
            assert torch.equal(value, alone[name])
    writes = "author", "writes", "paper"
    assert result[writes].to_dict().keys() == {"edge_index"}
    assert result["author"].to_dict().keys() == {"x"}


@pytest.mark.filterwarnings("error")
def test_loops_repeats_and_one_way_arcs() -> None:
    arcs = torch.tensor([[0, 1, 1, 2, 0, 3, 0], [1, 0, 2, 0, 1, 3, 2]])  # a triangle, one edge twice, a loop, one way
    message = (
        r"^edge_index has 1 loop, 1 repeated edge and 1 one-way arc: it is left unchanged, but counted without loops, "
        r"with repeats as one edge, with one-way arcs as undirected edges \(directed=True keeps their direction\).$"
    )
    with pytest.warns(DroppedEdgesWarning, match=message):
        result = AddDetourNumber(2, log=False)(Data(edge_index=arcs, num_nodes=4))
    assert torch.equal(result.edge_index, arcs)
    assert result.den.flatten().tolist() == [1, 1, 1, 1, 1, 0, 1]
    with pytest.warns(DroppedEdgesWarning, match=r"but counted without loops, with repeats as one edge.$"):
        AddDetourNumber(2, directed=True)(Data(edge_index=arcs, num_nodes=4))
    with pytest.warns(DroppedEdgesWarning):
        tokens = AddDetourTokens(2, log=False)(Data(edge_index=arcs, num_nodes=4))
    assert tokens.token_index.tolist() == [[0, 1, 2, 1, 0, 0, 2, 1, 0, 3], [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]]
    assert tokens.token_den.flatten().tolist() == [0, 1, 1, 0, 1, 1, 0, 1, 1, 0]


@every
def test_the_device_is_kept(transform: DetourTransform) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here")
    result = transform(Batch.from_data_list([ring(3), ring(4)]).to("cuda"))
    assert {value.device.type for value in result.to_dict().values() if isinstance(value, torch.Tensor)} == {"cuda"}
    assert same(result.cpu(), transform(Batch.from_data_list([ring(3), ring(4)])))


@every
@pytest.mark.parametrize(
    ("given_data", "message"),
    [
        (Data(x=torch.ones(3, 1)), "needs an edge_index, but Data"),
        (HeteroData(), "needs an edge_index within one node type"),
        (ToSparseTensor()(ring(3)), "put this transform before any that converts it to a sparse matrix"),
        ("MUTAG", "takes a PyG Data, Batch or HeteroData, or a list of them, but 'MUTAG' was given"),
        (nx.path_graph(3), "but <networkx.classes.graph.Graph object"),
        (None, "but None was given"),
        ([ring(3), 7], "but 7 was given"),
        (Data(edge_index=torch.tensor([[0, 9], [9, 0]]), num_nodes=3), "9"),
    ],
    ids=["no edges", "no types", "sparse", "text", "networkx", "none", "number in a list", "node out of range"],
)
def test_invalid_data(transform: DetourTransform, given_data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        transform(given_data)


@pytest.mark.parametrize("kind", [AddDetourNumber, AddDetourTokens, AddDetourWeights])
@pytest.mark.parametrize("k", [1, 2.5, "4", True])
def test_invalid_k(kind: type[DetourTransform], k: Any) -> None:
    with pytest.raises(InputError, match="k, the most edges a detour may have"):
        kind(k)


@pytest.mark.parametrize(
    ("kind", "flags"),
    [
        (AddDetourNumber, ("by_length", "log", "cat", "squeeze", "directed")),
        (AddDetourTokens, ("by_length", "log", "directed")),
        (AddDetourWeights, ("log", "replace", "directed")),
    ],
)
def test_invalid_flags(kind: Any, flags: tuple[str, ...]) -> None:
    for flag in flags:
        with pytest.raises(InputError, match=rf"^{flag} must be True or False, but it is 'no'.$"):
            kind(3, **{flag: "no"})


@pytest.mark.parametrize("name", ["den_index", "batch", "adj", "", 3])
def test_names_that_pyg_treats_specially_are_refused(name: Any) -> None:
    with pytest.raises(InputError, match="attr_name must"):
        AddDetourWeights(3, attr_name=name)
    with pytest.raises(InputError, match="node_attr must"):
        AddDetourNumber(3, node_attr=name)


def test_weights_that_exist_are_checked_but_not_used() -> None:
    edge_index = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])
    for dtype in (torch.bfloat16, torch.float32, torch.int64):
        weights = torch.ones(6, dtype=dtype)
        assert AddDetourNumber(2)(Data(edge_index=edge_index, num_nodes=3, edge_weight=weights)).num_edges == 6
    weights = torch.tensor([1.0, 1, 1, 1, 1, float("nan")])
    for transform in (AddDetourNumber(2), AddDetourTokens(2)):
        with pytest.raises(InputError, match="Graph number 0: edge_weight holds NaN"):
            transform(Data(edge_index=edge_index, num_nodes=3, edge_weight=weights))


def test_repr_shows_every_argument() -> None:
    assert repr(AddDetourNumber(4, "edge_attr", node_attr=None)) == (
        "AddDetourNumber(k=4, attr_name='edge_attr', by_length=True, node_attr=None, log=True, features=None, "
        "cat=True, squeeze=False, directed=False)"
    )
    assert repr(AddDetourTokens(3)) == "AddDetourTokens(k=3, by_length=True, log=True, directed=False)"
    assert repr(AddDetourWeights(3, replace=True)) == (
        "AddDetourWeights(k=3, attr_name='edge_weight', log=True, replace=True, directed=False)"
    )


@every
def test_a_changed_argument_changes_the_repr(transform: DetourTransform) -> None:
    options = {name: value for name, value in vars(transform).items() if name != "k"}
    assert repr(type(transform)(transform.k + 1, **options)) != repr(transform)
    for name in ("log", "directed"):
        assert repr(type(transform)(transform.k, **options | {name: not options[name]})) != repr(transform)
