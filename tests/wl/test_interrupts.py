"""Ctrl-C at any moment of a test ends it with `KeyboardInterrupt`: compiled code does not crash the interpreter."""

import subprocess
import sys

import pytest

PROGRAM = """
import signal

import networkx as nx

from detours import wl
from detours.data import hard

fired = 0

def fire(*_):
    global fired
    fired += 1
    raise KeyboardInterrupt

first, second = hard.cfi_pair(nx.complete_bipartite_graph(3, 3))
path = nx.path_graph(500)
copies = hard.cfi_pair(nx.random_regular_graph(3, 20, seed=1))[0]
works = [
    lambda: wl.certificate(copies, init="degree", individualise="mark"),
    lambda: wl.certificate(first, init="degree", individualise="delete"),
    lambda: wl.certificate(path, init="den", edges="den", rounds=20),
    lambda: wl.same(path, path, init="degree"),
    lambda: wl.separate(first, second),
]
for work in works:
    work()
signal.signal(signal.SIGALRM, fire)
for work in works:
    for attempt in range(8):
        before = fired
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.01 + 0.0037 * attempt)
            while fired == before:  # an error raised in a callback of the garbage collector is lost
                work()
        except KeyboardInterrupt:
            pass
print(fired)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_signals_do_not_crash_the_interpreter() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "40\n"), done.stderr
