"""Tables of pandas, Polars and Arrow: the rules of files."""

from pathlib import Path

import networkx as nx
import pytest

import detours
from detours.errors import InputError
from detours.graph import Graph
from tests.graph.cases import edges

pandas = pytest.importorskip("pandas")

ARCS = pandas.DataFrame({"a": ["x", "y", "z", "x"], "b": ["y", "z", "x", "z"]})
"""A triangle x, y, z, and the reverse of one of its arcs."""


def named(source: str, target: str, **more):
    return ARCS.rename(columns={"a": source, "b": target}).assign(**more)


@pytest.mark.parametrize("ends", [("source", "target"), ("Source", "Target"), ("from", "to"), ("src", "dst")])
@pytest.mark.parametrize("kind", ["Directed", "Undirected", "directed", "single", None])
@pytest.mark.parametrize("directed", [None, True, False])
def test_a_table_is_the_graph_of_its_file(ends, kind, directed, tmp_path: Path):
    table = named(*ends, weight=1) if kind is None else named(*ends, Type=kind)
    table.to_csv(tmp_path / "arcs.csv", index=False)
    own, of_file = (Graph.from_any(given, directed=directed) for given in (table, tmp_path / "arcs.csv"))
    assert own == of_file and own.directed == of_file.directed
    assert own.directed == (directed if directed is not None else kind in ("Directed", "directed"))
    assert own.name_list() == of_file.name_list() and edges(own) == edges(of_file)
    assert detours.count(table, 2, directed=directed).cycles == detours.count(of_file, 2).cycles


def test_columns_named_by_the_caller_have_a_type_too():
    table = ARCS.assign(Type="Directed")
    found = Graph.from_pandas(table, source="a", target="b")
    assert found.directed and found.num_arcs == 4
    assert detours.count(found, 2).cycles == {3: len(list(nx.simple_cycles(nx.DiGraph(edges(found)), 3))) - 1}
    assert not Graph.from_pandas(table, source="a", target="b", directed=False).directed
    with pytest.raises(InputError, match="no column 'from', only a, b, Type"):
        Graph.from_pandas(table, source="from", target="b")


def test_source_and_target_come_before_other_headers():
    table = named("source", "target", **{"from": "here", "to": "there", "Source": "where"})
    assert Graph.from_any(table[sorted(table)]).name_list() == ["x", "y", "z"]  # Source is the first column


def test_two_types_are_refused_as_in_files():
    table = named("source", "target", Type=["Directed", "Undirected"] * 2)
    with pytest.raises(InputError, match="some edges are of type Directed and some Undirected"):
        Graph.from_any(table)


@pytest.mark.parametrize("kind", ["pandas", "Arrow"])
def test_weights_that_are_nan_are_refused(kind):
    def table(middle):
        columns = {"source": [0, 1, 2], "target": [1, 2, 0], "Weight": [1.0, middle, 2.0]}
        return pandas.DataFrame(columns) if kind == "pandas" else pytest.importorskip("pyarrow").table(columns)

    with pytest.raises(InputError, match="The column of weights holds NaN"):
        Graph.from_any(table(float("nan")))
    assert Graph.from_any(table(0.5)).num_edges == 3


def test_weights_that_are_none_are_accepted_as_empty_cells_of_files_are():
    table = pandas.DataFrame({"source": [0, 1], "target": [1, 2], "weight": pandas.array([1.5, None], dtype=object)})
    assert Graph.from_any(table).num_edges == 2
    table["weight"] = pandas.Series([1.5, float("nan")], dtype=object)
    with pytest.raises(InputError, match="NaN"):
        Graph.from_any(table)


def test_arrow():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.Table.from_pandas(named("Source", "Target", Type="Directed"))
    assert Graph.from_any(table).directed and Graph.from_pandas(table).num_arcs == 4


@pytest.mark.parametrize("given", [[(0, 1)], {"source": [0], "target": [1]}, "edges.csv"])
def test_other_tables_are_refused(given):
    with pytest.raises(InputError, match=r"from_pandas takes a table of pandas, Polars or Arrow, but .* was given\."):
        Graph.from_pandas(given)


def test_missing_names_and_repeated_columns_are_refused():
    missing = pandas.DataFrame({"source": ["a", None], "target": ["b", "c"]}).convert_dtypes()
    with pytest.raises(InputError, match=r"the edge \(<NA>, 'c'\) lacks a node"):
        Graph.from_pandas(missing)
    with pytest.raises(InputError, match="the table has 2 columns 'source'; rename or drop all but one"):
        Graph.from_pandas(pandas.DataFrame([[1, 2, 3]], columns=["source", "target", "source"]))
