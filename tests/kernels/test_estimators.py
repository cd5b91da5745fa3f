"""The kernels as scikit-learn estimators: pipelines, names of features, labels and invalid input."""

import pickle
import subprocess
import sys
import warnings
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

import detours
from detours.errors import InputError
from detours.graph import Graph
from detours.kernels import GraphKernel, Labelled, ShortestPath, WLDetour, WLShortestPath, WLSubtree, labelled
from detours.kernels.features.histograms import HistogramBase
from tests.kernels.cases import each_kind, equal

EDGE = detours.Graph.from_any(nx.path_graph(2))


def rings() -> tuple[list[Any], list[int]]:
    """Rings of 6 and pairs of rings of 3 with a tail: only cycles tell the two classes apart."""
    graphs, y = [], []
    for tail in range(24):
        for kind in (0, 1):
            graph = nx.cycle_graph(6) if kind else nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
            nx.add_path(graph, [0, *range(6, 6 + tail % 8)])
            graphs.append(graph)
            y.append(kind)
    return graphs, y


@each_kind
@pytest.mark.parametrize("output", ["features", "gram"])
def test_pickle(kernel: GraphKernel, output: str) -> None:
    graphs, _ = rings()
    fitted = clone(kernel).set_params(output=output, normalize=True).fit(graphs[:20])
    restored = pickle.loads(pickle.dumps(fitted))
    assert equal(restored.transform(graphs[20:]), fitted.transform(graphs[20:]))
    assert restored.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()


@each_kind
def test_not_fitted(kernel: GraphKernel) -> None:
    with pytest.raises(NotFittedError):
        clone(kernel).transform([nx.path_graph(3)])
    with pytest.raises(NotFittedError):
        clone(kernel).get_feature_names_out()


def test_pipelines_learn_from_detours() -> None:
    graphs, y = rings()
    for output, model in (("gram", SVC(kernel="precomputed")), ("features", LinearSVC())):
        kernel = WLDetour(k=2, n_iter=1, output=output, normalize=True)
        assert cross_val_score(make_pipeline(kernel, model), graphs, y, cv=3).min() == 1.0
    plain = make_pipeline(WLSubtree(1, labels="degree", output="gram"), SVC(kernel="precomputed"))
    assert cross_val_score(plain, graphs, y, cv=3).max() <= 0.75  # all colours are the same in both classes


def test_grid_search_over_k_and_rounds() -> None:
    graphs, y = rings()
    search = GridSearchCV(
        make_pipeline(WLDetour(output="gram"), SVC(kernel="precomputed")),
        {"wldetour__k": [2, 5], "wldetour__n_iter": [0, 2], "svc__C": [0.1, 10]},
        cv=3,
    )
    assert search.fit(graphs, y).best_score_ == 1.0


def test_defaults_and_the_variant_of_the_paper() -> None:
    kernel = WLDetour()
    assert (kernel.base, kernel.init, kernel.labels, kernel.normalize) == ("subtree", "den", "auto", True)
    paper = WLDetour.paper(k=3, output="gram")
    assert (paper.base, paper.init, paper.labels, paper.normalize) == ("shortest-path", "den-sum", "degree", False)
    assert clone(paper).get_params() == paper.get_params() and paper.output == "gram"
    hexagon, triangles = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    sums, lengths = (WLDetour(5, 0, init=init, plain=False, output="gram") for init in ("den-sum", "den"))
    assert sums.fit_transform([hexagon, triangles])[0, 1] == pytest.approx(1)  # one detour around every edge
    assert lengths.fit_transform([hexagon, triangles])[0, 1] == 0


def test_the_default_pipeline_converges_and_learns() -> None:
    graphs, y = rings()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cross_val_score(make_pipeline(WLDetour(), LinearSVC()), graphs, y, cv=3).min() > 0.9


def test_feature_names() -> None:
    path = [(0, 1, 1, 2), (1, 0, 2, 1)]
    named = ShortestPath(labels="both").fit([Labelled(path, ["C", "N", "C"])])
    assert named.get_feature_names_out().tolist() == [
        "degree 1, label C –2– degree 1, label C",
        "degree 1, label C –1– degree 2, label N",
        "degree 2, label N –1– degree 1, label C",
    ]
    triangle = nx.complete_graph(3)
    assert WLDetour(2, 0, labels="none").fit([triangle]).feature_name(0) == "two edges on one 3-cycle"
    assert WLDetour(2, 0, labels="none").fit([triangle]).feature_name(1) == "node, whatever its detours"
    assert WLDetour(2, 0, init="den-sum", labels="none").fit([triangle]).feature_name(0) == "den {1, 1}"
    assert WLDetour(2, 0, init="phi").fit([triangle]).feature_name(0) == "degree 2, phi 2"
    directed = WLSubtree(1).fit([detours.Graph.from_networkx(nx.DiGraph([(0, 1)]), directed=True)])
    assert directed.feature_name(0) == "round 0: degree 0 out 1 in"
    assert directed.feature_name(-1) == "round 1: colour 1"
    assert WLSubtree(output="gram").fit([triangle] * 2).get_feature_names_out().tolist() == ["graph 0", "graph 1"]


@each_kind
def test_feature_names_are_unique(kernel: GraphKernel) -> None:
    fitted = clone(kernel).set_params(output="features")
    made = fitted.fit_transform(rings()[0])
    names = fitted.get_feature_names_out().tolist()
    assert len(set(names)) == len(names) == made.shape[1]
    assert names == [fitted.feature_name(column) for column in range(made.shape[1])]


def test_node_labels_of_every_source() -> None:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: 7, 1: 8, 2: 7}, "label")
    plain = detours.Graph.from_networkx(nx.path_graph(3))
    labels = np.array([7, 8, 7])
    pyg_like = SimpleNamespace(edge_index=plain.to_edge_index(), num_nodes=3, labels=labels)
    data_set = SimpleNamespace(name="made", graphs=[plain], labels=[labels])
    kernel = WLShortestPath(1, labels="data").fit([graph])
    expected = kernel.transform([graph]).toarray()
    for given in ([Labelled(plain, labels)], [(plain, [7, 8, 7])], [pyg_like], data_set, labelled(data_set)):
        assert np.array_equal(kernel.transform(given).toarray(), expected)


@pytest.mark.filterwarnings("ignore:The graph had 1 loop")
def test_edge_labels_of_every_source() -> None:
    graph = nx.Graph([(2, 1), (1, 0), (0, 0)])  # named 2, 1, 0 in this order
    nx.set_edge_attributes(graph, {(2, 1): "single", (1, 0): "double", (0, 0): "loop"}, "label")
    listed = detours.Graph.from_edge_index([[1, 2, 0, 1], [2, 1, 1, 0]])
    labels = ["double", "double", "single", "single"]
    csr = detours.Graph.from_any(nx.path_graph(3).to_directed(), directed=False)
    pyg_like = SimpleNamespace(edge_index=listed.edge_index, num_nodes=3, labels=None, edge_labels=labels)
    data_set = SimpleNamespace(name="made", graphs=[csr], labels=[np.zeros(3, int)], edge_labels=[labels[::-1]])
    kernel = WLSubtree(1, labels="degree", edge_labels=True, normalize=False)
    kernel.fit([Labelled(nx.path_graph(3), None, ["single", "double"])])
    expected = [[2, 1, 1, 1, 1]]
    for given in ([graph], [Labelled(listed, None, labels)], [(listed, None, labels)], [pyg_like], data_set):
        assert kernel.transform(given).toarray().tolist() == expected
    assert kernel.transform(labelled(data_set)).toarray().tolist() == expected


def test_an_edge_as_two_arcs_has_its_label_twice() -> None:
    once = detours.Graph.from_networkx(nx.path_graph(3), directed=True)
    twice = detours.Graph.from_edge_index([[0, 1, 1, 2], [1, 0, 2, 1]], directed=True)
    kernel = WLSubtree(2, edge_labels=True, normalize=False).fit([Labelled(once, None, [5, 6])])
    both = kernel.transform([Labelled(once, None, [5, 6]), Labelled(twice, None, [5, 5, 6, 6])]).toarray()
    assert both[0].tolist() == both[1].tolist() == [2, 1, 1, 1, 1, 1, 1, 1]


def test_booleans_are_the_labels_0_and_1() -> None:
    """As in `x` of PyG and in `detours.wl`."""
    kernel = WLSubtree(1, edge_labels=True).fit([Labelled(nx.path_graph(3), [1, 0, 2], [1, 0])])
    expected = kernel.transform([Labelled(nx.path_graph(3), [1, 0, 1], [1, 0])])
    for true, false in ((True, False), (np.True_, np.False_), (True, 0)):
        assert equal(kernel.transform([Labelled(nx.path_graph(3), [true, false, true], [true, false])]), expected)
    assert equal(kernel.transform([Labelled(nx.path_graph(3), np.array([True, False, True]), [1, 0])]), expected)
    named = WLSubtree(0).fit([Labelled(EDGE, [True, False])])
    assert named.get_feature_names_out().tolist() == ["label 0", "label 1"]


def test_graph_without_features() -> None:
    """Decided: such a graph has similarity 0 with every graph, itself included, as its feature vector is zero."""
    empty, path = detours.Graph.from_edge_index(np.empty((2, 0), np.int64), 2), nx.path_graph(2)
    gram = ShortestPath(output="gram", normalize=True).fit_transform([empty, path])
    assert gram.tolist() == [[0, 0], [0, 1]]


@pytest.mark.parametrize(
    ("kernel", "X", "message"),
    [
        (WLSubtree(), [], "at least one graph"),
        (WLSubtree(), nx.path_graph(3), "takes a list of graphs"),
        (WLSubtree(), 3, "takes a list of graphs"),
        (WLSubtree(n_iter=-1), [nx.path_graph(3)], "n_iter must be an integer from 0 to 1000000, but it is -1"),
        (WLSubtree(n_iter=2**63), [nx.path_graph(3)], "n_iter must be an integer from 0 to 1000000"),
        (WLSubtree(n_iter=True), [nx.path_graph(3)], "n_iter must be"),
        (
            WLSubtree(labels="names"),
            [nx.path_graph(3)],
            "labels must be one of 'auto', 'degree', 'data', 'both', 'none'",
        ),
        (WLSubtree(output="matrix"), [nx.path_graph(3)], "output must be one of 'features', 'gram'"),
        (WLDetour(k=1), [nx.path_graph(3)], "must be an integer of at least 2"),
        (WLDetour(base="tree"), [nx.path_graph(3)], "base must be one of 'subtree', 'shortest-path'"),
        (WLDetour(base="tree"), 3, "base must be one of"),  # before the graphs are looked at
        (WLDetour(init="degree"), [nx.path_graph(3)], "init must be one of"),
        (WLSubtree(labels="data"), [nx.path_graph(3)], "Graph number 0 has no node labels"),
        (WLSubtree(labels="data"), [Labelled(nx.path_graph(3), [1, 2])], "3 nodes but 2 labels"),
        (
            WLSubtree(labels="data"),
            [Labelled(nx.path_graph(2), [1, "C"])],
            "The node labels must be all integers or all strings",
        ),
        (WLSubtree(labels="data"), [Labelled(nx.path_graph(2), ["C", None])], "number 0 has nodes without a label"),
        (WLSubtree(labels="data"), [Labelled(nx.path_graph(2), [1, 0.5])], "but one is 0.5"),
        (WLSubtree(), [Labelled(nx.path_graph(2), ["C", 1])], "but one is .* and one is "),
        (WLSubtree(), [Labelled(nx.path_graph(2), ["C", [1]])], r"but one is \[1\]"),
        (WLSubtree(), [Labelled(nx.path_graph(2), {"N", "C"})], "node labels of graph number 0 are {.*}; give a list"),
        (WLSubtree(edge_labels=True), [Labelled(nx.path_graph(2), None, [{"type": 1}])], "but one is {'type': 1}"),
        (WLDetour(init=["den"]), [EDGE], r"init must be one of .*, but it is \['den'\]"),
        (WLDetour(memory_limit="much"), [EDGE], "memory_limit must be"),
        (WLSubtree(edge_labels=True), [EDGE], "Graph number 0 has no edge labels; give Labelled"),
        (WLSubtree(edge_labels=True), [Labelled(nx.path_graph(3), None, [1])], "2 edges but 1 labels"),
        (WLSubtree(edge_labels=True), [Labelled(nx.path_graph(3), None, [1, 0.5])], "The edge labels .* is 0.5"),
        (
            WLSubtree(edge_labels=True),
            [Labelled(nx.path_graph(9), None, [1] * 8), Labelled(Graph.from_edges([(5, 3), (3, 5)]), None, [1, 2])],
            "The edge 5, 3 of graph number 1 is listed with different labels",
        ),
        (
            WLDetour(edge_labels=[1, 2]),
            [EDGE],
            r"edge_labels must be True or False, but it is \[1, 2\]; the labels come with each graph, as Labelled",
        ),
        (WLDetour(normalize=2), [EDGE], "normalize must be True or False, but it is 2"),
        (WLDetour(normalize="yes"), [EDGE], "normalize must be True or False, but it is 'yes'"),
        (WLDetour(plain="no"), [EDGE], "plain must be True or False, but it is 'no'"),
        (ShortestPath(memory_limit=1), [nx.path_graph(3)], "distances in a graph of 3 nodes"),
        (ShortestPath(memory_limit=199), [nx.path_graph(9)], "do not fit in memory_limit"),
        (WLSubtree(), [EDGE, EDGE.to_directed()], "Some of the graphs are directed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_invalid_input(kernel: GraphKernel, X: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        kernel.fit(X)


@pytest.mark.parametrize("output", ["features", "gram"])
@pytest.mark.parametrize("fit", [GraphKernel.fit, GraphKernel.fit_transform])
def test_a_fit_that_fails_changes_nothing(fit: Any, output: str) -> None:
    small, large = [nx.path_graph(4)], [nx.path_graph(60)]
    kernel = WLDetour(3, 1, base="shortest-path", memory_limit=10_000, output=output)
    with pytest.raises(InputError, match="memory_limit"):
        fit(kernel, large)
    with pytest.raises(NotFittedError):
        kernel.transform(small)
    expected = kernel.fit_transform(small)
    with pytest.raises(InputError, match="memory_limit"):
        fit(kernel.set_params(n_iter=2), large)
    assert equal(kernel.transform(small), expected)


@pytest.mark.parametrize("fit", [GraphKernel.fit, GraphKernel.fit_transform])
def test_an_interrupted_fit_changes_nothing(fit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    kernel, other = WLSubtree(1).fit([EDGE]), nx.path_graph(4)
    expected = kernel.transform([other])
    with monkeypatch.context() as patch:
        patch.setattr(HistogramBase, "learn", interrupt)
        with pytest.raises(KeyboardInterrupt):
            fit(kernel, [other])
    assert equal(kernel.transform([other]), expected)


def test_directed_graphs_after_undirected_ones() -> None:
    graph = detours.Graph.from_any(nx.path_graph(3))
    with pytest.raises(InputError, match="fitted on undirected graphs, but these are directed"):
        WLSubtree().fit([graph]).transform([graph.to_directed()])


@each_kind
def test_node_labels_of_another_type_than_in_fit(kernel: GraphKernel) -> None:
    """Such as atomic numbers and element symbols: nothing would match, and every feature would be 0."""
    texts, integers = (Labelled(EDGE, labels, labels) for labels in (["6", "7"], [6, 7]))
    for first, second, message in (
        (texts, integers, "node labels that are strings, but these are integers; convert one"),
        (integers, texts, "node labels that are integers, but these are strings"),
    ):
        fitted = clone(kernel).set_params(labels="data").fit([first])
        with pytest.raises(InputError, match=message):
            fitted.transform([second])
        clone(kernel).set_params(labels="degree").fit([first]).transform([second])
    empty = detours.Graph.from_edge_index(np.empty((2, 0), np.int64), 0)
    assert WLSubtree().fit([texts]).transform([empty]).nnz == 0


def test_edge_labels_of_another_type_than_in_fit() -> None:
    fitted = WLSubtree(1, edge_labels=True).fit([Labelled(EDGE, None, [1])])
    with pytest.raises(InputError, match="edge labels that are integers, but these are strings"):
        fitted.transform([Labelled(EDGE, None, ["1"])])


def test_columns_out_of_range() -> None:
    fitted = WLSubtree(1).fit([EDGE])
    assert fitted.describe_feature(-1) == fitted.describe_feature(1)
    for column in (2, -3, "1"):
        with pytest.raises(InputError, match="column must be an integer from -2 to 1, but it is"):
            fitted.describe_feature(column)  # type: ignore[arg-type]
    with pytest.raises(InputError, match='fitted with output="gram" and has no features'):
        WLSubtree(1, output="gram").fit([EDGE]).feature_name(0)


@each_kind
def test_normalised_products_are_at_most_1_and_exactly_1_for_equal_graphs(kernel: GraphKernel) -> None:
    """So ``1 - gram`` are distances: scikit-learn refuses negative ones."""
    graphs = [nx.gnp_random_graph(7, 0.5, seed=seed) for seed in range(40)]
    graphs += [nx.relabel_nodes(graph, {node: 3 * node % 7 for node in graph}) for graph in graphs]
    fitted = clone(kernel).set_params(output="gram", normalize=True)
    for gram in (fitted.fit_transform(graphs), fitted.transform(graphs)):
        assert gram.max() == 1 and (gram.diagonal() == 1).all() and (gram.diagonal(40) == 1).all()
        KNeighborsClassifier(metric="precomputed").fit(1 - gram, [0, 1] * 40)


def test_without_scikit_learn() -> None:
    """One message that says what to install."""
    code = "import sys; sys.modules['sklearn'] = None; import detours.kernels"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].endswith("run: pip install 'detours[kernels]'")


def test_products_that_may_overflow() -> None:
    lonely = detours.Graph.from_edge_index(np.empty((2, 0), np.int64), 60_000)
    with pytest.raises(OverflowError, match="60,000 nodes"):
        ShortestPath(memory_limit="100GB").fit([lonely])
    with pytest.raises(OverflowError, match=r"60,000 nodes .* use a smaller n_iter or plain=False or a subtree kernel"):
        WLDetour(2, 6, base="shortest-path", memory_limit="100GB").fit([lonely])


def test_two_copies_of_a_graph_are_not_taken_for_one_graph_of_twice_the_size() -> None:
    """The product of 20,000 nodes is at most 2 · 20,000^4 in each round; only the distances take too much memory."""
    lonely = detours.Graph.from_edge_index(np.empty((2, 0), np.int64), 20_000)
    with pytest.raises(InputError, match=r"a graph of 20,000 nodes and its copy take 3\.2 GB.*plain=False or base="):
        WLDetour(k=2, base="shortest-path", memory_limit="1GB").fit([lonely])


def test_flags_of_numpy_and_of_integers() -> None:
    graphs = rings()[0][:4]
    for true, false in ((np.bool_(True), np.bool_(False)), (1, 0)):
        given = WLDetour(2, 1, normalize=true, plain=false, edge_labels=false)
        assert equal(given.fit_transform(graphs), WLDetour(2, 1, plain=False).fit_transform(graphs))
