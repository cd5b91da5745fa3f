"""Finished cells of experiments: the store is the cache, the resume and the source of every table.

A cell is one value, or a few that are computed together, with the key that defines it: the experiment, the data with a
digest of their content, the method with its parameters, and a digest of the code that computes it. Each cell is one
small JSON file that is written completely or not at all, so a killed run loses only the cell it was computing, and
stores are merged by copying their files into one folder.
"""

from __future__ import annotations

import ast
import json
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from detours.atomic import atomic_write
from detours.containers import read_manifest
from detours.errors import InputError, warn_caller

PACKAGE = Path(__file__).parent

CELL = re.compile(r"-[0-9a-f]{12}-[0-9a-f]{8}\.json$")
"""The end of the file name of a cell; other files in the folder are none of the store's."""

Key = Mapping[str, Any]
Value = dict[str, Any]


class Cell(NamedTuple):
    """A finished cell: its key, its results, and how long they took."""

    key: dict[str, Any]
    value: Value
    seconds: float


class Task(NamedTuple):
    """A cell to compute: its key, and the function that returns its results."""

    key: Key
    work: Callable[[], Value]


class Store:
    """A folder of finished cells, `<experiment>/<data>-<method>-<digest of the key>-<digest of the code>.json`.

    Args:
        folder: The folder; it is created with the first cell.
        keep_old: Whether to use cells of other code where this code has none, including those whose keys lack names
            that were added later.

    Keys and values are what JSON can hold; a key has "experiment" and "code", see `code_digest`.
    """

    def __init__(self, folder: str | Path, *, keep_old: bool = False) -> None:
        self.folder = Path(folder)
        self.keep_old = keep_old
        self._names: dict[Path, frozenset[str]] = {}
        """The names in the keys of the files read so far."""
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{folder} is a file; give a folder for the results.")

    def path(self, key: Key) -> Path:
        """The file of a cell, whether it exists or not."""
        return self.folder / str(key["experiment"]) / f"{_stem(key)}-{key['code']}.json"

    def find(self, key: Key, before: Key | None = None) -> Cell | None:
        """Return the finished cell, or None; a damaged file counts as missing.

        Args:
            key: The key.
            before: With `keep_old`: for names of the key that older cells lack, the value that these cells have.
        """
        cell = _read(self.path(key))
        if cell is not None and cell.key == _plain(key):
            return cell
        return self._by_other_code(key, before or {}) if self.keep_old else None

    def by_other_code(self, keys: Iterable[Key], before: Key | None = None) -> int:
        """Return how many cells other code has computed and this code has not; see `find` for `before`."""
        return sum(_read(self.path(key)) is None and self._by_other_code(key, before or {}) is not None for key in keys)

    def _by_other_code(self, key: Key, before: Key) -> Cell | None:
        folder = self.folder / str(key["experiment"])
        for missing in self._missing_names(folder, key, before):
            known = {name: value for name, value in key.items() if name not in missing}
            files = folder.glob(f"{_stem(known)}-*.json")
            for file in sorted(files, key=lambda file: file.stat().st_mtime, reverse=True):
                cell = _read(file)
                if cell is not None and {**cell.key, "code": key["code"]} == _plain(known):
                    return cell._replace(key={**_plain({name: key[name] for name in missing}), **cell.key})
        return None

    def _missing_names(self, folder: Path, key: Key, before: Key) -> list[list[str]]:
        """Return the sets of names that cells of this data and method may lack, the smallest first.

        The first set is empty; the others are those that some cells do lack and whose values in the key are the earlier
        ones.
        """
        if before:
            for file in folder.glob(f"{_words(key)}-*.json"):
                if file not in self._names:
                    cell = _read(file)
                    self._names[file] = frozenset(() if cell is None else cell.key)
        values, earlier = _plain(key), _plain(before)
        unchanged = {name for name in values.keys() & earlier.keys() if values[name] == earlier[name]}
        missing = {frozenset(key.keys() - names) for names in set(self._names.values())}
        allowed = (sorted(names) for names in missing if names and names <= unchanged)
        return [[], *sorted(allowed, key=lambda names: (len(names), names))]

    def keep(self, key: Key, value: Value, seconds: float) -> Cell:
        """Write a finished cell, and return it as `find` will."""
        cell = Cell(_plain(key), value, round(seconds, 6))
        file = self.path(key)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the folder {file.parent} cannot be made ({error.strerror}); choose another.") from None
        with atomic_write(file) as target:
            target.write(json.dumps(cell._asdict(), indent=1).encode() + b"\n")
        kept = _read(file)
        assert kept is not None
        return kept

    def __iter__(self) -> Iterator[Cell]:
        """Iterate over the finished cells in the order of their file names, and warn about damaged files."""
        return (cell for _, cell in self._files())

    def newest(self, one_of_a_name: Collection[str] = ()) -> list[Cell]:
        """Return the cells: of those that differ only in the code, the one whose file is the newest.

        In the experiments `one_of_a_name`, the data set with the newest file replaces others of its name.
        """
        cells: dict[str, tuple[float, Cell]] = {}
        data: dict[tuple[str, str], tuple[float, str]] = {}
        for file, cell in self._files():
            key, written = cell.key, file.stat().st_mtime
            without_code = str(file).rpartition("-")[0]
            cells[without_code] = max(cells.get(without_code, (-1.0, cell)), (written, cell), key=itemgetter(0))
            named = key["experiment"], key.get("data", "")
            data[named] = max(data.get(named, (-1.0, "")), (written, key.get("digest", "")))
        digests = {named: digest for named, (_, digest) in data.items()}
        return [
            cell
            for _, cell in cells.values()
            if cell.key["experiment"] not in one_of_a_name
            or cell.key.get("digest", "") == digests[cell.key["experiment"], cell.key.get("data", "")]
        ]

    def _files(self) -> Iterator[tuple[Path, Cell]]:
        for file in sorted(self.folder.glob("*/*.json")):
            if (cell := _read(file)) is not None:
                yield file, cell
            elif CELL.search(file.name):
                warn_caller(f"{file} is damaged, and left out; copy it again, or compute it anew.", UserWarning)

    def run(
        self, tasks: Sequence[Task], progress: Callable[[float, float], None] | None = None, n_jobs: int = 1
    ) -> list[Cell]:
        """Return the cells of all tasks, in their order: finished ones are read, the others computed and kept.

        With `n_jobs` above 1 tasks run in threads, which helps where their work releases the GIL.
        """
        report = progress or (lambda done, total: None)
        cells = [self.find(task.key) for task in tasks]
        missing = [index for index, cell in enumerate(cells) if cell is None]
        done = len(tasks) - len(missing)
        report(done, len(tasks))
        for index, cell in self._compute(tasks, missing, n_jobs):
            cells[index] = cell
            done += 1
            report(done, len(tasks))
        return [cell for cell in cells if cell is not None]

    def _compute(self, tasks: Sequence[Task], missing: Sequence[int], n_jobs: int) -> Iterator[tuple[int, Cell]]:
        def compute(index: int) -> tuple[int, Cell]:
            start = time.perf_counter()
            value = tasks[index].work()
            return index, self.keep(tasks[index].key, value, time.perf_counter() - start)

        if min(n_jobs, len(missing)) <= 1:
            yield from map(compute, missing)
            return
        from multiprocessing.pool import ThreadPool

        with ThreadPool(min(n_jobs, len(missing))) as pool:
            yield from pool.imap_unordered(compute, missing)


def old_results(old: int, total: int, kept: bool) -> str:
    """Return a note on finished cells that other code has computed."""
    action = "used because of --keep-old" if kept else "computed anew; --keep-old would use them"
    return f"{old} of {total} finished results come from other code ({action})"


def _stem(key: Key) -> str:
    """The name of a cell's file up to the code digest: readable words, and a digest of the key without the code."""
    text = json.dumps({name: key[name] for name in key if name != "code"}, sort_keys=True)
    return f"{_words(key)}-{sha256(text.encode()).hexdigest()[:12]}"


def _words(key: Key) -> str:
    words = " ".join(str(key[name]) for name in ("data", "method") if name in key)
    return re.sub(r"[^A-Za-z0-9]+", "-", words).strip("-")[:60]


def _plain(key: Key) -> dict[str, Any]:
    # Through JSON, so that a key compares equal to itself read from a file (tuples become lists).
    plain: dict[str, Any] = json.loads(json.dumps(dict(key)))
    return plain


def _read(file: Path) -> Cell | None:
    try:
        content = read_manifest(file)
        cell = Cell(**(content or {}))
    except (OSError, TypeError):
        return None
    is_key = isinstance(cell.key, dict) and {"experiment", "code"} <= cell.key.keys()
    return cell if is_key and isinstance(cell.value, dict) else None


# ------------------------------------------------------------------ which code computed a cell


@cache
def code_digest(*modules: str, without: tuple[str, ...] = (), package: Path = PACKAGE) -> str:
    """Return a digest of the code that determines the results of an experiment.

    Comments, docstrings and formatting do not count, and the digest is the same for every version of Python.

    Args:
        modules: Modules of this package and subpackages with all they contain, such as "nn" or "data.encoder". Counts
            of detours are exact, so an experiment lists "counting" only where counts are its very results.
        without: Modules among them that do not affect the results.
        package: The folder of the package.
    """
    excluded = {file for name in without for file in _sources(package, name)}
    files = sorted({file for name in modules for file in _sources(package, name)} - excluded)
    content = sha256()
    for file in files:
        content.update(f"{file.relative_to(package).as_posix()}\n{_normalised(file.read_text('utf-8'))}\n".encode())
    return content.hexdigest()[:8]


def _sources(package: Path, name: str) -> list[Path]:
    path = package.joinpath(*name.split("."))
    files = [file] if (file := path.with_suffix(".py")).is_file() else list(path.rglob("*.py"))
    if not files:
        raise ValueError(f"there is no module {name} in {package}")
    return files


def _normalised(source: str) -> str:
    """The syntax tree of a source, without docstrings and other bare strings."""
    return repr(_nested(ast.parse(source)))


def _nested(node: Any) -> Any:
    # Not `ast.dump`: which empty fields it shows depends on the version of Python.
    if isinstance(node, ast.AST):
        named = ((name, value) for name, value in ast.iter_fields(node) if name not in ("kind", "type_comment"))
        return type(node).__name__, [(name, _nested(value)) for name, value in named if value not in (None, [])]
    if isinstance(node, list):
        return [_nested(each) for each in node if not _is_bare_string(each)]
    return node


def _is_bare_string(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
