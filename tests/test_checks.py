import math
from pathlib import Path

import numpy as np
import pytest

from detours import checks
from detours.checks import (
    check_choice,
    check_device,
    check_flag,
    check_integer,
    check_jobs,
    check_k,
    check_number,
    check_path,
    parse_bytes,
    readable_bytes,
)
from detours.errors import EngineError, InputError


@pytest.mark.parametrize("k", [2, 9, 1000, np.int32(4), np.uint8(3)])
def test_k_is_accepted_and_becomes_an_int(k: object) -> None:
    assert check_k(k) == k
    assert type(check_k(k)) is int


@pytest.mark.parametrize("k", [1, 0, -3, 2.5, 4.0, "4", True, False, None, [4], np.bool_(True), np.float64(3)])
def test_other_k_are_refused(k: object) -> None:
    with pytest.raises(InputError) as caught:
        check_k(k)
    assert str(caught.value) == (
        f"k, the most edges a detour may have, must be an integer of at least 2, but it is {k!r}."
    )


@pytest.mark.parametrize(
    ("value", "bounds", "message"),
    [
        (1.5, {}, "size must be an integer, but it is 1.5."),
        (5, {"maximum": 4}, "size must be an integer of at most 4, but it is 5."),
        (5, {"minimum": 0, "maximum": 4}, "size must be an integer from 0 to 4, but it is 5."),
        (
            -1,
            {"minimum": 0, "otherwise": "None for no limit"},
            "size must be an integer of at least 0, or None for no limit, but it is -1.",
        ),
    ],
)
def test_the_message_names_the_bounds(value: object, bounds: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_integer("size", value, **bounds)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_bounds_are_inclusive() -> None:
    assert [check_integer("size", value, minimum=-1, maximum=1) for value in (-1, np.int64(0), 1)] == [-1, 0, 1]


@pytest.mark.parametrize("value", [0, -1.5, math.nan, math.inf, "1", True, None, 1])
def test_numbers_out_of_bounds(value: object) -> None:
    with pytest.raises(InputError, match=f"rate must be a number above 0 and below 1, but it is {value!r}"):
        check_number("rate", value, above=0, below=1)


def test_numbers() -> None:
    assert check_number("rate", np.float32(0.5), above=0, below=1) == 0.5
    assert check_number("rate", 0, minimum=0) == 0.0
    assert check_number("rate", -3) == -3.0


@pytest.mark.parametrize("value", ["min", None, 3, ["max"], np.array(["max", "mean"])])
def test_choices(value: object) -> None:
    check_choice("pool", "max", ("max", "mean"))
    check_choice("pool", None, ("max", None))
    with pytest.raises(InputError, match="pool must be one of 'max', 'mean', but it is"):
        check_choice("pool", value, ("max", "mean"))


def test_flags() -> None:
    assert [check_flag("strict", value) for value in (True, 1, np.bool_(True), 0, np.bool_(False))] == [True] * 3 + [
        False
    ] * 2
    for wrong in ("no", 2, None, 1.0, [], np.array([True, False])):
        with pytest.raises(InputError, match=r"^strict must be True or False, but it is .*; leave it out\.$"):
            check_flag("strict", wrong, hint="; leave it out")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (None, None),
        (1000, 1000),
        ("1000", 1000),
        ("2KB", 2048),
        ("1.5 MiB", 1_572_864),
        ("2gb", 2**31),
        ("1,023 KB", 1023 * 2**10),
        (2.5e6, 2_500_000),
        (np.int64(9), 9),
    ],
)
def test_sizes(text: object, size: int | None) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1", "1,5GB", "1,0235KB", 0, -5, "two", math.nan, math.inf, True])
def test_wrong_sizes(text: object) -> None:
    with pytest.raises(InputError, match="memory_limit must be a positive number of bytes or a string such as '2GB'"):
        parse_bytes(text)


def test_readable_sizes() -> None:
    powers = [readable_bytes(2**power) for power in (0, 10, 21, 33, 43, 55)]
    assert powers == ["1 B", "1 KB", "2 MB", "8 GB", "8 TB", "32,768 TB"]
    assert [readable_bytes(size) for size in (999, 1000, 1023 * 2**10)] == ["999 B", "1,000 B", "1,023 KB"]


def test_paths() -> None:
    for path in ("counts", Path("counts")):
        assert check_path("out", path) == Path("counts")
    for wrong in (5, b"counts", "", None, ["counts"]):
        with pytest.raises(InputError, match=r"^out must be a path, as a string or a pathlib\.Path, but it is .*\.$"):
            check_path("out", wrong)


def test_jobs() -> None:
    assert check_jobs(3) == 3
    assert check_jobs(-1) >= 1
    for wrong in (0, -2, 1.5, "2", True, None):
        with pytest.raises(InputError, match="n_jobs must be an integer of at least 1, or -1 for all cores"):
            check_jobs(wrong)


@pytest.mark.parametrize("device", ["tpu", "cuda:x", 3, "", "gpu", "cpu:1"])
def test_unknown_devices(device: object) -> None:
    pytest.importorskip("torch")
    with pytest.raises(InputError, match="device must be 'cpu', 'cuda' or"):
        check_device(device)


def test_devices() -> None:
    torch = pytest.importorskip("torch")
    assert check_device(None) is None
    assert check_device("cpu") == "cpu"
    assert check_device(torch.device("cpu")) == "cpu"


def test_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for device in ("cuda", "cuda:1", torch.device("cuda")):
        with pytest.raises(EngineError, match="PyTorch finds no CUDA GPU; use the CPU"):
            check_device(device)


def test_fewer_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert check_device("cuda:1") == "cuda:1"
    with pytest.raises(EngineError, match="there are 2 GPUs, numbered from 0"):
        check_device("cuda:2")


def test_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "find_spec", lambda name: None)
    with pytest.raises(EngineError, match="needs PyTorch, which is not installed"):
        check_device("cuda")
