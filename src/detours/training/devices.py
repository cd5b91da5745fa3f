"""Devices: one CPU or GPU, or several processes that share every step."""

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

# On import, so also in the processes that Lightning starts: its log messages are of no interest to users of detours.
for _name in ("lightning", "lightning.fabric", "lightning.pytorch"):
    logging.getLogger(_name).setLevel(logging.WARNING)


_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # of malloc.h
_DEFAULTS = {_TRIM_THRESHOLD: 1 << 26, _MMAP_MAX: 1 << 16}


@contextmanager
def memory_kept(device: torch.device) -> Iterator[None]:
    """Keep the memory that CPU tensors free in the process, until the block ends.

    Large tensors live for one operation of a step. The C library of Linux would return each to the system, which clears
    every page before it is used again: an epoch of MDNN on Chameleon took 1.4 times as long. (On ARM the allocator of
    torch keeps memory in any case.)
    """
    library = ctypes.CDLL(None) if device.type == "cpu" and sys.platform == "linux" else None
    if library is None or not hasattr(library, "mallopt"):  # another C library
        yield
        return
    library.mallopt(_MMAP_MAX, 0)  # no block by mmap, which free would return to the system
    library.mallopt(_TRIM_THRESHOLD, -1)  # and nothing trimmed from the end of the heap
    try:
        yield
    finally:
        for parameter, value in _DEFAULTS.items():
            library.mallopt(parameter, value)
        library.malloc_trim(0)


@contextmanager
def apart(device: torch.device) -> Iterator[None]:
    """Record gradients in the block, even if the caller has switched that off; after it, random numbers of torch
    continue as if the block had drawn none."""
    gpus = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(gpus), torch.inference_mode(False), torch.enable_grad():
        yield


@contextmanager
def gpu_settings_kept(device: str) -> Iterator[None]:
    """After the block, restore the current GPU and the precision of products, which `fabric_of` sets."""
    if not device.startswith("cuda"):
        yield
        return
    parts = [torch.backends.cuda.matmul, torch.backends.mkldnn.matmul]
    parts = [part for part in parts if hasattr(part, "fp32_precision")]  # since torch 2.9, which follow the old setting
    before = [part.fp32_precision for part in parts]
    try:
        precision = torch.get_float32_matmul_precision()
    except RuntimeError:  # the caller has changed these parts alone
        precision = "highest"
    try:
        # unlike `set_device`, this takes no memory of a GPU that was not used before
        with torch.cuda.device(torch.cuda.current_device()):
            yield
    finally:
        torch.set_float32_matmul_precision(precision)
        for part, value in zip(parts, before, strict=True):
            part.fp32_precision = value


def sent(values: np.ndarray[Any, Any], device: torch.device, dtype: torch.dtype | None = None) -> Tensor:
    """Return the values on the device, in the given dtype, without synchronising: GPUs copy from pinned memory."""
    tensor = torch.from_numpy(values)
    tensor = tensor if dtype is None else tensor.to(dtype)
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def chosen_device(name: torch.device | str) -> str:
    """Return "cpu", "cuda" or "cuda:1" for a device; "auto" is a GPU if there is one."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return check_device(name) or "cpu"


def fabric_of(device: str, precision: str, devices: int = 1) -> Fabric:
    """Return Lightning Fabric for one device or several.

    For several it starts processes, unless torchrun or SLURM has started them already.
    """
    kind, _, number = device.partition(":")
    if kind == "cuda":
        torch.set_float32_matmul_precision("high")  # TF32 in products of 32-bit matrices
        if number and devices > 1:
            raise InputError(f"{device} is one GPU, but {devices} devices were requested; take --device cuda.")
        if torch.cuda.device_count() < devices:
            raise InputError(f"{devices} GPUs were requested, but there are {torch.cuda.device_count()}; take fewer.")
    started = int(os.environ.get("WORLD_SIZE", "1")) if TorchElasticEnvironment.detect() else devices
    if started != devices:
        raise InputError(f"torchrun started {started} processes, but --devices is {devices}; give the same number.")
    if devices == 1:
        index: int | list[int] = [int(number)] if number else devices
        fabric = Fabric(accelerator=kind, devices=index, precision=precision)
        if kind == "cuda":  # streams and CUDA graphs are those of the current device
            torch.cuda.set_device(fabric.device)
        return fabric
    in_slurm = SLURMEnvironment.detect() and os.environ.get("SLURM_NTASKS") == str(devices)
    launched = TorchElasticEnvironment.detect() or in_slurm
    return Fabric(accelerator=kind, devices=devices, strategy="ddp" if launched else "ddp_spawn", precision=precision)
