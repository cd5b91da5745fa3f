"""A function without arguments as a CUDA graph, which is captured in the third call and replayed from then on."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from detours.nn.fused.choice import same_arcs

WARM_UP = 2
"""Calls before the capture, in which libraries initialise themselves."""


class Captured:
    """A function that always works on the same tensors: as one CUDA graph on a CUDA device, elsewhere called directly.

    Args:
        work: The function; it neither synchronises nor changes the shape of anything, and the arcs and tokens that it
            does not create itself are always the same.
        device: Where it runs.
    """

    def __init__(self, work: Callable[[], None], device: torch.device) -> None:
        self.work = work
        self.calls = 0
        self.graph: torch.cuda.CUDAGraph | None = None
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    def __call__(self) -> None:
        self.calls += 1
        if self.stream is None:
            self.work()
            return
        if self.calls <= WARM_UP:
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                self.work()
            torch.cuda.current_stream().wait_stream(self.stream)
            return
        if self.graph is None:
            graph = torch.cuda.CUDAGraph()
            with same_arcs(), no_collection(), torch.cuda.graph(graph, stream=self.stream):
                self.work()
            self.graph = graph
        self.graph.replay()


@contextmanager
def no_collection() -> Iterator[None]:
    """Disable Python's garbage collector in the block: if it freed the CUDA graph of an earlier training within a
    capture, the capture would fail."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
