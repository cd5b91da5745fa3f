"""Counts of every engine against a plain search, on small graphs of the kinds that break engines.

A case is a graph, directed or not, with a k of 2 .. 8. Each is counted by every engine that can, as one of many graphs;
some also alone, with threads, under a memory limit, into a folder, in parts of a saved graph, chordless, and as lists.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import traceback
import warnings
import zlib
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import detours
from detours.errors import EngineError
from fuzz.graphs import Case, random_case
from fuzz.oracle_numba import count_paths
from fuzz.running import CORPUS, Outcome, Unit, parser, run

BATCH = 500
ALONE = 12  # cases of a batch that are counted one by one
LIMITS = (None, "100KB", "1MB")

MEMORY = Path("/dev/shm")  # flushing to it takes no time


def engines(k: int) -> list[str]:
    return ["rows", "dense", "search"] if k <= 6 else ["dense", "search"]


class Answer:
    """The right counts of a case, in the order of the arcs and of the caller's columns."""

    def __init__(self, case: Case, chordless: bool = False) -> None:
        arcs = np.array(case.arcs(), np.int64).reshape(-1, 2)
        source, target = arcs[:, 0].copy(), arcs[:, 1].copy()
        self.table = count_paths(case.num_nodes, source, target, case.k, chordless)
        self.by_length = self.table[source, target]
        self.cycles = self.table[target, source]
        ends = case.edge_index()
        self.columns = np.where((ends[0] != ends[1])[:, None], self.table[ends[0], ends[1]], 0)
        self.node = np.zeros(case.num_nodes, np.int64)
        np.add.at(self.node, source, self.by_length.sum(axis=1))
        seen = 1 if case.directed else 2
        totals = (self.cycles if case.directed else self.by_length).sum(axis=0).tolist()
        self.totals = {length: total // (length * seen) for length, total in enumerate(totals, start=3)}


def graph_of(case: Case) -> detours.Graph:
    return detours.Graph.from_edge_index(case.edge_index(), case.num_nodes, directed=case.directed)


# ---------------------------------------------------------------- ways to count one case


def _same(found: detours.Detours, answer: Answer) -> bool:
    return (
        np.array_equal(found.arc_by_length, answer.by_length)
        and np.array_equal(found.arc_cycles, answer.cycles)
        and np.array_equal(found.by_length, answer.columns)
        and np.array_equal(found.node, answer.node)
        and found.cycles == answer.totals
    )


def alone(case: Case, **options: Any) -> bool:
    return _same(detours.count(graph_of(case), case.k, **options), Answer(case))


def among_many(case: Case, **options: Any) -> bool:
    return _same(detours.count_many([graph_of(case)], case.k, **options)[0], Answer(case))


def into_folder(case: Case, **options: Any) -> bool:
    with _scratch() as folder:
        graph, answer = graph_of(case), Answer(case)
        first = _same(detours.count(graph, case.k, out=folder / "out", **options), answer)
        return first and _same(detours.count(graph, case.k, out=folder / "out", **options), answer)


def in_parts(case: Case, **options: Any) -> bool:
    with _scratch() as folder:
        graph_of(case).save(folder / "graph")
        limits = {"memory_limit": 1, "out": folder / "out"}
        return _same(
            detours.count(str(folder / "graph"), case.k, directed=case.directed, **limits, **options), Answer(case)
        )


def chordless(case: Case) -> bool:
    return _same(detours.count(graph_of(case), case.k, chordless=True), Answer(case, chordless=True))


def listed_cycles(case: Case) -> bool:
    found = Counter(map(len, detours.cycles(graph_of(case), case.k)))
    return dict(found) == {length: number for length, number in Answer(case).totals.items() if number}


def listed_paths(case: Case, i: int, j: int) -> bool:
    found = list(detours.paths(graph_of(case), i, j, case.k))
    lengths = Counter(len(path) - 1 for path in found)
    wanted = {length: int(number) for length, number in enumerate(Answer(case).table[i, j], start=2) if number}
    return (
        dict(lengths) == wanted and len(set(found)) == len(found) and all(len(set(path)) == len(path) for path in found)
    )


WAYS: dict[str, Callable[..., bool]] = {
    each.__name__: each for each in (alone, among_many, into_folder, in_parts, chordless, listed_cycles, listed_paths)
}


@contextmanager
def _scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="detours-fuzz-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ---------------------------------------------------------------- a batch


def check_batch(unit: Unit, options: Namespace) -> Outcome:
    """Check a batch of cases with one k, all directed or all undirected."""
    warnings.simplefilter("ignore")
    random = Random(str(unit))
    k, directed = random.randint(2, 8), random.random() < 0.4
    cases = [random_case(random, k, directed) for _ in range(BATCH)]
    tried: Counter[str] = Counter(cases=BATCH)
    failures: list[dict[str, Any]] = []

    def attempt(case: Case, way: str, **given: Any) -> None:
        tried[f"{way} {given['engine']}" if "engine" in given else way] += 1
        if says := wrong(case, way, given):
            kind = "mismatch" if says == MISMATCH else "error"
            failures.append(
                {"kind": kind, "says": f"{way} {given}: {says}", "file": _keep(case, way, given, options.out)}
            )

    graphs, answers = [graph_of(case) for case in cases], [Answer(case) for case in cases]
    for engine in engines(k):
        tried[f"many {engine}"] += BATCH
        for case in _wrong_in_batch(cases, graphs, answers, k, engine):
            before = len(failures)
            attempt(case, "among_many", engine=engine)
            if len(failures) == before:  # wrong only together with the others of its batch
                failures.append({"kind": "mismatch", "says": f"many {engine}, as one of a batch"})
    for case in random.sample(cases, ALONE):
        engine = random.choice(["auto", *engines(k)])
        attempt(case, "alone", engine=engine, n_jobs=random.choice((1, 1, 2)), memory_limit=random.choice(LIMITS))
    attempt(random.choice(cases), "into_folder", engine=random.choice(["auto", *engines(k)]))
    attempt(random.choice(cases), "in_parts", engine=random.choice(["auto", *engines(k)]))
    for case in random.sample(cases, 3):
        attempt(case, "listed_cycles")
        if case.num_nodes > 1:
            i, j = random.sample(range(case.num_nodes), 2)
            attempt(case, "listed_paths", i=i, j=j)
        if not directed:
            attempt(case, "chordless")
    return Outcome(dict(tried), failures)


def _wrong_in_batch(
    cases: list[Case], graphs: list[detours.Graph], answers: list[Answer], k: int, engine: str
) -> list[Case]:
    """Return the cases whose counts are wrong when all are counted together."""
    try:
        found = detours.count_many(graphs, k, engine=engine)
    except Exception:
        return cases  # each alone tells which
    whole = found.whole
    right = (
        np.array_equal(whole.arc_by_length, np.concatenate([answer.by_length for answer in answers]))
        and np.array_equal(whole.arc_cycles, np.concatenate([answer.cycles for answer in answers]))
        and np.array_equal(found.node, np.concatenate([answer.node for answer in answers]))
    )
    if right:
        return []
    return [case for case, one, answer in zip(cases, found, answers, strict=True) if not _same(one, answer)]


MISMATCH = "the counts are wrong"


def wrong(case: Case, way: str, given: dict[str, Any]) -> str:
    """Return what is wrong with a way to count a case; empty if nothing is."""
    try:
        return "" if WAYS[way](case, **given) else MISMATCH
    except EngineError as error:
        if "memory" in str(error):  # a limit that is too low is refused in a sentence
            return ""
        return _last_line(error)
    except Exception as error:
        return _last_line(error)


def _last_line(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"


# ---------------------------------------------------------------- what failed


def _keep(case: Case, way: str, given: dict[str, Any], out: Path | None) -> str:
    """Write a failing case, as small as it gets, to the corpus or the folder given; return the file."""
    small = minimised(case, lambda each: bool(wrong(each, way, given)))
    about = {"way": way, "given": given, **small._asdict()}
    folder = (out or CORPUS) / "counts-wrong"
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(about)
    file = folder / f"{way}-{zlib.crc32(text.encode()):08x}.json"
    file.write_text(text + "\n")
    return str(file)


def minimised(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Return a case that still fails, from which no column and no last node can be taken away."""
    changed = True
    while changed:
        changed = False
        for at in range(len(case.columns) - 1, -1, -1):
            smaller = case._replace(columns=case.columns[:at] + case.columns[at + 1 :])
            if fails(smaller):
                case, changed = smaller, True
        used = 1 + max((max(column) for column in case.columns), default=-1)
        if used < case.num_nodes and fails(smaller := case._replace(num_nodes=used)):
            case, changed = smaller, True
    return case


def replay(file: Path) -> str:
    """Return what is wrong with a case of the corpus; empty if nothing is."""
    about = json.loads(file.read_text())
    columns = [(i, j) for i, j in about["columns"]]
    case = Case(about["num_nodes"], columns, about["directed"], about["k"])
    return wrong(case, about["way"], about["given"])


if __name__ == "__main__":
    sys.exit(run("differential", check_batch, parser(__doc__).parse_args(), hang=120))
