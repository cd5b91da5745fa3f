"""A round of colour refinement that looks only at the nodes which see a changed colour, and at the arcs to these.

The members of a class saw the same number of nodes of every class of the round before, through arcs of each colour. So
they are told apart by the parts into which these classes were split, and by all of them but one: of each class all but
the largest part count as changed. A member is described by what it sees of the changed nodes, and only members that see
any are visited. Where a class splits, its parts are put in the order of the full rows of one member each, which are
about as many entries as arcs at the nodes that change now. Up to the logarithm of a sort, the cost is that of the arcs
at the nodes that changed in this round and the one before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Bool, Int32, Int64
from detours.compiled import compiled
from detours.wl.nodes.rounds_numba import Arcs
from detours.wl.nodes.sort_numba import Rows, sort_row, sort_rows


class Partition(NamedTuple):
    """The nodes class by class, in the order of the colours. A class keeps its id when others change their position."""

    order: Int32
    position: Int32
    """For each node, its index in `order`."""
    class_id: Int32
    """For each node, the id of its class."""
    start: Int32
    """For each class id, the index in `order` of its first node; it ranks the classes."""
    size: Int32
    """For each class id, the number of its nodes."""


class Scratch(NamedTuple):
    """Arrays that a round writes to and leaves clean."""

    changed: Int32
    """The changed nodes, class by class."""
    touched: Int32
    """Nodes that see a changed one."""
    touched_classes: Int32
    num_touched: Int32
    """For each class id, the number of touched members."""
    rows: Rows
    entries: Int64
    fresh: Bool


def new_partition(order: Int32, colour: Int32) -> Partition:
    """Return a partition whose class ids are the colours, to be filled by `fill_partition`."""
    position, start, size = (np.empty(len(order), np.int32) for _ in range(3))
    return Partition(order.copy(), position, colour.copy(), start, size)


def new_scratch(nodes: int, limit: int) -> Scratch:
    """Return scratch space for rounds with at most `limit` arcs at changed nodes."""
    changed, touched, touched_classes = (np.empty(nodes, np.int32) for _ in range(3))
    rows = Rows(np.empty(nodes, np.int64), np.zeros(nodes, np.int32), np.empty(2 * limit, np.int64))
    num_touched, entries, fresh = np.zeros(nodes, np.int32), np.empty(nodes, np.int64), np.zeros(nodes, np.bool_)
    return Scratch(changed, touched, touched_classes, num_touched, rows, entries, fresh)


@compiled
def fill_partition(partition: Partition, scratch: Scratch, starts: Int64, changed: Bool) -> int:
    """Fill the positions and classes from the order of the nodes, the scratch with the changed nodes; count these."""
    order, num_changed = partition.order, 0
    for at in range(len(order)):
        partition.position[order[at]] = at
    for c in range(len(starts) - 1):
        partition.start[c], partition.size[c] = starts[c], starts[c + 1] - starts[c]
        if changed[c]:
            for at in range(starts[c], starts[c + 1]):
                scratch.changed[num_changed] = order[at]
                num_changed += 1
    return num_changed


@compiled
def ranks(partition: Partition, num_classes: int) -> tuple[Int32, Int64]:
    """Return the colours, which are the ranks of the classes, and their offsets in the order of the nodes."""
    nodes = len(partition.order)
    classes_up_to = np.zeros(nodes, np.int32)
    for c in range(num_classes):
        classes_up_to[partition.start[c]] = 1
    for index in range(1, nodes):
        classes_up_to[index] += classes_up_to[index - 1]
    rank = np.empty(num_classes, np.int32)
    starts = np.empty(num_classes + 1, np.int64)
    for c in range(num_classes):
        rank[c] = classes_up_to[partition.start[c]] - 1
        starts[rank[c]] = partition.start[c]
    starts[num_classes] = nodes
    colour = np.empty(nodes, np.int32)
    for node in range(nodes):
        colour[node] = rank[partition.class_id[node]]
    return colour, starts


@compiled
def changed_ranks(colour: Int32, num_classes: int, scratch: Scratch, num_changed: int) -> Bool:
    """Return which colours are those of changed nodes."""
    changed = np.zeros(num_classes, np.bool_)
    for i in range(num_changed):
        changed[colour[scratch.changed[i]]] = True
    return changed


@compiled
def out_of_balance(partition: Partition, scratch: Scratch, num_changed: int, boundary: int) -> bool:
    """Return whether a changed class has more nodes below `boundary` than others, or fewer."""
    balance = 0
    for i in range(num_changed):
        node = scratch.changed[i]
        if i > 0 and balance != 0 and partition.class_id[node] != partition.class_id[scratch.changed[i - 1]]:
            return True
        balance += 1 if node < boundary else -1
    return balance != 0


@compiled
def local_round(
    arcs: Arcs, reverse: Arcs, partition: Partition, num_classes: int, scratch: Scratch, num_changed: int
) -> tuple[int, int, int]:
    """Split the classes that see a changed one; return the numbers of classes, changed nodes and arcs at these.

    `reverse` has the arcs of `arcs` at their targets.
    """
    num_touched, num_touched_classes = _touch(reverse, partition, scratch, num_changed)
    _write_changed_rows(reverse, partition, scratch, num_changed, num_touched)
    parts = np.empty(3 * num_touched_classes + num_touched, np.int32)  # class id, number of parts, their starts
    end = 0
    for i in range(num_touched_classes):
        end = _order_parts(arcs, partition, scratch, scratch.touched_classes[i], parts, end)
    at, num_changed, num_arcs = 0, 0, 0
    while at < end:
        old, num_parts = parts[at], parts[at + 1]
        starts = parts[at + 2 : at + 2 + num_parts]
        at += 2 + num_parts
        stop = partition.start[old] + partition.size[old]
        largest, largest_size = 0, 0
        for p in range(num_parts):
            size = (starts[p + 1] if p + 1 < num_parts else stop) - starts[p]
            if size > largest_size:
                largest, largest_size = p, size
        for p in range(num_parts):
            size = (starts[p + 1] if p + 1 < num_parts else stop) - starts[p]
            c = old
            if p != largest:
                c = num_classes
                num_classes += 1
                for index in range(starts[p], starts[p] + size):
                    node = partition.order[index]
                    partition.class_id[node] = c
                    scratch.changed[num_changed] = node
                    num_changed += 1
                    num_arcs += reverse.indptr[node + 1] - reverse.indptr[node]
            partition.start[c], partition.size[c] = starts[p], size
    return num_classes, num_changed, num_arcs


@compiled
def _touch(reverse: Arcs, partition: Partition, scratch: Scratch, num_changed: int) -> tuple[int, int]:
    """Move the nodes that see a changed one to the end of their class, and count the arcs by which they do.

    Return the numbers of these nodes and of their classes; a class of one node is left out.
    """
    num_touched, num_classes = 0, 0
    length = scratch.rows.length
    for i in range(num_changed):
        changed = scratch.changed[i]
        for arc in range(reverse.indptr[changed], reverse.indptr[changed + 1]):
            node = reverse.indices[arc]
            c = partition.class_id[node]
            if partition.size[c] == 1:
                continue
            if length[node] == 0:
                scratch.touched[num_touched] = node
                num_touched += 1
                if scratch.num_touched[c] == 0:
                    scratch.touched_classes[num_classes] = c
                    num_classes += 1
                scratch.num_touched[c] += 1
                index = partition.start[c] + partition.size[c] - scratch.num_touched[c]
                other = partition.order[index]
                partition.order[partition.position[node]] = other
                partition.position[other] = partition.position[node]
                partition.order[index] = node
                partition.position[node] = index
            length[node] += 1
    return num_touched, num_classes


@compiled
def _write_changed_rows(
    reverse: Arcs, partition: Partition, scratch: Scratch, num_changed: int, num_touched: int
) -> None:
    """Write for each touched node the number of changed nodes it sees, and their sorted classes and arc colours."""
    rows = scratch.rows
    coloured = len(reverse.colour) > 0
    end = 0
    for i in range(num_touched):
        node = scratch.touched[i]
        rows.place[node] = end
        rows.keys[end] = rows.length[node]
        end += rows.length[node] + 1
        rows.length[node] = 1
    for i in range(num_changed):
        changed = scratch.changed[i]
        start = np.int64(partition.start[partition.class_id[changed]])
        for arc in range(reverse.indptr[changed], reverse.indptr[changed + 1]):
            node = reverse.indices[arc]
            if partition.size[partition.class_id[node]] == 1:
                continue
            entry = start
            if coloured:
                entry |= np.int64(reverse.colour[arc]) << 32
            rows.keys[rows.place[node] + rows.length[node]] = entry
            rows.length[node] += 1
    for i in range(num_touched):
        node = scratch.touched[i]
        sort_row(rows.keys[rows.place[node] + 1 :], rows.length[node] - 1)


@compiled
def _order_parts(arcs: Arcs, partition: Partition, scratch: Scratch, c: int, parts: Int32, end: int) -> int:
    """Put the members of a class in the order of its parts, and append the class and where its parts start to `parts`.

    Return the end of `parts`. Nothing is appended if the class does not split. Clear the rows of its touched members.
    """
    order, position = partition.order, partition.position
    start, stop = partition.start[c], partition.start[c] + partition.size[c]
    middle = stop - scratch.num_touched[c]  # untouched members come first, then touched ones
    scratch.num_touched[c] = 0
    for index in range(middle, stop):
        scratch.entries[index] = scratch.rows.keys[scratch.rows.place[order[index]]]
    num_parts = 1 + sort_rows(order, middle, stop, scratch.rows, scratch.entries, scratch.fresh)
    untouched = middle - start
    if untouched > 0:
        num_parts += 1
    bounds = np.empty(num_parts + 1, np.int32)  # of the parts, in the order of their rows of changed classes
    bounds[0] = start
    found = 1
    if untouched > 0:
        bounds[1] = middle
        found = 2
    for index in range(middle, stop):
        scratch.rows.length[order[index]] = 0
        if scratch.fresh[index]:
            scratch.fresh[index] = False
            bounds[found] = index
            found += 1
    bounds[num_parts] = stop
    if num_parts == 1:
        for index in range(middle, stop):
            position[order[index]] = index
        return end
    ranked = _rank_parts(arcs, partition, bounds)
    before = 0  # touched nodes whose parts precede the untouched part
    if untouched > 0:
        for part in ranked:
            if part == 0:
                break
            before += bounds[part + 1] - bounds[part]
    members = order[middle:stop].copy()
    for i in range(min(before, untouched)):  # only as many as must make way move
        node, index = order[start + i], start + before + untouched - 1 - i
        order[index], position[node] = node, index
    parts[end], parts[end + 1] = c, num_parts
    end += 2
    index = start
    for p in range(num_parts):
        part = ranked[p]
        parts[end + p] = index
        if untouched > 0 and part == 0:
            index += untouched
            continue
        for i in range(bounds[part] - middle, bounds[part + 1] - middle):
            order[index], position[members[i]] = members[i], index
            index += 1
    return end + num_parts


@compiled
def _rank_parts(arcs: Arcs, partition: Partition, bounds: Int32) -> Int32:
    """Return the parts of a class in the order of the rows of their members."""
    num_parts = len(bounds) - 1
    first = partition.order[bounds[0]]
    degree = arcs.indptr[first + 1] - arcs.indptr[first]  # that of every member
    keys = np.empty(num_parts * degree, np.int64)
    place = np.empty(num_parts, np.int64)
    entries = np.empty(num_parts, np.int64)
    for part in range(num_parts):
        node = partition.order[bounds[part]]
        place[part] = part * degree
        for i in range(degree):
            arc = arcs.indptr[node] + i
            key = np.int64(partition.start[partition.class_id[arcs.indices[arc]]])
            if len(arcs.colour) > 0:
                key |= np.int64(arcs.colour[arc]) << 32
            keys[part * degree + i] = key
        sort_row(keys[part * degree :], degree)
        entries[part] = keys[part * degree]
    ranked = np.arange(num_parts).astype(np.int32)
    rows = Rows(place, np.full(num_parts, degree, np.int32), keys)
    sort_rows(ranked, 0, num_parts, rows, entries, np.zeros(num_parts, np.bool_))
    return ranked


@compiled
def reversed_arcs(arcs: Arcs) -> tuple[Int64, Int32, Int32]:
    """Return the CSR of the reversed arcs, and their colours."""
    nodes = len(arcs.indptr) - 1
    indptr = np.zeros(nodes + 1, np.int64)
    for target in arcs.indices:
        indptr[target + 1] += 1
    for node in range(nodes):
        indptr[node + 1] += indptr[node]
    indices, colour = np.empty(len(arcs.indices), np.int32), np.empty(len(arcs.indices), np.int32)
    free = indptr.copy()
    for node in range(nodes):
        for arc in range(arcs.indptr[node], arcs.indptr[node + 1]):
            at = free[arcs.indices[arc]]
            free[arcs.indices[arc]] += 1
            indices[at], colour[at] = node, arcs.colour[arc]
    return indptr, indices, colour
