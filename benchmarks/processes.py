"""What only a fresh process shows: import and compile time, and the peak of memory."""

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
edges = np.random.default_rng(0).integers(0, {nodes}, (2, 6 * {nodes} // {share}))
arcs = np.concatenate([edges, edges[::-1]], axis=1)
import warnings; warnings.simplefilter("ignore")
start = time.process_time()
detours.count(arcs, k=4)
print(time.process_time() - start)
"""
"""The first call in a process; how many edges there are for a node decides which engine it needs."""

# Both engines, both directions, every entry point: all kernels that a user can make Numba compile.
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
    """Run a snippet in a new process; (its CPU seconds with start-up, what it printed)."""
    before = children_cpu()
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"a benchmark process failed: {done.stderr.strip().splitlines()[-1:]}")
    return children_cpu() - before, done.stdout


def fastest(once: Callable[[], float], times: int) -> float:
    """The smallest of several measurements."""
    return min(once() for _ in range(times))


def start_up(times: int = 7) -> dict[str, float]:
    """Import time against NumPy's, first call with an empty cache, a small count with a warm one."""
    numpy, detours, count = (
        fastest(lambda statement=statement: float(python(_IMPORT.format(statement=statement))[1]), times)
        for statement in ("import numpy", "import detours", "from detours import count")
    )
    sparse, thick, everything = map(
        _with_nothing_compiled, (_FIRST.format(nodes=600, share=4), _FIRST.format(nodes=600, share=1), _EVERYTHING)
    )
    with tempfile.TemporaryDirectory() as cache:
        python(_SMALL, NUMBA_CACHE_DIR=cache)
        warm = fastest(lambda: python(_SMALL, NUMBA_CACHE_DIR=cache)[0], max(times // 2, 2))
    return {
        "import numpy": numpy,
        "import detours": detours,
        "from detours import count (NumPy included)": count,
        "import ratio": detours / numpy,
        "first count, a sparse graph": sparse,
        "first count, a thick graph": thick,
        "every kernel compiled": everything,
        "new process: import and count a small graph": warm,
    }


def _with_nothing_compiled(code: str) -> float:
    with tempfile.TemporaryDirectory() as cache:
        return float(python(code, NUMBA_CACHE_DIR=cache)[1])


def peak_memory(what: dict[str, Any]) -> dict[str, float]:
    """Extra bytes at the peak of one count, seconds and the plan's figures, from a process of its own.

    `what` holds k, options, and either the name of a case or a family and a size.
    """
    _, printed = python(f"from benchmarks.peak import main; main({json.dumps(json.dumps(what))})")
    answer: dict[str, float] = json.loads(printed.splitlines()[-1])
    return answer
