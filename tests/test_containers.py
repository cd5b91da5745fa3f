"""Damaged and hostile .npy, .npz and PyTorch files: each is one error that names the file."""

import io
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch

from detours.containers import (
    EXPANSION,
    check_fingerprints,
    check_rows,
    fingerprint,
    load_tensors,
    read_archive,
    read_array,
    read_manifest,
)
from detours.errors import FileFormatError, InputError


def npy(header: str, content: bytes = b"") -> bytes:
    text = header.encode("latin-1") + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content


HEADERS = [
    "{'descr': '<i8', 'fortran_order': False, 'shape': (99999999999,)}",  # MemoryError in NumPy
    "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), ",  # TokenError
    "{'descr': '<i8' 'fortran_order': False, 'shape': (2,)}",  # SyntaxError
    "{'descr': '<i8', 'fortran_order': False, 'shape': (-2,)}",
    "{'descr': '<i8', 'fortran_order': False, 'shape': 2}",
    "{'descr': '<i8', 'fortran_order': False, 'shape': (True,)}",
    "{'descr': '|O', 'fortran_order': False, 'shape': (2,)}",
    "{'descr': '|V8', 'fortran_order': False, 'shape': (2,)}",
    "{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (2,)}",
    "{'descr': 7, 'fortran_order': False, 'shape': (2,)}",
    "{'descr': '<i8', 'fortran_order': 'no', 'shape': (2,)}",
    "{'shape': (2,)}",
    "[" * 3000,
    "(" * 3000,
    "",
    "\0",
]


@pytest.mark.parametrize("header", HEADERS)
def test_a_damaged_header_is_an_error(tmp_path: Path, header: str) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(npy(header, bytes(16)))
    for mapped in (False, True):
        with pytest.raises(FileFormatError) as caught:
            read_array(path, mapped=mapped)
        assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_every_cut_or_changed_byte_of_an_array_is_an_error_or_an_array(tmp_path: Path) -> None:
    path, buffer = tmp_path / "a.npy", io.BytesIO()
    np.save(buffer, np.arange(6, dtype=np.int32).reshape(2, 3))
    content = buffer.getvalue()
    for damaged in [*(content[:cut] for cut in range(len(content))), content + b"\0"]:
        path.write_bytes(damaged)
        with pytest.raises(FileFormatError):
            read_array(path)
    for at in range(len(content)):
        for byte in (0, 0x28, 0xFF):
            path.write_bytes(content[:at] + bytes([byte]) + content[at + 1 :])
            with suppress(FileFormatError):
                assert read_array(path).nbytes == 24


def test_arrays_are_read_as_numpy_writes_them(tmp_path: Path) -> None:
    arrays = [
        np.arange(12).reshape(3, 4),
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.zeros((0, 3), np.int32),
        np.float32(3),
        np.array(["a", "bcd"]),
        np.array(b"csr"),
        np.arange(5000, dtype=">u2"),
        np.ones(3, bool),
    ]
    for number, array in enumerate(arrays):
        np.save(tmp_path / f"{number}.npy", array)
        for mapped in (False, True):
            found = read_array(tmp_path / f"{number}.npy", mapped=mapped)
            np.testing.assert_array_equal(found, array)
            assert found.dtype == np.asarray(array).dtype
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "all.npz", *arrays)
        found = read_archive(tmp_path / "all.npz", tmp_path / "all.npz")
        assert list(found) == [f"arr_{number}" for number in range(len(arrays))]
        for number, array in enumerate(arrays):
            np.testing.assert_array_equal(found[f"arr_{number}"], array)
        assert list(read_archive(tmp_path / "all.npz", tmp_path / "all.npz", ["arr_2", "other"])) == ["arr_2"]


def archive(path: Path, content: bytes, method: int = zipfile.ZIP_DEFLATED, times: int = 1) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        for number in range(times):
            file.writestr(f"a{number}.npy", content)
    return path


def test_archives_may_expand_up_to_a_limit_that_can_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = npy(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({2**20},)}}", bytes(2**20))
    path = archive(tmp_path / "bomb.npz", zeros, times=80)
    with pytest.raises(FileFormatError, match=rf"expands to more than 64 MB; if that is right, set {EXPANSION}"):
        read_archive(path, path)
    monkeypatch.setenv(EXPANSION, "2000")
    assert len(read_archive(path, path)) == 80
    monkeypatch.setenv(EXPANSION, "much")
    with pytest.raises(InputError, match=f"{EXPANSION} must be a number of at least 1, but it is 'much'"):
        read_archive(path, path)


def test_archives_that_numpy_never_writes_are_refused(tmp_path: Path) -> None:
    good = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}", b"\0")
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with pytest.raises(FileFormatError, match="compressed by an unsupported method"):
            read_archive(archive(tmp_path / "a.npz", good, method), tmp_path / "a.npz")
    flags = bytearray(archive(tmp_path / "a.npz", good).read_bytes())
    flags[flags.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(FileFormatError, match="encrypted"):
        read_archive(bytes(flags), tmp_path / "a.npz")


def test_every_changed_byte_of_an_archive_is_an_error_or_the_same_arrays(tmp_path: Path) -> None:
    content = archive(
        tmp_path / "a.npz", npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}", bytes(16))
    ).read_bytes()
    for at in range(len(content)):
        for byte in (0, 0xFF, content[at] ^ 1):
            try:
                found = read_archive(content[:at] + bytes([byte]) + content[at + 1 :], tmp_path / "a.npz")
            except FileFormatError as error:
                assert "\n" not in str(error)
            else:
                assert all(array.tolist() == [0, 0] for array in found.values())


def test_tensors_that_are_marked_as_folders_are_refused(tmp_path: Path) -> None:
    """PyTorch reads no bytes of a folder: some releases then return uninitialised memory."""
    torch.save(torch.arange(3), tmp_path / "a.pt")
    with zipfile.ZipFile(tmp_path / "a.pt") as source, zipfile.ZipFile(tmp_path / "b.pt", "w") as target:
        for member in source.infolist():
            member.external_attr |= 0x10 * ("/data/" in member.filename)
            target.writestr(member, source.read(member))
    with pytest.raises(FileFormatError, match="writes no folders"):
        load_tensors(tmp_path / "b.pt")


def test_every_changed_byte_of_tensors_is_an_error_or_the_same_tensors(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save({"text": "ä", "weights": torch.arange(3)}, path)
    content = path.read_bytes()
    refused = 0
    for at in range(0, len(content), 7):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :])
        try:
            found = load_tensors(path)
        except FileFormatError as error:
            refused += 1
            assert str(path) in str(error) and "\n" not in str(error)
        else:
            assert found["text"] == "ä" and found["weights"].tolist() == [0, 1, 2]
    assert refused > 20


@pytest.mark.parametrize(
    "indptr, indices, wrong",
    [
        ([0, 1, 1], [1.0], "integers"),
        ([0.0, 1.0], [0], "integers"),
        ([], [], "integers"),
        ([1, 2], [0, 0], "begin with 0"),
        ([0, 3], [0, 1], "end with the number"),
        ([0, 5, 2], [0, 1], "decreases"),
        ([0, 1, 2], [0, 2], "from 0 to 1"),
        ([0, 1, 2], [0, -1], "from 0 to 1"),
        ([[0, 1]], [0], "one-dimensional arrays of integers"),
    ],
)
def test_compressed_rows_are_checked(indptr: list, indices: list, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        check_rows(np.array(indptr), np.array(indices), 2)


def test_fingerprints_identify_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(200_000))
    fingerprints = {"a": list(fingerprint(tmp_path / "a"))}
    check_fingerprints(tmp_path, fingerprints)
    (tmp_path / "a").write_bytes(bytes(150_000) + b"\1" + bytes(49_999))
    with pytest.raises(ValueError, match="another checksum"):
        check_fingerprints(tmp_path, fingerprints)
    (tmp_path / "a").write_bytes(bytes(100_000))
    with pytest.raises(ValueError, match="a has 100,000 bytes where 200,000 were written"):
        check_fingerprints(tmp_path, fingerprints)


def test_the_fingerprint_of_a_large_file_reads_only_samples(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with open(path, "wb") as file:
        file.truncate(10**12)  # a sparse file: reading all of it would take minutes
    empty = fingerprint(path)
    with open(path, "r+b") as file:
        file.seek(-1, 2)
        file.write(b"\1")
    assert empty.bytes == 10**12 and fingerprint(path) != empty


@pytest.mark.parametrize("text", [b"", b"{", b"[1]", b"\xff", b"[" * 100_000, b"1e999999"])
def test_manifests_are_objects(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a.json").write_bytes(text)
    assert read_manifest(tmp_path / "a.json") is None
