"""Changed files of every format, folders, models and arguments: each is read, or refused in one sentence.

A case is a file or folder of tests/corpus, changed in a random way, and given to what reads it. A crash, an exception
that is not of this library, no answer for ten seconds and much memory are failures.
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
from fuzz.mutate import change, with_right_checksums
from fuzz.running import CORPUS, Outcome, Unit, parser, run

MEMORY = Path("/dev/shm")
MOST_MEMORY = 300 << 20  # bytes that no small file may cost
SECONDS = 10
TRIES = 300  # to make a failing file smaller
LEARNING = ("model", "checkpoint", "own")
WEIGHTS = {"graph": 10, "saved": 4, "counts": 3, "cell": 1}
"""How often a kind is chosen; 1 for those not listed."""


class Input(NamedTuple):
    """A file, or the files of a folder by their paths in it."""

    kind: str
    name: str
    files: dict[str, bytes]
    """{"": content} for a file."""


@cache
def seeds(kind: str) -> list[Input]:
    """Return the inputs of the corpus of a kind."""
    found = []
    for path in sorted((CORPUS / kind).iterdir()):
        files = {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}
        found.append(Input(kind, path.name, files if path.is_dir() else {"": path.read_bytes()}))
    return found


@cache
def kinds() -> list[str]:
    """Return the kinds of the corpus, without those that need PyTorch where there is none."""
    try:
        import torch_geometric  # noqa: F401

        without: tuple[str, ...] = ()
    except ImportError:
        without = LEARNING
    return [kind for kind in fuzz.targets.TARGETS if kind not in without]


def changed_input(unit: Unit) -> Input:
    """Return the input of a unit."""
    random = Random(str(unit))
    kind = random.choices(kinds(), [WEIGHTS.get(kind, 1) for kind in kinds()])[0]
    given = random.choice(seeds(kind))
    files = dict(given.files)
    name = random.choice(sorted(files))
    others = [content for other in seeds(kind) for content in other.files.values()]
    files[name] = change(random, name or given.name, files[name], others)
    for manifest in ("graph.json", "manifest.json"):
        if manifest in files and name != manifest and random.random() < 0.7:
            files[manifest] = with_right_checksums(files[manifest], files)
    if name and random.random() < 0.03:
        del files[name]
    return Input(kind, given.name, files)


@contextmanager
def written(given: Input) -> Iterator[Path]:
    """Give the path of an input, in a folder that is removed."""
    folder = Path(tempfile.mkdtemp(prefix="detours-fuzz-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        path = folder / given.name
        for name, content in given.files.items():
            file = path / name if name else path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        path.mkdir(exist_ok=True) if not path.exists() else None
        yield path
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_input(unit: Unit, options: Namespace) -> Outcome:
    """Change an input and have it read."""
    warnings.simplefilter("ignore")
    given = changed_input(unit)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with written(given) as path:
        says = fuzz.targets.attempt(given.kind, path)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    tried = {"cases": 1, given.kind + (Path(given.name).suffix if given.kind == "graph" else ""): 1}
    failures = []
    if says:
        failures.append({"kind": "traceback", "says": f"{given.kind} {given.name}: {says}"})
    if grown > MOST_MEMORY:
        failures.append({"kind": "memory", "says": f"{given.kind} {given.name}: {grown >> 20} MB"})
    return Outcome(tried, failures)


def prepare() -> None:
    """Compile, import and read the corpus, so that no input has to wait for that."""
    for kind in kinds():
        for given in seeds(kind):
            with written(given) as path:
                fuzz.targets.attempt(kind, path)


# ---------------------------------------------------------------- what failed


def keep_failure(unit: Unit, out: Path | None) -> str:
    """Write the input of a unit, as small as it gets, to the corpus or the folder given; return the path."""
    given = changed_input(unit)
    how = _fails(given)
    for name in sorted(given.files) if how else []:
        given = _minimised(given, name, how)
    digest = zlib.crc32(b"".join(given.files.values()))
    path = (out or CORPUS) / given.kind / f"_{digest:08x}-{given.name}"
    for name, content in given.files.items():
        file = path / name if name else path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return str(path)


def _minimised(given: Input, name: str, how: str) -> Input:
    """Return an input that fails in the same way, with pieces of a file left out."""
    content, size, tries = given.files[name], len(given.files[name]) // 2, 0
    while size and tries < TRIES:
        at = 0
        while at < len(content) and tries < TRIES:
            shorter = content[:at] + content[at + size :]
            tries += 1
            if _fails(given._replace(files={**given.files, name: shorter})) == how:
                content = shorter
            else:
                at += size
        size //= 2
    return given._replace(files={**given.files, name: content})


def _fails(given: Input) -> str:
    """Return how an input fails in a process of its own: a signal, or the kind and place of an exception."""
    with written(given) as path:
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            signal.alarm(SECONDS)
            says = fuzz.targets.attempt(given.kind, path)
            os.write(
                writing, says.partition(":")[0].encode() + b" " + says.rpartition("(")[2].encode() if says else b""
            )
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            says = pipe.read().decode()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return says if code == 0 else f"code {code}"


def main() -> int:
    options = parser(__doc__ or "").parse_args()
    code = run("mutation", check_input, options, hang=SECONDS, prepare=prepare, keep=keep_failure)
    return code


if __name__ == "__main__":
    sys.exit(main())
