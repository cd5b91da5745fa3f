from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from detours.errors import FileFormatError
from detours.graph import Graph
from detours.graph.files.shared import lines
from tests.graph.cases import put, refused

HERE = Path("file.txt")


def test_a_late_bad_line_is_numbered_across_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "_PIECE", 1000)
    for fast in (0, 1 << 30):
        monkeypatch.setattr(lines, "SMALL", fast)
        good = "\n".join(f"{i} {i + 1}" for i in range(5000))
        assert Graph.read(put(tmp_path, "g.txt", good), strict=True).num_edges == 5000
        refused(put(tmp_path, "g.txt", good + "\n# c\n\n7 oops\n8 9\n"), "oops", 5003)
        refused(put(tmp_path, "g.txt.gz", good + "\n# c\n\n7 oops\n8 9\n"), "oops", 5003)
    comments = "#" * 70 + "\n"
    assert Graph.read(put(tmp_path, "g.txt", comments * 100 + "0 1\n" + comments * 100 + "1 2")).num_edges == 2
    assert Graph.read(put(tmp_path, "g.txt", comments * 100 + "a b\n" + comments * 100 + "b c")).num_edges == 2


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_pieces_end_with_lines_and_a_small_file_is_one_piece(monkeypatch, size):
    monkeypatch.setattr(lines, "_PIECE", size)
    for text in (b"", b"\n", b"0 1", b"0 1\n", b"0 1\n\n12 3\n4 5", b"0 1\r\n1 2\r\n"):
        found = list(lines.pieces(BytesIO(text)))
        assert b"".join(found) == text + b"\n" * (text[-1:] not in (b"", b"\n"))
        assert all(piece.endswith(b"\n") for piece in found)
        assert len(found) <= 1 or size < len(text)


plain_line = st.text(alphabet="0123456789 \t,#%-.eE+{}nax\r", max_size=14)


@settings(max_examples=400)
@given(st.lists(plain_line, max_size=6))
@example(["1 2 1e400", "1 2 .", "1 2 5."])
@example(["1 2 +.5e-3", "1\t,\t2\t,\t3", "12345678901 2"])
def test_the_compiled_reader_agrees_with_python(texts):
    piece = "".join(text + "\n" for text in texts).encode()
    answers = []
    for parse in (lines._parse_slow, lines._parse_fast):
        try:
            answers.append(parse(piece, 1, HERE).tolist())
        except FileFormatError as error:
            answers.append(str(error))
    assert answers[0] == answers[1]


@pytest.mark.slow
def test_ten_million_lines_with_one_bad_line(tmp_path):
    ids = np.random.default_rng(0).integers(0, 10**6, (1_000_000, 2))
    block = b"".join(b"%d %d\n" % (u, v) for u, v in ids.tolist())
    path = tmp_path / "big.txt"
    path.write_bytes(block * 9 + b"17 oops\n" + block)
    refused(path, "oops", 9_000_001)
