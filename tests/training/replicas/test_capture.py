"""Captured work: what runs as a CUDA graph, and that nothing else runs while it is recorded."""

import gc

import pytest
import torch

from detours.training.replicas.capture import Captured, no_collection

CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def test_work_on_a_cpu_is_done_at_every_call():
    calls = []
    work = Captured(lambda: calls.append(1), torch.device("cpu"))
    for _ in range(4):
        work()
    assert len(calls) == 4


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_rests_in_a_capture_and_is_then_as_it_was(enabled):
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with pytest.raises(ValueError, match="within"), no_collection():
            assert not gc.isenabled()
            raise ValueError("within")
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


@CUDA
def test_a_graph_that_is_dropped_does_not_disturb_the_next_capture():
    """Found by a search of many trainings in one process: the collector freed the graphs of an earlier one."""
    device, total = torch.device("cuda"), torch.zeros(1, device="cuda")

    def captured(work):
        found = Captured(work, device)
        for _ in range(3):
            found()
        return found

    old = captured(lambda: total.add_(1))
    old.cycle = old  # only the collector can free it
    del old

    def busy():
        kept = [[] for _ in range(100_000)]  # enough containers for the collector to run many times
        total.add_(len(kept[0]) + 1)

    captured(busy)
    assert total.item() == 6
