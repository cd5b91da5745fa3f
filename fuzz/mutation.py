"""Changed files of every format, folders, models and arguments: each must be read, or refused in one sentence.

A case is a file or folder of tests/corpus that is changed at random and then read. Failures are a crash, an exception
that is not of this library, a hang of ten seconds, and high memory use.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
import tempfile
import warnings
import zlib
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import fuzz.targets
from fuzz.mutate import change, with_correct_checksums
from fuzz.running import CORPUS, Outcome, Unit, parser, run

MEMORY = Path("/dev/shm")
MAX_MEMORY = 300 << 20  # bytes for reading a small file
SECONDS = 10
TRIES = 300  # for minimising a failing file
LEARNING = ("model", "checkpoint", "own")
WEIGHTS = {"graph": 10, "saved": 4, "counts": 3, "cell": 1}
"""Relative frequency of each kind; 1 for those not listed."""


class Input(NamedTuple):
    """A file, or the files of a folder by relative path."""

    kind: str
    name: str
    files: dict[str, bytes]
    """{"": content} for a file."""


@cache
def seeds(kind: str) -> list[Input]:
    """Return the inputs of one kind in the corpus."""
    inputs = []
    for path in sorted((CORPUS / kind).iterdir()):
        files = {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}
        inputs.append(Input(kind, path.name, files if path.is_dir() else {"": path.read_bytes()}))
    return inputs


@cache
def kinds() -> list[str]:
    """Return the kinds of inputs; those that need PyTorch only if it is installed."""
    try:
        import torch_geometric  # noqa: F401

        skipped: tuple[str, ...] = ()
    except ImportError:
        skipped = LEARNING
    return [kind for kind in fuzz.targets.TARGETS if kind not in skipped]


def changed_input(unit: Unit) -> Input:
    """Return the changed input of a unit."""
    random = Random(str(unit))
    kind = random.choices(kinds(), [WEIGHTS.get(kind, 1) for kind in kinds()])[0]
    given = random.choice(seeds(kind))
    files = dict(given.files)
    name = random.choice(sorted(files))
    others = [content for other in seeds(kind) for content in other.files.values()]
    files[name] = change(random, name or given.name, files[name], others)
    for manifest in ("graph.json", "manifest.json"):
        if manifest in files and name != manifest and random.random() < 0.7:
            files[manifest] = with_correct_checksums(files[manifest], files)
    if name and random.random() < 0.03:
        del files[name]
    return Input(kind, given.name, files)


@contextmanager
def written(given: Input) -> Iterator[Path]:
    """Write an input to a temporary folder and yield its path."""
    folder = Path(tempfile.mkdtemp(prefix="detours-fuzz-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        path = folder / given.name
        for name, content in given.files.items():
            file = path / name if name else path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        if not path.exists():  # a folder without files
            path.mkdir()
        yield path
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_input(unit: Unit, options: Namespace) -> Outcome:
    """Change an input and read it."""
    warnings.simplefilter("ignore")
    given = changed_input(unit)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with written(given) as path:
        says = fuzz.targets.attempt(given.kind, path)
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    tried = {"cases": 1, given.kind + (Path(given.name).suffix if given.kind == "graph" else ""): 1}
    failures = []
    if says:
        failures.append({"kind": "traceback", "says": f"{given.kind} {given.name}: {says}"})
    if growth > MAX_MEMORY:
        failures.append({"kind": "memory", "says": f"{given.kind} {given.name}: {growth >> 20} MB"})
    return Outcome(tried, failures)


def prepare() -> None:
    """Read the corpus once, so that compiling and importing do not delay any case."""
    for kind in kinds():
        for given in seeds(kind):
            with written(given) as path:
                fuzz.targets.attempt(kind, path)


# ---------------------------------------------------------------- failures


def keep_failure(unit: Unit, out: Path | None) -> str:
    """Minimise the input of a failing unit, write it to the corpus or to `out`, and return its path."""
    given = changed_input(unit)
    failure = _failure_of(given)
    for name in sorted(given.files) if failure else []:
        given = _minimised(given, name, failure)
    digest = zlib.crc32(b"".join(given.files.values()))
    path = (out or CORPUS) / given.kind / f"_{digest:08x}-{given.name}"
    for name, content in given.files.items():
        file = path / name if name else path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return str(path)


def _minimised(given: Input, name: str, failure: str) -> Input:
    """Remove pieces of a file as long as the input fails in the same way."""
    content, size, tries = given.files[name], len(given.files[name]) // 2, 0
    while size and tries < TRIES:
        start = 0
        while start < len(content) and tries < TRIES:
            shorter = content[:start] + content[start + size :]
            tries += 1
            if _failure_of(given._replace(files={**given.files, name: shorter})) == failure:
                content = shorter
            else:
                start += size
        size //= 2
    return given._replace(files={**given.files, name: content})


def _failure_of(given: Input) -> str:
    """Read an input in a forked process; return the signal, or the type and position of the exception, if it fails."""
    with written(given) as path:
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            signal.alarm(SECONDS)
            says = fuzz.targets.attempt(given.kind, path)
            failure = f"{says.partition(':')[0]} {says.rpartition('(')[2]}" if says else ""
            os.write(writing, failure.encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            failure = pipe.read().decode()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return failure if code == 0 else f"code {code}"


def main() -> int:
    options = parser(__doc__ or "").parse_args()
    return run("mutation", check_input, options, hang=SECONDS, prepare=prepare, keep=keep_failure)


if __name__ == "__main__":
    sys.exit(main())
