"""Devices of torch's: whether one that is asked for is there."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from detours.errors import EngineError, InputError, shown


def check_device(device: Any) -> str | None:
    """Return the name of a device that can be used, or say in one sentence why it cannot."""
    if device is None:
        return None
    name = str(device)
    if name.partition(":")[0] not in ("cpu", "cuda"):
        raise InputError(f"device={shown(device)} is not known; choose 'cpu', 'cuda' or 'cuda:0', or leave it out")
    if find_spec("torch") is None:
        raise EngineError(f"device={name!r} needs PyTorch, which is not installed; install it, or leave device out")
    import torch

    try:
        found = torch.device(name)
    except RuntimeError:
        raise InputError(f"device={shown(device)} is not known; choose 'cpu', 'cuda' or 'cuda:0'") from None
    if found.type == "cuda" and not torch.cuda.is_available():
        raise EngineError(
            f"device={name!r} was asked for, but PyTorch finds no CUDA GPU here; leave device out to count on the CPU"
        )
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        raise EngineError(
            f"device={name!r} was asked for, but there are {torch.cuda.device_count()} GPUs, numbered from 0; "
            "choose one of them"
        )
    return name if found.type == "cuda" else found.type
