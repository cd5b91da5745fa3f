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
NAMES = [
    "a",
    "b",
    "Ada",
    "Ada L",
    "é",
    "本",
    "1",
    "-1",
    "#a",
    "%",
    "",
    " ",
    "a ",
    '"a"',
    '"a,b"',
    'a"',
    "{",
    "a\x0b",
    "\0",
]
GAPS = [",", "\t", " ", ", ", " ,", "  ", " \t", ";", ",,", ""]
ENDS = [
    "\n",
    "\r\n",
    "\n\n",
    " \n",
    "\t\n",
    ",\n",
    ",2\n",
    "\t0.5\n",
    " 7\r\n",
    ",x\n",
    " {}\n",
    ",nan\n",
    ",1e400\n",
    ",1,2\n",
    "\r",
]


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


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(GAPS), st.sampled_from(NAMES), st.sampled_from(ENDS))),
    st.sampled_from([b",", b"\t", None]),
    st.integers(0, 12),
)
@example([("a", ",", "b", "\n"), ("#a", ",", "b", "\n"), ("b", ",", "a", "\r\n")], b",", 1)
@example([("a", " ", "b", " 7\r\n"), ("b", "  ", "Ada", "\n")], None, 0)
def test_compiled_code_and_python_agree(rows: list[tuple[str, ...]], separator: bytes | None, cut: int) -> None:
    text = [("".join(row).rstrip("\n") + "\n").encode() for row in rows]
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
