"""The page as data and as a file: it says what `count` and `paths` say, and nothing in a name can run."""

import base64
import hashlib
import html
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import detours
from detours import wl
from detours.errors import InputError
from detours.graph import Graph
from detours.viz import Page, page
from detours.viz.interactive.content import LISTED_EDGES, LISTED_NODES, MAX_ROUNDS
from detours.viz.interactive.names import MAX_CHARACTERS, shown_name
from detours.viz.interactive.part import MOST_NODES, choose_part
from detours.wl import preparation

pytest.importorskip("networkx")
HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "\u202eabc",
    "a" * 10_000,
    "&lt;\u2028'",
]


def content(made: Page) -> dict[str, Any]:
    """The data of a page, read as a browser reads it."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', made.html, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


@pytest.mark.parametrize("directed", [False, True])
def test_counts_and_detours_are_those_of_count_and_paths(directed: bool) -> None:
    kind = nx.DiGraph if directed else nx.Graph
    graph = nx.gnp_random_graph(12, 0.35, seed=3, directed=directed)
    result = detours.count(graph, 4)
    (own,) = content(page(result))["graphs"]
    assert own["directed"] is directed and own["names"] == [str(node) for node in range(12)]
    drawn = kind(zip(own["sources"], own["targets"], strict=True))
    ends = tuple if directed else frozenset
    assert set(map(ends, drawn.edges)) == set(map(ends, graph.edges))
    for at, (u, v) in enumerate(zip(own["sources"], own["targets"], strict=True)):
        paths = [(u, *inner, v) for inner in own["detours"][at]]
        assert paths == list(detours.paths(graph, u, v, 4))
        assert [column[at] for column in own["counts"]] == [sum(len(p) == n + 1 for p in paths) for n in (2, 3, 4)]
    assert np.sum(own["phi"], axis=0).tolist() == result.node.tolist()


def test_counts_beyond_the_numbers_of_javascript_are_exact() -> None:
    result = detours.count(nx.complete_graph(30), 4)
    large = np.full_like(result.arc_by_length, 2**61 + 1)
    made = content(page(detours.Detours(result.graph, 4, large)))["graphs"][0]
    assert made["counts"][0][0] == str(2**61 + 1)
    assert made["phi"][0][0] == str(29 * (2**61 + 1))  # beyond 64 bits


def test_of_a_large_graph_the_neighbourhoods_of_busy_edges_are_drawn_and_the_page_says_so() -> None:
    graph = nx.disjoint_union(nx.path_graph(300), nx.complete_graph(20))
    result = detours.count(graph, 3)
    part = choose_part(result, most=150)
    assert part.seeds == 1 and len(part.arcs) <= 150
    assert set(part.nodes.tolist()) <= set(range(300, 320))  # the clique is the busiest
    data = content(page(result, most_edges=150))
    assert data["note"].startswith("Shown: 17 of 320 nodes and 136 of 489 edges, the neighbourhood of the busiest edge")
    own = data["graphs"][0]
    assert own["counts"][0][0] == 18  # of the whole graph, not of what is drawn
    hidden = {node for paths in own["detours"] for path in paths or () for node in path if node >= len(own["x"])}
    assert hidden and max(hidden) < len(own["names"])
    whole = choose_part(result, most=10_000)
    assert whole.seeds is None and len(whole.nodes) == 320


def test_isolated_nodes_of_a_large_graph_are_left_out_and_the_page_says_so() -> None:
    graph = nx.empty_graph(20_000, create_using=nx.DiGraph)
    graph.add_edges_from([(5, 7), (7, 9), (5, 9)])
    data = content(page(graph, k=2))
    assert data["graphs"][0]["names"] == ["5", "7", "9"]
    assert data["note"].startswith("Shown: 3 of 20,000 nodes and 3 of 3 edges; the other nodes have no edges; all")
    assert content(page(nx.empty_graph(2_000), k=2))["note"] == ""
    (empty,) = content(page(nx.empty_graph(20_000), k=2))["graphs"]
    assert len(empty["names"]) == MOST_NODES


def test_a_page_for_a_large_k_is_small() -> None:
    made = page(nx.cycle_graph(400), k=600)
    (own,) = content(made)["graphs"]
    assert own["counts"][397] == [1] * 400 and own["phi"][397] == [2] * 400
    assert not any(own["counts"][:397] + own["counts"][398:] + own["phi"][398:])  # no columns of zeros
    listed = [paths for paths in own["detours"] if paths is not None]
    assert LISTED_NODES <= sum(len(path) for paths in listed for path in paths) < LISTED_NODES + 400
    assert len(made.html.encode()) < 700_000


def test_a_directed_part_counts_arcs_of_both_directions() -> None:
    graph = nx.gnp_random_graph(60, 0.3, seed=1, directed=True)
    part = choose_part(detours.count(graph, 3), most=200)
    inside = graph.subgraph(part.nodes.tolist())
    assert len(part.arcs) == inside.number_of_edges() <= 200


def test_detours_are_listed_for_the_busiest_edges_only() -> None:
    own = content(page(nx.barabasi_albert_graph(420, 5, seed=1), k=3))["graphs"][0]
    listed = [paths is not None for paths in own["detours"]]
    assert LISTED_EDGES <= sum(listed) < len(listed)
    totals = np.sum(own["counts"], axis=0)
    assert totals[np.array(listed)].max() >= totals[~np.array(listed)].max()


def test_two_graphs_say_by_which_test_and_round_they_differ() -> None:
    prism = nx.convert_node_labels_to_integers(nx.cartesian_product(nx.cycle_graph(3), nx.path_graph(2)))
    data = content(page((prism, nx.complete_bipartite_graph(3, 3)), k=3, names=["prism", "K33"]))
    assert data["verdict"] == (
        "Not isomorphic (decided by 4-DeN): 1-WL from degrees does not tell them apart; "
        "refinement from 3-DeN differs from round 0 on."
    )
    for own in data["graphs"]:
        assert own["telling"]["degree"] == [[]]
        assert set(own["colours"]["den"][0]) <= set(own["telling"]["den"][0])
    same = content(page((nx.path_graph(4), nx.path_graph(4)), k=2))
    assert same["verdict"].startswith("Isomorphic")


@pytest.mark.parametrize("rows", [([0, 1, 2], [1, 2, 0]), (np.array([0, 1, 2]), np.array([1, 2, 0]))])
@pytest.mark.filterwarnings("ignore::detours.errors.DroppedEdgesWarning")
def test_two_rows_are_one_graph(rows: Any) -> None:
    assert len(content(page(rows, k=2))["graphs"]) == 1


def test_what_was_counted_is_not_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    result = detours.count(nx.karate_club_graph(), 4)
    colours = wl.refine([result.graph], init="den", k=4, rounds=MAX_ROUNDS)
    monkeypatch.setattr(preparation, "count", None)
    assert content(page(result))["graphs"][0]["colours"]["den"] == colours[0].tolist()


def test_colours_of_a_chordless_page_are_of_chordless_detours() -> None:
    crowded = nx.disjoint_union(nx.complete_graph(30), nx.path_graph(2))  # 10^25 detours up to k = 20
    (graph,) = content(page(detours.count(crowded, 20, chordless=True)))["graphs"]
    assert len(set(graph["colours"]["den"][0])) == 2
    cube, chorded = nx.hypercube_graph(3), nx.circular_ladder_graph(4)
    both = (detours.count(cube, 3, chordless=True), detours.count(chorded, 3, chordless=True))
    assert "refinement from chordless 3-DeN does not tell them apart" in content(page(both))["verdict"]


def test_pairs_must_agree() -> None:
    with pytest.raises(InputError, match="same k"):
        page((detours.count(nx.path_graph(3), 2), detours.count(nx.path_graph(3), 3)))
    with pytest.raises(InputError, match="both chordless or neither"):
        page((detours.count(nx.path_graph(3), 2, chordless=True), detours.count(nx.path_graph(3), 2)))
    with pytest.raises(InputError, match="3 names for 1 graph"):
        page(nx.path_graph(3), names=["a", "b", "c"])


@pytest.mark.parametrize("most", ["x", -1, 0, 2.5, True])
def test_the_most_edges_are_a_positive_integer(most: object) -> None:
    with pytest.raises(InputError, match="most_edges must be an integer of at least 1, or None"):
        page(nx.path_graph(3), most_edges=most)  # type: ignore[arg-type]


def test_hostile_names_cannot_leave_their_element() -> None:
    graph = nx.relabel_nodes(nx.complete_graph(5), dict(enumerate(HOSTILE)))
    made = page(graph, k=3, names=[HOSTILE[0]])
    assert made.html.lower().count("<script") == made.html.lower().count("</script") == 3
    assert "<img" not in made.html and "alert(1)" in made.html
    names = content(made)["graphs"][0]["names"]
    assert names[0] == HOSTILE[0] and names[2] == "\\u202eabc" and len(names[3]) == MAX_CHARACTERS


def test_the_policy_allows_exactly_the_scripts_and_styles_of_the_file() -> None:
    made = page(nx.cycle_graph(4), k=3)
    found = re.search(r'Content-Security-Policy" content="([^"]*)"', made.html)
    assert found is not None
    policy = dict(part.strip().split(" ", 1) for part in found[1].split(";"))
    assert policy["default-src"] == "'none'" and "unsafe" not in found[1]
    scripts = re.findall(r"<script>(.*?)</script>", made.html, re.DOTALL)
    digests = {"'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'" for text in scripts}
    assert set(policy["script-src"].split()) == digests and len(digests) == 2
    assert not re.search(
        r"""\son\w+=["']|(?:src|href)=["'](?!#)""", re.sub(r"<script.*?</script>", "", made.html, flags=re.DOTALL)
    )


def test_the_vendored_library_is_the_one_recorded() -> None:
    folder = Path(detours.__file__).parent / "viz/interactive/assets/vendor"
    about = json.loads((folder / "force-graph.json").read_text())
    assert hashlib.sha256((folder / "force-graph.min.js").read_bytes()).hexdigest() == about["sha256"]
    assert f"force-graph {about['version']} (MIT)" in (folder / "LICENSES.txt").read_text("utf-8")


def test_the_same_graph_gives_the_same_page() -> None:
    graph = nx.gnm_random_graph(150, 300, seed=2)  # large enough for every layout
    assert page(graph, k=3).html == page(graph, k=3).html


def test_in_a_notebook_it_is_a_frame_of_its_own(tmp_path: Path) -> None:
    made = detours.count(nx.cycle_graph(4), k=3).show(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == made.html
    frame = made._repr_html_()
    found = re.search(r'srcdoc="([^"]*)" sandbox="([^"]*)"', frame)
    assert found is not None and html.unescape(found[1]) == made.html
    assert "allow-same-origin" not in found[2]


def test_results_and_graphs_have_small_tables_with_escaped_names() -> None:
    result = detours.count(nx.relabel_nodes(nx.complete_graph(4), {0: "<b>"}), k=3)
    assert "<td>2</td><td>12</td><td>4</td>" in result._repr_html_()
    table = Graph.from_networkx(nx.relabel_nodes(nx.star_graph(4), {0: "<b>"}))._repr_html_()
    assert "<td>&lt;b&gt;</td><td>4</td>" in table and "<b>" not in table


def test_no_edges_and_no_nodes() -> None:
    for nodes in (0, 1, 3):
        own = content(page(nx.empty_graph(nodes), k=2))["graphs"][0]
        assert own["sources"] == [] and len(own["x"]) == nodes


@pytest.mark.parametrize("name", ["\u0000", "\ud800", "\u2067x", "\U000e0001"])
def test_invisible_characters_are_written_out(name: str) -> None:
    assert shown_name(name).encode() and shown_name(name).startswith("\\")


def test_joiners_of_words_and_emoji_stay() -> None:
    assert shown_name("👩\u200d🔬") == "👩\u200d🔬"


def test_edges_of_a_drawing_have_a_path_of_nodes() -> None:
    """A listed detour is a path of the graph, also where some of its nodes are not drawn."""
    graph = nx.gnp_random_graph(40, 0.3, seed=2)
    own = content(page(graph, k=3, most_edges=40))["graphs"][0]
    for at, paths in enumerate(own["detours"]):
        for inner in paths:
            names = [own["names"][node] for node in (own["sources"][at], *inner, own["targets"][at])]
            assert all(graph.has_edge(int(u), int(v)) for u, v in pairwise(names))


def test_a_page_replaces_no_file_of_another_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text("0,1\n1,2\n2,0\n")
    with pytest.raises(InputError, match=r"the name must end in \.html, but it is 'mine\.csv'"):
        detours.count("mine.csv", k=2).show("mine.csv")
    assert Path("mine.csv").read_text().startswith("0,1")


def test_molecules_are_drawn_as_such_however_they_are_given(tmp_path: Path) -> None:
    chem = pytest.importorskip("rdkit.Chem")
    ring = chem.MolFromSmiles("C1CC1=O")
    (tmp_path / "RING.SDF").write_text(chem.MolToMolBlock(ring))
    given = (ring, tmp_path / "RING.SDF", detours.count(ring, 2), detours.count_many([ring], 2)[0])
    for graph in given:
        (drawn,) = content(page(graph, 2))["graphs"]
        assert drawn["symbols"] == ["C", "C", "C", "O"] and sorted(drawn["bonds"]) == [1, 1, 1, 2]
    (plain,) = content(page(ring, 2, molecules=[None]))["graphs"]
    assert plain["symbols"] is None
    assert not ring.GetNumConformers()  # drawing gives the caller's own molecule no positions
    (long,) = content(page(chem.MolFromSmiles("C" * 501), 2))["graphs"]
    assert long["symbols"] is None


def _around(result: detours.Detours, *nodes: Any, **options: Any) -> tuple[dict[str, Any], list[set[str]]]:
    """What is drawn around nodes, and the edges that are, by names."""
    (own,) = content(page(result, around=nodes, **options))["graphs"]
    names = own["names"]
    return own, [{names[u], names[v]} for u, v in zip(own["sources"], own["targets"], strict=True)]


@pytest.mark.parametrize("directed", [False, True])
def test_the_detours_of_one_edge_are_drawn_and_all_listed(directed: bool) -> None:
    graph = nx.barabasi_albert_graph(500, 4, seed=2)
    if directed:
        graph = nx.DiGraph([*graph.edges, *((v, u) for u, v in list(graph.edges)[::2])])
    result = detours.count(graph, 4)
    u, v = list(graph.edges)[int(np.argsort(result.edge)[len(result.edge) // 2])]  # not one of the busiest
    wanted = list(detours.paths(graph, u, v, k=4))
    assert 0 < len(wanted) <= 200
    own, _ = _around(result, u, v)
    names, drawn = own["names"], len(own["x"])
    shown = {
        (names[a], names[b]): paths for a, b, paths in zip(own["sources"], own["targets"], own["detours"], strict=True)
    }
    pair = (str(u), str(v)) if directed or u < v else (str(v), str(u))
    inner = [[str(node) for node in path[1:-1]] for path in wanted]
    listed = [[names[node] for node in path] for path in shown[pair]]
    assert sorted(listed) == sorted(inner if pair[0] == str(u) else [path[::-1] for path in inner])
    assert {node for path in inner for node in path} <= set(names[:drawn])
    neighbours = {str(node) for end in (u, v) for node in graph[end]}
    assert neighbours <= set(names[:drawn])
    hubs = [str(node) for node, _ in sorted(graph.degree, key=lambda pair: -pair[1])[:2]]
    assert (
        len(_around(detours.count(nx.complete_graph(60), 2), 0, 1)[1]) <= 1_000 and len(_around(result, *hubs)[1]) > 20
    )


def test_detours_of_all_edges_between_many_nodes_are_listed() -> None:
    own, _ = _around(detours.count(nx.complete_graph(30), 4), *range(30))
    listed = [len(paths) for paths in own["detours"]]
    assert len(listed) == 435 and min(listed) == max(listed) >= 20


def test_what_is_drawn_around_nodes_is_no_more_than_was_allowed_and_is_told() -> None:
    result = detours.count(nx.disjoint_union(nx.path_graph(300), nx.complete_graph(20)), 3)
    own, edges = _around(result, 5)
    assert own["names"] == ["4", "5", "6"] and edges == [{"4", "5"}, {"5", "6"}]
    note = content(page(result, around=["5", 5]))["note"]  # a node that is given twice is one
    assert note.startswith("Shown: 3 of 320 nodes and 2 of 489 edges, the neighbourhood of 5; all counts")
    own, edges = _around(result, 300, 301, most_edges=40)
    assert {"300", "301"} <= set(own["names"]) and 30 < len(edges) <= 40
    note = content(page(result, around=(300, 301), most_edges=40))["note"]
    assert "the neighbourhood of 300 and 301, with the nodes on detours between them;" in note
    assert own["detours"][edges.index({"300", "301"})] is not None


def test_what_is_selected_when_a_page_opens() -> None:
    path = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "b"), ("d", "c")])

    def chosen(*around: str) -> tuple[str, ...]:
        made = content(page(path, 2, around=around))
        (own,), kind, at = made["graphs"], made["chosen"]["kind"], made["chosen"]["at"]
        places = (own["sources"][at], own["targets"][at]) if kind == "link" else (at,)
        return kind, *(own["names"][place] for place in places)

    assert chosen("b") == ("node", "b")
    assert chosen("b", "c") == ("link", "b", "c") and chosen("c", "b") == ("link", "c", "b")
    assert chosen("c", "d", "a") == ("link", "d", "c")  # there is no arc the other way
    assert chosen("d", "a") == ("node", "d")
    assert content(page(path, 2))["chosen"] is None


def test_nodes_to_draw_around_that_are_refused() -> None:
    triangle = nx.cycle_graph(3)
    with pytest.raises(InputError, match="no node 7"):
        page(triangle, 2, around=[7])
    with pytest.raises(InputError, match=r"^around must be a list of nodes, such as \[1\], but it is 1.$"):
        page(triangle, 2, around=1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="around is for the page of one graph"):
        page((triangle, triangle), 2, around=[1])


def test_a_page_of_three_graphs_is_refused() -> None:
    with pytest.raises(InputError, match="one graph or two, but 3 are given"):
        page([nx.path_graph(2)] * 3, k=2)
