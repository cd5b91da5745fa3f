"""`detours cycles` and `--chordless`: one cycle per line, or JSON."""

import json

from tests.cli.programs import Run, one_sentence


def test_one_cycle_per_line(run: Run) -> None:
    ran = run("cycles", "g1.txt", "-k", "3")
    assert (ran.code, ran.out) == (0, "a b d c\nc d e\nc d f\nc e d f\n")
    assert ran.err == "4 cycles of 3 to 4 edges\n"


def test_chordless_through_a_node(run: Run) -> None:
    ran = run("cycles", "g1.txt", "-k", "5", "--chordless", "--through", "c", "--through", "e")
    assert (ran.code, ran.out) == (0, "c d e\n")
    assert ran.err == "1 chordless cycle of 3 to 6 edges through c and e\n"
    assert run("cycles", "g1.txt", "-k", "5", "--chordless", "-q").out == "a b d c\nc d e\nc d f\n"


def test_cycles_json(run: Run) -> None:
    found = json.loads(run("cycles", "k6.txt", "-k", "2", "--through", "0", "--through", "1", "--json").out)
    assert found["cycles"] == [[0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 1, 5]]
    assert found["complete"] and found["number"] == 4 and found["through"] == [0, 1] and not found["chordless"]


def test_cycles_cut_short(run: Run) -> None:
    ran = run("cycles", "k6.txt", "-k", "5", "--limit", "3")
    assert ran.code == 1 and len(ran.out.splitlines()) == 3 and one_sentence(ran.err)
    assert "more than --limit 3 cycles" in ran.err
    assert (
        "--time-limit must be a number above 0, but it is 0"
        in run("cycles", "k6.txt", "-k", "5", "--time-limit", "0").err
    )
    ran = run("cycles", "k6.txt", "-k", "5", "--limit", "3", "--json")
    found = json.loads(ran.out)
    assert ran.code == 1 and not found["complete"] and len(found["cycles"]) == 3 and one_sentence(ran.err)


def test_wrong_input_is_one_sentence(run: Run) -> None:
    for arguments in (
        ("cycles", "g1.txt", "-k", "3", "--through", "z"),
        ("cycles", "g1.txt", "-k", "3", "--chordless", "--directed"),
        ("paths", "g1.txt", "a", "b", "-k", "3", "--chordless", "--directed"),
        ("count", "g1.txt", "-k", "3", "--chordless", "--directed"),
        ("count", "g1.txt", "-k", "3", "--chordless", "--engine", "rows"),
        ("count", "g1.txt", "-k", "3", "--chordless", "--out", "folder"),
    ):
        ran = run(*arguments)
        assert ran.code == 1 and ran.out == "" and one_sentence(ran.err), arguments


def test_count_and_paths_without_chords(run: Run) -> None:
    found = json.loads(run("count", "g1.txt", "-k", "4", "--chordless", "--json").out)
    assert found["chordless"] and [row["cycles"] for row in found["by_length"]] == [2, 1, 0]
    assert "chordless detours of at most 4 edges" in run("count", "g1.txt", "-k", "4", "--chordless").out
    assert not json.loads(run("count", "g1.txt", "-k", "4", "--json").out)["chordless"]
    assert "stops at chords" in run("explain", "g1.txt", "-k", "4", "--chordless").out
    ran = run("paths", "g1.txt", "c", "e", "-k", "3", "--chordless")
    assert (ran.out, ran.err) == ("c d e\n", "1 chordless detour of 2 to 3 edges from c to e\n")
