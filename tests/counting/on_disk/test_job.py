"""The folder of a count: one count per folder, complete blocks, and full disks."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import detours
from detours.counting.on_disk.job import Job, locked
from detours.errors import FileFormatError, InputError
from tests.counting.on_disk.cases import assert_same, saved, sparse, started


def test_a_folder_of_another_count_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    detours.count(sparse(), 4, out=out)
    with pytest.raises(InputError, match=r"out holds a count of another graph; give an empty folder or remove"):
        detours.count(sparse(seed=2), 4, out=out)
    with pytest.raises(InputError, match=r"holds a count of k = 4;"):
        detours.count(sparse(), 3, out=out)
    with pytest.raises(InputError, match=r"holds a count of engine = 'auto';"):
        detours.count(sparse(), 4, engine="search", out=out)
    with pytest.raises(InputError, match=r"holds a count of another way to take the arcs \(directed or not\);"):
        detours.count(sparse().to_directed(), 4, out=out)
    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps({**manifest, "version": "0.0.1"}))
    with pytest.raises(InputError, match=r"holds a count of version 0.0.1 of detours;"):
        detours.count(sparse(), 4, out=out)
    (out / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match=r"manifest.json does not describe a count"):
        detours.count(sparse(), 4, out=out)


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Ada,")
    with pytest.raises(InputError, match=r"exists and holds no count; give a new or empty folder"):
        detours.count(sparse(), 4, out=tmp_path)
    with pytest.raises(InputError, match=r"exists and holds no count; give a new or empty folder"):
        detours.count(sparse(), 4, out=tmp_path / "letter.txt")
    with pytest.raises(FileFormatError, match=r"this is a folder, not a file, and not one written by Graph.save"):
        detours.count(tmp_path, 4, out=tmp_path / "out")
    assert os.listdir(tmp_path) == ["letter.txt"]


def test_of_two_runs_that_start_together_one_writes_the_manifest(tmp_path: Path) -> None:
    key = {"graph": "0" * 64, "directed": False, "k": 4, "engine": "auto"}
    first: list[Job] = []

    def late() -> dict[str, Any]:
        first.append(Job.begin(tmp_path / "out", key, lambda: {"way": "whole", "stages": [3]}))
        return {"way": "whole", "stages": [5]}

    second = Job.begin(tmp_path / "out", key, late)
    assert second.manifest == first[0].manifest == Job.open(tmp_path / "out").manifest and second.stages == [3]
    assert os.listdir(tmp_path / "out") == ["manifest.json"]

    def other() -> dict[str, Any]:
        Job.begin(tmp_path / "other", {**key, "k": 5}, lambda: {"way": "whole", "stages": [3]})
        return {"way": "whole", "stages": [5]}

    with pytest.raises(InputError, match=r"other holds a count of k = 5; give an empty folder or remove this one"):
        Job.begin(tmp_path / "other", key, other)


def test_a_manifest_is_published_on_a_disk_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr("detours.counting.on_disk.job.os.link", refuse)
    test_of_two_runs_that_start_together_one_writes_the_manifest(tmp_path)


def test_a_full_disk_is_an_error_and_finished_blocks_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, save, blocks = saved(sparse(), tmp_path / "graph"), np.savez, 0

    def fill_up(*args: Any) -> None:
        nonlocal blocks
        blocks += 1
        if blocks > 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        save(*args)

    monkeypatch.setattr("detours.counting.on_disk.job.np.savez", fill_up)
    with pytest.raises(InputError, match=r"^the disk of .*out is full; make room and run the same count again: fin"):
        detours.count(graph, 4, out=tmp_path / "out", memory_limit=200_000)
    monkeypatch.undo()
    result = detours.count(graph, 4, out=tmp_path / "out", memory_limit=200_000)
    assert result.run is not None and result.run.resumed == 3
    assert_same(result, detours.count(graph, 4))


def test_a_damaged_block_is_detected_and_counted_again(tmp_path: Path) -> None:
    graph = saved(sparse(), tmp_path / "graph")

    def damage(done: float, total: float) -> None:
        for file in (tmp_path / "out" / "blocks").glob("*.npz"):
            file.write_bytes(file.read_bytes()[:-30])

    with pytest.raises(InputError, match=r"was damaged and is removed; run the same count again"):
        detours.count(graph, 4, out=tmp_path / "out", memory_limit=200_000, progress=damage)
    while True:
        try:
            result = detours.count(graph, 4, out=tmp_path / "out", memory_limit=200_000)
            break
        except InputError:
            pass
    assert_same(result, detours.count(graph, 4))


def test_a_block_of_another_length_is_detected(tmp_path: Path) -> None:
    job = started(tmp_path)
    job.save(0, 0, tuple(counts[:-1] for counts in job.load(0, 0)))
    with pytest.raises(InputError, match=r"0-000000.npz was damaged and is removed; run the same count again"):
        detours.count(tmp_path / "graph", 3, out=tmp_path / "out", memory_limit=200_000)
    result = detours.count(tmp_path / "graph", 3, out=tmp_path / "out", memory_limit=200_000)
    assert_same(result, detours.count(sparse(), 3))


def test_an_unreadable_block_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = started(tmp_path)

    def unavailable(*args: Any, **options: Any) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(Path, "read_bytes", unavailable)
    with pytest.raises(InputError, match=r"0-000000.npz cannot be read \(Input/output error\); run the same count"):
        job.load(0, 0)
    assert job.has(0, 0)


def test_of_two_processes_in_one_folder_one_is_refused(tmp_path: Path) -> None:
    graph, refusal = sparse(), r"another process is counting in .*out; wait for its end, or give another folder"
    with locked(tmp_path / "out"), pytest.raises(InputError, match=refusal):
        detours.count(graph, 3, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    first = detours.count(graph, 3, out=tmp_path / "out")
    assert_same(detours.count(graph, 3, out=tmp_path / "out"), first)
    assert not (tmp_path / "out" / ".lock").exists()
