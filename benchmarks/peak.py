"""Runs inside a fresh process: one count, its peak of extra memory, its time, and what the plan expected."""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

from benchmarks import cases
from benchmarks.cases import Csr
from benchmarks.measure import clock


def family(name: str, size: int) -> Csr:
    """A member of a scaling family by its number of nodes."""
    if name == "random geometric":
        return cases.random_geometric(size, 5 * size, seed=1)
    if name == "grid":
        return cases.grid(round(size**0.5))
    raise ValueError(f"no family {name!r}; there are 'random geometric' and 'grid'")


def _graphs(what: dict[str, Any]) -> Csr | list[Csr]:
    if "family" in what:
        return family(what["family"], what["size"])
    from benchmarks.suite import FULL, QUICK

    return next(case for case in FULL + QUICK if case.name == what["case"]).make()


def _status(field: str) -> int | None:
    """Bytes of a line of /proc/self/status; None where there is no such file."""
    try:
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))
    except (OSError, StopIteration):
        return None


def _reset_peak() -> None:
    try:
        with open("/proc/self/clear_refs", "w") as handle:
            handle.write("5")
    except OSError:
        pass  # the peak so far then counts too, which can only make us look worse


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main(text: str) -> None:
    """Do what the JSON asks and print JSON."""
    import detours
    from benchmarks.rivals import our_graph

    what = json.loads(text)
    k, options = what["k"], what.get("options", {})
    made = _graphs(what)
    own = [our_graph(graph) for graph in made] if isinstance(made, list) else our_graph(made)
    union = detours.Graph.disjoint_union(own)[0] if isinstance(own, list) else own
    plan = detours.explain(union, k, **options)
    # loads every kernel that the count will use, so that the peak holds its work and nothing else
    detours.count(our_graph(cases.random_geometric(300, 1200, seed=0)), k, **{**options, "engine": plan.engine})
    count = detours.count_many if isinstance(own, list) else detours.count
    del made, union
    _reset_peak()
    before = _status("VmRSS") or _peak()
    wall, cpu = time.perf_counter(), time.process_time()
    result = count(own, k, **options)
    taken, wall = time.process_time() - cpu, time.perf_counter() - wall
    answer = {"bytes": _peak() - before, "seconds": taken, "wall": wall}
    for _ in range(2 if wall < 4 else 0):
        again, again_wall, _ = clock(lambda: count(own, k, **options))
        answer |= {"seconds": min(answer["seconds"], again), "wall": min(answer["wall"], again_wall)}
    kept = result.whole if isinstance(own, list) else result
    answer |= {
        "result bytes": kept.arc_by_length.nbytes,
        "plan bytes": plan.bytes,
        "plan seconds": plan.seconds,
    }
    print(json.dumps(answer | {"engine": plan.engine}))
