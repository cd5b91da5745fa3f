"""Patterns: the small graphs that closed forms count, and how walks lead to them.

A walk of length L from i to j is a path iff its L + 1 positions hold different nodes. Möbius inversion over the
partitions of the positions turns that into ordinary homomorphism counts (docs/how-it-works.md):

    P_L(i, j) = sum over partitions p of  mu(p) * hom_ij(walk / p),   mu(p) = prod over blocks (-1)^(b-1) (b-1)!
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import cache
from itertools import pairwise, permutations, product
from math import factorial, prod
from typing import Any

Pattern = frozenset[tuple[int, int]]
"""A small digraph as a set of arcs. Node 0 is the first terminal, node 1 the second where there are two."""

Tie = str
"""How node u is joined to v, seen from u: "f" u->v, "b" v->u, "r" both (always so when undirected), "" not at all."""

Parts = tuple[Tie, tuple[Pattern, ...], tuple[Pattern, ...], tuple[Pattern, ...]]
"""A pattern split at i and j: the tie ij, pendants at i, pendants at j, ears."""


def quotients(length: int, directed: bool) -> dict[Pattern, int]:
    """Isomorphic quotients of the walk of this length, each with the sum of its Möbius weights."""
    result: Counter[Pattern] = Counter()
    for labels in _partitions(length):
        arcs = set(pairwise(labels))
        if not directed:
            arcs |= {(b, a) for a, b in arcs}
        result[canonical(frozenset(arcs), (labels[0], labels[-1]))] += _moebius(labels)
    return {pattern: weight for pattern, weight in result.items() if weight}


def _partitions(length: int) -> Iterator[tuple[int, ...]]:
    """Partitions of positions 0..length as block labels; no block has neighbours (no loops) or both ends (i != j)."""

    def extend(labels: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(labels) == length + 1:
            if labels[-1] != labels[0]:
                yield labels
            return
        for block in range(max(labels) + 2):
            if block != labels[-1]:
                yield from extend((*labels, block))

    return extend((0,))


def _moebius(labels: tuple[int, ...]) -> int:
    return prod((-1) ** (size - 1) * factorial(size - 1) for size in Counter(labels).values())


def nodes(pattern: Pattern) -> set[int]:
    return {v for arc in pattern for v in arc}


def neighbours(pattern: Pattern, v: int) -> set[int]:
    return {b for a, b in pattern if a == v} | {a for a, b in pattern if b == v}


def tie(pattern: Pattern, u: int, v: int) -> Tie:
    forward, backward = (u, v) in pattern, (v, u) in pattern
    return "r" if forward and backward else "f" if forward else "b" if backward else ""


def induced(pattern: Pattern, keep: Set[int]) -> Pattern:
    return frozenset((a, b) for a, b in pattern if a in keep and b in keep)


def components(pattern: Pattern, without: tuple[int, ...]) -> list[frozenset[int]]:
    unvisited, result = nodes(pattern).difference(without), []
    while unvisited:
        stack = [unvisited.pop()]
        component = set(stack)
        while stack:
            reached = neighbours(pattern, stack.pop()) & unvisited
            unvisited -= reached
            component |= reached
            stack.extend(reached)
        result.append(frozenset(component))
    return result


def split(pattern: Pattern, i: int, j: int) -> Parts:
    pieces: dict[tuple[int, ...], list[Pattern]] = defaultdict(list)
    for component in components(pattern, (i, j)):
        adjacent = {v for inner in component for v in neighbours(pattern, inner)}
        ends = tuple(end for end in (i, j) if end in adjacent)
        pieces[ends].append(canonical(induced(pattern, component.union(ends)) - {(i, j), (j, i)}, ends))
    return tie(pattern, i, j), ordered(pieces[i,]), ordered(pieces[j,]), ordered(pieces[i, j])


def split_pendant(pendant: Pattern, others: Iterable[int]) -> Parts:
    """Split a pendant at its node 0 and the one of the others that gives the shortest ears between them."""
    return min(
        (split(pendant, 0, v) for v in sorted(others)),
        key=lambda parts: (max(map(len, parts[3]), default=0), repr(parts)),
    )


@cache
def canonical(pattern: Pattern, terminals: tuple[int, ...]) -> Pattern:
    """The same pattern for all isomorphic ones: terminals become 0, 1; inner nodes get the smallest labelling."""
    similar: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for v in sorted(nodes(pattern).difference(terminals)):
        degrees = (sum(a == v for a, _ in pattern), sum(b == v for _, b in pattern))
        similar[(*degrees, *(tie(pattern, v, t) for t in terminals))].append(v)
    best: tuple[tuple[int, int], ...] | None = None
    for orders in product(*(permutations(similar[key]) for key in sorted(similar, key=repr))):
        label = {v: n for n, v in enumerate((*terminals, *(v for order in orders for v in order)))}
        arcs = tuple(sorted((label[a], label[b]) for a, b in pattern))
        if best is None or arcs < best:
            best = arcs
    return frozenset(best or ())


@cache
def mirror(pattern: Pattern) -> Pattern:
    """The pattern with its roots swapped."""
    swap = {0: 1, 1: 0}
    return canonical(frozenset((swap.get(a, a), swap.get(b, b)) for a, b in pattern), (0, 1))


def mirrored(polynomial: dict[Pattern, int]) -> dict[Pattern, int]:
    return {mirror(pattern): coefficient for pattern, coefficient in polynomial.items()}


def eliminate(
    polynomial: Mapping[Any, int], known: Iterable[tuple[Any, Mapping[Any, int], int]], order: Callable[[Any], Any]
) -> tuple[dict[int, int], dict[Any, int]]:
    """Express a polynomial in known ones, each given as (pivot, polynomial, index); the pivot is one of its monomials.

    Returns the coefficients of the known polynomials by index, and the remaining polynomial.
    """
    rest = {monomial: c for monomial, c in polynomial.items() if c}
    result: dict[int, int] = {}
    # in descending order of pivots: subtracting a polynomial only adds monomials below its pivot
    for pivot, other, index in sorted(known, key=lambda entry: order(entry[0]), reverse=True):
        factor, remainder = divmod(rest.get(pivot, 0), other[pivot])
        if factor and not remainder:
            result[index] = result.get(index, 0) + factor
            difference = {m: rest.get(m, 0) - factor * other.get(m, 0) for m in {**rest, **other}}
            rest = {monomial: c for monomial, c in difference.items() if c}
    return result, rest


def pattern_order(pattern: Pattern) -> tuple[int, list[tuple[int, int]]]:
    return len(pattern), sorted(pattern)


def ordered(patterns: list[Pattern]) -> tuple[Pattern, ...]:
    return tuple(sorted(patterns, key=pattern_order))


def sum_size(ears: Counter[Pattern]) -> tuple[int, int]:
    return max(map(len, ears)), len(ears)
