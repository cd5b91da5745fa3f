"""The cache of compiled code: shared, damaged, or not available; and what a signal meets."""

import ast
import logging
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

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


def start(folder: Path, value: str) -> subprocess.Popen[str]:
    program = folder / "program.py"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    if not program.exists():  # a changed source would invalidate the cache
        program.write_text(PROGRAM)
    command = [sys.executable, str(program), value]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_concurrent_first_starts_share_the_cache_and_damaged_files_are_compiled_again(tmp_path: Path) -> None:
    outputs = [process.communicate(timeout=120) for process in [start(tmp_path, value) for value in "ifi"]]
    assert outputs == [("4\n", ""), ("3.0\n", ""), ("4\n", "")]
    files = [file for file in (tmp_path / "cache").rglob("*") if file.suffix in (".nbi", ".nbc")]
    assert {file.suffix for file in files} == {".nbi", ".nbc"}
    for file in files:
        if file.suffix == ".nbc":
            content = bytearray(file.read_bytes())
            content[len(content) // 2] ^= 0xFF
            file.write_bytes(content)
    out, err = start(tmp_path, "i").communicate()
    assert out == "4\n" and len(err.splitlines()) == 1 and "is damaged, so it is compiled again" in err
    for file in files:
        if file.suffix == ".nbi":
            file.write_bytes(file.read_bytes()[:-9])
    out, err = start(tmp_path, "i").communicate()
    assert out == "4\n" and len(err.splitlines()) == 1 and "is damaged, so it is compiled again" in err
    assert start(tmp_path, "i").communicate() == ("4\n", "")


CALLER = """
from callee import FACTOR, Pair, first
from detours.compiled import compiled

@compiled
def total(x):
    return later(x) * FACTOR

@compiled
def later(x):
    return first(Pair(x, -x))

if __name__ == "__main__":
    print(total(5), len(total.stats.cache_hits))
"""
CALLEE = """
from typing import NamedTuple
from deepest import shifted
from detours.compiled import compiled

FACTOR = 2

class Pair(NamedTuple):
    one: int
    other: int

@compiled
def first(pair):
    return shifted(pair.one)
"""
DEEPEST = """
from detours.compiled import compiled

@compiled
def shifted(x):
    return x + 1
"""


def test_code_is_compiled_again_when_what_it_calls_has_changed(tmp_path: Path) -> None:
    """A caller is another file, so its own source is the same: as after an upgrade of the package."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    sources = {"caller": CALLER, "callee": CALLEE, "deepest": DEEPEST}

    def result(**changed: tuple[str, str]) -> list[int]:
        for name, (old, new) in changed.items():
            assert old in sources[name]
            sources[name] = sources[name].replace(old, new)
        for name, source in sources.items():
            file = tmp_path / f"{name}.py"
            if not file.exists() or file.read_text() != source:  # older Numba goes by the time of a file
                file.write_text(source)
        command = [sys.executable, "-B", "caller.py"]
        return [int(word) for word in subprocess.check_output(command, cwd=tmp_path, env=environment).split()]

    assert result() == [12, 0]
    assert result() == [12, 1]
    assert result(deepest=("x + 1", "x + 10")) == [30, 0]
    assert result(callee=("FACTOR = 2", "FACTOR = 3")) == [45, 0]
    assert result(callee=("    one: int\n    other: int", "    other: int\n    one: int")) == [15, 0]
    assert result() == [15, 1]


def test_without_a_writable_folder_functions_are_compiled_and_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def nowhere(self: object, function: object) -> None:
        raise RuntimeError("no locator available")

    monkeypatch.setattr(module, "_logged", set())
    monkeypatch.setattr(module._Cache, "__init__", nowhere)
    with caplog.at_level(logging.WARNING, "detours"):
        functions = [compiled(lambda x: x + 1), compiled(lambda x: x + 2)]
    assert [function(np.int64(1)) for function in functions] == [2, 3]
    assert len(caplog.records) == 1 and "cannot be cached" in caplog.text


def test_a_full_disk_is_not_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_logged", set())
    monkeypatch.setattr(module.FunctionCache, "save_overload", full)
    with caplog.at_level(logging.WARNING, "detours"):
        assert compiled(lambda x: x * 3)(2) == 6
    assert "No space left" in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_error_of_a_signal_handler_ends_a_function_with_several_results() -> None:
    @compiled
    def sums(rounds: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        total = np.zeros(1)
        for i in range(rounds):
            total[0] += np.sin(i)
        return total, total.copy()

    def expire(*_: object) -> None:
        raise TimeoutError

    sums(1)
    before = signal.signal(signal.SIGALRM, expire)
    try:
        with pytest.raises(TimeoutError):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            sums(30_000_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_no_compiled_function_returns_a_named_tuple_to_python() -> None:
    """Numba would crash if a signal arrived just then; to other compiled functions they may return one."""
    root = Path(module.__file__).parent
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted(root.rglob("*.py"))}
    named_tuples = {
        node.name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and "NamedTuple" in map(ast.unparse, node.bases)
    }
    returning = {
        (path.stem, node.name)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.returns and "compiled" in map(ast.unparse, node.decorator_list)
        if {each.id for each in ast.walk(node.returns) if isinstance(each, ast.Name)} & named_tuples
    }
    nodes = [node for path, tree in trees.items() if not path.stem.endswith("_numba") for node in ast.walk(tree)]
    imported = {
        ((node.module or "").rpartition(".")[2], name.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    assert returning, "the search finds those that only compiled functions call"
    assert not returning & imported and not {name for _, name in returning} & attributes


def test_compiled_modules_import_what_they_use_by_name() -> None:
    """The cache follows names, not attributes of modules: code that uses those would not be compiled again."""
    source = Path(module.__file__).parent
    files = [file for file in source.rglob("*.py") if "\n@compiled\n" in file.read_text("utf-8")]
    assert len(files) > 20
    for file in files:
        name = ".".join(("detours", *file.relative_to(source).with_suffix("").parts))
        used = [value for value in vars(import_module(name)).values() if isinstance(value, ModuleType)]
        assert [value.__name__ for value in used if value.__name__.startswith("detours")] == [], name
