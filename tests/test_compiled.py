"""The cache of compiled code: shared, damaged, and where there is none."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from detours import compiled as module
from detours.compiled import compiled

PROGRAM = """
import sys
from detours.compiled import compiled

@compiled
def double(x):
    return x + x

print(double(1.5 if sys.argv[1] == "f" else 2))
"""


def started(folder: Path, value: str) -> subprocess.Popen[str]:
    program = folder / "program.py"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    if not program.exists():  # the cache is for a source that does not change
        program.write_text(PROGRAM)
    command = [sys.executable, str(program), value]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_several_first_starts_share_the_cache(tmp_path: Path) -> None:
    found = [one.communicate(timeout=120) for one in [started(tmp_path, value) for value in "ififif"]]
    assert [out for out, _ in found] == ["4\n", "3.0\n"] * 3, found
    assert {err for _, err in found} == {""}
    assert [started(tmp_path, value).communicate()[0] for value in "if"] == ["4\n", "3.0\n"]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_damaged_files_are_compiled_anew_and_told_once(tmp_path: Path, ending: str) -> None:
    assert started(tmp_path, "i").communicate()[0] == "4\n"
    files = list((tmp_path / "cache").rglob(f"*.{ending}"))
    assert files
    for file in files:
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 0xFF
        file.write_bytes(content[: len(content) - 7])
    out, err = started(tmp_path, "i").communicate()
    assert out == "4\n" and len(err.splitlines()) == 1 and "is damaged, and compiled anew" in err
    assert started(tmp_path, "i").communicate() == ("4\n", "")


def test_without_a_folder_to_write_to_functions_are_compiled_and_the_log_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def nowhere(self: object, function: object) -> None:
        raise RuntimeError("no locator available")

    monkeypatch.setattr(module, "_said", set())
    monkeypatch.setattr(module._Cache, "__init__", nowhere)
    with caplog.at_level(logging.WARNING, "detours"):
        functions = [compiled(lambda x: x + 1), compiled(lambda x: x + 2)]
    assert [function(np.int64(1)) for function in functions] == [2, 3]
    assert len(caplog.records) == 1 and "cannot be kept" in caplog.text


def test_a_disk_that_becomes_full_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_said", set())
    monkeypatch.setattr(module.FunctionCache, "save_overload", full)
    with caplog.at_level(logging.WARNING, "detours"):
        assert compiled(lambda x: x * 3)(2) == 6
    assert "No space left" in caplog.text
