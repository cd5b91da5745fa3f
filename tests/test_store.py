"""The store of finished cells: nothing is computed twice, and incomplete cells are never visible."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from detours.errors import InputError
from detours.store import Cell, Store, Task, code_digest

KEY = {"experiment": "trial", "data": "MUTAG", "method": "1-WL, 3 rounds", "parameters": {"k": 4, "ks": (1, 2)}}
KEY |= {"code": "0123abcd"}


def test_a_cell_is_computed_once(tmp_path: Path) -> None:
    calls = []

    def work() -> dict[str, int]:
        calls.append(1)
        return {"answer": 42}

    first = Store(tmp_path).run([Task(KEY, work)])
    second = Store(tmp_path).run([Task(KEY, work)])
    assert first == second and calls == [1]
    assert first[0].value == {"answer": 42} and first[0].seconds >= 0


@pytest.mark.parametrize(
    "change", [{"data": "DD"}, {"parameters": {"k": 5}}, {"digest": "00"}, {"experiment": "other"}]
)
def test_cells_with_different_keys_are_different(tmp_path: Path, change: dict[str, object]) -> None:
    store = Store(tmp_path)
    store.keep(KEY, {"answer": 1}, 0.0)
    assert store.find({**KEY, **change}) is None
    assert store.path(KEY) != store.path({**KEY, **change})


def test_the_order_of_a_key_does_not_matter(tmp_path: Path) -> None:
    store = Store(tmp_path)
    kept = store.keep(KEY, {"answer": 1}, 0.5)
    assert store.find(dict(reversed(KEY.items()))) == kept
    assert store.find(KEY) == kept == Cell({**KEY, "parameters": {"k": 4, "ks": [1, 2]}}, {"answer": 1}, 0.5)


@pytest.mark.parametrize("damage", ["", '{"key": ', "[1, 2]", '{"other": 1}', '{"key": {}, "value": {}, "seconds": 1}'])
def test_a_damaged_cell_is_computed_again(tmp_path: Path, damage: str) -> None:
    store = Store(tmp_path)
    store.keep(KEY, {"answer": 1}, 0.0)
    store.path(KEY).write_text(damage)
    with pytest.warns(UserWarning, match=f"{store.path(KEY).name} is damaged, and left out"):
        assert list(store) == []
    (cell,) = store.run([Task(KEY, lambda: {"answer": 2})])
    assert cell.value == {"answer": 2} and store.find(KEY) == cell


def test_failed_work_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        Store(tmp_path).run([Task(KEY, lambda: {"answer": 1 // 0})])
    with pytest.raises(TypeError):
        Store(tmp_path).run([Task(KEY, lambda: {"answer": object()})])
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_iterating_gives_every_cell(tmp_path: Path) -> None:
    store = Store(tmp_path)
    tasks = [
        Task({"experiment": name, "data": "x", "code": "c"}, lambda name=name: {"is": name}) for name in ("b", "a")
    ]
    done = []
    store.run(tasks, progress=lambda finished, total: done.append((finished, total)))
    assert [cell.value["is"] for cell in store] == ["a", "b"]
    assert done == [(0, 2), (1, 2), (2, 2)]


def test_tasks_in_threads_give_cells_in_order(tmp_path: Path) -> None:
    together = threading.Barrier(3, timeout=30)  # broken unless three tasks run at the same time

    def work(at: int) -> dict[str, int]:
        return {"at": at, "turn": together.wait() * 0}

    tasks = [Task({"experiment": "e", "data": at, "code": "c"}, partial(work, at)) for at in range(3)]
    assert [cell.value["at"] for cell in Store(tmp_path).run(tasks, n_jobs=3)] == [0, 1, 2]


def test_file_names_are_readable(tmp_path: Path) -> None:
    path = Store(tmp_path).path(KEY)
    assert path.parent == tmp_path / "trial" and path.name.startswith("MUTAG-1-WL-3-rounds-")


def test_a_file_instead_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    with pytest.raises(InputError, match="is a file; give a folder"):
        Store(tmp_path / "results")


def test_a_killed_run_loses_only_the_cell_in_progress(tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "from detours.store import Store, Task\n"
        "def work(at):\n"
        "    if at == 2: print('third', flush=True); time.sleep(60)\n"
        "    return {'at': at}\n"
        "keys = [{'experiment': 'e', 'data': at, 'code': 'c'} for at in range(4)]\n"
        "Store(sys.argv[1]).run([Task(key, lambda at=key['data']: work(at)) for key in keys])\n"
    )
    program = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None and program.stdout.readline() == "third\n"
    os.kill(program.pid, signal.SIGKILL)
    program.wait()
    computed = []
    tasks = [
        Task({"experiment": "e", "data": at, "code": "c"}, lambda at=at: computed.append(at) or {"at": at})
        for at in range(4)
    ]
    cells = Store(tmp_path).run(tasks)
    assert computed == [2, 3] and [cell.value["at"] for cell in cells] == [0, 1, 2, 3]


def test_a_cell_records_how_long_it_took(tmp_path: Path) -> None:
    (cell,) = Store(tmp_path).run([Task(KEY, lambda: time.sleep(0.05) or {})])
    assert 0.05 <= cell.seconds < 60
    assert json.loads(Store(tmp_path).path(KEY).read_text())["seconds"] == cell.seconds


# ---------------------------------------------------------------- code


def test_other_code_computes_its_own_cells(tmp_path: Path) -> None:
    store, new = Store(tmp_path), {**KEY, "code": "89abcdef"}
    old = store.keep(KEY, {"answer": 1}, 0.5)
    assert store.find(new) is None and store.by_other_code([KEY, new]) == 1
    (cell,) = store.run([Task(new, lambda: {"answer": 2})])
    assert cell.value == {"answer": 2} and store.find(KEY) == old  # both are kept
    assert store.by_other_code([KEY, new]) == 0


def test_of_cells_of_several_codes_the_newest_is_reported(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for number, code in enumerate(("89abcdef", "0123abcd", "ffffffff")):
        for data in ("MUTAG", "DD"):
            key = {**KEY, "code": code, "data": data}
            store.keep(key, {"answer": number}, 0.5)
            os.utime(store.path(key), (0, number if data == "DD" else -number))
    assert [(cell.key["data"], cell.value["answer"]) for cell in store.newest()] == [("DD", 2), ("MUTAG", 0)]
    assert len(list(store)) == 6
    key = {**KEY, "digest": "of other data", "method": "3-WL"}
    store.keep(key, {"answer": 7}, 0.5)
    newest = store.newest(["trial"])
    assert [(cell.key["data"], cell.value["answer"]) for cell in newest] == [("DD", 2), ("MUTAG", 7)]
    assert len(store.newest()) == 3
    os.utime(store.path(key), (0, -9))
    newest = store.newest(["trial"])
    assert [(cell.key["data"], cell.value["answer"]) for cell in newest] == [("DD", 2), ("MUTAG", 0)]


def test_cells_of_other_code_are_used_on_request(tmp_path: Path) -> None:
    Store(tmp_path).keep({**KEY, "data": "DD"}, {"answer": 3}, 0.5)
    old = Store(tmp_path).keep(KEY, {"answer": 1}, 0.5)
    lenient, new = Store(tmp_path, keep_old=True), {**KEY, "code": "89abcdef"}
    assert lenient.find(new) == old and lenient.by_other_code([new]) == 1
    assert lenient.find({**new, "parameters": {}}) is None
    cell = lenient.keep(new, {"answer": 2}, 0.5)
    assert lenient.find(new) == cell  # its own cells take precedence


def test_of_cells_of_several_other_codes_the_newest_is_used(tmp_path: Path) -> None:
    store = Store(tmp_path, keep_old=True)
    for code, answer, written in (("89abcdef", 1, 100), ("ffffffff", 3, 300), ("76543210", 2, 200)):
        key = {**KEY, "code": code}
        store.keep(key, {"answer": answer}, 0.5)
        os.utime(store.path(key), (written, written))
    found = store.find(KEY)
    assert found is not None and found.value == {"answer": 3}


def test_cells_from_before_a_name_existed_are_used_on_request(tmp_path: Path) -> None:
    old = Store(tmp_path).keep(KEY, {"answer": 1}, 0.5)
    new = {**KEY, "smooth": 0.0, "hops": (2, 3), "code": "89abcdef"}
    before = {"smooth": 0.0, "hops": [2, 3], "data": "MUTAG"}
    lenient = Store(tmp_path, keep_old=True)
    assert lenient.find(new) is None and Store(tmp_path).find(new, before) is None
    assert lenient.by_other_code([new]) == 0 and lenient.by_other_code([new], before) == 1
    found = lenient.find(new, before)
    assert found == Cell({**old.key, "smooth": 0.0, "hops": [2, 3]}, {"answer": 1}, 0.5)
    assert lenient.find({**new, "smooth": 0.5}, before) is None  # not the earlier value
    assert lenient.find({**new, "data": "DD"}, before) is None
    assert lenient.find({**new, "another": 1}, before) is None  # its earlier value is unknown
    later = lenient.keep({**KEY, "hops": (2, 3)}, {"answer": 2}, 0.5)
    assert Store(tmp_path, keep_old=True).find(new, before) == later._replace(key={**later.key, "smooth": 0.0})
    assert lenient.find(new, before) == later._replace(key={**later.key, "smooth": 0.0})


SOURCE = '''"""A module."""

import math


class Circle:
    """A circle."""

    radius: float
    """In metres."""

    def area(self) -> float:
        """Its area."""
        return math.pi * self.radius**2  # in square metres
'''


def digest_of(package: Path, source: str) -> str:
    code_digest.cache_clear()
    (package / "shapes").mkdir(exist_ok=True)
    (package / "shapes" / "circle.py").write_text(source)
    return code_digest("shapes", package=package)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("square metres", "m^2"),
        ('"""Its area."""', '"""Return the area."""'),
        ('"""In metres."""', ""),
        ("math.pi * self.radius**2", "(\n            math.pi * self.radius ** 2\n        )"),
        ("import math\n", "import math\n\n# Circles.\n"),
    ],
)
def test_comments_docstrings_and_formatting_do_not_change_the_digest(tmp_path: Path, old: str, new: str) -> None:
    assert old in SOURCE
    assert digest_of(tmp_path, SOURCE) == digest_of(tmp_path, SOURCE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [("**2", "**3"), ("* self", "+ self"), ("area", "size"), ("math.pi", "3.14"), ("float\n", "float = 1.0\n")],
)
def test_code_changes_the_digest(tmp_path: Path, old: str, new: str) -> None:
    assert old in SOURCE
    assert digest_of(tmp_path, SOURCE) != digest_of(tmp_path, SOURCE.replace(old, new))


def test_the_digest_is_the_same_for_every_python(tmp_path: Path) -> None:
    assert digest_of(tmp_path, SOURCE) == "3f4b2f06"


def test_the_digest_covers_the_given_modules(tmp_path: Path) -> None:
    before = digest_of(tmp_path, SOURCE)
    (tmp_path / "other.py").write_text("a = 1\n")
    assert digest_of(tmp_path, SOURCE) == before
    assert code_digest("shapes", "other", package=tmp_path) != before
    assert code_digest("shapes", "other", without=("other",), package=tmp_path) == before
    assert code_digest("shapes.circle", package=tmp_path) == before
    with pytest.raises(ValueError, match="there is no module squares"):
        code_digest("squares", package=tmp_path)
