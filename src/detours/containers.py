"""Readers of binary containers: .npy arrays, .npz archives and the archives of PyTorch.

Anything wrong with a file becomes one `FileFormatError` that names it. Files are not trusted: sizes are checked against
the file before memory is allocated, and reading never runs code from it.
"""

from __future__ import annotations

import ast
import json
import math
import os
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.checks import check_number, readable_bytes
from detours.errors import FileFormatError, InputError

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

EXPANSION = "DETOURS_EXPANSION"
"""The environment variable that sets how many times its own size a compressed file may expand to."""
_DEFAULT_EXPANSION = 200
_MIN_EXPANSION_LIMIT = 1 << 26  # bytes that any file may expand to
_MAX_HEADER = 1 << 16
_FOLDER = 0x10  # the folder bit in the attributes of an archive member
_MIN_MAPPED = 4096  # smaller files are read rather than mapped, in bytes; an empty array cannot be mapped
_SAMPLE_SIZE = 1 << 16
_NUM_SAMPLES = 1 << 10

Names = Collection[str]

_memory_limit: ContextVar[int | None] = ContextVar("memory_limit", default=None)


class ArrayHeader(NamedTuple):
    """The header of a .npy file, and the offset of its data in bytes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran_order: bool
    offset: int

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


# ---------------------------------------------------------------- single arrays


def read_header(file: IO[bytes], size: int) -> ArrayHeader:
    """Return the header of a .npy file of `size` bytes; raise `ValueError` unless header and data fill it exactly."""
    magic = file.read(8)
    if len(magic) < 8 or not magic.startswith(b"\x93NUMPY"):
        raise ValueError("it is no .npy array")
    width = {1: 2, 2: 4, 3: 4}.get(magic[6], 0)
    if not width:
        raise ValueError(f"unknown version {magic[6]} of .npy")
    length = int.from_bytes(file.read(width), "little")
    if length > min(_MAX_HEADER, size):
        raise ValueError("the header of the array is cut off")
    header = _parse_header(file.read(length))._replace(offset=8 + width + length)
    if header.offset + header.nbytes != size:
        nbytes = max(0, size - header.offset)
        raise ValueError(f"the array should have {header.nbytes:,} bytes and has {nbytes:,}")
    return header


def _parse_header(text: bytes) -> ArrayHeader:
    """Parse a header. NumPy's parser lets errors of Python's tokenizer escape."""
    try:
        # Python's parser would need much memory for a header longer or deeper than those of plain arrays.
        fields = ast.literal_eval(text.decode("latin-1").strip()) if text.count(b"(") < 9 and len(text) < 4096 else {}
        shape, order = fields["shape"], fields["fortran_order"]
        descr = fields["descr"]
        dtype = np.dtype(descr) if isinstance(descr, str) else None
        valid_shape = type(shape) is tuple and all(type(dim) is int and 0 <= dim < 2**62 for dim in shape)
    except Exception:
        raise ValueError("the header of the array is damaged") from None
    if not valid_shape or len(shape) > 32 or not isinstance(order, bool):
        raise ValueError("the header of the array is damaged")
    if dtype is None or dtype.kind not in "biufcSU" or not dtype.itemsize:
        raise ValueError("it holds Python objects or records, not plain numbers or strings")
    return ArrayHeader(dtype, shape, order, 0)


def read_array(path: Path, *, mapped: bool = False) -> NDArray[Any]:
    """Return the array of a .npy file, memory-mapped if `mapped` is set and it is not tiny."""
    with damage_as_input_error(path, "the array"), open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        header = read_header(file, size)
        order: Any = "F" if header.fortran_order else "C"
        if mapped and size >= _MIN_MAPPED and header.nbytes:
            return np.memmap(path, header.dtype, "r", header.offset, header.shape, order)
        return _decode(header, file.read())


def parse_array(content: bytes, path: Path) -> NDArray[Any]:
    """Return the array in the bytes of a .npy file."""
    with damage_as_input_error(path, "the array"):
        header = read_header(BytesIO(content), len(content))
        return _decode(header, content[header.offset :])


def _decode(header: ArrayHeader, content: bytes) -> NDArray[Any]:
    if len(content) != header.nbytes:
        raise ValueError("the array is cut off")
    # A bytearray, so that the array is writable.
    flat = np.frombuffer(bytearray(content), header.dtype)
    return flat.reshape(header.shape, order="F" if header.fortran_order else "C")


# ---------------------------------------------------------------- archives


def read_archive(source: Path | bytes, path: Path, names: Names | None = None) -> dict[str, NDArray[Any]]:
    """Return the arrays of an .npz file, all of them or those in `names`.

    Args:
        source: The file, or its bytes.
        path: The file, as errors name it.
        names: The arrays to read; names that the file does not have are ignored.
    """
    from zipfile import ZipFile  # slow to import

    with (
        damage_as_input_error(path, "the .npz"),
        ZipFile(BytesIO(source) if isinstance(source, bytes) else source) as archive,
    ):
        size = len(source) if isinstance(source, bytes) else source.stat().st_size
        members = _checked_members(archive, size, path)
        return {
            name: _member_array(archive, member) for name, member in members.items() if names is None or name in names
        }


def _checked_members(archive: ZipFile, size: int, path: Path) -> dict[str, ZipInfo]:
    """Return the members of an archive by name; refuse compression that NumPy never uses, and excessive expansion."""
    members: dict[str, ZipInfo] = {}
    for member in archive.infolist():
        if member.compress_type not in (0, 8) or member.flag_bits & 1:  # stored or deflated, not encrypted
            raise ValueError(f"{member.filename!r} is encrypted, or compressed by an unsupported method")
        if members.setdefault(member.filename.removesuffix(".npy"), member) is not member:
            raise ValueError(f"{member.filename!r} occurs twice")
    expanded = sum(member.file_size for member in members.values())
    check_expansion(expanded, size, path)
    return members


def _member_array(archive: ZipFile, member: ZipInfo) -> NDArray[Any]:
    content = archive.read(member)  # no longer than the size checked above; its checksum is verified
    header = read_header(BytesIO(content), len(content))
    return _decode(header, content[header.offset :])


def check_tensors(path: Path) -> None:
    """Raise `FileFormatError` unless a file is a PyTorch archive with valid sizes and checksums."""
    from zipfile import ZipFile

    with damage_as_input_error(path, "the archive"), ZipFile(path) as archive:
        members = _checked_members(archive, path.stat().st_size, path)
        if any(member.compress_type for member in members.values()):
            raise ValueError("PyTorch compresses nothing")
        if any(member.external_attr & _FOLDER for member in members.values()):  # it would read none of their bytes
            raise ValueError("PyTorch writes no folders")
        if (bad := archive.testzip()) is not None:
            raise ValueError(f"the checksum of {bad!r} is wrong")


def load_tensors(path: Path) -> Any:
    """Return what `torch.save` wrote, if it is tensors and plain values; checksums are verified first."""
    import torch

    check_tensors(path)
    with damage_as_input_error(path, "the archive"):
        return torch.load(path, map_location="cpu", weights_only=True)


# ---------------------------------------------------------------- limits


def check_expansion(expanded: int, size: int, path: Path) -> None:
    """Raise `FileFormatError` if a file of `size` bytes expands to more than is allowed."""
    if expanded > expansion_limit(size):
        raise FileFormatError(
            f"the file has {readable_bytes(size)} and expands to more than {readable_bytes(expansion_limit(size))}; "
            f"if that is right, set {EXPANSION} to how many times its size it may expand to.",
            path,
        )


def expansion_limit(size: int) -> int:
    """Return how many bytes a compressed file of this size may expand to."""
    given = os.environ.get(EXPANSION)
    try:
        times = _DEFAULT_EXPANSION if given is None else check_number(EXPANSION, float(given), minimum=1)
    except ValueError:
        raise InputError(f"{EXPANSION} must be a number of at least 1, but it is {given!r}.") from None
    return max(_MIN_EXPANSION_LIMIT, int(size * times))


@contextmanager
def reading_within(limit: int | None) -> Iterator[None]:
    """Within the block, refuse files that take more than `limit` bytes of memory; None: more than the machine has."""
    token = _memory_limit.set(limit)
    try:
        yield
    finally:
        _memory_limit.reset(token)


def check_memory(size: int, path: Path) -> None:
    """Raise `FileFormatError` if reading a file takes more memory than the limit, or than the machine has."""
    limit = _memory_limit.get()
    allowed = machine_memory() if limit is None else limit
    if allowed is not None and size > allowed:
        bound = "this machine has" if limit is None else "the memory limit is"
        raise FileFormatError(
            f"reading it takes {readable_bytes(size)} or more, and {bound} {readable_bytes(allowed)}; raise the limit, "
            "or save the graph where there is room (Graph.save) and open that folder, which is memory-mapped.",
            path,
        )


def machine_memory() -> int | None:
    """Return the memory of this machine in bytes, or None if the system does not report it."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on every system
        return None


@contextmanager
def damage_as_input_error(path: Path, what: str) -> Iterator[None]:
    """Turn any error of a parser into a `FileFormatError` that names the file.

    The parsers of ZIP archives, headers and pickles raise AttributeError, NotImplementedError, AssertionError,
    struct.error, UnicodeDecodeError and more on damaged files, so all of them are caught.
    """
    try:
        yield
    except FileFormatError:
        raise
    except InputError as error:
        raise FileFormatError(str(error), path) from None
    except MemoryError:
        raise FileFormatError(f"{what} is larger than the memory of this machine.", path) from None
    except OSError as error:
        raise FileFormatError(f"{what} cannot be read ({error.strerror or error}).", path) from None
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise FileFormatError(f"{what} is damaged or of another kind ({reason}).", path) from None


# ---------------------------------------------------------------- compressed rows, manifests and checksums


def check_rows(indptr: NDArray[Any], indices: NDArray[Any], width: int) -> None:
    """Raise `ValueError` unless two integer arrays are the compressed rows of a matrix with `width` columns."""
    if indptr.ndim != 1 or indices.ndim != 1 or indptr.dtype.kind not in "iu" or indices.dtype.kind not in "iu":
        raise ValueError("indptr and indices must be one-dimensional arrays of integers")
    if not len(indptr) or indptr[0] != 0 or indptr[-1] != len(indices):
        raise ValueError("indptr must begin with 0 and end with the number of entries")
    if (indptr[1:] < indptr[:-1]).any():
        raise ValueError("indptr decreases")
    if len(indices) and not (int(indices.min()) >= 0 and int(indices.max()) < width):
        raise ValueError(f"indices must be from 0 to {width - 1}")


def read_manifest(path: Path) -> dict[str, Any] | None:
    """Return the object in a JSON file, or None if it holds anything else; a missing file is a `FileNotFoundError`."""
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


class FileFingerprint(NamedTuple):
    """The length of a file and a checksum, by which a manifest recognises it."""

    bytes: int
    crc32: str


def fingerprint(path: Path) -> FileFingerprint:
    """Return the length of a file, and the CRC-32 of all of it or, beyond 64 MB, of 1,024 samples of 64 KB.

    The samples are spread evenly. This keeps the check of a folder of any size below a tenth of a second.
    """
    size, checksum = path.stat().st_size, 0
    step = max(_SAMPLE_SIZE, (size - _SAMPLE_SIZE) // (_NUM_SAMPLES - 1))
    with open(path, "rb", buffering=0) as file:
        for start in (*range(0, size - _SAMPLE_SIZE, step), max(0, size - _SAMPLE_SIZE)):
            file.seek(start)
            checksum = zlib.crc32(file.read(_SAMPLE_SIZE), checksum)
    return FileFingerprint(size, f"{checksum:08x}")


def check_lengths(folder: Path, marks: Mapping[str, Any]) -> None:
    """Raise `ValueError` unless the files of a folder have the lengths in its manifest."""
    for name, (length, _) in marks.items():
        if (size := (folder / name).stat().st_size) != length:
            raise ValueError(f"{name} has {size:,} bytes where {length:,} were written")


def check_fingerprints(folder: Path, marks: Mapping[str, Any]) -> None:
    """Raise `ValueError` unless the files of a folder have the lengths and checksums in its manifest."""
    check_lengths(folder, marks)
    for name, expected in marks.items():
        if list(fingerprint(folder / name)) != list(expected):
            raise ValueError(f"{name} has another checksum than what was written")
