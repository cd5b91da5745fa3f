"""`detours show`: the page, its file, and wrong input."""

import re
from pathlib import Path

import pytest

import detours
from detours import cli

TRIANGLE = "a b\nb c\nc a\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "triangle.txt").write_text(TRIANGLE)
    (tmp_path / "path.txt").write_text("a b\nb c\n")
    return tmp_path


def test_the_page_is_named_after_the_graph(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["show", "triangle.txt", "-k", "2"]) == 0
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("Wrote triangle.html (")
    assert '"names":["a","b","c"]' in (folder / "triangle.html").read_text("utf-8")
    assert cli.run(["show", "triangle.txt", "-q"]) == 0  # pages of `show` are replaced
    assert capsys.readouterr().err == ""


def test_two_graphs_side_by_side(folder: Path) -> None:
    assert cli.run(["show", "triangle.txt", "path.txt", "-k", "2", "-q"]) == 0
    assert "Not isomorphic (decided by 1-WL)" in (folder / "triangle-path.html").read_text("utf-8")


def test_only_pages_are_replaced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "triangle.html").write_text("my thesis")
    assert cli.run(["show", "triangle.txt"]) == 1
    assert "give another name with --out" in capsys.readouterr().err
    assert (folder / "triangle.html").read_text() == "my thesis"


@pytest.mark.parametrize("files", [["graph.htm"], ["triangle.txt", "./graph.htm"], ["triangle.txt", "link"]])
def test_the_page_never_replaces_its_graph(folder: Path, capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    (folder / "graph.htm").write_text(TRIANGLE)
    (folder / "link").symlink_to("graph.htm")
    assert cli.run(["show", *files, "--format", "edgelist", "--out", "graph.htm"]) == 1
    assert "and --out must be different files, but graph.htm is given twice." in capsys.readouterr().err
    assert (folder / "graph.htm").read_text() == TRIANGLE


def test_links_are_written_through(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "shared.html").write_text("an old page")
    (folder / "link.html").symlink_to("shared.html")
    assert cli.run(["show", "triangle.txt", "-k", "2", "--out", "link.html"]) == 0
    assert capsys.readouterr().err.startswith("Wrote link.html (")
    assert (folder / "link.html").is_symlink() and '"names":["a","b","c"]' in (folder / "shared.html").read_text()
    (folder / "shared.html").rename(folder / "store")
    (folder / "triangle.html").symlink_to("store")
    assert cli.run(["show", "triangle.txt", "-k", "3"]) == 0
    assert (folder / "triangle.html").is_symlink() and (folder / "store").read_text() != "an old page"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["triangle.txt", "--out", "page.pdf"], "the name must end in .html"),
        (["triangle.txt", "--out", "nowhere/page.html"], "does not exist; create it first"),
        (["missing.txt"], "missing.txt: there is no such file."),
    ],
)
def test_refusals(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str) -> None:
    assert cli.run(["show", *arguments]) == 1
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("out", [[], ["--out", "page.html"]])
def test_an_unwritable_folder_is_reported_before_the_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], out: list[str]
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    monkeypatch.setattr("detours.graph.Graph.read", lambda *a, **k: pytest.fail("read the graph"))
    assert cli.run(["show", "triangle.txt", *out]) == 1
    assert f"the folder {folder} is not writable; give another one." in capsys.readouterr().err


def test_standard_input_is_one_graph(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["show", "-", "-"]) == 2
    assert "only one input can be -" in capsys.readouterr().err


def test_pages_of_molecules_are_named_by_their_smiles(folder: Path) -> None:
    pytest.importorskip("rdkit")
    pages = []
    for smiles in ("C1CC1", "C1=CC1", "C1#CC1", r"F/C=C\F", "C1CC1" * 60, "C1CCCCC1", "c1ccccc1"):
        before = set(folder.glob("*.html"))
        assert cli.run(["show", smiles, "-k", "2", "-q"]) == 0
        (page,) = set(folder.glob("*.html")) - before  # not one of the others
        pages.append(page.name)
    assert len({name.lower() for name in pages}) == len(pages)  # on case-insensitive file systems
    assert pages[0] == "C1CC1.html" and all(re.fullmatch(r"[A-Za-z0-9-]{1,50}\.html", name) for name in pages)
    assert cli.run(["show", "C1=CC1", "-k", "3", "-q"]) == 0 and len(list(folder.glob("*.html"))) == len(pages)


def test_all_cores_count(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n_jobs, count = [], detours.count
    monkeypatch.setattr("detours.count", lambda *a, **given: n_jobs.append(given["n_jobs"]) or count(*a, **given))
    assert cli.run(["show", "triangle.txt", "-k", "2", "-q"]) == 0 and n_jobs == [-1]


def test_around_nodes(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "ring.txt").write_text("".join(f"n{i} n{(i + 1) % 9}\n" for i in range(9)))
    assert cli.run(["show", "ring.txt", "-k", "3", "--around", "n4", "--around", "n5"]) == 0
    assert "Shown: 4 of 9 nodes and 3 of 9 edges, the neighbourhood of n4 and n5" in (folder / "ring.html").read_text()
    monkeypatch.setattr("detours.count", lambda *a, **k: pytest.fail("counted"))
    assert cli.run(["show", "ring.txt", "-k", "3", "--around", "n40"]) == 1
    assert "The graph has no node 'n40'" in capsys.readouterr().err


def test_a_molecule_as_smiles_and_as_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rdkit")
    assert cli.run(["show", "C1CC1=O", "-k", "2", "--out", "ring.html"]) == 0
    page = (folder / "ring.html").read_text("utf-8")
    assert '"symbols":["C","C","C","O"]' in page and '"bonds":[1.0,1.0,1.0,2.0]' in page
    assert cli.run(["show", "C1CC2=O", "-k", "2"]) == 1
    assert "no such file, and RDKit cannot read it as a SMILES" in capsys.readouterr().err
    (folder / "ring.smi").write_text("C1CC1=O cyclopropanone\n")
    (folder / "RING.SMI").write_text("C1CC1=O cyclopropanone\n")
    (folder / "ring").write_text("C1CC1=O cyclopropanone\n")
    for own in (["ring.smi"], ["RING.SMI"], ["ring", "--format", "molecule"]):
        assert cli.run(["show", *own, "-k", "2", "-q", "--out", "drawn.html"]) == 0
        assert '"symbols":["C","C","C","O"]' in (folder / "drawn.html").read_text("utf-8")
    capsys.readouterr()
    assert cli.run(["count", "ring.smi", "-k", "2", "--json"]) == 0
    assert '"cycles": 1' in capsys.readouterr().out
