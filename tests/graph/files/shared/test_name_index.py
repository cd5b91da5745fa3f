"""Columns of names: the compiled reader gives what Python gives, or leaves the row to it."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from detours.errors import FileFormatError
from detours.graph import Graph
from detours.graph.files import table
from detours.graph.files.shared import lines
from detours.graph.files.table import read_table
from tests.graph.cases import put, refused
from tests.graph.files.shared.test_named_lines import NAMES, ODD_NAMES, one_of

NODES = [*NAMES, "007", "1.5", "a b", " b", "b  ", '"a;b"', '"|"']
ODD = [*ODD_NAMES, '"a\nb"', '"a\r\n#b"', 'a"b', "\tb", '\t"a"', '"a"b', "a\rb", "\r", "\u2028", "x\x1f", "NA"]
WEIGHTS, ODD_WEIGHTS = ["1", "0.5", "-2e3", "", '"7"', " 3"], ["x", "nan", "1e999", "1_0", "2 km", "0,5", '"2""', *ODD]
TYPES, ODD_TYPES = ["Directed", "directed", '"Directed"'], ["Undirected", "", *ODD]
OTHERS = ["", "x", "本", '""', '"x, y"', '"say ""x"""', "12", "# x"]
HEADERS = [
    ["who", "whom"],
    ["who", "whom", "letters"],
    ["weight", "whom", "who"],
    ["Id", "who", "whom", "Type", "Label", "Weight"],
]
SEPARATORS = [",", ";", "\t", "|", " "]
NO_ROWS = ["", " ", "#", "# x", "#a,b", " % a;b", "\t#a\tb", ",,", "\u00a0"]


def field(column: str) -> st.SearchStrategy[str]:
    """What may stand in a column; mostly what is read."""
    kinds = {"weight": (WEIGHTS, ODD_WEIGHTS), "type": (TYPES, ODD_TYPES), "who": (NODES, ODD), "whom": (NODES, ODD)}
    return one_of(*kinds.get(column.lower(), (OTHERS, ODD)))


def rows(header: list[str]) -> st.SearchStrategy[list[tuple[list[str], int, str]]]:
    """The fields of some rows, how many of them are left out, and the end of the line."""
    cut = one_of(["0"], ["1", "2", "-1"]).map(int)
    line = st.tuples(st.tuples(*map(field, header)).map(list), cut, one_of(["\n", "\r\n"], ["\r", "", " \n"]))
    other = st.tuples(st.sampled_from(NO_ROWS).map(lambda text: [text]), st.just(0), st.just("\n"))
    return st.lists(st.integers(0, 9).flatmap(lambda drawn: line if drawn else other), max_size=12)


@st.composite
def tables(draw: st.DrawFn) -> tuple[bytes, str, tuple[str | int, ...]]:
    """A table, its separator, and the columns that are asked for."""
    header, sep, named = draw(st.sampled_from(HEADERS)), draw(st.sampled_from(SEPARATORS)), draw(st.booleans())
    gap = draw(one_of([sep], [sep + " ", sep + "\t", " " + sep]))
    text = (sep.join(header) + "\n") * draw(st.booleans() if not named else st.just(True))
    for fields, cut, end in draw(rows(header)):
        text += gap.join(fields[: len(fields) - cut] + ["x"] * -cut) + end
    nodes = ("who", "whom") if named else draw(st.sampled_from([(1, 2), (2, 1), (2, 3), (3, 2), (1, 1)]))
    return text.encode(), sep, nodes


def outcome(text: bytes, sep: str, nodes: tuple[str | int, ...], *, fast: bool) -> object:
    """The edges, and what was warned of, or the error."""
    with warnings.catch_warnings(record=True) as warned, pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("always")
        patch.setattr(lines, "SMALL", 0 if fast else 1 << 30)
        patch.setattr(table, "_FIRST_ROWS", 1)
        try:
            edges = read_table(Path("file.csv"), nodes, sep, text=text)
        except FileFormatError as error:
            return str(error)
    names = None if edges.names is None else list(edges.names)
    return edges.edge_index.tolist(), edges.num_nodes, names, edges.directed, [str(each.message) for each in warned]


@given(tables())
@example((b"who,whom,weight\na,b,1\nb,c\nc,a,x\n", ",", ("who", "whom")))
@example((b'who;whom\n"a\n\n;";b\n\n# c;d\n\nb;\n', ";", ("who", "whom")))
@example((b"who,whom\na,b\n" + b"x" * 140_000 + b",a\n", ",", ("who", "whom")))
@example((b"a|b\r\nb|c|\r\rc|a", "|", (1, 2)))
@example((b"weight\twhom\twho\n\t#a\tb\n\ta\tb\n", "\t", ("who", "whom")))
@example((b"who whom\n a  b \nb\tc\n\xc2\xa0 # x\n", " ", ("who", "whom")))
def test_compiled_code_and_python_agree(given: tuple[bytes, str, tuple[str | int, ...]]) -> None:
    assert outcome(*given, fast=True) == outcome(*given, fast=False)


def test_a_long_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    pairs = generator.integers(0, 3000, (20_000, 2)).tolist()
    rows = [f"{at};user{u};x{v};Directed;{at / 8}" for at, (u, v) in enumerate(pairs)]
    rows[9_000], rows[9_001] = '1;"user; ""1""";"x\ny";directed;', "# a;note\n\n1;b; c;DIRECTED;7"
    path = put(tmp_path, "g.csv", "id;from;to;type;weight\n" + "\n".join(rows) + "\n")
    graphs = []
    for small in (1 << 30, 0):
        monkeypatch.setattr(lines, "SMALL", small)
        with pytest.warns(UserWarning, match="one that may be an edge was skipped"):
            graphs.append(Graph.read(path))
    slow, quick = graphs
    assert slow.name_list() == quick.name_list() and np.array_equal(slow.to_edge_index(), quick.to_edge_index())
    assert quick.directed and {'user; "1"', "x\ny", "b", "c"} < set(quick.name_list())
    rows[12_345] = "7;alone"
    refused(put(tmp_path, "g.csv", "id;from;to\n" + "\n".join(rows) + "\n"), "a node is missing", 12_350)
