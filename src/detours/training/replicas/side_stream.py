"""Work beside that of a training step: the evaluation, on copies of the weights that the next step changes, and what
no other part of the step waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from detours.training.replicas.capture import Captured

OWN_SEEDS = (2, 7)
"""Since this version of torch, a CUDA graph without random numbers leaves the random numbers of others alone."""


class SideStream:
    """Work on copies of tensors, concurrently with later work on a CUDA device; elsewhere at once, without copies.

    Small networks leave most of a device idle, so that two kernels take as long as one.

    Args:
        work: What is done; it reads `copies`, and nothing that changes before `wait`.
        tensors: The tensors to copy, by name.
        device: Where to do it.
    """

    def __init__(self, work: Callable[[], None], tensors: Mapping[str, Tensor], device: torch.device) -> None:
        self.work = Captured(work, device)
        self.tensors = dict(tensors)
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" and torch.__version__ >= OWN_SEEDS else None
        self.copies = self.tensors
        """The values of `tensors` when the work was last started."""
        if self.stream is not None:
            self.copies = {name: each.clone() for name, each in self.tensors.items()}
            self.copy = Captured(self._copy, device)

    def start(self) -> None:
        """Start the work, after that of the last call has ended."""
        if self.stream is None:
            self.work()
            return
        self.wait()
        self.copy()
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.work()
        if self.work.graph is None:  # caches are filled before anything else on the device can use them
            self.wait()

    def wait(self) -> None:
        """Let everything that follows on the current stream wait for the work."""
        if self.stream is not None:
            torch.cuda.current_stream().wait_stream(self.stream)

    def release(self) -> None:
        """Drop the work, which may refer to the owner of this object; nothing can be started afterwards."""
        self.wait()
        for name in ("work", "copy"):
            vars(self).pop(name, None)

    def _copy(self) -> None:
        for name, each in self.tensors.items():
            self.copies[name].copy_(each)


class Fork:
    """A second stream of a CUDA device for a part of some work that is not needed before its end; elsewhere the part
    is done at once. Both may be captured as one CUDA graph."""

    def __init__(self, device: torch.device) -> None:
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Do what is in the block concurrently with what follows, until `join`. The tensors that it reads must live
        until then."""
        if self.stream is None:
            yield
            return
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            yield

    def join(self) -> None:
        """Let everything that follows wait for the block."""
        if self.stream is not None:
            torch.cuda.current_stream().wait_stream(self.stream)
