"""Opening of files, plain or compressed, text or binary, with a clear error for everything that can be wrong."""

from __future__ import annotations

import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from detours.containers import check_expansion, check_memory, expansion_limit
from detours.errors import FileFormatError

_MAGIC = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"\x1f\x8b", "gzip-compressed data; its name should end in .gz"),
    (b"PK\x03\x04", "a ZIP archive (an .npz or a spreadsheet is one)"),
    (b"\x93NUMPY", "a NumPy .npy array"),
    (b"\x89HDF", "an HDF5 file"),
    (b"PAR1", "a Parquet file"),
    (b"\x7fELF", "a program"),
    (b"BZh", "bzip2-compressed data"),
    (b"\xfd7zXZ", "xz-compressed data"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
    (b"\xff\xfe", "text in UTF-16; save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16; save it as UTF-8"),
)
BOM = b"\xef\xbb\xbf"
_HEAD = 4096
_PER_EDGE = 72  # bytes needed to sort the arcs of an edge, measured and rounded up
_PER_NODE = 32


def check_size(num_nodes: int, num_edges: int, path: Path) -> None:
    """Raise `FileFormatError` if a graph is far larger than its file, or needs too much memory."""
    if path.is_file():  # a pipe has no size
        check_expansion(_PER_NODE * num_nodes, path.stat().st_size, path)
    check_memory(_PER_NODE * num_nodes + _PER_EDGE * num_edges, path)


class _LimitedReader(io.BufferedIOBase):
    """The decompressed content of a file, up to the limits of expansion and memory."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file, self._path, self._num_read = file, path, 0
        self._size = path.stat().st_size if path.is_file() else sys.maxsize
        self._limit = expansion_limit(self._size)

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        left = self._limit - self._num_read + 1
        block = self._file.read(left if size is None or size < 0 else min(size, left))
        self._num_read += len(block)
        check_expansion(self._num_read, self._size, self._path)
        check_memory(self._num_read, self._path)
        return block


@contextmanager
def open_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to read its bytes, decompressed if its name ends in .gz; problems become a `FileFormatError`."""
    try:
        with open(path, "rb") as raw:
            head = raw.peek(2)[:2]  # peek, since a pipe cannot seek back
            if not head:
                raise FileFormatError("the file is empty.", path)
            if path.is_file():
                check_memory(path.stat().st_size, path)
            if path.suffix.lower() != ".gz":
                yield raw
                return
            if head != b"\x1f\x8b":
                raise FileFormatError("the name ends in .gz, but the file is not gzip-compressed.", path)
            with gzip.open(raw) as decompressed:
                yield cast(IO[bytes], _LimitedReader(cast(IO[bytes], decompressed), path))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileFormatError(
            f"the gzip data is cut off or damaged ({error}); fetch or write the file again.", path
        ) from None
    except FileNotFoundError:
        raise FileFormatError("there is no such file.", path) from None
    except OSError as error:
        raise FileFormatError(f"the file cannot be read ({error.strerror or error}).", path) from None


def check_text(head: bytes, path: Path, *, xml: bool = False) -> None:
    """Raise `FileFormatError` for anything but text, or for a web page or XML unless `xml` is set."""
    for magic, what in _MAGIC:
        if head.startswith(magic):
            raise FileFormatError(f"this is not text: it looks like {what}.", path)
    if b"\0" in head[:_HEAD]:
        raise FileFormatError("this is not text: it holds binary data.", path)
    start = head.removeprefix(BOM).lstrip()[:2]
    if not xml and start[:1] == b"<" and (start[1:].isalpha() or start[1:] in (b"!", b"?")):
        raise FileFormatError("this looks like a web page or XML, not a list of edges.", path)


def read_text(path: Path, *, xml: bool = False) -> bytes:
    """Return the bytes of a text file, which must not be empty, without a byte-order mark."""
    with open_file(path) as file:
        text = file.read()
    check_text(text, path, xml=xml)
    if not text.strip():
        raise FileFormatError("the file is empty.", path)
    return without_marks(text)


def without_marks(text: bytes) -> bytes:
    """Return a text without a byte-order mark, and with the line sep=; of Excel commented out."""
    text = text.removeprefix(BOM)
    return b"#" + text if re.match(rb"sep=[^\r\n]\r?\n", text, re.IGNORECASE) else text
