"""Lines of names: the compiled reader gives what Python gives, or leaves the line to it."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from detours.errors import FileFormatError
from detours.graph import Graph
from detours.graph.files.shared import lines
from detours.graph.files.shared.named_lines import read_names
from tests.graph.cases import put, refused

HERE = Path("file.txt")
NAMES = 'a|b|Ada|Ada L|é|本|1|-1|"a"|"Ada L"|"é"|"本 x"|"#a"|"a,b"'.split("|")
ODD_NAMES = '#a|%|| |a |a"|{|a\x0b|\0|""|"a""b"|"a" |" a"|"a|"a\tb"|"\xa0a"|"a\u3000"|\x85é|a\x1c'.split("|")
GAPS, ODD_GAPS = [",", "\t", " "], [", ", " ,", "  ", " \t", ";", ",,", ""]
ENDS, ODD_ENDS = ["", "\r", ",2", "\t0.5", " 7\r"], [" ", "\t", ",", ",x", " {}", ",nan", ",1e400", ",1,2", '"', ',"2"']


def one_of(usual: list[str], odd: list[str]) -> st.SearchStrategy[str]:
    """Mostly a usual one: after an error nothing is read."""
    return st.integers(0, 15).flatmap(lambda drawn: st.sampled_from(usual if drawn else odd))


ROW = st.tuples(one_of(NAMES, ODD_NAMES), one_of(GAPS, ODD_GAPS), one_of(NAMES, ODD_NAMES), one_of(ENDS, ODD_ENDS))


def outcome(pieces: list[bytes], separator: bytes | None, fast: bool, patch: pytest.MonkeyPatch) -> object:
    """The edges by names, and what was warned of, or the error."""
    patch.setattr(lines, "SMALL", 0 if fast else 1 << 30)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            ends, names = read_names(pieces, separator, 1, HERE)
        except FileFormatError as error:
            return str(error)
    assert sorted(set(ends.ravel().tolist())) == list(range(len(names)))  # none that has no edge
    return [(names[u], names[v]) for u, v in ends.T.tolist()], [str(each.message) for each in warned]


@given(st.lists(ROW), st.sampled_from([*GAPS, None]), st.integers(0, 12))
@example([("a", ",", "b", ""), ("#a", ",", "b", ""), ("b", ",", "a", "\r")], ",", 1)
@example([('"a\u3000"', ",", "b", ""), ("a\u3000", ",", '"\xa0b"', "")], ",", 0)
@example([("a", " ", "b", " 7\r"), ("b", "  ", "Ada", "")], None, 0)
def test_compiled_code_and_python_agree(rows: list[tuple[str, ...]], gap: str | None, cut: int) -> None:
    separator = None if gap in (" ", None) else gap.encode()
    own = [(u, gap if gap and between in GAPS else between, v, end) for u, between, v, end in rows]
    text = [("".join(row) + "\n").encode() for row in own]
    pieces = [b"".join(text[:cut]), b"".join(text[cut:])]
    with pytest.MonkeyPatch.context() as patch:
        slow, quick = (outcome(pieces, separator, fast, patch) for fast in (False, True))
    assert quick == slow


def test_many_names_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    pairs = generator.integers(0, 3000, (20_000, 2))
    rows = [f"user{u},{'x' * (v % 7)}{v}" + (",0.5" if u % 3 else "") for u, v in pairs.tolist()]
    rows[9_000] = '"user, 1","x"'
    path = put(tmp_path, "g.csv", "from,to\n" + "\n".join(rows) + "\n")
    monkeypatch.setattr(lines, "_PIECE", 30_000)
    graphs = []
    for fast in (1 << 30, 0):
        monkeypatch.setattr(lines, "SMALL", fast)
        with pytest.warns(UserWarning, match="repeated edges"):
            graphs.append(Graph.read(path))
    slow, quick = graphs
    assert slow.name_list() == quick.name_list() and np.array_equal(slow.to_edge_index(), quick.to_edge_index())
    assert "user, 1" in quick.name_list()
    rows[12_345] = "alone"
    refused(put(tmp_path, "g.csv", "from,to\n" + "\n".join(rows) + "\n"), 'there is only "alone"', 12_347)
