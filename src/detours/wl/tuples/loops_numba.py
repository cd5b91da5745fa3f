"""One round of k-FWL on the tuples of one graph: write every signature sorted, then split every class.

A tuple of `dim` nodes is an integer below n^dim, with its first node as the most significant digit. The tuples that
differ from it in one position form a *line* of n tuples. A partition is kept as `members`, the tuples in the order of
their colours, and `starts`, where each class starts in `members`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64
from detours.compiled import compiled

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_NEAR = np.uint64(29)
_FAR = np.uint64(32)
_LOW = 2**32 - 1


class Lines(NamedTuple):
    """The colours that signatures are made of, as `write_lines` or, if `dim` is 1, `write_neighbours` writes them."""

    num_nodes: int
    dim: int
    entries: Int64
    row_offsets: Int64
    """Where the row of each node starts, if `dim` is 1."""


class Partition(NamedTuple):
    """The classes of all tuples."""

    colour: Int32
    members: Int32
    """The tuples in the order of their colours."""
    starts: Int64
    """Where each class starts in `members`."""


class SortSpace(NamedTuple):
    """Scratch arrays of `_write_signature`, one entry for each node."""

    counts: Int32
    half_sorted: Int64


class Groups(NamedTuple):
    """The members of one class grouped by signature: scratch arrays large enough for the largest class."""

    signatures: Int64
    """The concatenated signatures of all groups."""
    table: Int32
    """A hash table of groups; later holds the members before they are reordered."""
    digests: NDArray[np.uint64]
    offsets: Int64
    """Where the signature of each group starts."""
    sizes: Int64
    group_of: Int32
    """The group of each member."""


@compiled
def write_lines(num_nodes: Any, dim: Any, colour: Any, members: Any, entries: Any) -> None:
    """Write, for every position, the lines in that direction: one int64 for each of their nodes.

    In the lines of the last position, these are the nodes (high half) and colours (low half) sorted by colour. In
    those of the other positions, node by node, they are where in the sorted line the colour of that node starts (high
    half), and the colour. Tuples are visited in the order of their colours, so that no line needs sorting.
    """
    tuples = len(colour)
    num_lines = tuples // num_nodes
    filled = np.empty(num_lines, dtype=np.int32)
    run = np.empty(num_lines, dtype=np.int32)
    last = np.empty(num_lines, dtype=np.int32)
    stride = tuples
    for position in range(dim):
        stride //= num_nodes
        for line in range(num_lines):
            filled[line] = 0
            last[line] = -1
        for at in range(tuples):
            member = np.int64(members[at])
            high = member // stride
            prefix = high // num_nodes
            node = high - prefix * num_nodes
            line = prefix * stride + member - high * stride
            own = colour[member]
            start = position * tuples + line * num_nodes
            if own != last[line]:
                last[line] = own
                run[line] = filled[line]
            if position < dim - 1:
                entries[start + node] = np.int64(run[line]) << 32 | own
            else:
                entries[start + filled[line]] = node << 32 | own
            filled[line] += 1


@compiled
def write_neighbours(
    indptr: Any, seers: Any, colour: Any, members: Any, row_offsets: Any, skip: Any, entries: Any
) -> None:
    """Write the sorted colours of the neighbours of every node into its row, starting at index `skip[node]`.

    Each node, in the order of colours, writes its own colour to those that see it, so that no row needs sorting.
    """
    cursor = row_offsets[:-1] + skip
    for at in range(len(members)):
        node = members[at]
        for arc in range(indptr[node], indptr[node + 1]):
            seer = seers[arc]
            entries[cursor[seer]] = colour[node]
            cursor[seer] += 1


@compiled
def _write_signature(member: Any, lines: Any, space: Any, rows: Any, at: Any) -> Any:
    """Write the signature of a tuple at rows[at:], its multiset sorted, and return its length.

    The vectors of colours are sorted by radix sort: by the colour at the last position, as the lines of that position
    are already, then by each position before it, with a stable sort. A vector takes one integer if it has two colours,
    two if it has three.
    """
    entries, n = lines.entries, lines.num_nodes
    if lines.dim == 1:
        start = lines.row_offsets[member]
        length = lines.row_offsets[member + 1] - start
        for i in range(length):
            rows[at + i] = entries[start + i]
        return length
    count, half_sorted = space.counts, space.half_sorted
    tuples = len(entries) // lines.dim
    face = member // n
    last = (lines.dim - 1) * tuples + face * n
    if lines.dim == 2:
        first = (member - face * n) * n
        for i in range(n):
            count[i] = 0
        for i in range(n):
            item = entries[last + i]
            entry = entries[first + (item >> 32)]
            run = entry >> 32
            rows[at + run + count[run]] = entry << 32 | (item & _LOW)
            count[run] += 1
        return n
    front = face // n
    first = (member - front * n * n) * n
    middle = tuples + (front * n + member - face * n) * n
    for i in range(n):
        count[i] = 0
    for i in range(n):
        item = entries[last + i]
        run = entries[middle + (item >> 32)] >> 32
        half_sorted[run + count[run]] = item
        count[run] += 1
    for i in range(n):
        count[i] = 0
    for i in range(n):
        item = half_sorted[i]
        node = item >> 32
        entry = entries[first + node]
        run = entry >> 32
        target = at + 2 * (run + count[run])
        rows[target] = entry << 32 | (entries[middle + node] & _LOW)
        rows[target + 1] = item & _LOW
        count[run] += 1
    return 2 * n


@compiled
def _digest(rows: Any, at: Any, length: Any) -> Any:
    """Hash a row to an integer that is the same on every machine; rows with equal hashes are always compared."""
    digest = np.uint64(length)
    for i in range(length):
        mixed = np.uint64(rows[at + i]) + np.uint64(i) * _GOLDEN
        mixed = (mixed ^ mixed >> _FAR) * _MIX
        mixed = (mixed ^ mixed >> _NEAR) * _GOLDEN
        digest += mixed ^ mixed >> _FAR
    return digest


@compiled
def _compare(rows: Any, a: Any, a_length: Any, b: Any, b_length: Any) -> Any:
    """Return a negative integer, zero or a positive one if row a is less than, equal to or greater than row b."""
    for i in range(min(a_length, b_length)):
        if rows[a + i] != rows[b + i]:
            return np.int64(-1) if rows[a + i] < rows[b + i] else np.int64(1)
    return np.int64(a_length - b_length)


@compiled
def _comes_before(a: Any, b: Any, groups: Any) -> Any:
    """Return whether group a comes before group b: by digest, then by signature."""
    if groups.digests[a] != groups.digests[b]:
        return groups.digests[a] < groups.digests[b]
    offsets = groups.offsets
    a_length, b_length = offsets[a + 1] - offsets[a], offsets[b + 1] - offsets[b]
    return _compare(groups.signatures, offsets[a], a_length, offsets[b], b_length) < 0


@compiled
def _ranks(num_groups: Any, groups: Any) -> Any:
    """Return the rank of each group of a class, which depends only on signatures, by a bottom-up merge sort."""
    order = np.arange(num_groups)
    merged = np.empty(num_groups, dtype=np.int64)
    width = 1
    while width < num_groups:
        for start in range(0, num_groups, 2 * width):
            middle = min(start + width, num_groups)
            end = min(start + 2 * width, num_groups)
            left = start
            right = middle
            for at in range(start, end):
                take_right = left == middle
                if not take_right and right < end:
                    take_right = _comes_before(order[right], order[left], groups)
                if take_right:
                    merged[at] = order[right]
                    right += 1
                else:
                    merged[at] = order[left]
                    left += 1
        order, merged = merged, order
        width *= 2
    for i in range(num_groups):
        merged[order[i]] = i
    return merged


@compiled
def _group(start: Any, end: Any, lines: Any, members: Any, space: Any, groups: Any, mask: Any) -> Any:
    """Group the members of one class by signature, and return the number of groups.

    A hash table with open addressing holds the groups by digest; signatures with equal digests are compared in full.
    """
    table, digests, offsets = groups.table, groups.digests, groups.offsets
    num_slots = 2
    while num_slots < 2 * (end - start):
        num_slots *= 2
    for empty in range(num_slots):
        table[empty] = -1
    num_groups: Any = 0
    offsets[0] = 0
    for at in range(start, end):
        free = offsets[num_groups]
        length = _write_signature(np.int64(members[at]), lines, space, groups.signatures, free)
        digest = _digest(groups.signatures, free, length) & mask
        slot = np.int64(digest & np.uint64(num_slots - 1))
        while True:
            group: Any = np.int64(table[slot])
            if group < 0:
                group = num_groups
                table[slot] = group
                digests[group] = digest
                groups.sizes[group] = 0
                num_groups += 1
                offsets[num_groups] = free + length
                break
            group_start = offsets[group]
            if digests[group] == digest:
                group_length = offsets[group + 1] - group_start
                if _compare(groups.signatures, group_start, group_length, free, length) == 0:
                    break
            slot = np.int64((slot + 1) & (num_slots - 1))
        groups.group_of[at - start] = group
        groups.sizes[group] += 1
    return num_groups


@compiled
def _reorder(start: Any, end: Any, num_groups: Any, members: Any, groups: Any, starts: Any, first_new: Any) -> None:
    """Order the members of one class by the ranks of their groups, and write where each new class starts."""
    sizes, old_members = groups.sizes, groups.table
    rank = _ranks(num_groups, groups)
    for group in range(num_groups):
        starts[first_new + rank[group] + 1] = sizes[group]
    starts[first_new] = start
    for c in range(first_new, first_new + num_groups):
        starts[c + 1] += starts[c]
    for group in range(num_groups):
        sizes[group] = starts[first_new + rank[group]]
    for at in range(start, end):
        old_members[at - start] = members[at]
    for i in range(end - start):
        group = groups.group_of[i]
        members[sizes[group]] = old_members[i]
        sizes[group] += 1


@compiled
def split(lines: Any, partition: Any, signatures: Any, mask: Any) -> Any:
    """Split every class by the signatures of its members, in place; return the new starts and the parent of each class.

    A class of one member cannot split, so its signature is not written. `signatures` has room for those of the largest
    class. `mask` is for tests: it keeps only some bits of the digests, so that they collide.
    """
    colour, members, starts = partition.colour, partition.members, partition.starts
    tuples = len(members)
    largest = 1
    for c in range(len(starts) - 1):
        largest = max(largest, starts[c + 1] - starts[c])
    num_slots = 2
    while num_slots < 2 * largest:
        num_slots *= 2
    space = SortSpace(np.empty(lines.num_nodes, dtype=np.int32), np.empty(lines.num_nodes, dtype=np.int64))
    groups = Groups(
        signatures,
        np.empty(num_slots, dtype=np.int32),
        np.empty(largest, dtype=np.uint64),
        np.empty(largest + 1, dtype=np.int64),
        np.empty(largest, dtype=np.int64),
        np.empty(largest, dtype=np.int32),
    )
    new_starts = np.empty(tuples + 1, dtype=np.int64)
    parent = np.empty(tuples, dtype=np.int32)
    num_new: Any = np.int64(0)
    for c in range(len(starts) - 1):
        start, end = starts[c], starts[c + 1]
        num_groups = 1
        if end - start > 1:
            num_groups = _group(start, end, lines, members, space, groups, mask)
        if num_groups > 1:
            _reorder(start, end, num_groups, members, groups, new_starts, num_new)
        new_starts[num_new] = start
        for child in range(num_new, num_new + num_groups):
            parent[child] = c
        num_new += num_groups
    new_starts[num_new] = tuples
    for c in range(num_new):
        for at in range(new_starts[c], new_starts[c + 1]):
            colour[members[at]] = c
    return new_starts[: num_new + 1].copy(), parent[:num_new].copy()


@compiled
def write_signatures(lines: Any, tuples: Any, rows: Any) -> Any:
    """Write the signatures of some tuples, one after another, and return the number of integers written."""
    space = SortSpace(np.empty(lines.num_nodes, dtype=np.int32), np.empty(lines.num_nodes, dtype=np.int64))
    filled = np.int64(0)
    for i in range(len(tuples)):
        filled += _write_signature(np.int64(tuples[i]), lines, space, rows, filled)
    return filled
