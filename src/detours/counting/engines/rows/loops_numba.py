"""The inner loops of the row engine: one program, run for a block of roots side by side.

A vector is a local-nodes x lanes array, one lane per root, so that every sparse product is a contiguous loop over
lanes.  Local nodes are numbered by breadth-first search from the roots, from 1; row 0 is zero and stands for every
node outside.  Arithmetic wraps modulo the word size, which is exact as long as the final counts fit: all operations
are + - *.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"

import numpy as np
from numba import njit

outer = njit(cache=True, nogil=True)
inner = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)

TOUCH, PRODUCT, COMBINE = 0, 1, 2
READ_VECTOR, PLAIN = -2, -1


@outer
def run_roots(graph, roots, begin, end, lanes, reach, code, arrays, out, scratch, buffer, stop):
    """Run the program for blocks of `lanes` roots from roots[begin:end].

    Returns (position reached, rows wanted): rows wanted > 0 means that the buffer is too small for the next block.
    `sizes` is left as it was for the last block: near[r], the local nodes within r of the roots, plus one for row 0;
    ends[q], those within q - 1 of the ends of the edges asked for; and after each the arcs of these nodes.
    """
    indptr, indices, _, flags = graph
    operations, term_start, terms, readings = code
    weights, weights_back, pendants = arrays
    place, nodes, asked, steps, sizes = scratch
    near, near_arcs, ends, ends_arcs = sizes[0], sizes[1], sizes[2], sizes[3]
    served = np.empty(0, np.int64)  # the arcs from the roots to the ends asked for, and the lanes of their roots
    lane_of = np.empty(0, np.int32)
    position = begin
    while position < end and stop[0] == 0:
        last = min(position + lanes, end)
        _find_near(indptr, indices, roots, position, last, reach, place, nodes, near, near_arcs)
        count = near[reach]
        if count > buffer.shape[1]:
            _forget(nodes, count, place)
            return position, count
        if near_arcs[0] > served.shape[0]:
            served = np.empty(2 * near_arcs[0], np.int64)
            lane_of = np.empty(2 * near_arcs[0], np.int32)
        edges = _find_served(graph, roots, position, last, served, lane_of)
        _find_asked(indptr, indices, served[:edges], reach, place, nodes, count, asked, steps, ends, ends_arcs)
        for n in range(operations.shape[0]):
            kind, source, weighting = operations[n, 0], operations[n, 2], operations[n, 3]
            support, demand = operations[n, 4], operations[n, 5]
            into = buffer[operations[n, 1]]
            if kind == TOUCH:
                _zero(into, count)
                _touch(indptr, indices, flags, roots, position, last, place, source, into)
            elif kind == PRODUCT:
                push = support <= reach and near_arcs[support - 1] * 3 < ends_arcs[min(demand, reach)] * 2
                if push or demand > support:
                    _zero(into, count)
                    last_row = near[support - 1]
                    if weighting == PLAIN:
                        _push(indptr, indices, place, nodes, last_row, buffer[source], into)
                    else:
                        back = weights_back[weighting]
                        _push_weighted(indptr, indices, back, place, nodes, last_row, buffer[source], into)
                elif weighting == PLAIN:
                    _pull(indptr, indices, place, nodes, asked, ends[demand], buffer[source], into)
                else:
                    link = weights[weighting]
                    _pull_weighted(indptr, indices, link, place, nodes, asked, ends[demand], buffer[source], into)
            else:
                first, last_term = term_start[n], term_start[n + 1]
                if demand > support:
                    _zero(into, count)
                    for row in range(1, near[support]):
                        _combine(terms, first, last_term, pendants, nodes, row, buffer, into)
                else:
                    for m in range(ends[demand]):
                        _combine(terms, first, last_term, pendants, nodes, np.int64(asked[m]), buffer, into)
        _read(indptr, indices, served, lane_of, edges, place, readings, weights, buffer, out)
        _forget(nodes, count, place)
        position = last
    return position, 0


@inner
def _zero(vector, count):
    flat = vector.ravel()
    for m in range(count * vector.shape[1]):
        flat[m] = 0


@inner
def _find_near(indptr, indices, roots, begin, end, reach, place, nodes, near, near_arcs):
    """Breadth-first search from the roots; place[v] is the local number of v, 0 outside."""
    count = 1
    for m in range(begin, end):
        nodes[count] = roots[m]
        place[roots[m]] = count
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
                if place[u] == 0:
                    place[u] = count
                    nodes[count] = u
                    count += 1
        near_arcs[r] = arcs
        near[r + 1] = count
        done = border


@inner
def _forget(nodes, count, place):
    for row in range(1, count):
        place[nodes[row]] = 0


@inner
def _find_served(graph, roots, begin, end, served, lane_of):
    """The arcs to be read; with ranks given, an undirected edge is served once, from its end of higher rank."""
    indptr, indices, rank, _ = graph
    count = 0
    for m in range(begin, end):
        root = roots[m]
        for e in range(indptr[root], indptr[root + 1]):
            served[count] = e
            lane_of[count] = m - begin
            # no branch: half of the arcs are wanted, in no order that a processor could foresee
            count += rank.shape[0] == 0 or rank[indices[e]] < rank[root]
    return count


@inner
def _find_asked(indptr, indices, served, reach, place, nodes, count, asked, steps, ends, ends_arcs):
    """The local nodes where vectors are needed, by distance from the far ends of the served arcs."""
    for row in range(count):
        steps[row] = 0
    found = 0
    for e in served:
        row = place[indices[e]]
        if steps[row] == 0:
            steps[row] = 1
            asked[found] = row
            found += 1
    done = 0
    arcs = 0
    for q in range(1, reach + 1):
        ends[q] = found
        border = found
        for m in range(done, border):
            v = nodes[asked[m]]
            arcs += indptr[v + 1] - indptr[v]
            if q < reach:
                for e in range(indptr[v], indptr[v + 1]):
                    row = place[indices[e]]
                    if row > 0 and steps[row] == 0:
                        steps[row] = 1
                        asked[found] = row
                        found += 1
        ends_arcs[q] = arcs
        done = border


@inner
def _touch(indptr, indices, flags, roots, begin, end, place, mask, into):
    for m in range(begin, end):
        for e in range(indptr[roots[m]], indptr[roots[m] + 1]):
            if mask == 0 or flags[e] & mask == mask:
                into[place[indices[e]], m - begin] = 1


@inner
def _pull(indptr, indices, place, nodes, asked, found, source, into):
    lanes = source.shape[1]
    if lanes == 1:
        from_rows, to_rows = source.ravel(), into.ravel()
        for m in range(found):
            v = nodes[asked[m]]
            total = from_rows[0]
            for e in range(indptr[v], indptr[v + 1]):
                total += from_rows[place[indices[e]]]
            to_rows[asked[m]] = total
        return
    for m in range(found):
        target = into[asked[m]]
        v = nodes[asked[m]]
        e = indptr[v]
        end = indptr[v + 1]
        for b in range(lanes):
            target[b] = 0
        while e + 4 <= end:  # four rows at a time: fewer loads and stores of the target
            s0 = source[place[indices[e]]]
            s1 = source[place[indices[e + 1]]]
            s2 = source[place[indices[e + 2]]]
            s3 = source[place[indices[e + 3]]]
            for b in range(lanes):
                target[b] += (s0[b] + s1[b]) + (s2[b] + s3[b])
            e += 4
        while e < end:
            s = source[place[indices[e]]]
            for b in range(lanes):
                target[b] += s[b]
            e += 1


@inner
def _pull_weighted(indptr, indices, link, place, nodes, asked, found, source, into):
    lanes = source.shape[1]
    for m in range(found):
        target = into[asked[m]]
        v = nodes[asked[m]]
        for b in range(lanes):
            target[b] = 0
        for e in range(indptr[v], indptr[v + 1]):
            w = link[e]
            if w != 0:
                s = source[place[indices[e]]]
                for b in range(lanes):
                    target[b] += w * s[b]


@inner
def _push(indptr, indices, place, nodes, last_row, source, into):
    lanes = source.shape[1]
    if lanes == 1:
        from_rows, to_rows = source.ravel(), into.ravel()
        for row in range(1, last_row):
            v = nodes[row]
            for e in range(indptr[v], indptr[v + 1]):
                to_rows[place[indices[e]]] += from_rows[row]
        to_rows[0] = 0
        return
    for row in range(1, last_row):
        s = source[row]
        v = nodes[row]
        for e in range(indptr[v], indptr[v + 1]):
            target = into[place[indices[e]]]
            for b in range(lanes):
                target[b] += s[b]
    _zero(into, 1)


@inner
def _push_weighted(indptr, indices, back, place, nodes, last_row, source, into):
    lanes = source.shape[1]
    for row in range(1, last_row):
        s = source[row]
        v = nodes[row]
        for e in range(indptr[v], indptr[v + 1]):
            w = back[e]
            if w != 0:
                target = into[place[indices[e]]]
                for b in range(lanes):
                    target[b] += w * s[b]
    _zero(into, 1)


@inner
def _combine(terms, first, last, pendants, nodes, row, buffer, into):
    lanes = into.shape[1]
    target = into[row]
    for b in range(lanes):
        target[b] = 0
    for t in range(first, last):
        w = terms[t, 0]
        if terms[t, 1] >= 0:
            w *= pendants[terms[t, 1], nodes[row]]
        factors, one, two, three = terms[t, 2], terms[t, 3], terms[t, 4], terms[t, 5]
        if factors == 1:
            for b in range(lanes):
                target[b] += w * buffer[one, row, b]
        elif factors == 2:
            for b in range(lanes):
                target[b] += w * buffer[one, row, b] * buffer[two, row, b]
        else:
            for b in range(lanes):
                target[b] += w * buffer[one, row, b] * buffer[two, row, b] * buffer[three, row, b]


@inner
def _read(indptr, indices, served, lane_of, edges, place, readings, weights, buffer, out):
    for n in range(readings.shape[0]):
        coefficient, weighting = readings[n, 1], readings[n, 3]
        vector = buffer[readings[n, 2]]
        values = out[readings[n, 0]]
        for m in range(edges):
            e, lane = served[m], lane_of[m]
            j = indices[e]
            total = np.int64(0)
            if weighting == READ_VECTOR:
                total += vector[place[j], lane]
            elif weighting == PLAIN:
                for f in range(indptr[j], indptr[j + 1]):
                    total += vector[place[indices[f]], lane]
            else:
                for f in range(indptr[j], indptr[j + 1]):
                    total += weights[weighting, f] * vector[place[indices[f]], lane]
            values[e] += coefficient * total


# ---- whole-graph helpers ----


@outer
def reverse_arcs(indptr, indices):
    """Position of (u, v) for every arc (v, u) of a symmetric CSR with sorted rows."""
    n = indptr.shape[0] - 1
    cursor = indptr[:n].copy()
    reverse = np.empty(indices.shape[0], np.int64)
    for v in range(n):
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            reverse[e] = cursor[u]
            cursor[u] += 1
    return reverse


@outer
def symmetrise(indptr, indices):
    """Union of a sorted CSR with its transpose: (indptr, indices, which arcs exist, where each given arc went)."""
    n = indptr.shape[0] - 1
    into = np.zeros(n + 1, np.int64)
    for e in range(indices.shape[0]):
        into[indices[e] + 1] += 1
    into = np.cumsum(into)
    sources = np.empty(indices.shape[0], np.int32)
    cursor = into[:n].copy()
    for v in range(n):
        for e in range(indptr[v], indptr[v + 1]):
            sources[cursor[indices[e]]] = v
            cursor[indices[e]] += 1
    both_ptr = np.zeros(n + 1, np.int64)
    both = np.empty(2 * indices.shape[0], np.int32)
    flags = np.empty(2 * indices.shape[0], np.uint8)
    arc = np.empty(indices.shape[0], np.int64)
    count = 0
    for v in range(n):
        e, f = indptr[v], into[v]
        while e < indptr[v + 1] or f < into[v + 1]:
            forward = e < indptr[v + 1] and (f >= into[v + 1] or indices[e] <= sources[f])
            backward = f < into[v + 1] and (e >= indptr[v + 1] or sources[f] <= indices[e])
            flag = 0
            if forward:
                both[count] = indices[e]
                arc[e] = count
                flag |= 1
                e += 1
            if backward:
                both[count] = sources[f]
                flag |= 2
                f += 1
            flags[count] = flag
            count += 1
        both_ptr[v + 1] = count
    return both_ptr, both[:count].copy(), flags[:count].copy(), arc
