"""What colours stand for, in words and drawn."""

import networkx as nx
import pytest
from sklearn.svm import LinearSVC

import detours
from detours.kernels import Labelled, ShortestPath, WLDetour, WLSubtree, explain, top_features


def phenol() -> nx.Graph:
    graph = nx.cycle_graph(6)
    graph.add_edge(0, 6)
    nx.set_node_attributes(graph, dict(enumerate("CCCCCCO")), "label")
    nx.set_edge_attributes(graph, dict.fromkeys(graph.edges, "aromatic"), "label")
    graph.edges[0, 6]["label"] = "single"
    return graph


OXYGEN = "label O, one edge on no cycle of up to 6 edges"
CARBON = "label C, two edges on one 6-cycle"
BEFORE = "label C, two edges on one 6-cycle, one edge on no cycle of up to 6 edges"


def meanings(kernel: WLDetour | WLSubtree, round: int) -> set[str]:
    kernel.fit([phenol()])
    columns = range(int(kernel.block_starts_[-1]))
    return {kernel.describe_feature(column) for column in columns if kernel.feature_round(column)[0] == round}


def test_a_round_in_words() -> None:
    assert meanings(WLDetour(5, 1, plain=False), 0) == {OXYGEN, CARBON, BEFORE}
    assert meanings(WLDetour(5, 1, plain=False), 1) == {
        f"{OXYGEN}; one neighbour ({BEFORE})",
        f"{CARBON}; two neighbours ({CARBON})",
        f"{CARBON}; one neighbour ({CARBON}), one neighbour ({BEFORE})",
        f"{BEFORE}; two neighbours ({CARBON}), one neighbour ({OXYGEN})",
    }
    assert f"{CARBON}; two neighbours ({CARBON}); and all that is up to 2 steps away" in meanings(WLDetour(5, 2), 2)
    with_bonds = meanings(WLSubtree(1, edge_labels=True), 1)
    assert "label O; one neighbour by label single (label C)" in with_bonds


def test_a_drawing() -> None:
    kernel = WLSubtree(2).fit([phenol()])
    drawn = {kernel.draw_feature(column) for column in range(int(kernel.block_starts_[-1]))}
    assert "label O\n└─ label C\n   ├─ 2 × label C\n   └─ label O" in drawn
    deep = WLSubtree(5).fit([phenol()])
    assert all(deep.draw_feature(column).count("\n") < 40 for column in range(int(deep.block_starts_[-1])))
    assert "…" in deep.draw_feature(-1)


def test_a_drawing_of_a_pair_ends_with_its_distance() -> None:
    kernel = ShortestPath().fit([nx.path_graph(3)])
    assert kernel.draw_feature(0) == "degree 1\ndegree 1\nat distance 2"


def test_rounds_after_the_colours_are_stable() -> None:
    kernel = WLSubtree(9).fit([phenol()])
    assert kernel.describe_feature(-1).endswith("; and all that is up to 9 steps away")


def test_pairs_and_arcs() -> None:
    kernel = ShortestPath().fit([phenol()])
    assert "label C and label O, at distance 4" in {kernel.describe_feature(c) for c in range(kernel.block_starts_[-1])}
    arrow = detours.Graph.from_networkx(nx.DiGraph([(0, 1)]), directed=True)
    directed = WLSubtree(1, edge_labels=True).fit([Labelled(arrow, None, ["bond"])])
    assert directed.describe_feature(-1) == (
        "degree 1 out 0 in; one neighbour by a leaving arc, label bond (degree 0 out 1 in)"
    )


def test_sums_of_detours_on_directed_arcs() -> None:
    kernel = WLDetour(2, 0, init="den-sum", plain=False).fit([nx.DiGraph([(0, 1), (1, 2), (0, 2)])])
    assert kernel.get_feature_names_out().tolist() == [
        "degree 0 out 2 in, den {0 arriving, 1 arriving}",
        "degree 1 out 1 in, den {0 leaving, 0 arriving}",
        "degree 2 out 0 in, den {0 leaving, 1 leaving}",
    ]


def test_top_features_say_what_they_are() -> None:
    graphs = [phenol(), nx.path_graph(7)]
    nx.set_node_attributes(graphs[1], "C", "label")
    kernel = WLDetour(5, 2)
    model = LinearSVC().fit(kernel.fit_transform(graphs * 3), [1, 0] * 3)
    found = top_features(kernel, model, top=5)
    assert all(feature.meaning and "colour" not in feature.meaning for feature in found)
    assert any("6-cycle" in feature.meaning for feature in found if feature.weight > 0)
    assert str(found[0]).endswith(found[0].meaning)
    assert explain is top_features


@pytest.mark.parametrize("base", ["subtree", "shortest-path"])
def test_evidence_of_features_with_and_without_detours(base: str) -> None:
    kernel = WLDetour(5, 1, base=base).fit([phenol()])
    for column in range(int(kernel.block_starts_[-1])):
        nodes, _ = kernel.carriers(phenol(), column)
        assert len(nodes) and set(nodes.tolist()) <= set(range(7))
