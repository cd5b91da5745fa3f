"""Every input of the corpus, from which fuzzing starts or which it has found, is read or refused in one sentence."""

import warnings
from argparse import Namespace
from pathlib import Path
from random import Random

import pytest

from fuzz import differential, mutation, soak
from fuzz.graphs import Case, random_case
from fuzz.mutate import change
from fuzz.running import CORPUS, Outcome, Unit
from fuzz.targets import TARGETS, attempt
from tests import oracles

INPUTS = [(kind, path) for kind in TARGETS for path in sorted((CORPUS / kind).iterdir())]


@pytest.mark.parametrize("kind, path", INPUTS, ids=lambda part: part if isinstance(part, str) else part.name)
def test_the_corpus(kind: str, path: Path, tmp_path: Path) -> None:
    (given,) = (each for each in mutation.seeds(kind) if each.name == path.name)
    with mutation.written(given) as copy:
        assert attempt(kind, copy) == ""


def test_counts_that_were_wrong_once() -> None:
    for file in sorted((CORPUS / "counts-wrong").glob("*.json")):
        assert differential.replay(file) == "", file


def test_a_few_changed_inputs() -> None:
    for i in range(60):
        outcome = mutation.check_input(Unit(18, 0, i), Namespace(out=None))
        assert outcome.failures == []


def test_a_batch_of_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differential, "BATCH", 30)
    outcome = differential.check_batch(Unit(18, 0, 2), Namespace(out=None))
    assert outcome.failures == [] and outcome.tried["cases"] == 30


@pytest.mark.slow
def test_a_round_of_kills() -> None:
    outcome = soak.check_round(Unit(18, 0, 0), Namespace(out=None))
    assert outcome.failures == [] and outcome.tried["rounds"] == 1


# ---------------------------------------------------------------- the fuzzers can fail


def test_the_oracle_of_the_fuzzer_agrees_with_another() -> None:
    random = Random(3)
    for _ in range(60):
        case = random_case(random, random.randint(2, 6), random.random() < 0.5)
        arcs = case.arcs()
        expected = oracles.by_subsets(case.num_nodes, arcs, case.k)
        assert differential.Expected(case).by_length.tolist() == [expected[arc] for arc in arcs]


def test_a_wrong_count_is_found_and_minimised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count_paths = differential.count_paths

    def wrong(nodes, source, target, k, chordless):  # type: ignore[no-untyped-def]
        counts = count_paths(nodes, source, target, k, chordless)
        counts[counts >= 2] += 1
        return counts

    monkeypatch.setattr(differential, "count_paths", wrong)
    monkeypatch.setattr(differential, "BATCH", 30)
    outcome = differential.check_batch(Unit(18, 0, 2), Namespace(out=tmp_path))
    assert {failure["kind"] for failure in outcome.failures} == {"mismatch"}
    files = sorted((tmp_path / "counts-wrong").glob("*.json"))
    assert files and all(differential.replay(file) for file in files)
    monkeypatch.undo()
    assert not any(differential.replay(file) for file in files)


def test_failing_cases_are_minimised() -> None:
    case = Case(9, [(i, j) for i in range(9) for j in range(i)], False, 3)
    small = differential.minimised(case, lambda each: {(3, 1), (4, 2)} <= set(each.columns))
    assert sorted(small.columns) == [(3, 1), (4, 2)] and small.num_nodes == 5


def test_a_traceback_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> None:
        raise KeyError("names")

    monkeypatch.setitem(TARGETS, "graph", broken)
    assert "KeyError" in attempt("graph", tmp_path)
    outcomes = [mutation.check_input(Unit(18, 0, i), Namespace(out=None)) for i in range(12)]
    assert any(failure["kind"] == "traceback" for outcome in outcomes for failure in outcome.failures)
    assert isinstance(outcomes[0], Outcome)


def test_changes_are_the_same_for_the_same_seed() -> None:
    for kind in ("graph", "saved"):
        for given in mutation.seeds(kind):
            for name, content in given.files.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of a name that occurs twice
                    one, other = (change(Random(7), name or given.name, content, [b"x"]) for _ in range(2))
                assert one == other
