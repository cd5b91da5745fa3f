import networkx as nx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from detours.graph import Graph
from tests.graph.cases import put, refused

some_graphs = st.integers(0, 70).flatmap(
    lambda n: st.tuples(st.just(n), st.floats(0, 1), st.integers(0, 99)).map(
        lambda of: nx.gnp_random_graph(of[0], of[1] ** 3, seed=of[2])
    )
)


@settings(max_examples=60)
@given(some_graphs)
@example(nx.path_graph(2))
@example(nx.path_graph(16))
@example(nx.star_graph(300))
def test_graph6_and_sparse6_agree_with_networkx(tmp_path_factory, source):
    folder = tmp_path_factory.mktemp("g6")
    graph = Graph.from_networkx(source)
    put(folder, "a.g6", nx.to_graph6_bytes(source))
    put(folder, "a.s6", nx.to_sparse6_bytes(source, header=False))
    assert Graph.read(folder / "a.g6", strict=True) == graph == Graph.read(folder / "a.s6", strict=True)
    graph.write(folder / "b.g6")
    graph.write(folder / "b.s6")
    assert (folder / "b.g6").read_bytes() == nx.to_graph6_bytes(source, header=False)
    assert nx.utils.graphs_equal(nx.read_sparse6(folder / "b.s6"), source)


def test_sparse6_powers_of_two_are_padded_right(tmp_path):
    for n in (2, 4, 8, 16, 32):
        for pairs in [], [(0, n - 1)], [(0, max(n - 2, 1))], [(i, i + 1) for i in range(n - 2)]:
            source = nx.empty_graph(n)
            source.add_edges_from(pairs)
            Graph.from_networkx(source).write(tmp_path / "a.s6")
            assert nx.utils.graphs_equal(nx.read_sparse6(tmp_path / "a.s6"), source)
            assert Graph.read(tmp_path / "a.s6") == Graph.from_networkx(source)


def test_several_graphs_in_a_file(tmp_path):
    sources = [nx.path_graph(3), nx.petersen_graph(), nx.complete_graph(4)]
    text = b">>graph6<<" + b"".join(nx.to_graph6_bytes(source, header=False) for source in sources)
    path = put(tmp_path, "many.g6.gz", text)
    with pytest.warns(UserWarning, match=r"many.g6.gz holds several graphs; only the first"):
        assert Graph.read(path) == Graph.from_networkx(sources[0])


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("\n\nIsP@O\n", 3, "cut off"),
        ("0 1\n", 1, "neither"),
        ("&AG\n", 1, "digraph6"),
        ("~?\n", 1, "cut off"),
        ("~~~~~~~~~\n", 1, "nodes"),
        (":\n", 1, "neither"),
        ("\n\n>>graph6<<\n", None, "no graph"),
    ],
)
def test_broken_graph6(tmp_path, text, line, says):
    refused(put(tmp_path, "g.g6", text), says, line)
