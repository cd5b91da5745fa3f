"""What all three transforms promise: any data object, any number of them, nothing touched that is not theirs."""

import pickle
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch_geometric")

import torch
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import AddSelfLoops, Compose, ToSparseTensor, ToUndirected
from torch_geometric.utils import remove_self_loops, sort_edge_index

import detours
from detours.errors import DroppedEdgesWarning, InputError
from detours.transforms import AddDetourNumber, AddDetourTokens, AddDetourWeights
from detours.transforms.base import DetourTransform
from tests.oracles.brute import by_recursion
from tests.real_data import molecule_graphs
from tests.strategies import SmallGraph, small_graphs

EVERY = [
    AddDetourNumber(4, node_attr="phi"),
    AddDetourNumber(3, attr_name="edge_den", by_length=False, squeeze=True, log=False),
    AddDetourNumber(4, "den", features=("bridge", "by_length", "shortest"), node_attr="phi"),
    AddDetourNumber(5, log=False),
    AddDetourTokens(3),
    AddDetourTokens(4, by_length=False, log=False),
    AddDetourWeights(4),
    AddDetourWeights(3, attr_name="w", log=False),
]
every = pytest.mark.parametrize("transform", EVERY, ids=repr)


def data_of(graph: SmallGraph) -> Data:
    x = torch.arange(graph.num_nodes, dtype=torch.float32).view(-1, 1)
    return Data(x=x, edge_index=torch.from_numpy(graph.edge_index), y=torch.tensor([graph.num_nodes]))


def ring(size: int, **attributes: Any) -> Data:
    nodes = torch.arange(size)
    arcs = torch.stack([nodes, (nodes + 1) % size])
    return Data(edge_index=torch.cat([arcs, arcs.flip(0)], 1), num_nodes=size, **attributes)


def same(one: Data, other: Data) -> bool:
    """Equal attributes, order and type included."""
    names = set(one.keys())
    return names == set(other.keys()) and all(equal(one[name], other[name]) for name in names)


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    return bool(one == other)


@every
@settings(max_examples=10)
@given(graphs=st.lists(small_graphs(directed=False, max_nodes=7), min_size=1, max_size=3))
def test_a_batch_a_list_and_one_by_one_agree(transform: DetourTransform, graphs: list[SmallGraph]) -> None:
    alone = [transform(data_of(graph)) for graph in graphs]
    together = transform([data_of(graph) for graph in graphs])
    batch = Batch.from_data_list([data_of(graph) for graph in graphs])
    batch.extra = torch.ones(3)
    joined = transform(batch)
    assert torch.equal(joined.extra, batch.extra) and set(batch.keys()) < set(joined.keys())
    del joined.extra
    assert all(map(same, alone, together))
    assert same(joined, Batch.from_data_list(alone))
    assert all(map(same, joined.to_data_list(), alone))
    assert all(map(same, batch.to_data_list(), map(data_of, graphs))), "the batch that was given has changed"


@every
def test_a_batch_that_does_not_know_its_graphs(transform: DetourTransform) -> None:
    batch = Batch(batch=torch.tensor([0, 0, 0]), edge_index=ring(3).edge_index, num_nodes=3)
    made = transform(batch)
    assert same(Data(**{name: made[name] for name in made.keys() if name != "batch"}), transform(ring(3)))  # noqa: SIM118


def with_chord(batch: Batch) -> Batch:
    batch.edge_index = torch.cat([batch.edge_index, torch.tensor([[0, 3], [3, 0]])], dim=1)
    return batch


def without_first_edge(batch: Batch) -> Batch:
    kept = ~((batch.edge_index == 0) | (batch.edge_index == 1)).all(0)
    batch.edge_index = batch.edge_index[:, kept]
    return batch


def shuffled(batch: Batch) -> Batch:
    batch.edge_index = batch.edge_index[:, torch.randperm(batch.num_edges, generator=torch.Generator().manual_seed(0))]
    return batch


def with_node(batch: Batch) -> Batch:
    batch.num_nodes += 1
    batch.edge_index = torch.cat([batch.edge_index, torch.tensor([[0, 11, 2, 11], [11, 0, 11, 2]])], dim=1)
    return batch


def made_two_way(batch: Batch) -> Batch:
    one_way = [Data(edge_index=each.edge_index[:, : each.num_nodes], num_nodes=each.num_nodes) for each in batch[:]]
    return ToUndirected()(Batch.from_data_list(one_way))


CHANGES = [with_chord, without_first_edge, shuffled, with_node, made_two_way, AddSelfLoops()]


@every
@pytest.mark.parametrize("change", CHANGES, ids=["chord", "cut", "shuffled", "node", "two-way", "loops"])
@pytest.mark.filterwarnings("ignore::detours.errors.DroppedEdgesWarning")
def test_a_batch_is_counted_with_the_edges_it_has_now(transform: DetourTransform, change: Any) -> None:
    batch = change(Batch.from_data_list([ring(6), ring(5)]))
    arcs, nodes = batch.edge_index, batch.num_nodes
    made, plain = transform(batch), transform(Data(edge_index=arcs, num_nodes=nodes))
    assert torch.equal(made.edge_index, arcs) and made.num_nodes == nodes
    for name in plain.keys():  # noqa: SIM118
        assert equal(made[name], plain[name]), name
    if "den" in made and not transform.log:
        table = by_recursion(nodes, [(i, j) for i, j in arcs.T.tolist() if i != j], transform.k)
        assert made.den.tolist() == [table.get((i, j), [0] * (transform.k - 1)) for i, j in arcs.T.tolist()]


def test_a_chord_added_to_a_batch_makes_two_detours_of_it() -> None:
    made = AddDetourNumber(5, log=False, by_length=False, squeeze=True)(with_chord(Batch.from_data_list([ring(6)])))
    assert made.den.tolist() == [2] * 14
    assert "den" not in made[0], "PyG gives graph 0 the edges it had"


def test_edges_of_a_batch_of_many_types_may_change() -> None:
    batch = Batch.from_data_list([hetero(), hetero()])
    first = OWN[0]
    batch[first].edge_index = torch.cat([batch[first].edge_index, torch.tensor([[4, 6], [6, 4]])], dim=1)
    made = AddDetourNumber(3, log=False, by_length=False, squeeze=True, node_attr="phi")(batch)
    assert made[first].den.tolist() == [1] * 8 + [2] * 10
    assert made["paper"].phi[4:].flatten().tolist() == [8, 6, 8, 4]


@every
def test_an_attribute_of_a_batch_that_changed_its_length_stays(transform: DetourTransform) -> None:
    batch = Batch.from_data_list([ring(3, x=torch.ones(3, 1), name="a"), ring(4, x=torch.ones(4, 1), name="b")])
    batch.y, batch.name = torch.arange(5), "both"
    made = transform(batch)
    assert made.y is batch.y and made.name == "both" and made.x is batch.x


@every
def test_only_its_own_attributes_are_added(transform: DetourTransform) -> None:
    data = ring(5, x=torch.ones(5, 2), name="five", edge_attr=torch.ones(10, 3))
    kept = dict(data.to_dict())
    made = transform(data)
    assert data.to_dict() == kept, "the data that was given has changed"
    assert all(made[name] is value for name, value in kept.items())
    assert set(made.keys()) - set(kept) in (
        {"den", "phi"},
        {"den"},
        {"edge_den"},
        {"token_index", "token_den"},
        {"edge_weight"},
        {"w"},
    )


@every
def test_workers_of_a_loader_count_too(transform: DetourTransform) -> None:
    graphs = [ring(size) for size in (3, 4, 5, 6)]
    loader = DataLoader(Transformed(graphs, transform), batch_size=2, num_workers=1)
    expected = DataLoader(transform(graphs), batch_size=2)
    assert all(same(one, other) for one, other in zip(loader, expected, strict=True))


@every
def test_anything_that_yields_data(transform: DetourTransform) -> None:
    graphs = [ring(size) for size in (3, 4, 5)]
    expected = transform(graphs)
    iterables = (iter(graphs), (each for each in graphs), tuple(graphs), torch.utils.data.Subset(graphs, [0, 1, 2]))
    for iterable in iterables:
        made = transform(iterable)
        assert isinstance(made, list) and all(map(same, made, expected)) and len(made) == 3
    with pytest.raises(InputError, match="but 7 was given"):
        transform(each for each in [ring(3), 7])


class Transformed(torch.utils.data.Dataset):
    """Applies a transform at each access, as PyG's data sets do."""

    def __init__(self, graphs: list[Data], transform: DetourTransform) -> None:
        self.graphs, self.transform = graphs, transform

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, index: int) -> Data:
        return self.transform(self.graphs[index])


class Rings(InMemoryDataset):
    """A data set of PyG's kind, processed once."""

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
def test_a_data_set_before_and_after_it_is_stored(transform: DetourTransform, tmp_path: Any) -> None:
    stored = Rings(str(tmp_path / "with"), pre_transform=transform)
    counted = transform(Rings(str(tmp_path / "without")))
    assert isinstance(counted, list)
    assert all(same(one, other) for one, other in zip(stored, counted, strict=True))


@every
def test_it_can_be_pickled_and_composed(transform: DetourTransform) -> None:
    again = pickle.loads(pickle.dumps(transform))
    assert vars(again) == vars(transform)
    assert same(Compose([again])(ring(4)), transform(ring(4)))


@every
@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_graphs_without_edges(transform: DetourTransform, nodes: int) -> None:
    empty = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=nodes)
    made = transform(empty)
    assert not any(made[name].any() for name in set(made.keys()) - {"num_nodes", "token_index"})
    assert transform([]) == []


def hetero() -> HeteroData:
    data = HeteroData()
    data["paper"].x = torch.ones(4, 1)
    data["author"].x = torch.ones(3, 1)
    data["paper", "cites", "paper"].edge_index = ring(4).edge_index
    data["paper", "near", "paper"].edge_index = torch.cat([ring(3).edge_index, torch.tensor([[0, 3], [3, 0]])], 1)
    data["author", "writes", "paper"].edge_index = torch.tensor([[0, 1, 2], [0, 1, 3]])
    return data


OWN = [("paper", "cites", "paper"), ("paper", "near", "paper")]


@every
def test_edge_types_within_one_node_type_are_graphs_of_their_own(transform: DetourTransform) -> None:
    made = transform(hetero())
    for edge_type in OWN:
        alone = transform(Data(edge_index=hetero()[edge_type].edge_index, num_nodes=4))
        for name, value in made[edge_type].to_dict().items():
            assert torch.equal(value, alone[name])
    writes = "author", "writes", "paper"
    assert made[writes].to_dict().keys() == {"edge_index"}
    assert made["author"].to_dict().keys() == {"x"}


@every
def test_batches_of_many_types(transform: DetourTransform) -> None:
    joined = Batch.from_data_list(transform([hetero(), hetero()]))
    batch = transform(Batch.from_data_list([hetero(), hetero()]))
    alone = transform(hetero())
    for made in (batch, joined):
        for part in made.to_data_list():
            for store, expected in zip(part.stores, alone.stores, strict=True):
                assert all(equal(store[name], value) for name, value in expected.to_dict().items())
    for edge_type in OWN:
        for name in alone[edge_type].to_dict():
            assert torch.equal(batch[edge_type][name], joined[edge_type][name])


def test_nodes_add_up_over_their_edge_types() -> None:
    made = AddDetourNumber(3, node_attr="phi", log=False)(hetero())
    # every node of the square lies on one 4-cycle, the first three on one triangle more
    assert made["paper"].phi.tolist() == [[4], [4], [4], [2]]
    assert "phi" not in made["author"]


@every
def test_the_device_is_kept(transform: DetourTransform) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here")
    made = transform(Batch.from_data_list([ring(3), ring(4)]).to("cuda"))
    assert {value.device.type for value in made.to_dict().values() if isinstance(value, torch.Tensor)} == {"cuda"}
    assert same(made.cpu(), transform(Batch.from_data_list([ring(3), ring(4)])))


@every
@pytest.mark.parametrize(
    ("given_data", "sentence"),
    [
        (Data(x=torch.ones(3, 1)), "needs an edge_index, but Data"),
        (HeteroData(), "needs an edge_index within one node type"),
        (ToSparseTensor()(ring(3)), "put this transform before any that turns it into a sparse matrix"),
        ("MUTAG", "takes a PyG Data, Batch or HeteroData, or a list of them, but 'MUTAG' was given"),
        (nx.path_graph(3), "but <networkx.classes.graph.Graph object"),
        (None, "but None was given"),
        ([ring(3), 7], "but 7 was given"),
        (Data(edge_index=torch.tensor([[0, 9], [9, 0]]), num_nodes=3), "9"),
    ],
    ids=["no edges", "no types", "sparse", "text", "networkx", "none", "number in a list", "node out of range"],
)
def test_what_cannot_be_counted_is_refused(transform: DetourTransform, given_data: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        transform(given_data)


@pytest.mark.parametrize("kind", [AddDetourNumber, AddDetourTokens, AddDetourWeights])
@pytest.mark.parametrize("k", [1, 2.5, "4", True])
def test_k_must_be_a_number_of_edges(kind: type[DetourTransform], k: Any) -> None:
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
def test_flags_must_be_yes_or_no(kind: Any, flags: tuple[str, ...]) -> None:
    for flag in flags:
        with pytest.raises(InputError, match=rf"^{flag} must be True or False, but it is 'no'.$"):
            kind(3, **{flag: "no"})


@pytest.mark.parametrize("name", ["den_index", "batch", "adj", "", 3])
def test_names_that_batches_would_spoil_are_refused(name: Any) -> None:
    with pytest.raises(InputError, match="attr_name must"):
        AddDetourWeights(3, attr_name=name)
    with pytest.raises(InputError, match="node_attr must"):
        AddDetourNumber(3, node_attr=name)


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


def test_existing_features_are_kept() -> None:
    data = ring(4, edge_attr=torch.arange(8), x=torch.ones(4, 2))
    made = AddDetourNumber(3, attr_name=None, node_attr=None, log=False)(data)
    assert made.edge_attr.tolist() == [[at, 0, 1] for at in range(8)]
    assert made.x.tolist() == [[1, 1, 2]] * 4 and made.x.dtype == torch.float32
    assert AddDetourNumber(3, attr_name="edge_attr")(data).edge_attr.dtype == torch.float32  # bond types and logarithms
    replaced = AddDetourNumber(3, attr_name="edge_attr", by_length=False, node_attr="x", log=False, cat=False)(data)
    assert replaced.edge_attr.tolist() == [[1]] * 8 and replaced.x.tolist() == [[2]] * 4
    assert data.edge_attr.shape == (8,) and data.x.shape == (4, 2)
    with pytest.raises(InputError, match=r"^edge_attr must have 8 rows, .* but its shape is \(4, 2\); mend it, or "):
        AddDetourNumber(3, attr_name=None)(ring(4, edge_attr=torch.ones(4, 2)))


def test_features_in_the_order_asked_for() -> None:
    arcs = torch.tensor([[0, 1, 1, 2, 2, 0, 2, 3], [1, 0, 2, 1, 0, 2, 3, 2]])  # a triangle and a tail
    data = Data(edge_index=arcs, num_nodes=4)
    made = AddDetourNumber(3, features=("bridge", "by_length", "shortest", "den"), log=False)(data)
    assert made.den.tolist() == [[0, 1, 0, 3, 1]] * 6 + [[1, 0, 0, 0, 0]] * 2 and made.den.dtype == torch.int64
    logs = AddDetourNumber(3, features=["shortest", "den"])(data).den
    torch.testing.assert_close(logs, torch.tensor([[3.0, np.log(2)]] * 6 + [[0.0, 0.0]] * 2, dtype=torch.float32))
    assert AddDetourNumber(3, features="bridge", squeeze=True, log=False)(data).den.tolist() == [0] * 6 + [1] * 2
    assert AddDetourNumber(3, features=("shortest", "bridge"), attr_name=None)(data).edge_attr.shape == (8, 2)
    for wrong in ((), ("girth",), "girth", (3,)):
        with pytest.raises(InputError, match="features"):
            AddDetourNumber(3, features=wrong)
    with pytest.raises(InputError, match="squeeze"):
        AddDetourNumber(3, features=("shortest", "bridge"), squeeze=True)


def test_without_features_they_are_written() -> None:
    made = AddDetourNumber(3, attr_name=None, node_attr=None)(ring(4))
    assert made.edge_attr.shape == (8, 2) and made.x.shape == (4, 1)


def test_existing_weights_are_replaced_only_when_told() -> None:
    weighted = ring(3, edge_weight=torch.full((6,), 7.0))
    with pytest.raises(InputError, match="weights in 'edge_weight' already; give replace=True"):
        AddDetourWeights(2)(weighted)
    assert AddDetourWeights(2, log=False, replace=True)(weighted).edge_weight.tolist() == [1] * 6


def test_shapes_are_ready_for_edge_dim() -> None:
    from torch_geometric.nn import GATv2Conv

    for options, columns in (({}, 3), ({"by_length": False}, 1)):
        data = AddDetourNumber(4, **options)(ring(5, x=torch.ones(5, 2)))
        assert data.den.shape == (10, columns)
        assert GATv2Conv(2, 4, edge_dim=columns)(data.x, data.edge_index, data.den).shape == (5, 4)
    assert AddDetourNumber(4, by_length=False, squeeze=True)(ring(5)).den.shape == (10,)
    with pytest.raises(InputError, match="squeeze=True needs by_length=False"):
        AddDetourNumber(4, squeeze=True)


def test_functional_names() -> None:
    from torch.utils.data.datapipes.iter import IterableWrapper

    pipe = IterableWrapper([ring(3)]).add_detour_number(2, log=False).add_detour_weights(2).add_detour_tokens(2)
    (made,) = pipe
    assert {"den", "edge_weight", "token_index"} <= set(made.keys())


@pytest.mark.filterwarnings("error")
def test_untidy_edges_are_counted_in_their_own_columns() -> None:
    arcs = torch.tensor([[0, 1, 1, 2, 0, 3, 0], [1, 0, 2, 0, 1, 3, 2]])  # a triangle, one edge twice, a loop, one way
    said = (
        r"^edge_index has 1 loop, 1 repeated edge and 1 one-way arc: it stays as it is, but is counted without loops, "
        r"with repeats as one edge, with one-way arcs as undirected edges \(directed=True keeps their direction\).$"
    )
    with pytest.warns(DroppedEdgesWarning, match=said):
        made = AddDetourNumber(2, log=False)(Data(edge_index=arcs, num_nodes=4))
    assert torch.equal(made.edge_index, arcs)
    assert made.den.flatten().tolist() == [1, 1, 1, 1, 1, 0, 1]
    with pytest.warns(DroppedEdgesWarning, match=r"but is counted without loops, with repeats as one edge.$"):
        AddDetourNumber(2, directed=True)(Data(edge_index=arcs, num_nodes=4))
    with pytest.warns(DroppedEdgesWarning):
        tokens = AddDetourTokens(2, log=False)(Data(edge_index=arcs, num_nodes=4))
    assert tokens.token_index.tolist() == [[0, 1, 2, 1, 0, 0, 2, 1, 0, 3], [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]]
    assert tokens.token_den.flatten().tolist() == [0, 1, 1, 0, 1, 1, 0, 1, 1, 0]


@settings(max_examples=25)
@given(graph=small_graphs())
def test_numbers_are_those_of_brute_force(graph: SmallGraph) -> None:
    data, table = data_of(graph), graph.table(4)
    exact = AddDetourNumber(4, log=False, node_attr="phi", directed=graph.directed)(data)
    assert exact.den.dtype == torch.int64 and np.array_equal(exact.den.numpy(), table)
    around = np.zeros(graph.num_nodes, np.int64)
    np.add.at(around, graph.edge_index[0], table.sum(axis=1))
    assert exact.phi.flatten().tolist() == around.tolist()
    summed = AddDetourNumber(4, by_length=False, squeeze=True, directed=graph.directed)(data)
    assert summed.den.dtype == torch.float32
    np.testing.assert_allclose(summed.den.numpy(), np.log1p(table.sum(axis=1)), rtol=1e-6)
    weighted = AddDetourWeights(4, log=False, directed=graph.directed)(data)
    assert weighted.edge_weight.dtype == torch.float32
    assert weighted.edge_weight.tolist() == table.sum(axis=1).tolist()


@settings(max_examples=25)
@given(graph=small_graphs())
def test_tokens_are_the_arcs_and_one_for_each_node(graph: SmallGraph) -> None:
    made = AddDetourTokens(3, log=False, directed=graph.directed)(data_of(graph))
    den = dict(zip(graph.arcs, graph.table(3).tolist(), strict=True))
    expected = []
    for node in range(graph.num_nodes):
        expected.append(((node, node), [0, 0]))
        expected += [(arc, den[arc]) for arc in graph.arcs if arc[1] == node]
    listed = list(zip(map(tuple, made.token_index.T.tolist()), made.token_den.tolist(), strict=True))
    assert listed == expected


def test_a_real_data_set_in_one_go() -> None:
    graphs = [Data(edge_index=torch.from_numpy(arcs), num_nodes=nodes) for nodes, arcs in molecule_graphs("MUTAG")]
    made = AddDetourNumber(5, by_length=False, squeeze=True, log=False)(graphs)
    assert len(made) == 188
    for data in made[:20]:
        assert torch.equal(data.den, torch.from_numpy(np.array(detours.count(data, 5).edge)))
    assert int(Batch.from_data_list(made).den.sum()) == sum(int(data.den.sum()) for data in made)


def test_the_order_of_the_columns_does_not_matter() -> None:
    data = ring(6)
    shuffled = data.edge_index[:, torch.randperm(12)]
    sorted_index, den = sort_edge_index(shuffled, AddDetourNumber(5)(Data(edge_index=shuffled, num_nodes=6)).den)
    again = AddDetourNumber(5)(Data(edge_index=sorted_index, num_nodes=6))
    assert torch.equal(again.den, den)
    assert torch.equal(remove_self_loops(again.edge_index)[0], sorted_index)
