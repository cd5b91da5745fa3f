"""Counts of every engine against a plain search, on small graphs of the kinds that break engines.

A case is a directed or undirected graph with k from 2 to 8. Every engine that supports this k counts it in a batch of
graphs; some cases are also counted on their own, with threads, with a memory limit, into a folder, in parts of a saved
graph, and without chords, and their cycles and paths are listed.
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
from detours.counting.engines.registry import ENGINES
from detours.errors import EngineError
from fuzz.graphs import Case, random_case
from fuzz.oracle_numba import count_paths
from fuzz.running import CORPUS, Outcome, Unit, parser, run

BATCH = 500
ALONE = 12  # cases of a batch that are also counted one by one
LIMITS = (None, "100KB", "1MB")

MEMORY = Path("/dev/shm")  # where flushing is fast


def engines(k: int) -> list[str]:
    return [name for name in ENGINES if name != "rows" or k <= 6]


class Expected:
    """The expected counts of a case, in the order of the arcs and of the caller's columns."""

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
        orientations = 1 if case.directed else 2
        totals = (self.cycles if case.directed else self.by_length).sum(axis=0).tolist()
        self.totals = {length: total // (length * orientations) for length, total in enumerate(totals, start=3)}


def graph_of(case: Case) -> detours.Graph:
    return detours.Graph.from_edge_index(case.edge_index(), case.num_nodes, directed=case.directed)


# ---------------------------------------------------------------- ways to count one case


def _same(result: detours.Detours, expected: Expected) -> bool:
    return (
        np.array_equal(result.arc_by_length, expected.by_length)
        and np.array_equal(result.arc_cycles, expected.cycles)
        and np.array_equal(result.by_length, expected.columns)
        and np.array_equal(result.node, expected.node)
        and result.cycles == expected.totals
    )


def alone(case: Case, **options: Any) -> bool:
    return _same(detours.count(graph_of(case), case.k, **options), Expected(case))


def among_many(case: Case, **options: Any) -> bool:
    return _same(detours.count_many([graph_of(case)], case.k, **options)[0], Expected(case))


def into_folder(case: Case, **options: Any) -> bool:
    with _scratch() as folder:
        graph, expected = graph_of(case), Expected(case)
        first = _same(detours.count(graph, case.k, out=folder / "out", **options), expected)
        return first and _same(detours.count(graph, case.k, out=folder / "out", **options), expected)


def in_parts(case: Case, **options: Any) -> bool:
    with _scratch() as folder:
        graph_of(case).save(folder / "graph")
        limits = {"memory_limit": 1, "out": folder / "out"}
        return _same(
            detours.count(str(folder / "graph"), case.k, directed=case.directed, **limits, **options), Expected(case)
        )


def chordless(case: Case) -> bool:
    return _same(detours.count(graph_of(case), case.k, chordless=True), Expected(case, chordless=True))


def listed_cycles(case: Case) -> bool:
    lengths = Counter(map(len, detours.cycles(graph_of(case), case.k)))
    return dict(lengths) == {length: count for length, count in Expected(case).totals.items() if count}


def listed_paths(case: Case, i: int, j: int) -> bool:
    paths = list(detours.paths(graph_of(case), i, j, case.k))
    lengths = Counter(len(path) - 1 for path in paths)
    expected = {length: int(count) for length, count in enumerate(Expected(case).table[i, j], start=2) if count}
    simple_and_distinct = len(set(paths)) == len(paths) and all(len(set(path)) == len(path) for path in paths)
    return dict(lengths) == expected and simple_and_distinct


WAYS: dict[str, Callable[..., bool]] = {
    way.__name__: way for way in (alone, among_many, into_folder, in_parts, chordless, listed_cycles, listed_paths)
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
        if says := find_error(case, way, given):
            kind = "mismatch" if says == MISMATCH else "error"
            failures.append(
                {"kind": kind, "says": f"{way} {given}: {says}", "file": _keep(case, way, given, options.out)}
            )

    graphs, expected = [graph_of(case) for case in cases], [Expected(case) for case in cases]
    for engine in engines(k):
        tried[f"many {engine}"] += BATCH
        for case in _wrong_in_batch(cases, graphs, expected, k, engine):
            before = len(failures)
            attempt(case, "among_many", engine=engine)
            if len(failures) == before:  # it fails only together with the others of its batch
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
    cases: list[Case], graphs: list[detours.Graph], expected: list[Expected], k: int, engine: str
) -> list[Case]:
    """Return the cases whose counts are wrong when all are counted together."""
    try:
        results = detours.count_many(graphs, k, engine=engine)
    except Exception:
        return cases  # counting each on its own shows which one fails
    union = results.whole
    correct = (
        np.array_equal(union.arc_by_length, np.concatenate([each.by_length for each in expected]))
        and np.array_equal(union.arc_cycles, np.concatenate([each.cycles for each in expected]))
        and np.array_equal(results.node, np.concatenate([each.node for each in expected]))
    )
    if correct:
        return []
    return [case for case, result, each in zip(cases, results, expected, strict=True) if not _same(result, each)]


MISMATCH = "the counts are wrong"


def find_error(case: Case, way: str, given: dict[str, Any]) -> str:
    """Count a case in one way; return a description of the error, or an empty string."""
    try:
        return "" if WAYS[way](case, **given) else MISMATCH
    except EngineError as error:
        if "memory" in str(error):  # a limit that is too low is an error
            return ""
        return _last_line(error)
    except Exception as error:
        return _last_line(error)


def _last_line(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"


# ---------------------------------------------------------------- failures


def _keep(case: Case, way: str, given: dict[str, Any], out: Path | None) -> str:
    """Minimise a failing case, write it to the corpus or to `out`, and return the file."""
    small = minimised(case, lambda each: bool(find_error(each, way, given)))
    folder = (out or CORPUS) / "counts-wrong"
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"way": way, "given": given, **small._asdict()})
    file = folder / f"{way}-{zlib.crc32(text.encode()):08x}.json"
    file.write_text(text + "\n")
    return str(file)


def minimised(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Remove columns and trailing nodes from a case as long as it still fails."""
    changed = True
    while changed:
        changed = False
        for i in range(len(case.columns) - 1, -1, -1):
            smaller = case._replace(columns=case.columns[:i] + case.columns[i + 1 :])
            if fails(smaller):
                case, changed = smaller, True
        used = 1 + max((max(column) for column in case.columns), default=-1)
        if used < case.num_nodes and fails(smaller := case._replace(num_nodes=used)):
            case, changed = smaller, True
    return case


def replay(file: Path) -> str:
    """Check a case of the corpus; return a description of the error, or an empty string."""
    stored = json.loads(file.read_text())
    columns = [(i, j) for i, j in stored["columns"]]
    case = Case(stored["num_nodes"], columns, stored["directed"], stored["k"])
    return find_error(case, stored["way"], stored["given"])


if __name__ == "__main__":
    sys.exit(run("differential", check_batch, parser(__doc__).parse_args(), hang=120))
