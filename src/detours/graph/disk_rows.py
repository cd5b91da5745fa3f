"""Rows of a saved graph, read from the file instead of memory-mapped, so that their memory can be freed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64
from detours.atomic import atomic_file
from detours.containers import damage_as_input_error, read_header
from detours.errors import FileFormatError

CHUNK = 1 << 16
"""Entries read at a time."""
GAP = 1 << 12
"""Unneeded entries that are read anyway, since a separate read takes longer."""


class ArrayFile:
    """A one-dimensional .npy array of which slices are read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with damage_as_input_error(path, "the array"), open(path, "rb") as file:
            header = read_header(file, os.fstat(file.fileno()).st_size)
            self.dtype, self.offset = header.dtype, header.offset
            (self.size,) = header.shape

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, part: slice) -> NDArray[Any]:
        """Read the entries part.start .. part.stop - 1."""
        count, offset = part.stop - part.start, self.offset + part.start * self.dtype.itemsize
        try:
            entries: NDArray[Any] = np.fromfile(self.path, self.dtype, count, offset=offset)
        except OSError as error:
            raise FileFormatError(f"the array cannot be read ({error}).", self.path) from None
        if len(entries) != count:
            raise FileFormatError("the array is cut short; save the graph again.", self.path)
        return entries


class RowBlock(NamedTuple):
    """Some rows of a graph: row p is ``targets[start[p]:start[p + 1]]``."""

    start: Int64
    targets: Int32


class Rows:
    """The rows of a graph, on disk or not."""

    def __init__(self, indptr: ArrayFile | Int64, indices: ArrayFile | Int32, folder: Path | None = None) -> None:
        self._indptr, self._indices, self.folder = indptr, indices, folder

    @classmethod
    def open(cls, folder: Path) -> Rows:
        """Return the rows of a graph in a folder of arrays."""
        rows = cls(indptr := ArrayFile(folder / "indptr.npy"), indices := ArrayFile(folder / "indices.npy"), folder)
        if indptr.dtype != np.int64 or indices.dtype != np.int32 or not len(indptr):
            raise rows.damaged()
        return rows

    @property
    def num_nodes(self) -> int:
        return len(self._indptr) - 1

    @property
    def num_arcs(self) -> int:
        return len(self._indices)

    def pointers(self, first: int, last: int) -> Int64:
        """Return the slice of indptr for the rows first .. last - 1, with the end of the last one."""
        indptr: Int64 = self._indptr[first : last + 1]
        if len(indptr) and (indptr[0] < 0 or indptr[-1] > self.num_arcs or (indptr[1:] < indptr[:-1]).any()):
            raise self.damaged()
        return indptr

    def bounds(self, nodes: Int64) -> tuple[Int64, Int64]:
        """Return the positions where the rows of these nodes, in ascending order, begin and end."""
        begin, end = np.empty_like(nodes), np.empty_like(nodes)
        for first, last in _ranges_read_together(nodes, nodes + 1):
            pointers = self.pointers(int(nodes[first]), int(nodes[last - 1]) + 1)
            local = nodes[first:last] - nodes[first]
            begin[first:last], end[first:last] = pointers[local], pointers[local + 1]
        if len(nodes) and (begin[0] < 0 or end[-1] > self.num_arcs or (end < begin).any()):
            raise self.damaged()
        return begin, end

    def read(self, begin: Int64, end: Int64) -> RowBlock:
        """Return the rows at these positions, in ascending order."""
        start = np.concatenate([[0], np.cumsum(end - begin)])
        targets = np.empty(start[-1], np.int32)
        for first, last in _ranges_read_together(begin, end):
            block = self.targets(int(begin[first]), int(end[last - 1]))
            sizes = end[first:last] - begin[first:last]
            shift = np.repeat(begin[first:last] - begin[first] - (start[first:last] - start[first]), sizes)
            targets[start[first] : start[last]] = block[np.arange(len(shift)) + shift]
        return RowBlock(start, targets)

    def targets(self, begin: int, end: int) -> Int32:
        """Return the entries begin .. end - 1 of indices."""
        targets: Int32 = self._indices[begin:end]
        if len(targets) and not (targets.min() >= 0 and targets.max() < self.num_nodes):
            raise self.damaged()
        return targets

    def ranges(self, arcs: int = CHUNK) -> Iterator[tuple[int, int]]:
        """Yield consecutive ranges of nodes with at most `arcs` nodes and arcs each, unless a single node has more."""
        first, filled = 0, 0
        for begin in range(0, self.num_nodes, CHUNK):
            pointers = self.pointers(begin, end := min(begin + CHUNK, self.num_nodes))
            while pointers[-1] > filled + arcs or end > first + arcs:
                cut = begin + int(np.searchsorted(pointers, filled + arcs, side="right")) - 1
                cut = min(max(cut, first + 1), first + arcs, end)
                yield first, cut
                first, filled = cut, int(pointers[cut - begin])
        if first < self.num_nodes:
            yield first, self.num_nodes

    def arcs(self) -> Iterator[tuple[Int32, Int32]]:
        """Yield the sources and targets of all arcs, chunk by chunk."""
        for first, last in self.ranges():
            pointers = self.pointers(first, last)
            source = np.repeat(np.arange(first, last, dtype=np.int32), np.diff(pointers))
            yield source, self.targets(int(pointers[0]), int(pointers[-1]))

    def damaged(self) -> FileFormatError:
        return FileFormatError("the saved graph is damaged; save it again.", self.folder)


def digest(rows: Rows, directed: bool) -> str:
    """Return a digest of the arcs of a graph; raise `FileFormatError` unless rows are ascending and without loops."""
    hasher = sha256(f"{rows.num_nodes} {rows.num_arcs} {directed}\n".encode())
    filled = 0
    for first, last in rows.ranges():
        pointers = rows.pointers(first, last)
        if pointers[0] != filled or (np.diff(pointers) < 0).any() or pointers[-1] > rows.num_arcs:
            raise rows.damaged()
        hasher.update(np.diff(pointers).tobytes())
        filled = int(pointers[-1])
        for begin in range(int(pointers[0]), filled, CHUNK):
            end = min(begin + CHUNK + 1, filled)  # one more, to compare the last with the next
            targets = rows.targets(begin, end)
            source = first + np.searchsorted(pointers, np.arange(begin, end), side="right") - 1
            ascending = (targets[1:] > targets[:-1]) | (source[1:] != source[:-1])
            inside = targets.min() >= 0 and targets.max() < rows.num_nodes
            if not (inside and ascending.all()) or (targets == source).any():
                raise rows.damaged()
            hasher.update(targets[:CHUNK].tobytes())
    if filled != rows.num_arcs:
        raise rows.damaged()
    return hasher.hexdigest()


@contextmanager
def new_array(path: Path, dtype: type, shape: tuple[int, ...]) -> Iterator[IO[bytes]]:
    """Open a .npy file to write an array row by row; the file appears once all rows are written."""
    with atomic_file(path) as file:
        header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        yield file


def save_reverse(rows: Rows, folder: Path, most: int) -> Rows:
    """Write the rows of the reversed graph to a folder, about `most` nodes or arcs at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    n, filled = rows.num_nodes, 0
    with new_array(folder / "indptr.npy", np.int64, (n + 1,)) as file:
        file.write(np.int64(0).tobytes())
        for first in range(0, n, most):
            degree = np.zeros(min(most, n - first), np.int64)
            for _, targets in rows.arcs():
                inside = targets[(targets >= first) & (targets < first + most)]
                degree += np.bincount(inside - first, minlength=len(degree))
            pointers = filled + np.cumsum(degree)
            filled = int(pointers[-1])
            file.write(pointers.tobytes())
    unread: Any = np.broadcast_to(np.int32(0), (rows.num_arcs,))  # only indptr is
    with new_array(folder / "indices.npy", np.int32, (rows.num_arcs,)) as file:
        for first, last in Rows(ArrayFile(folder / "indptr.npy"), unread, folder).ranges(most):
            kept = [np.empty((2, 0), np.int32)]
            for arcs in rows.arcs():
                kept.append(np.stack(arcs)[:, (arcs[1] >= first) & (arcs[1] < last)])
            source, targets = np.concatenate(kept, axis=1)
            kept.clear()
            file.write(source[np.argsort(targets, kind="stable")].tobytes())
    return Rows.open(folder)


def _ranges_read_together(begin: Int64, end: Int64) -> Iterator[tuple[int, int]]:
    """Yield ranges of the ascending pieces begin[p] .. end[p] of a file that are best read together."""
    if not len(begin):
        return
    breaks = np.flatnonzero((begin[1:] - end[:-1] > GAP) | (begin[1:] // CHUNK != begin[:-1] // CHUNK)) + 1
    cuts = [0, *breaks.tolist(), len(begin)]
    yield from pairwise(cuts)
