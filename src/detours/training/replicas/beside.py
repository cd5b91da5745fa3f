"""Evaluation beside training: of copies of the weights, while the next step changes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from detours.training.replicas.capture import Captured

OWN_SEEDS = (2, 7)
"""Since this version of torch, a CUDA graph that draws no random numbers leaves those of others alone."""


class Beside:
    """Work on copies of tensors, on a CUDA device beside all that is asked of it afterwards; else at once, on no copy.

    Small networks leave most of a device idle, so that two kernels take as long as one.

    Args:
        work: What is done; it reads `copies`, and nothing that changes before `wait`.
        current: The tensors to copy, by name.
        device: Where to do it.
    """

    def __init__(self, work: Callable[[], None], current: Mapping[str, Tensor], device: torch.device) -> None:
        self.work = Captured(work, device)
        self.current = dict(current)
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" and torch.__version__ >= OWN_SEEDS else None
        self.copies = self.current
        """What `current` was when the work was last started."""
        if self.stream is not None:
            self.copies = {name: each.clone() for name, each in self.current.items()}
            self.copy = Captured(self._copy, device)

    def start(self) -> None:
        """Begin the work, when that of the last time has ended."""
        if self.stream is None:
            self.work()
            return
        self.wait()
        self.copy()
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.work()
        if self.work.graph is None:  # what is made once, and remembered, is made before anybody else can ask for it
            self.wait()

    def wait(self) -> None:
        """Let all that follows wait until the work has ended."""
        if self.stream is not None:
            torch.cuda.current_stream().wait_stream(self.stream)

    def release(self) -> None:
        """Let go of the work, which may hold whoever holds this; nothing can be started after it. Twice is once."""
        self.wait()
        for name in ("work", "copy"):
            vars(self).pop(name, None)

    def _copy(self) -> None:
        for name, each in self.current.items():
            self.copies[name].copy_(each)
