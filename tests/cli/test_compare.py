"""`detours compare`: verdicts that claim no more than was shown."""

import json
from functools import partial
from pathlib import Path

import networkx as nx
import pytest

from detours import wl
from detours.graph import Graph
from tests.cli.programs import Run

HEXAGON = nx.cycle_graph(6)
TRIANGLES = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))


@pytest.fixture
def run(run: Run, tmp_path: Path) -> Run:
    """`detours compare` in a folder with a few more graphs."""
    turned = nx.relabel_nodes(HEXAGON, {i: 5 * i % 6 for i in range(6)})
    rook = nx.convert_node_labels_to_integers(nx.line_graph(nx.complete_bipartite_graph(4, 4)))
    shrikhande = nx.Graph(
        (4 * a + b, 4 * ((a + x) % 4) + (b + y) % 4)
        for a in range(4)
        for b in range(4)
        for x, y in ((0, 1), (1, 0), (1, 1))
    )
    made = {"hexagon": HEXAGON, "turned": turned, "triangles": TRIANGLES, "rook": rook, "shrikhande": shrikhande}
    for name, graph in made.items():
        (tmp_path / f"{name}.g6").write_bytes(nx.to_graph6_bytes(graph))

    return partial(run, "compare")


def test_told_apart_by_their_detours(run: Run) -> None:
    code, out, err = run("hexagon.g6", "triangles.g6", "-k", "2")
    assert code == 0 and err == ""
    assert out.splitlines() == [
        "not isomorphic",
        "the first has no 3-cycle, the second two 3-cycles",
        "in round 0: two edges on no cycle of up to 3 edges: 6 nodes of the first graph, 0 of the second",
    ]


def test_not_told_apart_does_not_mean_isomorphic(run: Run) -> None:
    code, out, _ = run("hexagon.g6", "triangles.g6", "--init", "degree")
    assert code == 0 and out.startswith("not told apart\n") and "--exact" in out


@pytest.mark.parametrize(
    "options", [(), ("--edges", "den"), ("--pairs", "den"), ("--init", "phi"), ("--init", "uniform")]
)
def test_isomorphic_graphs_are_called_so_only_with_exact(run: Run, options: tuple[str, ...]) -> None:
    for exact in ([], ["--exact"]):
        code, out, _ = run("hexagon.g6", "turned.g6", "-k", "4", *options, *exact)
        assert code == 0 and out.splitlines()[0] == ("isomorphic" if exact else "not told apart")


def test_exact_decides_where_colours_do_not(run: Run) -> None:
    code, out, _ = run("rook.g6", "shrikhande.g6", "-k", "6", "--exact")
    assert code == 0 and out.splitlines()[0] == "not isomorphic" and "settled by BLISS (igraph)" in out
    assert run("rook.g6", "shrikhande.g6", "-k", "7")[1].splitlines()[2].startswith("in round 0")


def test_json(run: Run) -> None:
    found = json.loads(run("hexagon.g6", "triangles.g6", "-k", "2", "--json")[1])
    assert found["verdict"] == "not isomorphic" and found["round"] == 0 and found["counts"] == [6, 0]
    assert "isomorphic" not in found
    alike = json.loads(run("hexagon.g6", "turned.g6", "--pairs", "den", "--json")[1])
    assert alike["verdict"] == "not told apart" and alike["told_apart"] is False
    assert alike["round"] is None and alike["counts"] is None and alike["pairs"] == "den"
    exact = json.loads(run("hexagon.g6", "turned.g6", "--exact", "--json")[1])
    assert exact["isomorphic"] is True and exact["verdict"] == "isomorphic"


def test_the_ladder_stops_at_the_cheapest_decisive_rung(run: Run) -> None:
    code, out, err = run("rook.g6", "shrikhande.g6", "--budget", "0")  # no time limit: a busy machine may be slow
    lines = out.splitlines()
    assert code == 0 and err == "" and lines[0].split() == ["test", "verdict", "milliseconds"]
    assert [line.split()[0] for line in lines[1:4]] == ["1-WL", "4-DeN", "7-DeN"]
    assert "not told apart" in lines[1] and "not isomorphic" in lines[3]
    assert out[out.index("Not isomorphic: ") :] == (
        "Not isomorphic: the first has 11,952 8-cycles, the second 11,688.\n"
    )


def test_names_without_a_json_type_are_strings(run: Run) -> None:
    """As in the JSON of the other commands."""
    Graph.from_networkx(nx.grid_2d_graph(2, 2)).write("square.npz")
    found = json.loads(run("square.npz", "square.npz", "--json").out)
    assert sorted(dict(map(tuple, found["mapping"]))) == ["(0, 0)", "(0, 1)", "(1, 0)", "(1, 1)"]


def test_isomorphic_graphs_come_with_a_mapping(run: Run) -> None:
    code, out, _ = run("hexagon.g6", "turned.g6")
    assert code == 0 and out.splitlines()[-1] == "Isomorphic: a mapping of the nodes keeps every edge."
    found = json.loads(run("hexagon.g6", "turned.g6", "--json")[1])
    assert found["isomorphic"] is True and found["rungs"][-1]["test"] == found["rung"]
    mapping = dict(found["mapping"])
    turned = nx.relabel_nodes(HEXAGON, {i: 5 * i % 6 for i in range(6)})
    assert all(turned.has_edge(mapping[i], mapping[j]) for i, j in HEXAGON.edges)


def test_one_test_with_individualised_nodes(run: Run) -> None:
    plain = ("rook.g6", "shrikhande.g6", "--init", "degree")
    assert run(*plain)[1].startswith("not told apart")
    code, out, _ = run(*plain, "--individualise", "mark", "--depth", "2")
    assert code == 0 and out.splitlines()[0] == "not isomorphic" and "in round 1" in out
    assert "--depth needs --individualise mark or delete" in run(*plain, "--depth", "2")[2]


def test_rounds_can_be_bounded(run: Run) -> None:
    assert run("hexagon.g6", "triangles.g6", "--init", "degree", "--rounds", "0")[1].startswith("not told apart")


def test_a_note_says_that_k_has_no_effect(run: Run) -> None:
    graphs = ("hexagon.g6", "turned.g6", "-k", "5", "--init", "degree")
    assert run(*graphs)[2] == "note: -k 5 has no effect, as --init degree alone counts no detours\n"
    assert run(*graphs, "--pairs", "fwl")[2] == run(*graphs, "--edges", "den")[2] == run(*graphs, "-q")[2] == ""


@pytest.mark.parametrize("options", [("--exact",), ("--init", "degree"), ("--individualise", "mark")])
def test_a_note_says_that_the_budget_has_no_effect(run: Run, options: tuple[str, ...]) -> None:
    graphs = ("hexagon.g6", "turned.g6", "--budget", "5")
    code, out, err = run(*graphs, *options)
    assert code == 0 and out and err == "note: --budget has no effect on a single test\n"
    assert run(*graphs)[2] == run(*graphs, *options, "-q")[2] == run(*graphs[:2], *options)[2] == ""


def test_the_budget_is_a_minute_unless_given(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    separate = wl.separate
    monkeypatch.setattr(wl, "separate", lambda *given, budget, **more: (seen.append(budget), separate(*given))[1])
    for options in ((), ("--budget", "5"), ("--budget", "0")):
        run("hexagon.g6", "turned.g6", *options)
    assert seen == [60, 5, None]


def test_quiet_prints_nothing(run: Run) -> None:
    assert run("hexagon.g6", "triangles.g6", "-q") == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("hexagon.g6", "nowhere.g6"), 1, "nowhere.g6: there is no such file"),
        (("hexagon.g6", "turned.g6", "-k", "1"), 2, "at least 2"),
        (("hexagon.g6",), 2, "Missing argument"),
        (("-", "-"), 2, "only one input can be - (standard input); write the others to files"),
        (("hexagon.g6", "turned.g6", "--init", "colour"), 2, "colour"),
        (("hexagon.g6", "turned.g6", "--edges", "den", "--pairs", "den"), 1, "both given"),
    ],
)
def test_wrong_use_is_one_sentence(run: Run, arguments: tuple[str, ...], code: int, message: str) -> None:
    ended, out, err = run(*arguments)
    assert ended == code and out == "" and message in err and len(err.strip().splitlines()) == 1


def test_a_mix_of_directed_and_undirected_graphs_names_the_options(run: Run, tmp_path: Path) -> None:
    nx.write_gml(nx.DiGraph(HEXAGON), tmp_path / "arcs.gml")
    code, _, err = run("hexagon.g6", "arcs.gml")
    assert code == 1 and "pass --directed or --undirected" in err
    assert run("hexagon.g6", "arcs.gml", "--undirected").code == 0


@pytest.mark.parametrize("exact", [(), ("--exact",)])
def test_labels_that_were_not_compared_are_mentioned(run: Run, exact: tuple[str, ...]) -> None:
    """Ethanol and ethylamine are different molecules with the same bonds."""
    pytest.importorskip("rdkit")
    Path("ethanol.smi").write_text("CCO\n")
    Path("ethylamine.smi").write_text("CCN\n")
    note = "labels of nodes were not compared"
    out = " ".join(run("ethanol.smi", "ethylamine.smi", *exact)[1].split())
    assert "somorphic" in out and note in out and "labels=" not in out
    assert note not in " ".join(run("hexagon.g6", "turned.g6", *exact)[1].split())
