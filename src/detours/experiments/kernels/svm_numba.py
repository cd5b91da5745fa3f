"""The inner loops of the support vector machine: two coefficients move at a time until none can gain (SMO).

The dual is written in signed coefficients b[t] = y[t] · alpha[t], so that labels appear in the box only:

    maximise  Σ y[t] b[t] − ½ bᵀ K b   with  Σ b[t] = 0  and  lower[t] <= b[t] <= upper[t].

Its gradient is the error e = y − K b. A graph outside the training part has y = 0 and an empty box: it never moves, and
its entry of e, kept up to date like the others, is minus its score.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

Real = NDArray[np.float32] | NDArray[np.float64]
Float64 = NDArray[np.float64]

BLOCK = 512
"""Entries whose largest is found at once; where it is in the block is looked up after."""
CLOSED = 1e300
"""What keeps a value from being chosen."""
FLAT = 1e-12
"""The least curvature of a step, where two graphs look the same."""
DENSE = 0.75
"""The share of all graphs from which on a copy of the rows in play does not pay."""
INNER = 0.1
"""How much of the excess over all graphs may be left among those in play before the others are looked at again."""
CROWDED = 0.2
"""The share of bounded coefficients from which on the solution for a larger C is sought by stretching."""


# NumPy's rules of division (no exception for a zero) leave the compiler free to work on several entries at once.
kernel = njit(cache=True, nogil=True, error_model="numpy")


@intrinsic  # type: ignore[untyped-decorator]
def larger(context: Any, a: Any, b: Any) -> Any:
    """The larger of two numbers that are not NaN: one instruction, where Python's max is a branch for each entry."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double = ir.DoubleType()
        function = builder.module.declare_intrinsic("llvm.maximum", [double], ir.FunctionType(double, [double, double]))
        return builder.call(function, arguments, fastmath=("nnan", "nsz"))

    return types.float64(types.float64, types.float64), write


@kernel  # type: ignore[untyped-decorator]
def ascend(
    gram: Real, sign: Float64, bounds: Float64, starts: Float64, tolerance: float, most: int
) -> tuple[Float64, Float64, NDArray[np.int64], Float64]:
    """Solve for ascending bounds; `starts` [bounds, graphs] are feasible coefficients for each, or has no rows.

    Returns coefficients and errors [bounds, graphs], and for each bound the moves and the excess at the end. Each
    begins at the solution before it, stretched with the box if many coefficients touch it, or at its start, whichever
    has the larger dual. With no coefficient at its bound a solution is that of every larger bound.
    """
    n = len(sign)
    coefficients, errors = np.zeros((len(bounds), n)), np.empty((len(bounds), n))
    all_moves, all_excess = np.zeros(len(bounds), np.int64), np.zeros(len(bounds))
    for at in range(len(bounds)):
        coefficient, error = coefficients[at], errors[at]
        error[:] = sign
        crowded = True
        if at > 0:
            bounded = used = 0
            for t in range(n):
                used += coefficients[at - 1, t] != 0.0
                bounded += sign[t] != 0.0 and abs(coefficients[at - 1, t]) >= bounds[at - 1]
            crowded = bounded > CROWDED * used
            factor = bounds[at] / bounds[at - 1] if crowded else 1.0
            for t in range(n):
                before = coefficients[at - 1, t]
                touches = crowded and abs(before) >= bounds[at - 1]
                coefficient[t] = sign[t] * bounds[at] if touches else factor * before
                error[t] = sign[t] - factor * (sign[t] - errors[at - 1, t])
            if bounded == 0 and all_excess[at - 1] < tolerance:
                all_excess[at] = all_excess[at - 1]
                continue
        if len(starts) > 0 and crowded:
            other = gradient(gram, sign, starts[at])
            if np.sum(starts[at] * (sign + other)) > np.sum(coefficient * (sign + error)):
                coefficient[:] = starts[at]
                error[:] = other
        lower, upper = np.minimum(sign, 0.0) * bounds[at], np.maximum(sign, 0.0) * bounds[at]
        all_moves[at], all_excess[at] = solve(gram, lower, upper, coefficient, error, tolerance, most)
    return coefficients, errors, all_moves, all_excess


@kernel  # type: ignore[untyped-decorator]
def gradient(gram: Real, sign: Float64, coefficient: Float64) -> Float64:
    """The errors that belong to some coefficients."""
    error = sign.copy()
    for t in range(len(gram)):
        if coefficient[t] != 0.0:
            _subtract(error, coefficient[t], gram[t])
    return error


@kernel  # type: ignore[untyped-decorator]
def _subtract(error: Float64, times: float, row: Real) -> None:
    for t in range(len(error)):
        error[t] -= times * np.float64(row[t])


@kernel  # type: ignore[untyped-decorator]
def solve(
    gram: Real, lower: Float64, upper: Float64, coefficient: Float64, error: Float64, tolerance: float, most: int
) -> tuple[int, float]:
    """Move `coefficient` to the solution, from any feasible start, and `error` with it.

    Ends where the errors of the graphs that may grow exceed those of the graphs that may shrink by less than
    `tolerance`, or after `most` moves; returns the number of moves and that excess. Graphs at a bound that no move
    wants to leave are set aside meanwhile (shrinking); before the end all are looked at.
    """
    n = len(gram)
    moves = 0
    while True:
        top, bottom = -CLOSED, CLOSED
        for t in range(n):
            if coefficient[t] < upper[t]:
                top = max(top, error[t])
            if coefficient[t] > lower[t]:
                bottom = min(bottom, error[t])
        excess = top - bottom
        if excess < tolerance or moves >= most:
            return moves, excess
        chosen = np.empty(n, np.int64)
        number = 0
        for t in range(n):
            grows, shrinks = coefficient[t] < upper[t], coefficient[t] > lower[t]
            if (grows and (shrinks or error[t] > bottom)) or (shrinks and error[t] < top):
                chosen[number] = t
                number += 1
        goal = max(tolerance, INNER * excess)
        if number > DENSE * n:
            moves += _climb(gram, lower, upper, coefficient, error, goal, min(most - moves, n))
            continue
        chosen = chosen[:number]
        small = np.empty((number, number), gram.dtype)
        for a in range(number):
            row = gram[chosen[a]]
            for b in range(number):
                small[a, b] = row[chosen[b]]
        own, own_error = coefficient[chosen], error[chosen]
        moves += _climb(small, lower[chosen], upper[chosen], own, own_error, goal, min(most - moves, 10 * number))
        for a in range(number):
            t = chosen[a]
            if own[a] != coefficient[t]:
                _subtract(error, own[a] - coefficient[t], gram[t])
                coefficient[t] = own[a]


@kernel  # type: ignore[untyped-decorator]
def _climb(
    gram: Real, lower: Float64, upper: Float64, coefficient: Float64, error: Float64, tolerance: float, most: int
) -> int:
    """Moves of pairs until the excess is below `tolerance`, or `most` of them are made; returns their number.

    The pair is chosen by second-order information (Fan, Chen and Lin, 2005): the graph i with the largest error among
    those that may grow, and with it the one that gains most.
    """
    n = len(gram)
    diagonal, rising, falling = np.empty(n), np.empty(n), np.empty(n)
    for t in range(n):
        diagonal[t] = gram[t, t]
        rising[t] = 0.0 if coefficient[t] < upper[t] else -CLOSED
        falling[t] = 0.0 if coefficient[t] > lower[t] else CLOSED
    i = j = moves = 0
    step = 0.0
    while True:
        # The last step reaches all errors, and the same sweep finds the largest error of those that may grow.
        top, block = -CLOSED, 0
        for begin in range(0, n, BLOCK):
            end = min(begin + BLOCK, n)
            highest = _sweep(gram[i, begin:end], gram[j, begin:end], step, error[begin:end], rising[begin:end])
            if highest > top:
                top, block = highest, begin
        i = block
        while i < n - 1 and error[i] + rising[i] != top:
            i += 1
        excess, best, block = -CLOSED, -1.0, 0
        for begin in range(0, n, BLOCK):
            end = min(begin + BLOCK, n)
            widest, highest = _gains(
                gram[i, begin:end], error[begin:end], falling[begin:end], diagonal[begin:end], top, diagonal[i]
            )
            excess = max(excess, widest)
            if highest > best:
                best, block = highest, begin
        if excess < tolerance or moves >= most:
            return moves
        j = block
        for t in range(block, min(block + BLOCK, n)):
            gap = top - (error[t] + falling[t])
            curve = diagonal[i] + diagonal[t] - 2.0 * np.float64(gram[i, t])
            if gap > 0.0 and gap * gap / max(curve, FLAT) == best:
                j = t
                break
        step = (top - error[j]) / max(diagonal[i] + diagonal[j] - 2.0 * np.float64(gram[i, j]), FLAT)
        room_up, room_down = upper[i] - coefficient[i], coefficient[j] - lower[j]
        step = min(step, room_up, room_down)
        # Bounds are met exactly, so that a coefficient at its bound is recognised as such.
        coefficient[i] = upper[i] if step == room_up else coefficient[i] + step
        coefficient[j] = lower[j] if step == room_down else coefficient[j] - step
        for t in (i, j):
            rising[t] = 0.0 if coefficient[t] < upper[t] else -CLOSED
            falling[t] = 0.0 if coefficient[t] > lower[t] else CLOSED
        moves += 1


@kernel  # type: ignore[untyped-decorator]
def _sweep(row: Real, other: Real, step: float, error: Float64, rising: Float64) -> float:
    """Take a step from the errors of one block, and find the largest of those that may grow."""
    highest = -CLOSED
    for t in range(len(error)):
        now = error[t] - step * (np.float64(row[t]) - np.float64(other[t]))
        error[t] = now
        highest = larger(highest, now + rising[t])
    return highest


@kernel  # type: ignore[untyped-decorator]
def _gains(
    row: Real, error: Float64, falling: Float64, diagonal: Float64, top: float, own: float
) -> tuple[float, float]:
    """The widest gap to a graph of one block that may shrink, and the most that a step with one of them gains."""
    widest, highest = -CLOSED, 0.0
    for t in range(len(error)):
        gap = top - (error[t] + falling[t])
        widest = larger(widest, gap)
        gap = larger(gap, 0.0)
        curve = larger(own + diagonal[t] - 2.0 * np.float64(row[t]), FLAT)
        highest = larger(highest, gap * gap / curve)
    return widest, highest
