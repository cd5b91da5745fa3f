"""Wrong usage and wrong input: one sentence on standard error, and an exit code."""

from pathlib import Path

import pytest

import detours
from detours import cli
from tests.cli.programs import Run, one_sentence


@pytest.mark.parametrize("k", ["1", "0", "2.5", "four", "True", "", "1e3", "-3"])
def test_invalid_k_is_a_usage_error(run: Run, k: str) -> None:
    for arguments in (["count", "g1.txt"], ["paths", "g1.txt", "a", "b"], ["explain", "g1.txt"]):
        ran = run(*arguments, "-k", k)
        assert ran.code == 2 and ran.out == "" and one_sentence(ran.err) and "2" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["count"],
        ["count", "g1.txt"],
        ["count", "g1.txt", "-k"],
        ["count", "g1.txt", "-k", "3", "--nonsense"],
        ["count", "g1.txt", "-k", "3", "--engine", "magic"],
        ["count", "g1.txt", "-k", "3", "--jobs", "0"],
        ["count", "g1.txt", "-k", "3", "--memory", "lots"],
        ["count", "g1.txt", "-k", "3", "--top", "-1"],
        ["count", "g1.txt", "-k", "3", "--format", "docx"],
        ["show", "g1.txt", "--sep", "tabs"],
        ["cycles", "g1.txt", "-k", "3", "--sep", ""],
        ["explain", "g1.txt", "-k", "3", "--columns", "1,2,3"],
        ["compare", "g1.txt", "g1.txt", "--columns", "1"],
        ["compare", "g1.txt", "g1.txt", "--depth", "2"],
        ["compare", "g1.txt", "g1.txt", "--rounds", "2", "--individualise", "mark"],
        ["paths", "g1.txt", "a", "-k", "3"],
        ["paths", "g1.txt", "a", "b", "-k", "3", "--max-paths", "0"],
        ["nonsense"],
        ["--nonsense"],
    ],
)
def test_wrong_usage(run: Run, arguments: list[str]) -> None:
    ran = run(*arguments)
    assert ran.code == 2 and ran.out == "" and one_sentence(ran.err) and "--help" in ran.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--format", "docx"], "format must be one of 'edgelist', 'mtx',"),
        (["--format", "csv"], "but it is 'csv'; files that end in .csv are 'edgelist'"),
        (["--sep", "tabs"], "'tabs' is not a separator; give , ; | tab or space"),
        (["--columns", "1,2,3"], "'1,2,3': give two columns, by name or number, such as 1,2"),
    ],
)
def test_wrong_usage_is_explained(run: Run, arguments: list[str], says: str) -> None:
    assert says in run("count", "g1.txt", "-k", "3", *arguments).err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("missing.txt", None),
        ("empty.txt", b""),
        ("broken.txt", b"0 1\n1 2\n2 x\n"),
        ("picture.txt", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"),
        ("cut.txt.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00"),
        ("negative.txt", b"0 1\n-4 2\n"),
        ("large.txt", b"0 1\n1 99999999999999999999\n"),
        ("cut.mtx", b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n"),
        ("other.npz", b"not a zip"),
    ],
)
@pytest.mark.parametrize("arguments", [["count", "--out", "o.csv"], ["explain"]])
def test_a_file_without_a_graph(run: Run, arguments: list[str], name: str, content: bytes | None) -> None:
    if content is not None:
        Path(name).write_bytes(content)
    ran = run(*arguments, name, "-k", "3")
    assert ran.code == 1 and ran.out == "" and one_sentence(ran.err) and name in ran.err
    assert not Path("o.csv").exists()


def test_a_broken_line_is_named(run: Run) -> None:
    Path("broken.txt").write_text("0 1\n1 2\n2 x\n")
    assert "line 3" in run("count", "broken.txt", "-k", "3").err


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (MemoryError(), "`detours count` with --memory and --out FOLDER"),
        (OverflowError("k = 9 passes 2^63"), "k = 9"),
        (PermissionError(13, "Permission denied", "g1.txt"), "g1.txt: Permission denied"),
        (ImportError("install networkx"), "install networkx"),
        (KeyError("oops"), "please report"),
    ],
)
def test_every_failure_is_one_sentence(run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception, says: str) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(detours, "count", fail, raising=False)
    ran = run("count", "g1.txt", "-k", "3", "--out", "o.csv")
    assert ran.code == 1 and says in ran.err and one_sentence(ran.err)
    assert not Path("o.csv").exists()


def test_traceback_on_request(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DETOURS_TRACEBACK", "1")
    with pytest.raises(detours.errors.InputError):
        run("count", "missing.txt", "-k", "3")


def test_sentences_name_the_options_of_the_command(run: Run) -> None:
    ran = run("count", "k6.txt", "-k", "4", "--memory", "2KB")
    assert ran.code == 1 and "more than --memory 2 KB" in ran.err and "with --out FOLDER" in ran.err
    assert "memory_limit" not in ran.err
    listed = run("paths", "k6.txt", "0", "1", "-k", "5", "--max-paths", "2")
    assert listed.code == 1 and "--max-paths 2 paths" in listed.err


def test_warnings_are_notes(capsys: pytest.CaptureFixture[str]) -> None:
    cli._note(UserWarning("of two\nlines"), UserWarning, "somewhere.py", 7)
    assert capsys.readouterr().err == "note: of two lines\n"
