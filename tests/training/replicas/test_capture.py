"""Captured work: what runs as a CUDA graph, and that nothing is freed while it is recorded."""

import gc
import weakref
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from detours.training.replicas import capture
from detours.training.replicas.capture import WARM_UP, Captured, no_collection


def test_work_on_a_cpu_is_called_directly() -> None:
    calls: list[int] = []
    work = Captured(lambda: calls.append(1), torch.device("cpu"))
    for _ in range(4):
        work()
    assert len(calls) == 4


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_disabled_in_a_block_and_then_restored(enabled: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with pytest.raises(ValueError, match="within"), no_collection():
            assert not gc.isenabled()
            raise ValueError("within")
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


class Ring:
    """Refers to itself, so that only the collector can free it and what it holds."""

    def __init__(self, held: object) -> None:
        self.held, self.itself = held, self


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> torch.device:
    """A CUDA device; where there is none, as much of one as a capture asks for."""
    if not torch.cuda.is_available():
        stream = SimpleNamespace(wait_stream=lambda _: None)
        graph = SimpleNamespace(replay=lambda: None)
        fakes = {
            "Stream": lambda _: stream,
            "current_stream": lambda: stream,
            "stream": nullcontext,
            "CUDAGraph": lambda: graph,
            "graph": lambda *_, **__: nullcontext(),
        }
        for name, fake in fakes.items():
            monkeypatch.setattr(capture.torch.cuda, name, fake)
    return torch.device("cuda")


def test_a_graph_that_is_dropped_is_not_freed_within_the_next_capture(device: torch.device) -> None:
    """Found by a search of many trainings in one process: freeing a CUDA graph makes the capture fail."""

    def captured(work: object) -> Captured:
        found = Captured(work, device)  # type: ignore[arg-type]
        for _ in range(WARM_UP + 1):
            found()
        return found

    number = torch.zeros(1, device="cuda" if torch.cuda.is_available() else "cpu")
    earlier = [captured(lambda: number.add_(1))]
    calls, freed, freed_within = [], [], []

    def drop_and_fill() -> None:
        calls.append(1)
        if len(calls) > WARM_UP:
            ring = Ring(earlier.pop())
            weakref.finalize(ring, freed.append, True)
            del ring
        number.add_(len([[] for _ in range(100_000)]))  # enough containers for the collector to run many times
        freed_within.extend(freed)

    captured(drop_and_fill)
    assert len(calls) == WARM_UP + 1 and not earlier and not freed_within
    gc.collect()
    assert freed
