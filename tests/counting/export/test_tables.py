"""All tables have the same node names and rows: pandas, Parquet, CSV and .npz."""

import csv
from io import BytesIO
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import detours
from detours.cli.shared.output import write_result
from detours.counting import export
from detours.counting.export import columns, files
from detours.errors import InputError

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

TEXT = "object" if pandas.__version__ < "3" else "str"

NAMES: dict[str, tuple[list[Any], list[Any], str]] = {
    "no names": ([0, 1, 2, 3], [0, 1, 2, 3], "int64"),
    "integers": ([10, -7, 2**40, 3], [10, -7, 2**40, 3], "int64"),
    "NumPy integers": (list(np.array([10, 7, 5, 3], np.int32)), [10, 7, 5, 3], "int64"),
    "strings": (["a", "é", "c,d", "7"], ["a", "é", "c,d", "7"], TEXT),
    "mixed": (["a", 1, (2, 3), 2.5], ["a", "1", "(2, 3)", "2.5"], TEXT),
    "bools and integers": ([True, 5, 6, 7], ["True", "5", "6", "7"], TEXT),
    "beyond 64 bits": ([2**63, 5, 6, 7], [str(2**63), "5", "6", "7"], TEXT),
    "floats": ([0.5, 1.5, 2.5, 3.5], ["0.5", "1.5", "2.5", "3.5"], TEXT),
}


def square_with_a_diagonal(names: list[Any]) -> detours.Detours:
    graph = nx.Graph()
    graph.add_nodes_from(names)
    graph.add_edges_from([(names[i], names[j]) for i, j in ((0, 1), (1, 2), (2, 3), (3, 0), (0, 2))])
    return detours.count(graph, 3)


@pytest.fixture(params=NAMES)
def case(request: pytest.FixtureRequest) -> tuple[detours.Detours, list[Any], str]:
    names, written, kind = NAMES[request.param]
    return square_with_a_diagonal(names), written, kind


def expected_rows(written: list[Any]) -> list[tuple[Any, ...]]:
    ends = [(0, 1), (0, 3), (0, 2), (1, 2), (2, 3)]
    counts = {(0, 2): (2, 2, 0)}
    rows = [(written[i], written[j], *counts.get((i, j), (2, 1, 1))) for i, j in ends]
    return [(*row, *row[3:]) for row in rows]  # an undirected edge has as many cycles as detours


def test_edges_are_the_same_rows_everywhere(
    case: tuple[detours.Detours, list[Any], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, written, kind = case
    monkeypatch.setattr(export, "ROWS", 2)  # several tables, one below the other
    table = result.to_pandas()
    assert table.source.dtype == table.target.dtype == kind
    assert list(table.itertuples(index=False, name=None)) == expected_rows(written)
    result.to_parquet(tmp_path / "own.parquet")
    for name in ("edges.parquet", "edges.csv", "edges.npz"):
        write_result(result, edges=tmp_path / name)
    for name in ("own.parquet", "edges.parquet"):
        pandas.testing.assert_frame_equal(pandas.read_parquet(tmp_path / name), table)
    with open(tmp_path / "edges.csv", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == list(table.columns)
    assert rows == [list(map(str, row)) for row in expected_rows(written)]
    with np.load(tmp_path / "edges.npz") as arrays:
        names = arrays["names"] if "names" in arrays else np.arange(4)
        ends = zip(*names[arrays["edge_index"]].tolist(), strict=True)
        assert names.dtype.kind == ("i" if kind == "int64" else "U")
        assert [(*two, den) for two, den in zip(ends, arrays["edge"], strict=True)] == [
            row[:3] for row in expected_rows(written)
        ]


def test_nodes_are_the_same_rows_everywhere(case: tuple[detours.Detours, list[Any], str], tmp_path: Path) -> None:
    result, written, kind = case
    for name in ("nodes.parquet", "nodes.csv"):
        write_result(result, nodes=tmp_path / name)
    table = pandas.read_parquet(tmp_path / "nodes.parquet")
    assert table.node.dtype == kind and table.node.tolist() == written
    assert table.phi.tolist() == result.node.tolist() == [6, 4, 6, 4]
    with open(tmp_path / "nodes.csv", encoding="utf-8", newline="") as file:
        assert list(csv.reader(file))[1:] == [
            [str(name), *map(str, cycles), str(phi)]
            for name, cycles, phi in zip(written, [(2, 1), (1, 1)] * 2, result.node, strict=True)
        ]


def test_names_of_a_graph_from_a_file_keep_their_type(tmp_path: Path) -> None:
    (tmp_path / "graph.txt").write_text("10 7\n7 4\n4 10\n")
    table = detours.count(tmp_path / "graph.txt", 2).to_pandas()
    assert (
        table.values.tolist() == [[10, 7, 1, 1, 1], [7, 4, 1, 1, 1], [4, 10, 1, 1, 1]]
        and table.source.dtype == np.int64
    )


@pytest.mark.parametrize(("one", "other"), [(1, "1"), (1.0, "1.0"), ((1, 2), "(1, 2)"), (True, "True")])
def test_names_that_a_table_would_merge_are_refused(one: Any, other: Any, tmp_path: Path) -> None:
    result = square_with_a_diagonal([one, "a", other, "b"])
    edges, nodes = tmp_path / "edges.parquet", tmp_path / "nodes.npz"
    for write in (
        result.to_pandas,
        result.nodes_to_pandas,
        result.to_arrow,
        lambda: result.to_parquet(edges),
        lambda: write_result(result, nodes=nodes),
    ):
        with pytest.raises(InputError, match=r"the nodes .* and .* have the same name in a table, '.*'; rename one"):
            write()
    assert not list(tmp_path.iterdir()) and result.to_networkx().number_of_nodes() == 4


def test_names_that_are_no_text_are_refused_by_tables_in_utf8(tmp_path: Path) -> None:
    result, path = square_with_a_diagonal(["a\udc80", "b", "c", "d"]), tmp_path / "edges.parquet"
    for write in (result.to_arrow, lambda: result.to_parquet(path), lambda: write_result(result, nodes=path)):
        with pytest.raises(InputError, match=r"the node name 'a\\udc80' cannot be written as UTF-8; rename the node"):
            write()
    if TEXT == "str":
        with pytest.raises(InputError, match="cannot be written as UTF-8"):
            result.to_pandas()
    assert not path.exists()


def test_a_table_of_many_rows_is_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = detours.count(nx.circulant_graph(50, [1, 2]), 3)
    table = result.to_pandas()
    monkeypatch.setattr(export, "ROWS", 7)
    assert [len(columns["den"]) for columns in export.edge_tables(result)] == [7] * 14 + [2]
    write_result(result, edges=tmp_path / "edges.parquet", nodes=tmp_path / "nodes.csv")
    pandas.testing.assert_frame_equal(pandas.read_parquet(tmp_path / "edges.parquet"), table)


def test_a_graph_without_edges_has_a_table_without_rows(tmp_path: Path) -> None:
    result = detours.count(detours.Graph.from_edge_index(np.zeros((2, 0), np.int64), num_nodes=3), 3)
    result.to_parquet(tmp_path / "edges.parquet")
    write_result(result, edges=tmp_path / "edges.csv")
    pandas.testing.assert_frame_equal(pandas.read_parquet(tmp_path / "edges.parquet"), result.to_pandas())
    assert (tmp_path / "edges.csv").read_text() == "source,target,den,length_2,length_3,cycle_3,cycle_4\n"


def test_parquet_files_need_a_parquet_suffix(tmp_path: Path) -> None:
    result = detours.count([(0, 1), (1, 2), (2, 0)], 2)
    for name in ("edges.csv", "edges.npz"):
        with pytest.raises(InputError, match=rf"cannot write .*{name}: to_parquet writes Parquet files"):
            result.to_parquet(tmp_path / name)
    assert not list(tmp_path.iterdir())
    result.to_parquet(tmp_path / "edges.pq")
    assert len(pandas.read_parquet(tmp_path / "edges.pq")) == 3


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    result = detours.count([(0, 1), (1, 2), (2, 0)], 2)
    for write, name in ((result.to_parquet, "edges.parquet"), (result.show, "page.html")):
        with pytest.raises(InputError, match=rf"{name} cannot be written: the folder {tmp_path}/none does not exist; "):
            write(tmp_path / "none" / name)


def test_a_statistic_may_be_negative_or_bool() -> None:
    """In CSV files, only strings that begin with a minus get an apostrophe."""
    table = {"node": np.array(["-a"], object), "change": np.array([-0.5]), "bridge": np.array([True])}
    files.write_csv(file := BytesIO(), [table])
    assert file.getvalue() == b"node,change,bridge\n'-a,-0.5,True\n"


def test_a_new_statistic_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is then a column of every table, an attribute of NetworkX graphs, and an array of .npz files."""
    monkeypatch.setattr(columns, "NODES", (*columns.NODES, columns.NodeStatistic("node_shortest", "shortest")))
    shortest = columns.EdgeStatistic("shortest", "shortest", lambda result, arcs: result._arc_shortest[arcs])
    monkeypatch.setattr(columns, "EDGES", (*columns.EDGES, shortest))
    result = detours.count(nx.lollipop_graph(4, 1), 3)
    assert result.nodes_to_pandas().shortest.tolist() == [3, 3, 3, 3, 0]
    assert result.to_pandas().shortest.tolist() == [3, 3, 3, 3, 3, 3, 0]
    graph = result.to_networkx()
    assert graph.nodes[4]["shortest"] == 0 and graph.edges[0, 1]["shortest"] == 3
    write_result(result, edges=tmp_path / "all.npz")
    with np.load(tmp_path / "all.npz") as arrays:
        assert arrays["node_shortest"].tolist() == [3, 3, 3, 3, 0] and arrays["shortest"].sum() == 18
