"""Run in a fresh process: one count, its peak extra memory, its time, and the estimates of the plan."""

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
    """The graph of a scaling family with this number of nodes."""
    if name == "random geometric":
        return cases.random_geometric(size, 5 * size, seed=1)
    if name == "grid":
        return cases.grid(round(size**0.5))
    raise ValueError(f"family must be 'random geometric' or 'grid', not {name!r}")


def _graphs(task: dict[str, Any]) -> Csr | list[Csr]:
    if "family" in task:
        return family(task["family"], task["size"])
    from benchmarks.suite import FULL, QUICK

    return next(case for case in FULL + QUICK if case.name == task["case"]).make()


def _status(field: str) -> int | None:
    """Bytes of a field of /proc/self/status; None if it does not exist."""
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
        pass  # then the earlier peak counts, too, which can only be to our disadvantage


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main(text: str) -> None:
    """Count as specified by a JSON object (see `processes.peak_memory`), and print a JSON object."""
    import detours
    from benchmarks.rivals import our_graph

    task = json.loads(text)
    k, options = task["k"], task.get("options", {})
    csr = _graphs(task)
    graph = [our_graph(each) for each in csr] if isinstance(csr, list) else our_graph(csr)
    union = detours.Graph.disjoint_union(graph)[0] if isinstance(graph, list) else graph
    plan = detours.explain(union, k, **options)
    # loads every kernel that the count will use, so that the peak contains only its work
    detours.count(our_graph(cases.random_geometric(300, 1200, seed=0)), k, **{**options, "engine": plan.engine})
    count = detours.count_many if isinstance(graph, list) else detours.count
    del csr, union
    _reset_peak()
    before = _status("VmRSS") or _peak()
    start, start_cpu = time.perf_counter(), time.process_time()
    result = count(graph, k, **options)
    cpu, wall = time.process_time() - start_cpu, time.perf_counter() - start
    measured = {"bytes": _peak() - before, "seconds": cpu, "wall": wall}
    for _ in range(2 if wall < 4 else 0):
        again, again_wall, _ = clock(lambda: count(graph, k, **options))
        measured |= {"seconds": min(measured["seconds"], again), "wall": min(measured["wall"], again_wall)}
    counts = result.whole if isinstance(graph, list) else result
    measured |= {
        "result bytes": counts.arc_by_length.nbytes,
        "plan bytes": plan.bytes,
        "plan seconds": plan.seconds,
    }
    print(json.dumps(measured | {"engine": plan.engine}))
