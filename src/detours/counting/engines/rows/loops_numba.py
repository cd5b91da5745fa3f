"""The inner loops of the row engine: one program, run for a block of roots side by side.

A vector is an array [local nodes, lanes], one lane per root, so that every sparse product is a contiguous loop over
lanes.  Local nodes are numbered by breadth-first search from the roots, from 1; row 0 is zero and represents all nodes
outside.  Arithmetic wraps modulo the word size, which is exact as long as the final counts fit: all operations are
+ - *.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from detours.arrays import Int32, Int64, UInt8
from detours.compiled import compiled
from detours.counting.engines.rows.tables import Code, Graph, Integers, Links, Records, Space

Function = TypeVar("Function", bound=Callable[..., Any])

TOUCH, PRODUCT, COMBINE = 0, 1, 2
READ_VECTOR, PLAIN = -2, -1
NO_PENDANT = -1


def _inner(function: Function) -> Function:
    """Compile for calls from other compiled loops only, which compiles faster."""
    return cast(Function, njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function))


@compiled
def run_roots(
    graph: Graph,
    roots: Int64,
    begin: int,
    end: int,
    lanes: int,
    reach: int,
    code: Code,
    links: Links,
    out: Integers,
    space: Space,
    buffer: Integers,
    stop: Int64,
) -> tuple[int, int]:
    """Run the program for blocks of `lanes` roots from roots[begin:end].

    Returns (position reached, rows needed): rows needed > 0 means that the buffer is too small for the next block.
    `space.sizes` keeps the values of the last block.
    """
    indptr, indices, _, flags = graph
    operations, term_offsets, terms, readings = code
    weights, reverse_weights, pendants = links
    local, nodes, needed, _, sizes = space
    near, near_arcs, ends, ends_arcs = sizes[0], sizes[1], sizes[2], sizes[3]
    served = np.empty(0, np.int64)  # the arcs to be read, and the lanes of their roots
    lane_of = np.empty(0, np.int32)
    position = begin
    while position < end and stop[0] == 0:
        last = min(position + lanes, end)
        _find_near(graph, roots, position, last, reach, space)
        count = near[reach]
        if count > buffer.shape[1]:
            _reset(nodes, count, local)
            return position, count
        if near_arcs[0] > served.shape[0]:
            served = np.empty(2 * near_arcs[0], np.int64)
            lane_of = np.empty(2 * near_arcs[0], np.int32)
        num_served = _find_served(graph, roots, position, last, served, lane_of)
        _find_needed(graph, served[:num_served], reach, count, space)
        for n in range(operations.shape[0]):
            operation = operations[n]
            kind, source, weighting = operation.kind, operation.source, operation.weighting
            support, demand = operation.support, operation.demand
            result = buffer[operation.result]
            if kind == TOUCH:
                _zero(result, count)
                _touch(indptr, indices, flags, roots, position, last, local, source, result)
            elif kind == PRODUCT:
                push = support <= reach and near_arcs[support - 1] * 3 < ends_arcs[min(demand, reach)] * 2
                if push or demand > support:
                    _zero(result, count)
                    last_row = near[support - 1]
                    if weighting == PLAIN:
                        _push(indptr, indices, local, nodes, last_row, buffer[source], result)
                    else:
                        reverse_weight = reverse_weights[weighting]
                        _push_weighted(indptr, indices, reverse_weight, local, nodes, last_row, buffer[source], result)
                elif weighting == PLAIN:
                    _pull(indptr, indices, local, nodes, needed, ends[demand], buffer[source], result)
                else:
                    weight = weights[weighting]
                    _pull_weighted(indptr, indices, weight, local, nodes, needed, ends[demand], buffer[source], result)
            else:
                first, last_term = term_offsets[n], term_offsets[n + 1]
                if demand > support:
                    _zero(result, count)
                    for row in range(1, near[support]):
                        _combine(terms, first, last_term, pendants, nodes, row, buffer, result)
                else:
                    for m in range(ends[demand]):
                        _combine(terms, first, last_term, pendants, nodes, int(needed[m]), buffer, result)
        _read(indptr, indices, served, lane_of, num_served, local, readings, weights, buffer, out)
        _reset(nodes, count, local)
        position = last
    return position, 0


@_inner
def _zero(vector: Integers, count: int) -> None:
    flat = vector.ravel()
    for m in range(count * vector.shape[1]):
        flat[m] = 0


@_inner
def _find_near(graph: Graph, roots: Int64, begin: int, end: int, reach: int, space: Space) -> None:
    """Breadth-first search from the roots; local[v] is the local index of v, 0 outside."""
    indptr, indices, local, nodes = graph.indptr, graph.indices, space.local, space.nodes
    near, near_arcs = space.sizes[0], space.sizes[1]
    count = 1
    for m in range(begin, end):
        nodes[count] = roots[m]
        local[roots[m]] = count
        count += 1
    near[0] = count
    done = 1
    arcs = 0
    for r in range(reach):
        border = count
        for row in range(done, border):
            v = nodes[row]
            arcs += indptr[v + 1] - indptr[v]
            for e in range(indptr[v], indptr[v + 1]):
                u = indices[e]
                if local[u] == 0:
                    local[u] = count
                    nodes[count] = u
                    count += 1
        near_arcs[r] = arcs
        near[r + 1] = count
        done = border


@_inner
def _reset(nodes: Int32, count: int, local: Int32) -> None:
    for row in range(1, count):
        local[nodes[row]] = 0


@_inner
def _find_served(graph: Graph, roots: Int64, begin: int, end: int, served: Int64, lane_of: Int32) -> int:
    """Collect the served arcs of the roots; if ranks are given, an edge is served only from its end of higher rank."""
    indptr, indices, rank, _ = graph
    count = 0
    for m in range(begin, end):
        root = roots[m]
        for e in range(indptr[root], indptr[root + 1]):
            served[count] = e
            lane_of[count] = m - begin
            # no branch: half of the arcs are served, in an order that no processor could predict
            count += rank.shape[0] == 0 or rank[indices[e]] < rank[root]
    return count


@_inner
def _find_needed(graph: Graph, served: Int64, reach: int, count: int, space: Space) -> None:
    """Collect the local nodes where vectors are needed, by distance from the ends of the served arcs."""
    indptr, indices, local, nodes, needed = graph.indptr, graph.indices, space.local, space.nodes, space.needed
    is_needed, ends, ends_arcs = space.is_needed, space.sizes[2], space.sizes[3]
    for row in range(count):
        is_needed[row] = 0
    num_needed = 0
    for e in served:
        row = local[indices[e]]
        if is_needed[row] == 0:
            is_needed[row] = 1
            needed[num_needed] = row
            num_needed += 1
    done = 0
    arcs = 0
    for q in range(1, reach + 1):
        ends[q] = num_needed
        border = num_needed
        for m in range(done, border):
            v = nodes[needed[m]]
            arcs += indptr[v + 1] - indptr[v]
            if q < reach:
                for e in range(indptr[v], indptr[v + 1]):
                    row = local[indices[e]]
                    if row > 0 and is_needed[row] == 0:
                        is_needed[row] = 1
                        needed[num_needed] = row
                        num_needed += 1
        ends_arcs[q] = arcs
        done = border


@_inner
def _touch(
    indptr: Int64,
    indices: Int32,
    flags: UInt8,
    roots: Int64,
    begin: int,
    end: int,
    local: Int32,
    mask: int,
    result: Integers,
) -> None:
    for m in range(begin, end):
        for e in range(indptr[roots[m]], indptr[roots[m] + 1]):
            if mask == 0 or flags[e] & mask == mask:
                result[local[indices[e]], m - begin] = 1


@_inner
def _pull(
    indptr: Int64,
    indices: Int32,
    local: Int32,
    nodes: Int32,
    needed: Int32,
    num_needed: int,
    source: Integers,
    result: Integers,
) -> None:
    lanes = source.shape[1]
    if lanes == 1:
        from_rows, to_rows = source.ravel(), result.ravel()
        for m in range(num_needed):
            v = nodes[needed[m]]
            total = from_rows[0]
            for e in range(indptr[v], indptr[v + 1]):
                total += from_rows[local[indices[e]]]
            to_rows[needed[m]] = total
        return
    for m in range(num_needed):
        target = result[needed[m]]
        v = nodes[needed[m]]
        e = indptr[v]
        end = indptr[v + 1]
        for b in range(lanes):
            target[b] = 0
        while e + 4 <= end:  # four rows at a time: fewer loads and stores of the target
            s0 = source[local[indices[e]]]
            s1 = source[local[indices[e + 1]]]
            s2 = source[local[indices[e + 2]]]
            s3 = source[local[indices[e + 3]]]
            for b in range(lanes):
                target[b] += (s0[b] + s1[b]) + (s2[b] + s3[b])
            e += 4
        while e < end:
            s = source[local[indices[e]]]
            for b in range(lanes):
                target[b] += s[b]
            e += 1


@_inner
def _pull_weighted(
    indptr: Int64,
    indices: Int32,
    weight: Integers,
    local: Int32,
    nodes: Int32,
    needed: Int32,
    num_needed: int,
    source: Integers,
    result: Integers,
) -> None:
    lanes = source.shape[1]
    for m in range(num_needed):
        target = result[needed[m]]
        v = nodes[needed[m]]
        for b in range(lanes):
            target[b] = 0
        for e in range(indptr[v], indptr[v + 1]):
            w = weight[e]
            if w != 0:
                s = source[local[indices[e]]]
                for b in range(lanes):
                    target[b] += w * s[b]


@_inner
def _push(
    indptr: Int64, indices: Int32, local: Int32, nodes: Int32, last_row: int, source: Integers, result: Integers
) -> None:
    lanes = source.shape[1]
    if lanes == 1:
        from_rows, to_rows = source.ravel(), result.ravel()
        for row in range(1, last_row):
            v = nodes[row]
            for e in range(indptr[v], indptr[v + 1]):
                to_rows[local[indices[e]]] += from_rows[row]
        to_rows[0] = 0
        return
    for row in range(1, last_row):
        s = source[row]
        v = nodes[row]
        for e in range(indptr[v], indptr[v + 1]):
            target = result[local[indices[e]]]
            for b in range(lanes):
                target[b] += s[b]
    _zero(result, 1)


@_inner
def _push_weighted(
    indptr: Int64,
    indices: Int32,
    reverse_weight: Integers,
    local: Int32,
    nodes: Int32,
    last_row: int,
    source: Integers,
    result: Integers,
) -> None:
    lanes = source.shape[1]
    for row in range(1, last_row):
        s = source[row]
        v = nodes[row]
        for e in range(indptr[v], indptr[v + 1]):
            w = reverse_weight[e]
            if w != 0:
                target = result[local[indices[e]]]
                for b in range(lanes):
                    target[b] += w * s[b]
    _zero(result, 1)


@_inner
def _combine(
    terms: Records,
    first: int,
    last: int,
    pendants: Integers,
    nodes: Int32,
    row: int,
    buffer: Integers,
    result: Integers,
) -> None:
    lanes = result.shape[1]
    target = result[row]
    for b in range(lanes):
        target[b] = 0
    for t in range(first, last):
        term = terms[t]
        w = term.coefficient
        if term.pendant != NO_PENDANT:
            w *= pendants[term.pendant, nodes[row]]
        factors, one, two, three = term.factors, term.one, term.two, term.three
        if factors == 1:
            for b in range(lanes):
                target[b] += w * buffer[one, row, b]
        elif factors == 2:
            for b in range(lanes):
                target[b] += w * buffer[one, row, b] * buffer[two, row, b]
        else:
            for b in range(lanes):
                target[b] += w * buffer[one, row, b] * buffer[two, row, b] * buffer[three, row, b]


@_inner
def _read(
    indptr: Int64,
    indices: Int32,
    served: Int64,
    lane_of: Int32,
    num_served: int,
    local: Int32,
    readings: Records,
    weights: Integers,
    buffer: Integers,
    out: Integers,
) -> None:
    for n in range(readings.shape[0]):
        reading = readings[n]
        coefficient, weighting = reading.coefficient, reading.weighting
        vector = buffer[reading.vector]
        values = out[reading.ear_sum]
        for m in range(num_served):
            e, lane = served[m], lane_of[m]
            j = indices[e]
            total = np.int64(0)
            if weighting == READ_VECTOR:
                total += vector[local[j], lane]
            elif weighting == PLAIN:
                for f in range(indptr[j], indptr[j + 1]):
                    total += vector[local[indices[f]], lane]
            else:
                for f in range(indptr[j], indptr[j + 1]):
                    total += weights[weighting, f] * vector[local[indices[f]], lane]
            values[e] += coefficient * total
