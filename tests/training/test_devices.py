"""Devices, and the memory of the CPU."""

import subprocess
import sys

import pytest

MEMORY = """
import os, resource, torch
from detours.training.devices import memory_kept

def pages():  # that the system clears for 64 MB which are taken anew four times
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(4):
        torch.zeros(2**24).add_(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

pages()  # torch loads what it needs
usual, before = pages(), resident()
if usual < 100:  # builds of torch for ARM have an allocator that keeps what is freed
    raise SystemExit(77)
with memory_kept(torch.device("cuda")):  # torch itself keeps the memory of a GPU
    assert 2 * pages() > usual
with memory_kept(torch.device("cpu")):
    pages()
    assert 10 * pages() < usual
    assert resident() > before + 2**24
assert resident() < before + 2**24
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep memory in their own way")
def test_memory_is_kept_while_training_and_given_back_after() -> None:
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("this build of torch keeps freed memory itself")
    assert done.returncode == 0, done.stderr
