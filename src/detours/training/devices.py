"""Where a run trains: one CPU or GPU, or several processes that share every step."""

from __future__ import annotations

import ctypes
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from lightning.fabric import Fabric
from lightning.fabric.plugins.environments import SLURMEnvironment, TorchElasticEnvironment
from torch import Tensor

from detours.checks import check_device
from detours.errors import InputError

# When this is imported, so also in the processes that Lightning starts: what it has to say is no news to our user.
for _name in ("lightning", "lightning.fabric", "lightning.pytorch"):
    logging.getLogger(_name).setLevel(logging.WARNING)


_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # of malloc.h
_USUAL = {_TRIM_THRESHOLD: 1 << 26, _MMAP_MAX: 1 << 16}


@contextmanager
def memory_kept(device: torch.device) -> Iterator[None]:
    """While it is active, memory that tensors of a CPU free stays with the process, and is given back in the end.

    Large tensors live for one operation of a step. The C library of Linux would give each back to the system, which
    clears every page before the next one has it: an epoch of MDNN on Chameleon took 1.4 times as long. (On ARM torch
    has an allocator of its own, which keeps memory always.)
    """
    library = ctypes.CDLL(None) if device.type == "cpu" and sys.platform == "linux" else None
    if library is None or not hasattr(library, "mallopt"):  # of another C library
        yield
        return
    library.mallopt(_MMAP_MAX, 0)  # no block apart, which is given back when it is freed
    library.mallopt(_TRIM_THRESHOLD, -1)  # and none of those at the end of the heap
    try:
        yield
    finally:
        for parameter, value in _USUAL.items():
            library.mallopt(parameter, value)
        library.malloc_trim(0)


def sent(values: np.ndarray[Any, Any], device: torch.device, dtype: torch.dtype | None = None) -> Tensor:
    """Return the values on the device, of the dtype given; nothing waits for a GPU, not even for memory to be read."""
    tensor = torch.from_numpy(values)
    tensor = tensor if dtype is None else tensor.to(dtype)
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def chosen_device(name: torch.device | str) -> str:
    """ "cpu", "cuda" or "cuda:1" for the device given; "auto" takes a GPU where there is one."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return check_device(name) or "cpu"


def fabric_of(device: str, precision: str, devices: int = 1) -> Fabric:
    """Lightning Fabric for one device or several.

    Several are started here as processes, unless torchrun or SLURM has started them already.
    """
    kind, _, number = device.partition(":")
    if kind == "cuda":
        torch.set_float32_matmul_precision("high")  # TF32 in products of 32-bit matrices
        if number and devices > 1:
            raise InputError(f"{device} is one GPU, but {devices} devices were asked for; take --device cuda.")
        if torch.cuda.device_count() < devices:
            raise InputError(f"{devices} GPUs were asked for, but there are {torch.cuda.device_count()}; take fewer.")
    started = int(os.environ.get("WORLD_SIZE", "1")) if TorchElasticEnvironment.detect() else devices
    if started != devices:
        raise InputError(f"torchrun started {started} processes, but --devices is {devices}; give the same number.")
    placed: int | list[int] = [int(number)] if number else devices
    if devices == 1:
        fabric = Fabric(accelerator=kind, devices=placed, precision=precision)
        if kind == "cuda":  # streams and CUDA graphs are those of the current device
            torch.cuda.set_device(fabric.device)
        return fabric
    in_slurm = SLURMEnvironment.detect() and os.environ.get("SLURM_NTASKS") == str(devices)
    outside = TorchElasticEnvironment.detect() or in_slurm
    return Fabric(accelerator=kind, devices=devices, strategy="ddp" if outside else "ddp_spawn", precision=precision)
