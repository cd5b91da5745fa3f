"""Devices, and the memory of the CPU."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")

from detours.training import fit  # noqa: E402
from detours.training.devices import apart, gpu_settings_kept  # noqa: E402
from tests.training.cases import task  # noqa: E402

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
    # the first blocks are new, and so is one more whenever a small allocation splits a free one
    assert 10 * min(pages() for _ in range(5)) < usual
    assert resident() > before + 2**24
assert resident() < before + 2**24
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep memory in their own way")
def test_memory_is_kept_while_training_and_given_back_after() -> None:
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("this build of torch keeps freed memory itself")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def products() -> Iterator[Any]:
    """The precision of products on a GPU by itself, which torch has since 2.9."""
    products = torch.backends.cuda.matmul
    if not hasattr(products, "fp32_precision"):
        pytest.skip("this torch has one setting for the precision of products")
    before = products.fp32_precision
    yield products
    products.fp32_precision = before


def test_settings_of_a_gpu_are_restored(monkeypatch: pytest.MonkeyPatch, products: Any) -> None:
    kept = []
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(torch.cuda, "device", lambda index: (kept.append(index), nullcontext())[1])
    for setting in (products.fp32_precision, "tf32", "ieee"):
        products.fp32_precision = setting
        with pytest.raises(ValueError, match="within"), gpu_settings_kept("cuda:0"):
            torch.set_float32_matmul_precision("high")
            raise ValueError("within")
        assert products.fp32_precision == setting
    with gpu_settings_kept("cpu"):
        pass
    assert kept == [1, 1, 1]


def test_random_numbers_continue_after_an_error() -> None:
    state = torch.get_rng_state()
    with pytest.raises(ValueError, match="within"), apart(torch.device("cpu")):
        torch.manual_seed(1)
        raise ValueError("within")
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_random_numbers_of_a_gpu_continue(device: str) -> None:
    torch.cuda.manual_seed(5)
    drawn = torch.rand(3, device="cuda")
    torch.cuda.manual_seed(5)
    before = torch.get_float32_matmul_precision(), torch.cuda.current_device()
    fit(task(20), folds=[0], epochs=5, hidden=8, layers=1, dropout=0.2, device=device)
    assert torch.equal(torch.rand(3, device="cuda"), drawn)
    assert before == (torch.get_float32_matmul_precision(), torch.cuda.current_device())
