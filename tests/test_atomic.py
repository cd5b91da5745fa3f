import gzip
import os
import subprocess
import sys
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest

from detours import atomic
from detours.atomic import (
    atomic_file,
    atomic_folder,
    atomic_write,
    discard_unfinished,
    exclusive,
    make_folder,
    write_new,
)
from detours.errors import InputError


def test_a_file_appears_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with atomic_write(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new" and path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
def test_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe is a device; give the name of a file to write"), atomic_write(pipe):
        pass
    assert pipe.is_fifo()


def test_an_unwritable_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "new" / "inner"
    for _ in range(2):
        make_folder(folder)
        assert folder.is_dir() and not list(folder.iterdir())
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"the folder .*file.inner cannot be made \(.*\); choose another\.$"):
        make_folder(tmp_path / "file" / "inner")

    def refused(path: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("builtins.open", refused)
    with pytest.raises(InputError, match=r"inner cannot be written \(Permission denied\); choose another\.$"):
        make_folder(folder)


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), atomic_write(path) as file:
        file.write(b"new")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_compressed_files_have_the_same_bytes_every_time(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with atomic_write(tmp_path / name) as file:
            file.write(b"text")
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"text"
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_disk_errors_become_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; give the name of a file"), atomic_write(tmp_path):
        pass
    missing = tmp_path / "missing" / "a.txt"
    message = rf"a.txt cannot be written: the folder {missing.parent} does not exist; make it first\.$"
    with pytest.raises(InputError, match=message), atomic_write(missing):
        pass
    with pytest.raises(FileNotFoundError) as raised, atomic_file(missing):
        pass
    assert raised.value.filename == str(missing)  # not the hidden name


def test_files_are_flushed_to_the_disk_before_they_are_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = []
    fsync, rename = os.fsync, os.replace
    monkeypatch.setattr(atomic.os, "fsync", lambda file: (done.append("fsync"), fsync(file)))
    monkeypatch.setattr(atomic.os, "replace", lambda *names: (done.append("replace"), rename(*names)))
    with atomic_write(tmp_path / "a.txt") as file:
        file.write(b"text")
    assert done == ["fsync", "replace", "fsync"]  # the file, its new name, the folder that holds the name


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges names in one step")
def test_a_folder_is_replaced_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "graph"
    folder.mkdir()
    monkeypatch.setattr(os, "rename", None)  # a kill between two renames would lose the old folder
    with atomic_folder(folder) as part:
        (part / "a.txt").write_text("new")
    assert (folder / "a.txt").read_text() == "new" and list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("one_step", [True, False])
def test_a_folder_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_step: bool) -> None:
    if not one_step:
        monkeypatch.setattr(atomic, "_exchanged", lambda one, other: False)
    folder = tmp_path / "graph"
    for text in ("old", "new"):
        with atomic_folder(folder) as part:
            (part / "a.txt").write_text(text)
    assert (folder / "a.txt").read_text() == "new" and list(tmp_path.iterdir()) == [folder]
    with pytest.raises(ZeroDivisionError), atomic_folder(folder) as part:
        (part / "a.txt").write_text("newer")
        raise ZeroDivisionError
    assert (folder / "a.txt").read_text() == "new" and list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("links", [True, False])
def test_one_of_many_writes_a_new_file(tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*names: object) -> None:
        raise OSError("this file system has no links")

    if not links:
        monkeypatch.setattr(atomic.os, "link", refuse)
        assert write_new(tmp_path / "a", b"0") and not write_new(tmp_path / "a", b"1")
    else:
        with ThreadPool(8) as pool:
            won = pool.map(lambda number: write_new(tmp_path / "a", b"%d" % number), range(8))
        assert sum(won) == 1 and (tmp_path / "a").read_bytes() == b"%d" % won.index(True)
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_unfinished_files_and_folders_are_discarded(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "b") as part, pytest.raises(InputError), atomic_write(tmp_path / "a"):
        (part / "c.txt").write_text("text")
        discard_unfinished()
        assert list(tmp_path.iterdir()) == []
        part.mkdir()
    assert [file.name for file in tmp_path.iterdir()] == ["b"]


def test_one_process_holds_the_lock_and_a_kill_releases_it(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with exclusive(path) as first:
        with exclusive(path) as second:
            assert first and not second
        assert path.exists()
    assert not path.exists()
    code = "import time; from pathlib import Path; from detours.atomic import exclusive\n"
    code += f"with exclusive(Path({str(path)!r})): print(flush=True); time.sleep(600)"
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    with exclusive(path) as held:
        assert not held
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert path.exists()
    with exclusive(path) as held:
        assert held
    with exclusive(tmp_path / "no folder" / ".lock") as held:
        assert held


def test_links_are_written_through(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    link.symlink_to("real.txt")
    for content in (b"new", b"newer"):  # the link is dangling, then it is not
        with atomic_write(link) as file:
            file.write(content)
        assert link.is_symlink() and real.read_bytes() == content
    assert sorted(tmp_path.iterdir()) == [link, real]
