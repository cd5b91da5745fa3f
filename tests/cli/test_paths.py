"""`detours paths`: one path per line, or JSON."""

import json
from pathlib import Path

from tests.cli.programs import Run, one_sentence


def test_one_path_per_line(run: Run) -> None:
    ran = run("paths", "g1.txt", "c", "d", "-k", "3")
    assert (ran.code, ran.out) == (0, "c e d\nc f d\nc a b d\n")
    assert ran.err == "3 detours of 2 to 3 edges from c to d\n"


def test_names_with_spaces_are_quoted(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("Ada L,Bob\nBob,Cy\nCy,Ada L\n")
    assert run("paths", str(file), "Ada L", "Bob", "-k", "2").out == '"Ada L" Cy Bob\n'
    assert run("cycles", str(file), "-k", "2").out == '"Ada L" Bob Cy\n'


def test_paths_json(run: Run) -> None:
    found = json.loads(run("paths", "k6.txt", "0", "5", "-k", "2", "--json").out)
    assert found["paths"] == [[0, 1, 5], [0, 2, 5], [0, 3, 5], [0, 4, 5]]
    assert found["complete"] and found["number"] == 4


def test_paths_cut_short(run: Run) -> None:
    ran = run("paths", "k6.txt", "0", "5", "-k", "5", "--max-paths", "3")
    assert ran.code == 1 and len(ran.out.splitlines()) == 3 and one_sentence(ran.err)
    ran = run("paths", "k6.txt", "0", "5", "-k", "5", "--max-paths", "3", "--json")
    found = json.loads(ran.out)
    assert ran.code == 1 and not found["complete"] and len(found["paths"]) == 3 and one_sentence(ran.err)


def test_paths_between_unknown_or_equal_nodes(run: Run) -> None:
    for ends in (["a", "z"], ["a", "a"], ["a", "7"]):
        ran = run("paths", "g1.txt", *ends, "-k", "3")
        assert ran.code == 1 and ran.out == "" and one_sentence(ran.err), ends
