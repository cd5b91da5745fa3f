"""Measurements that need a fresh process: import and compile time, and peak memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import children_cpu

ROOT = Path(__file__).resolve().parents[1]

_IMPORT = "import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
_SMALL = "import detours; print(detours.count([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]], k=4).cycles)"
_FIRST = """
import numpy as np, time
import detours
edges = np.random.default_rng(0).integers(0, {nodes}, (2, 6 * {nodes} // {divisor}))
arcs = np.concatenate([edges, edges[::-1]], axis=1)
import warnings; warnings.simplefilter("ignore")
start = time.process_time()
detours.count(arcs, k=4)
print(time.process_time() - start)
"""
"""The first call in a process; the density of the graph determines which engine is compiled."""

# All engines, directed and undirected, every entry point: all kernels that a user may cause Numba to compile.
_EVERYTHING = """
import numpy as np, time
import detours
start = time.process_time()
edges = np.random.default_rng(0).integers(0, 60, (2, 300))
arcs = np.concatenate([edges, edges[::-1]], axis=1)
import warnings; warnings.simplefilter("ignore")
detours.count(arcs, k=4)
sparse = np.stack([np.arange(40), (np.arange(40) + 1) % 40])
for directed in (False, True):
    detours.count(arcs, k=6, directed=directed)
    detours.count(sparse, k=8, directed=directed)
    detours.count(sparse, k=4, directed=directed, engine="search")
detours.count_many([sparse, sparse], k=5)
list(detours.paths(sparse, 0, 1, k=5))
print(time.process_time() - start)
"""


def python(code: str, **environment: str) -> tuple[float, str]:
    """Run code in a new process; return (its CPU seconds including start-up, its output)."""
    before = children_cpu()
    process = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        raise RuntimeError(f"a benchmark process failed: {process.stderr.strip().splitlines()[-1:]}")
    return children_cpu() - before, process.stdout


def fastest(measure: Callable[[], float], repeats: int) -> float:
    """The smallest of several measurements."""
    return min(measure() for _ in range(repeats))


def start_up(repeats: int = 7) -> dict[str, float]:
    """Import time against NumPy's, the first call with an empty cache, and a small count with a warm one."""
    numpy, detours, count = (
        fastest(lambda statement=statement: float(python(_IMPORT.format(statement=statement))[1]), repeats)
        for statement in ("import numpy", "import detours", "from detours import count")
    )
    sparse, dense, everything = map(
        _with_empty_cache, (_FIRST.format(nodes=600, divisor=4), _FIRST.format(nodes=600, divisor=1), _EVERYTHING)
    )
    with tempfile.TemporaryDirectory() as cache:
        python(_SMALL, NUMBA_CACHE_DIR=cache)
        warm = fastest(lambda: python(_SMALL, NUMBA_CACHE_DIR=cache)[0], max(repeats // 2, 2))
    return {
        "import numpy": numpy,
        "import detours": detours,
        "from detours import count (NumPy included)": count,
        "import ratio": detours / numpy,
        "first count, a sparse graph": sparse,
        "first count, a thick graph": dense,
        "every kernel compiled": everything,
        "new process: import and count a small graph": warm,
    }


def _with_empty_cache(code: str) -> float:
    with tempfile.TemporaryDirectory() as cache:
        return float(python(code, NUMBA_CACHE_DIR=cache)[1])


def peak_memory(task: dict[str, Any]) -> dict[str, float]:
    """Extra bytes at the peak of one count, its seconds and the estimates of the plan, measured in a new process.

    `task` has k, perhaps options, and either the name of a case or a family and a size.
    """
    _, output = python(f"from benchmarks.peak import main; main({json.dumps(json.dumps(task))})")
    measured: dict[str, float] = json.loads(output.splitlines()[-1])
    return measured
