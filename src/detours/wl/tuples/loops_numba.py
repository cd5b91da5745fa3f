"""One round of k-FWL on the tuples of one graph: sort every signature without comparing, then split every class.

A tuple of `dim` nodes is an integer below n^dim, its first node the most significant digit. The tuples that differ
from it in one position lie on a *line* of n tuples. A partition is kept as `members`, the tuples in the order of
their colours, and `starts`, where each class begins among them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from detours.compiled import compiled

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_NEAR = np.uint64(29)
_FAR = np.uint64(32)
_LOW = 2**32 - 1


@compiled
def lay_lines(num_nodes: Any, dim: Any, colour: Any, members: Any, entries: Any) -> None:
    """Write down, for every position, the lines in that direction: one int64 for each of their nodes.

    In the lines of the last position, these are the nodes (high half) and colours (low half) sorted by colour. In
    those of the other positions, node by node, they are where in the sorted line the colour of that node begins, and
    the colour. Tuples are met in the order of their colours, so that no line needs sorting.
    """
    tuples = len(colour)
    num_lines = tuples // num_nodes
    met = np.empty(num_lines, dtype=np.int32)
    run = np.empty(num_lines, dtype=np.int32)
    last = np.empty(num_lines, dtype=np.int32)
    stride = tuples
    for position in range(dim):
        stride //= num_nodes
        for line in range(num_lines):
            met[line] = 0
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
                run[line] = met[line]
            if position < dim - 1:
                entries[start + node] = np.int64(run[line]) << 32 | own
            else:
                entries[start + met[line]] = node << 32 | own
            met[line] += 1


@compiled
def lay_neighbours(push_ptr: Any, push: Any, colour: Any, members: Any, pointer: Any, skip: Any, entries: Any) -> None:
    """Write the colours of the neighbours of every node, sorted, into its row, `skip[node]` places from its start.

    Each node in the order of colours writes its own colour to those who see it, so that no row needs sorting.
    """
    cursor = pointer[:-1] + skip
    for at in range(len(members)):
        node = members[at]
        for arc in range(push_ptr[node], push_ptr[node + 1]):
            seer = push[arc]
            entries[cursor[seer]] = colour[node]
            cursor[seer] += 1


@compiled
def _write_row(member: Any, num_nodes: Any, dim: Any, lines: Any, work: Any, rows: Any, at: Any) -> Any:
    """Write the signature of a tuple at rows[at:], its multiset sorted, and return its length.

    The vectors of colours are sorted as a radix sort does it: by the colour at the last position, as the lines there
    are already, then by each position before it, keeping the order among equals. A vector takes one number if it has
    two colours, two if it has three.
    """
    entries, pointer = lines
    if dim == 1:
        length = pointer[member + 1] - pointer[member]
        for i in range(length):
            rows[at + i] = entries[pointer[member] + i]
        return length
    count, sorted_twice = work
    n = num_nodes
    tuples = len(entries) // dim
    face = member // n
    last = (dim - 1) * tuples + face * n
    if dim == 2:
        first = (member - face * n) * n
        for i in range(n):
            count[i] = 0
        for i in range(n):
            item = entries[last + i]
            begin = entries[first + (item >> 32)]
            run = begin >> 32
            rows[at + run + count[run]] = begin << 32 | (item & _LOW)
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
        sorted_twice[run + count[run]] = item
        count[run] += 1
    for i in range(n):
        count[i] = 0
    for i in range(n):
        item = sorted_twice[i]
        node = item >> 32
        begin = entries[first + node]
        run = begin >> 32
        place = at + 2 * (run + count[run])
        rows[place] = begin << 32 | (entries[middle + node] & _LOW)
        rows[place + 1] = item & _LOW
        count[run] += 1
    return 2 * n


@compiled
def _digest(rows: Any, at: Any, length: Any) -> Any:
    """A number for a row that is the same on every machine; equal numbers prove nothing and are never trusted."""
    digest = np.uint64(length)
    for i in range(length):
        mixed = np.uint64(rows[at + i]) + np.uint64(i) * _GOLDEN
        mixed = (mixed ^ mixed >> _FAR) * _MIX
        mixed = (mixed ^ mixed >> _NEAR) * _GOLDEN
        digest += mixed ^ mixed >> _FAR
    return digest


@compiled
def _compare(rows: Any, a: Any, a_length: Any, b: Any, b_length: Any) -> Any:
    """Negative, zero or positive as row a comes before, equals or comes after row b."""
    for i in range(min(a_length, b_length)):
        if rows[a + i] != rows[b + i]:
            return np.int64(-1) if rows[a + i] < rows[b + i] else np.int64(1)
    return np.int64(a_length - b_length)


@compiled
def _comes_before(a: Any, b: Any, digests: Any, rows: Any, offsets: Any) -> Any:
    """Whether group a comes before group b: by digest, then by signature."""
    if digests[a] != digests[b]:
        return digests[a] < digests[b]
    a_length, b_length = offsets[a + 1] - offsets[a], offsets[b + 1] - offsets[b]
    return _compare(rows, offsets[a], a_length, offsets[b], b_length) < 0


@compiled
def _ranks(groups: Any, digests: Any, rows: Any, offsets: Any) -> Any:
    """The rank of each group of a class, which depends on its signature alone; a merge sort from the bottom up."""
    order = np.arange(groups)
    merged = np.empty(groups, dtype=np.int64)
    width = 1
    while width < groups:
        for start in range(0, groups, 2 * width):
            middle = min(start + width, groups)
            end = min(start + 2 * width, groups)
            left = start
            right = middle
            for at in range(start, end):
                take_right = left == middle
                if not take_right and right < end:
                    take_right = _comes_before(order[right], order[left], digests, rows, offsets)
                if take_right:
                    merged[at] = order[right]
                    right += 1
                else:
                    merged[at] = order[left]
                    left += 1
        order, merged = merged, order
        width *= 2
    for i in range(groups):
        merged[order[i]] = i
    return merged


@compiled
def _gather(start: Any, end: Any, num_nodes: Any, dim: Any, lines: Any, members: Any, scratch: Any, mask: Any) -> Any:
    """Put the members of one class into groups of equal signatures, and return how many groups there are.

    A table, open to its neighbouring slots, says where a signature with this digest was seen; whether it is the same
    one is decided by comparing them whole.
    """
    work, rows, table, digests, offsets, sizes, group_of = scratch
    slots = 2
    while slots < 2 * (end - start):
        slots *= 2
    for empty in range(slots):
        table[empty] = -1
    groups: Any = 0
    offsets[0] = 0
    for at in range(start, end):
        free = offsets[groups]
        length = _write_row(np.int64(members[at]), num_nodes, dim, lines, work, rows, free)
        digest = _digest(rows, free, length) & mask
        slot = np.int64(digest & np.uint64(slots - 1))
        while True:
            group: Any = np.int64(table[slot])
            if group < 0:
                group = groups
                table[slot] = group
                digests[group] = digest
                sizes[group] = 0
                groups += 1
                offsets[groups] = free + length
                break
            found = offsets[group]
            if digests[group] == digest and _compare(rows, found, offsets[group + 1] - found, free, length) == 0:
                break
            slot = np.int64((slot + 1) & (slots - 1))
        group_of[at - start] = group
        sizes[group] += 1
    return groups


@compiled
def _place(start: Any, end: Any, groups: Any, members: Any, scratch: Any, starts: Any, new: Any) -> None:
    """Order the members of one class by the ranks of their groups, and write where each new class starts."""
    _, rows, kept, digests, offsets, sizes, group_of = scratch
    rank = _ranks(groups, digests, rows, offsets)
    for group in range(groups):
        starts[new + rank[group] + 1] = sizes[group]
    starts[new] = start
    for one in range(new, new + groups):
        starts[one + 1] += starts[one]
    for group in range(groups):
        sizes[group] = starts[new + rank[group]]
    for at in range(start, end):
        kept[at - start] = members[at]
    for i in range(end - start):
        group = group_of[i]
        members[sizes[group]] = kept[i]
        sizes[group] += 1


@compiled
def split(
    num_nodes: Any, dim: Any, lines: Any, colour: Any, members: Any, starts: Any, parent: Any, rows: Any, mask: Any
) -> Any:
    """Split every class by the signatures of its members; in place, but for the starts, which are returned.

    `parent` receives the class from which each new one came. A class of one member cannot split, so its signature
    is not even written. `mask` is there for the tests: it keeps only some bits of the digests, so that they collide.
    """
    tuples = len(members)
    largest = 1
    for one in range(len(starts) - 1):
        largest = max(largest, starts[one + 1] - starts[one])
    slots = 2
    while slots < 2 * largest:
        slots *= 2
    scratch = (
        (np.empty(num_nodes, dtype=np.int32), np.empty(num_nodes, dtype=np.int64)),
        rows,
        np.empty(slots, dtype=np.int32),
        np.empty(largest, dtype=np.uint64),
        np.empty(largest + 1, dtype=np.int64),
        np.empty(largest, dtype=np.int64),
        np.empty(largest, dtype=np.int32),
    )
    new_starts = np.empty(tuples + 1, dtype=np.int64)
    new: Any = np.int64(0)
    for one in range(len(starts) - 1):
        start, end = starts[one], starts[one + 1]
        groups = 1
        if end - start > 1:
            groups = _gather(start, end, num_nodes, dim, lines, members, scratch, mask)
        if groups > 1:
            _place(start, end, groups, members, scratch, new_starts, new)
        new_starts[new] = start
        for child in range(new, new + groups):
            parent[child] = one
        new += groups
    new_starts[new] = tuples
    for one in range(new):
        for at in range(new_starts[one], new_starts[one + 1]):
            colour[members[at]] = one
    return new_starts[: new + 1]


@compiled
def write_signatures(num_nodes: Any, dim: Any, lines: Any, tuples: Any, rows: Any) -> Any:
    """Write the signatures of some tuples, one after the other, and return how many numbers that took."""
    work = (np.empty(num_nodes, dtype=np.int32), np.empty(num_nodes, dtype=np.int64))
    filled = np.int64(0)
    for i in range(len(tuples)):
        filled += _write_row(np.int64(tuples[i]), num_nodes, dim, lines, work, rows, filled)
    return filled
