"""The store of finished cells: nothing is made twice, nothing half made is ever seen."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from detours.errors import InputError
from detours.store import Cell, Store, Task

KEY = {"experiment": "trial", "data": "MUTAG", "method": "1-WL, 3 rounds", "parameters": {"k": 4, "ks": (1, 2)}}


def test_a_cell_is_made_once(tmp_path: Path) -> None:
    made = []

    def work() -> dict[str, int]:
        made.append(1)
        return {"answer": 42}

    first = Store(tmp_path).run([Task(KEY, work)])
    second = Store(tmp_path).run([Task(KEY, work)])
    assert first == second and made == [1]
    assert first[0].value == {"answer": 42} and first[0].seconds >= 0


@pytest.mark.parametrize(
    "change", [{"data": "DD"}, {"parameters": {"k": 5}}, {"digest": "00"}, {"experiment": "other"}]
)
def test_whatever_defines_a_cell_tells_it_from_others(tmp_path: Path, change: dict[str, object]) -> None:
    store = Store(tmp_path)
    store.keep(KEY, {"answer": 1}, 0.0)
    assert store.find({**KEY, **change}) is None
    assert store.path(KEY) != store.path({**KEY, **change})


def test_another_version_starts_afresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    store.keep(KEY, {}, 0.0)
    monkeypatch.setattr("detours.store.__version__", "99")
    assert store.find(KEY) is None


def test_the_order_of_a_key_does_not_matter(tmp_path: Path) -> None:
    store = Store(tmp_path)
    kept = store.keep(KEY, {"answer": 1}, 0.5)
    assert store.find(dict(reversed(KEY.items()))) == kept
    assert (
        store.find(KEY)
        == kept
        == Cell(
            {**KEY, "parameters": {"k": 4, "ks": [1, 2]}, "version": kept.key["version"], "form": kept.key["form"]},
            {"answer": 1},
            0.5,
        )
    )


@pytest.mark.parametrize("damage", ["", '{"key": ', "[1, 2]", '{"other": 1}'])
def test_a_damaged_cell_is_made_again(tmp_path: Path, damage: str) -> None:
    store = Store(tmp_path)
    store.keep(KEY, {"answer": 1}, 0.0)
    store.path(KEY).write_text(damage)
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
    tasks = [Task({"experiment": name, "data": "x"}, lambda name=name: {"is": name}) for name in ("b", "a")]
    done = []
    store.run(tasks, progress=lambda at, of: done.append((at, of)))
    assert [cell.value["is"] for cell in store] == ["a", "b"]
    assert done == [(0, 2), (1, 2), (2, 2)]


def test_names_of_files_can_be_read_by_people(tmp_path: Path) -> None:
    path = Store(tmp_path).path(KEY)
    assert path.parent == tmp_path / "trial" and path.name.startswith("MUTAG-1-WL-3-rounds-")


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    with pytest.raises(InputError, match="is a file; give a folder"):
        Store(tmp_path / "results")


def test_a_killed_run_loses_only_the_cell_under_way(tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "from detours.store import Store, Task\n"
        "def work(at):\n"
        "    if at == 2: print('third', flush=True); time.sleep(60)\n"
        "    return {'at': at}\n"
        "Store(sys.argv[1]).run([Task({'experiment': 'e', 'data': at}, lambda at=at: work(at)) for at in range(4)])\n"
    )
    program = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None and program.stdout.readline() == "third\n"
    os.kill(program.pid, signal.SIGKILL)
    program.wait()
    made = []
    tasks = [Task({"experiment": "e", "data": at}, lambda at=at: made.append(at) or {"at": at}) for at in range(4)]
    cells = Store(tmp_path).run(tasks)
    assert made == [2, 3] and [cell.value["at"] for cell in cells] == [0, 1, 2, 3]


def test_a_cell_says_how_long_it_took(tmp_path: Path) -> None:
    (cell,) = Store(tmp_path).run([Task(KEY, lambda: time.sleep(0.05) or {})])
    assert 0.05 <= cell.seconds < 5
    assert json.loads(Store(tmp_path).path(KEY).read_text())["seconds"] == cell.seconds
