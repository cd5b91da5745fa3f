"""Arbitrary bytes are read or refused in one sentence."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detours.containers import parse_array, read_archive
from detours.errors import FileFormatError
from detours.graph.files import FORMATS
from detours.graph.files.shared.format import ending
from fuzz.mutation import Input, written
from fuzz.running import CORPUS
from fuzz.targets import attempt

HEADS = [
    b"",
    b"\x93NUMPY\x01\x00\x76\x00{'descr': '<i8', ",
    b"PK\x03\x04",
    b"%%MatrixMarket matrix coordinate ",
    b"graph [",
    b":~~",
]
ENDINGS = sorted({format.endings[0] for name, format in FORMATS.items() if name != "molecule"})


def test_the_corpus_has_every_format() -> None:
    found = {ending(path) for path in (CORPUS / "graph").iterdir()}
    missing = {name for name, format in FORMATS.items() if found.isdisjoint(format.endings)}
    # RDKit reads molecules; how it handles damaged files is not tested here.
    assert missing == {"molecule"}, "run: python -m fuzz.corpus graph"


@given(st.sampled_from(HEADS), st.binary(max_size=200))
def test_containers(head: bytes, rest: bytes) -> None:
    for read in (parse_array, read_archive):
        with pytest.raises(FileFormatError) as caught:
            read(head + rest, Path("a"))
        assert "\n" not in str(caught.value)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(ENDINGS),
    st.sampled_from(HEADS),
    st.one_of(st.binary(max_size=100), st.text(max_size=60).map(str.encode)),
)
def test_graph_files(kind: str, head: bytes, rest: bytes) -> None:
    with written(Input("graph", f"a.{kind}", {"": head + rest})) as path:
        assert attempt("graph", path) == ""
