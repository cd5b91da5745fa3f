"""Argument checks: return the value, or raise an error that says which argument, what is allowed and what was given.

>>> check_integer("folds", 1, minimum=2)
Traceback (most recent call last):
    ...
detours.errors.InputError: folds must be an integer of at least 2, but it is 1.
"""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Collection
from importlib.util import find_spec
from numbers import Real
from pathlib import Path
from typing import Any, NoReturn

from detours.errors import EngineError, InputError, short_repr

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def check_integer(
    name: str, value: object, minimum: int | None = None, maximum: int | None = None, *, otherwise: str = ""
) -> int:
    """Return `value` as an int, or raise `InputError` unless it is an integer within the bounds.

    Args:
        name: The argument, as the message names it.
        value: The value given. NumPy integers are accepted, bools are not.
        minimum: The smallest value allowed.
        maximum: The largest value allowed.
        otherwise: Another value that the caller allows, and what it means, such as "None for no limit".

    >>> check_integer("seed", 3, minimum=0)
    3
    """
    number = _as_integer(value)
    if number is None or (minimum is not None and number < minimum) or (maximum is not None and number > maximum):
        if minimum is not None and maximum is not None:
            bounds = f" from {minimum} to {maximum}"
        else:
            bounds = "" if minimum is None else f" of at least {minimum}"
            bounds += "" if maximum is None else f" of at most {maximum}"
        _refuse(name, f"an integer{bounds}", value, otherwise)
    return number


def check_k(k: object) -> int:
    """Return `k` as an int, or raise `InputError` unless it is an integer of at least 2."""
    return check_integer("k, the most edges a detour may have,", k, minimum=2)


def check_jobs(n_jobs: object) -> int:
    """Return the number of threads; -1 stands for all available cores."""
    if _as_integer(n_jobs) != -1:
        return check_integer("n_jobs", n_jobs, minimum=1, otherwise="-1 for all cores")
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_number(
    name: str,
    value: object,
    *,
    above: float | None = None,
    minimum: float | None = None,
    below: float | None = None,
    otherwise: str = "",
) -> float:
    """Return `value` as a float, or raise `InputError` unless it is a finite number within the bounds.

    >>> check_number("dropout", 0.5, minimum=0, below=1)
    0.5
    """
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if (
        not math.isfinite(number)
        or (above is not None and not number > above)
        or (minimum is not None and not number >= minimum)
        or (below is not None and not number < below)
    ):
        bounds = [
            f"{word} {bound}"
            for word, bound in (("above", above), ("of at least", minimum), ("below", below))
            if bound is not None
        ]
        _refuse(name, " ".join(["a number", " and ".join(bounds)]).strip(), value, otherwise)
    return number


def check_choice(name: str, value: object, allowed: Collection[str | None], *, hint: str = "") -> None:
    """Raise `InputError` unless `value` is one of the allowed strings, or None where that is allowed.

    ``hint`` is appended to the message as it is, so it starts with its own punctuation.

    >>> check_choice("pool", "max", ("max", "mean"))
    """
    # Not `value in allowed`: an array given by mistake would be compared element by element.
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in allowed):
        _refuse(name, f"one of {', '.join(map(repr, allowed))}", value, hint=hint)


def check_flag(name: str, value: Any, *, otherwise: str = "", hint: str = "") -> bool:
    """Return `value`, a bool of Python or NumPy, 1 or 0, as a bool, or raise `InputError`.

    Strings are refused, since ``bool("no")`` is True. ``hint`` is appended to the message as it is, so it starts with
    its own punctuation.

    >>> check_flag("strict", "no")
    Traceback (most recent call last):
        ...
    detours.errors.InputError: strict must be True or False, but it is 'no'.
    """
    numpy_bool = type(value).__name__ in ("bool", "bool_")  # without importing NumPy for it
    if not (numpy_bool or isinstance(value, int)) or value not in (0, 1):
        _refuse(name, "True or False", value, otherwise, hint)
    return bool(value)


def check_path(name: str, value: Any) -> Path:
    """Return `value`, a string or another path, as a `Path`, or raise `InputError`; an empty string is refused.

    >>> check_path("out", 5)
    Traceback (most recent call last):
        ...
    detours.errors.InputError: out must be a path, as a string or a pathlib.Path, but it is 5.
    """
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str) or not os.fspath(value):
        _refuse(name, "a path, as a string or a pathlib.Path", value)
    return Path(value)


def parse_bytes(limit: object, name: str = "memory_limit") -> int | None:
    """Return a size in bytes from an integer or a string such as "2GB" or "512 MiB"; None (no limit) stays None.

    >>> parse_bytes("2KB"), parse_bytes("1,020 MB")  # as `readable_bytes` writes it
    (2048, 1069547520)
    """
    if limit is None:
        return None
    size = 0.0
    if isinstance(limit, str):
        text = limit.strip().upper().removesuffix("B").removesuffix("I").strip()
        unit = text[-1:] if text[-1:] in _UNITS else ""
        try:
            size = float(re.sub(r"^(\d{1,3}),(\d{3})(?!\d)", r"\1\2", text.removesuffix(unit))) * _UNITS[unit]
        except ValueError:
            size = 0.0
    elif isinstance(limit, Real) and not isinstance(limit, bool):
        size = float(limit)
    if not 1 <= size < math.inf:
        _refuse(name, "a positive number of bytes or a string such as '2GB'", limit)
    return int(size)


def readable_bytes(size: float) -> str:
    """Return a size with its unit.

    >>> readable_bytes(3 * 2**19), readable_bytes(1020 * 2**20)
    ('1.5 MB', '1,020 MB')
    """
    units = ["TB", "GB", "MB", "KB", "B"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop()
    return f"{size:.3g} {units[-1]}" if size < 999.5 else f"{size:,.0f} {units[-1]}"


def check_device(device: Any) -> str | None:
    """Return the name of an available PyTorch device, or None if none is given."""
    if device is None:
        return None
    name = str(device)
    allowed = "'cpu', 'cuda' or, for one of several GPUs, 'cuda:0'"
    if name.partition(":")[0] not in ("cpu", "cuda"):
        _refuse("device", allowed, device)
    if find_spec("torch") is None:
        raise EngineError(f"device={name!r} needs PyTorch, which is not installed; install it, or leave device out.")
    import torch

    try:
        parsed = torch.device(name)
    except RuntimeError:
        _refuse("device", allowed, device)
    if parsed.type == "cpu":
        return "cpu" if parsed.index is None else _refuse("device", allowed, device)
    if not torch.cuda.is_available():
        raise EngineError(f"device={name!r} was given, but PyTorch finds no CUDA GPU; use the CPU.")
    if (parsed.index or 0) >= torch.cuda.device_count():
        raise EngineError(
            f"device={name!r} was given, but there are {torch.cuda.device_count()} GPUs, numbered from 0; "
            "choose one of them."
        )
    return name


def _as_integer(value: Any) -> int | None:
    try:
        # NumPy's bool_ has no __index__, so only the built-in bool needs this check.
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def _refuse(name: str, allowed: str, value: object, otherwise: str = "", hint: str = "") -> NoReturn:
    alternative = f", or {otherwise}" if otherwise else ""
    raise InputError(f"{name} must be {allowed}{alternative}, but it is {short_repr(value)}{hint}.")
