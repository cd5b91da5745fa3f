"""The graphs and labels of every kind of input, and the cache of converted NetworkX graphs."""

import gc
import pickle
import time
import warnings
from typing import Any

import networkx as nx
import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from detours import wl
from detours.errors import InputError
from detours.graph import Graph
from detours.kernels import Labelled, WLDetour, WLSubtree, conversion, labelled
from detours.kernels.conversion import convert


def ring(labels: str = "CCCCCN") -> nx.Graph:
    graph = nx.cycle_graph(len(labels))
    nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    return graph


def test_labels_are_used_when_there_are_any() -> None:
    """Benzene and pyridine: without their atoms the two are the same graph."""
    for kernel in (WLDetour(output="gram"), WLSubtree(output="gram")):
        with_labels = kernel.fit_transform([ring("CCCCCC"), ring("CCCCCN")])
        assert with_labels[0, 1] < 1
        bare = kernel.fit_transform([nx.cycle_graph(6), nx.cycle_graph(6)])
        assert bare[0, 1] == pytest.approx(1)
        assert kernel.set_params(labels="degree").fit_transform([ring("CCCCCC"), ring("CCCCCN")])[
            0, 1
        ] == pytest.approx(1)


def test_transform_uses_the_labels_option_resolved_by_fit() -> None:
    kernel = WLSubtree(1).fit([ring()])
    assert kernel.colouring_.options.labels == "data"
    with pytest.raises(InputError, match="Graph number 0 has no node labels"):
        kernel.transform([nx.cycle_graph(6)])
    assert WLSubtree(1).fit([nx.cycle_graph(6)]).transform([ring()]).nnz == 2  # degrees, as in fit


def test_some_graphs_with_labels_and_some_without() -> None:
    with pytest.raises(InputError, match=r"Graph number 1 has no node labels; .* labels=.degree"):
        WLDetour().fit([ring(), nx.cycle_graph(6)])
    partly = ring()
    del partly.nodes[0]["label"]
    with pytest.raises(InputError, match="has nodes without a label"):
        WLDetour().fit([partly])


def test_one_hot_features_of_pyg_are_labels() -> None:
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    edge_index = torch.from_numpy(np.array(convert([nx.cycle_graph(6)])[0].to_edge_index()))
    atoms = torch.tensor([0, 0, 0, 0, 0, 1])
    kernel = WLSubtree(1, labels="data").fit([Labelled(nx.cycle_graph(6), atoms.numpy())])
    expected = kernel.transform([Labelled(nx.cycle_graph(6), atoms.numpy())]).toarray()
    columns = (atoms[:, None].to(kind) for kind in (torch.int64, torch.int32, torch.uint8, torch.bool))
    for x in (torch.nn.functional.one_hot(atoms).float(), *columns, torch.nn.functional.one_hot(atoms)):
        assert np.array_equal(kernel.transform([data.Data(x=x, edge_index=edge_index)]).toarray(), expected)
    for x in (torch.rand(6, 2), torch.ones(6, 1), torch.ones(6, 2), None):
        fitted = WLSubtree(1).fit([data.Data(x=x, edge_index=edge_index, num_nodes=6)])
        assert fitted.colouring_.options.labels == "degree"


def test_x_of_pyg_is_labels_only_if_that_of_every_graph_can_be() -> None:
    """Measurements of one node are sometimes one-hot by chance, and those of no node always."""
    torch, data = pytest.importorskip("torch"), pytest.importorskip("torch_geometric.data")
    arcs, no_arcs = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(2, 0, dtype=torch.long)
    measured = data.Data(x=torch.full((3, 2), 0.5), edge_index=arcs)
    one_hot = data.Data(x=torch.tensor([[0.0, 1], [1, 0], [0, 1]]), edge_index=arcs)
    chance = data.Data(x=torch.tensor([[0.0, 1]]), edge_index=no_arcs)
    empty = data.Data(x=torch.zeros(0, 2), edge_index=no_arcs)
    atoms = data.Data(x=torch.tensor([[6, 1], [6, 0], [8, 0]]), edge_index=arcs)
    no_atoms = data.Data(x=torch.zeros(0, 2, dtype=torch.long), edge_index=no_arcs)
    assert WLSubtree(1).fit_transform([no_atoms, measured]).shape[0] == 2
    assert WLSubtree(1).fit_transform([no_atoms]).shape[0] == 1
    with pytest.warns(UserWarning, match="several columns of integers"):
        WLSubtree(1).fit([no_atoms, atoms])
    for more in (chance, empty, no_atoms):
        for given in ([measured, more], [more, measured], labelled([measured, more])):
            kernel = WLSubtree(1).fit(given)
            assert kernel.colouring_.options.labels == "degree" and kernel.transform([more, one_hot]).shape[0] == 2
        for given in ([one_hot, more], [more, one_hot], labelled([one_hot, more])):
            kernel = WLSubtree(1).fit(given)
            assert kernel.colouring_.options.labels == "data" and kernel.transform([empty, chance]).shape[0] == 2
            with pytest.raises(InputError, match="Graph number 1 has no node labels"):
                kernel.transform([one_hot, measured])
    with pytest.raises(InputError, match="Graph number 1 has no node labels"):
        WLSubtree(1, labels="data").fit([one_hot, measured])


@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16"])
def test_integral_floats_are_no_labels_and_give_a_warning(kind: str) -> None:
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    arcs = torch.from_numpy(np.array(convert([nx.cycle_graph(6)])[0].to_edge_index()))
    atoms = torch.tensor([[6.0], [6], [6], [6], [6], [7]], dtype=getattr(torch, kind))
    given = [data.Data(x=atoms, edge_index=arcs)]
    with pytest.warns(UserWarning, match=r"degrees are used and not x; give x.long\(\) to use it as labels") as caught:
        fitted = WLSubtree(1).fit(given * 3)
    assert len(caught) == 1 and fitted.colouring_.options.labels == "degree"
    with pytest.warns(UserWarning, match="degrees are used"):  # carbon in one graph, nitrogen in the other
        WLSubtree(1).fit([data.Data(x=atoms[:3].repeat(2, 1) + more, edge_index=arcs) for more in (0, 1)])
    measured = [data.Data(x=atoms + 0.5, edge_index=arcs)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.transform(given)
        WLSubtree(1, labels="degree").fit(given)
        WLSubtree(1).fit(measured)
        WLSubtree(1).fit([data.Data(x=torch.ones(6, 1), edge_index=arcs)])


def test_several_columns_of_integers_are_no_labels_and_give_a_warning() -> None:
    torch, data = pytest.importorskip("torch"), pytest.importorskip("torch_geometric.data")
    arcs = torch.from_numpy(np.array(convert([nx.cycle_graph(6)])[0].to_edge_index()))
    atoms = torch.tensor([[6, 0], [6, 0], [6, 0], [6, 0], [6, 0], [7, 1]])  # as in PyG's from_smiles
    with pytest.warns(UserWarning, match=r"several columns of integers, .* not x; give one of them") as caught:
        fitted = WLSubtree(1).fit([data.Data(x=atoms, edge_index=arcs)] * 3)
    assert len(caught) == 1 and fitted.colouring_.options.labels == "degree"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WLSubtree(1).fit([data.Data(x=torch.ones(6, 2, dtype=torch.int64), edge_index=arcs)])
        assert WLSubtree(1).fit([data.Data(x=atoms[:, :1], edge_index=arcs)]).colouring_.options.labels == "data"


def test_the_lost_labels_of_a_graph_give_a_warning() -> None:
    kept = Graph.from_any(ring("CCCCCN"))
    with pytest.warns(UserWarning, match=r"so degrees are used; give the source, or labelled\(graphs\)") as caught:
        fitted = WLSubtree(1).fit([kept, kept])
    assert len(caught) == 1 and fitted.colouring_.options.labels == "degree"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WLSubtree(1, labels="degree").fit([kept])
        WLSubtree(1).fit([Graph.from_any(nx.cycle_graph(6))])
        WLSubtree(1).fit(labelled([ring("CCCCCN")]))


def test_labels_by_the_names_of_nodes() -> None:
    ring_of_names = nx.relabel_nodes(ring("CCCCCN"), dict(enumerate("fedcba")))
    known = nx.get_node_attributes(ring_of_names, "label")
    turned = dict(reversed(known.items()))
    kernel = WLSubtree(1, normalize=False)
    expected = kernel.fit_transform([ring_of_names]).toarray()
    for given in (Labelled(ring_of_names, turned), (ring_of_names, turned), *labelled([(ring_of_names, turned)])):
        assert np.array_equal(kernel.transform([given]).toarray(), expected)
    names = WLSubtree(0).fit([Labelled(nx.cycle_graph(6), dict.fromkeys(range(6), "C"))]).get_feature_names_out()
    assert names.tolist() == ["label C"]
    del turned["d"]
    with pytest.raises(InputError, match="The labels of graph number 1 have none for the node 'd'; give it one"):
        kernel.fit([ring(), Labelled(ring_of_names, turned)])
    for labels, bonds in ((5, None), (None, {(0, 1): "single"})):
        with pytest.raises(InputError, match=r"The (node|edge) labels of graph number 0 are .*; give a list"):
            WLSubtree(edge_labels=bonds is not None).fit([Labelled(nx.cycle_graph(6), labels, bonds)])


def test_labels_of_igraph() -> None:
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph.Ring(6)
    graph.vs["label"] = list("CCCCCN")
    assert np.array_equal(WLDetour(output="gram").fit([ring()]).transform([graph]), [[pytest.approx(1)]])
    graph.vs["label"] = None  # as on vertices of a union with a graph that has labels
    assert WLSubtree(0).fit([graph]).get_feature_names_out().tolist() == ["degree 2"]
    assert "labels" not in wl.separate(graph, graph).witness


# ---------------------------------------------------------------- cached conversions


def test_a_graph_is_converted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [ring("C" * n) for _ in range(3) for n in (4, 5, 6, 7)]
    y = [0, 1, 0, 1] * 3
    seen: list[Any] = []
    plain = conversion.as_graphs
    monkeypatch.setattr(
        conversion, "as_graphs", lambda given, **more: plain([seen.append(one) or one for one in given], **more)
    )
    cross_val_score(make_pipeline(WLDetour(output="gram"), SVC(kernel="precomputed")), graphs, y, cv=3)
    assert len(seen) == 12


@pytest.mark.parametrize(
    "change",
    [
        lambda graph: graph.add_edge(0, 3),
        lambda graph: graph.remove_edge(0, 1),
        lambda graph: (graph.remove_edge(0, 1), graph.add_edge(0, 3)),
        lambda graph: graph.add_node(17, label="C"),
        lambda graph: graph.remove_node(3),
        lambda graph: graph.add_edges_from([(1, 4)]),
        lambda graph: graph.update(edges=[(1, 4)]),
    ],
)
def test_a_changed_graph_is_converted_again(change: Any) -> None:
    graph = ring()
    kernel = WLDetour(3, 2, output="gram").fit([graph])
    change(graph)
    assert np.array_equal(kernel.transform([graph]), kernel.transform([graph.copy()]))
    assert kernel.transform([graph])[0, 0] < 0.999


@pytest.mark.parametrize(
    "view",
    [
        lambda graph: graph.subgraph(range(6)),
        lambda graph: graph.edge_subgraph(list(graph.edges)),
        lambda graph: nx.subgraph_view(graph, filter_node=lambda node: True),
        lambda graph: graph.to_undirected(as_view=True),
    ],
)
@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_a_view_is_converted_every_time(view: Any, kind: Any) -> None:
    """A change of the underlying graph leaves the cache of the view as it is."""
    graph = nx.cycle_graph(6, create_using=kind)
    seen = view(graph)
    kernel = WLDetour(k=5, n_iter=0, output="gram", normalize=False).fit([seen])
    before = kernel.transform([seen]).tolist()
    graph.remove_edge(0, 1)
    after = kernel.transform([seen]).tolist()
    assert after == kernel.transform([seen.__class__(seen)]).tolist() and after != before


def test_changed_labels_are_seen() -> None:
    graph = ring()
    kernel = WLDetour(output="gram").fit([graph])
    graph.nodes[0]["label"] = "O"
    assert kernel.transform([graph])[0, 0] < 0.999


def test_cached_conversions_are_weak_and_not_pickled() -> None:
    gc.collect()
    before = len(conversion._conversions)
    graph = nx.gnp_random_graph(300, 0.1, seed=0)
    size = len(pickle.dumps(graph))
    (made,) = convert([graph])
    assert convert([graph])[0] is made and len(conversion._conversions) == before + 1
    assert len(pickle.dumps(graph)) < size + 200
    again = pickle.loads(pickle.dumps(graph))
    assert convert([again])[0] is not made
    del graph, again
    gc.collect()
    assert len(conversion._conversions) <= before


def test_labelled() -> None:
    graphs = [ring("CCCC"), ring("CNO")]
    items = labelled(graphs)
    assert [item.labels for item in items] == [list("CCCC"), list("CNO")]
    kernel = WLDetour(output="gram")
    assert np.array_equal(kernel.fit_transform(items), kernel.fit_transform(graphs))


@pytest.mark.slow
def test_the_second_conversion_is_faster() -> None:
    graphs = [nx.random_regular_graph(3, 200, seed=seed) for seed in range(100)]
    times = []
    for _ in range(2):
        start = time.process_time()
        convert(graphs)
        times.append(time.process_time() - start)
    assert times[1] < times[0]


def test_molecules_have_their_elements_and_bonds() -> None:
    chem = pytest.importorskip("rdkit.Chem")
    benzene, pyridine, cyclohexane = (chem.MolFromSmiles(each) for each in ("c1ccccc1", "c1ccncc1", "C1CCCCC1"))
    assert WLSubtree(output="gram").fit_transform([benzene, pyridine])[0, 1] < 1
    assert WLSubtree(output="gram", labels="degree").fit_transform([benzene, pyridine])[0, 1] == pytest.approx(1)
    assert WLSubtree(output="gram").fit_transform([benzene, cyclohexane])[0, 1] == pytest.approx(1)
    bonds = WLSubtree(output="gram", edge_labels=True).fit_transform([benzene, cyclohexane])
    assert bonds[0, 1] < 1
    by_hand = [Labelled(each, [atom.GetSymbol() for atom in each.GetAtoms()]) for each in (benzene, pyridine)]
    assert (WLDetour().fit_transform(by_hand) != WLDetour().fit_transform([benzene, pyridine])).nnz == 0


def test_graphs_without_edges_need_no_edge_labels() -> None:
    """A single atom, and no atom at all, among molecules with bonds."""
    bonded = ring()
    nx.set_edge_attributes(bonded, "aromatic", "label")
    atom = nx.Graph()
    atom.add_node(0, label="C")
    gram = WLSubtree(output="gram", edge_labels=True, normalize=False).fit_transform([bonded, atom, nx.Graph()])
    assert gram[1, 0] == 5  # five atoms of carbon, before the first round
    assert gram[2].tolist() == [0, 0, 0]
    with pytest.raises(InputError, match="Graph number 1 has no edge labels"):
        WLSubtree(edge_labels=True).fit([bonded, ring()])


def test_errors_give_the_index_in_the_list() -> None:
    known = ring()
    WLSubtree().fit([known])
    with pytest.raises(InputError, match="Graph number 1: None"):
        WLSubtree().fit([known, None])


def test_a_single_pyg_graph_is_refused() -> None:
    data = pytest.importorskip("torch_geometric.data")
    torch = pytest.importorskip("torch")
    one = data.Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    with pytest.raises(InputError, match="put graphs into a list"):
        WLSubtree().fit(one)
    with pytest.raises(InputError, match=r"give to_data_list\(\) of it"):
        WLSubtree().fit(data.Batch.from_data_list([one, one]))


def test_a_subset_of_pytorch_is_a_list() -> None:
    utils = pytest.importorskip("torch.utils.data")
    graphs = [ring("C" * n) for n in (4, 5, 6, 7)]
    some = utils.Subset(graphs, [2, 0])
    kernel = WLSubtree(2, output="gram")
    assert np.array_equal(kernel.fit_transform(some), kernel.fit_transform([graphs[2], graphs[0]]))
    assert [item.labels for item in labelled(some)] == [list("CCCCCC"), list("CCCC")]
