"""Names from a file never reach a terminal or a spreadsheet as commands."""

import csv
from pathlib import Path

import pytest

from detours.errors import escape_control
from detours.viz.interactive.names import shown_name
from tests.cli.programs import Run

WIPE = "\x1b[2J\x1b]0;owned\x07"
NAMES = [f"a{WIPE}", "b\u202e", "=HYPERLINK(A1)", "@c", "d e\x00f"]


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    """A clique of nodes whose names clear the screen, reverse the text direction, or are formulas."""
    lines = [f'"{one}","{other}"' for at, one in enumerate(NAMES[:4]) for other in NAMES[:at]]
    (tmp_path / "graph.csv").write_text("\n".join(lines) + "\n")
    return str(tmp_path / "graph.csv")


def assert_harmless(text: str) -> None:
    assert text and all(each.isprintable() or each == "\n" for each in text), repr(text)


@pytest.mark.parametrize(
    "arguments",
    [
        ["count", "FILE", "-k", "3"],
        ["count", "FILE", "-k", "3", "--json"],
        ["paths", "FILE", "@c", f"a{WIPE}", "-k", "3"],
        ["cycles", "FILE", "-k", "3"],
        ["explain", "FILE", "-k", "3"],
        ["compare", "FILE", "FILE", "-k", "3"],
    ],
)
def test_control_characters_are_shown_as_such(run: Run, hostile: str, arguments: list[str]) -> None:
    ran = run(*(hostile if each == "FILE" else each for each in arguments))
    assert ran.code == 0, ran.err
    assert_harmless(ran.out + ran.err)
    if arguments[0] in ("paths", "cycles"):
        assert r"a\x1b[2J\x1b]0;owned\x07" in ran.out and r"b\u202e" in ran.out


def test_control_characters_in_errors_and_file_names_are_shown_as_such(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text(f"0 1\n{WIPE} 2\n")
    for arguments in (
        ["count", str(tmp_path / "bad.txt"), "-k", "3"],
        ["count", str(tmp_path / f"no{WIPE}.txt"), "-k", "3"],
        ["count", str(tmp_path / "bad.txt"), "-k", f"3{WIPE}"],
        ["paths", str(tmp_path / "bad.txt"), WIPE, "1", "-k", "3"],
    ):
        ran = run(*arguments)
        assert ran.code in (1, 2) and len(ran.err.splitlines()) == 1
        assert_harmless(ran.err)


def test_csv_files_have_no_formulas_and_no_control_characters(run: Run, hostile: str, tmp_path: Path) -> None:
    assert run("count", hostile, "-k", "3", "--out", str(tmp_path / "out.csv"), "-q").code == 0
    text = (tmp_path / "out.csv").read_text()
    assert_harmless(text)
    names = {row[name] for row in csv.DictReader(text.splitlines()) for name in ("source", "target")}
    assert names == {r"a\x1b[2J\x1b]0;owned\x07", r"b\u202e", "'=HYPERLINK(A1)", "'@c"}


def test_printable_keeps_letters_of_all_languages() -> None:
    assert escape_control("naïve 中文 שלום 😀") == "naïve 中文 שלום 😀"
    assert escape_control("\t\n\x7f\x9b\u2028\ud800") == r"\t\n\x7f\x9b\u2028\ud800"


@pytest.mark.parametrize("name", ["New\u00a0York", "東\u3000京", "می\u200cخواهم", "👩\u200d🔬", "\ue000", "\U000cfffe"])
def test_ordinary_names_are_the_same_in_all_outputs(run: Run, tmp_path: Path, name: str) -> None:
    """Spaces and joiners are parts of words and emoji; what has no meaning in this Unicode may have one in the next."""
    (tmp_path / "graph.csv").write_text(f'"{name}","b"\n"b","c"\n"c","{name}"\n', encoding="utf-8")
    assert run("count", "graph.csv", "-k", "3", "--out", "out.csv", "-q").code == 0
    rows = csv.DictReader((tmp_path / "out.csv").read_text("utf-8").splitlines())
    assert name in {row["source"] for row in rows}
    assert name in run("paths", "graph.csv", name, "b", "-k", "3").out
    assert shown_name(name) == name


def test_hidden_characters_are_written_alike_in_all_outputs() -> None:
    for name in (*NAMES, "soft\u00adhyphen", "\U000e0001", "\u2028", "\ud800"):
        assert shown_name(name) == escape_control(name) and escape_control(name).isprintable()
