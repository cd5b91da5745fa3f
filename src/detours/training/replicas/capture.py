"""A function without arguments as a CUDA graph: launched as a whole from the third call on."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from detours.nn.fused.choice import same_arcs

WARM_UP = 2
"""Calls before the capture: libraries set themselves up in the first ones."""


class Captured:
    """A function that always works on the same tensors, on a CUDA device as one CUDA graph, else as it is.

    Args:
        work: What it does; it neither waits for the device nor changes the shape of anything, and the arcs and tokens
            that it does not make itself are always the same.
        device: Where it does it.
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
    """Keep Python's collector from running in the block: a graph of an earlier training that it freed within a capture
    would end the capture with an error."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
