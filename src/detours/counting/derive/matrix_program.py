"""Closed forms as a short list of steps on dense matrices, for any two different nodes, adjacent or not.

The number of simple paths of each length is a sum of quotients of a walk (`patterns.py`). Here such a sum is turned
into steps that each compute one n × n matrix, or one vector, from earlier ones:

* a quotient is split at its roots i, j into the arc between them, pendants (vectors at i and at j) and ears; terms
  with the same cofactor share one sum of ears, which is expressed in earlier sums where possible;
* an ear has an inner node v that every path from i to j passes: left(i, v) times right(v, j), a matrix product; the
  right parts of ears with the same left part are added up first, so that one product serves them all;
* an ear without such a node, from length 7 on, is a 4-clique on i, u, v, j whose sides may be patterns again.

The result is data (`matrix_steps.py`), and short: 16 products for the 264 quotients up to length 7.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from itertools import combinations
from math import gcd

from detours.counting.derive import matrix_steps as steps
from detours.counting.derive import patterns
from detours.counting.derive.matrix_steps import Contraction, Step, Term, Transposed
from detours.counting.derive.patterns import Pattern, canonical, induced, pattern_order

MAX_LENGTH = 8  # from length 9 on, some quotients are more than a single 4-clique

Polynomial = dict[Pattern, int]  # a sum of patterns with two roots, 0 and 1, each with its coefficient
Key = frozenset[tuple[Pattern, int]]  # a hashable polynomial


@cache
def contraction(k: int, directed: bool) -> Contraction:
    """The steps for all lengths 2 .. k <= 8.

    >>> contraction(4, directed=False).number_of(steps.Product)
    3
    """
    if not 2 <= k <= MAX_LENGTH:
        raise ValueError(f"closed forms for pairs exist for k = 2..{MAX_LENGTH}, not for k = {k}")
    builder = _Builder()
    lengths = {length: builder.matrix(patterns.quotients(length, directed)) for length in range(2, k + 1)}
    return steps.in_thrifty_order(steps.without_unused_steps(Contraction(directed, tuple(builder.steps), lengths)))


class _Builder:
    """Turns polynomials into steps; equal and mirrored polynomials share them."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.index: dict[Step, int] = {}
        self.matrices: dict[Key, int] = {}
        self.ears: dict[Key, int] = {}
        self.products_seen: dict[tuple[Key, Key], int] = {}
        self.vectors: dict[Pattern, int] = {}
        self.ear_sums: list[tuple[Pattern, Polynomial, int]] = []
        """(pivot, sum of ears, step); the pivot is a pattern with coefficient ±1."""

    def add(self, step: Step) -> int:
        if step not in self.index:
            self.index[step] = len(self.steps)
            self.steps.append(step)
        return self.index[step]

    def matrix(self, polynomial: Polynomial) -> int:
        return self.build_once(self.matrices, polynomial, self.combination)

    def build_once(self, known: dict[Key, int], polynomial: Polynomial, build: Callable[[Polynomial], int]) -> int:
        """Look up a polynomial; if it is new, transpose its mirror image or build it."""
        key = _key(polynomial)
        if key not in known:
            mirrored = known.get(_key(patterns.mirrored(polynomial)))
            known[key] = build(polynomial) if mirrored is None else self.add(Transposed(mirrored))
        return known[key]

    def combination(self, polynomial: Polynomial) -> int:
        """Split every pattern at its roots; add up the largest ears of those with the same cofactor."""
        shared: dict[tuple[tuple[int, ...], ...], Counter[Pattern]] = defaultdict(Counter)
        terms: Counter[tuple[tuple[int, ...], ...]] = Counter()
        for pattern, coefficient in polynomial.items():
            tie, pendants_i, pendants_j, ears = patterns.split(pattern, 0, 1)
            at_i, at_j = self.vector_indices(pendants_i), self.vector_indices(pendants_j)
            factors = [self.add(steps.Tied(tie))] if tie else []
            factors += [self.ear({ear: 1}) for ear in ears[:-1]]
            if ears:
                shared[at_i, at_j, tuple(factors)][ears[-1]] += coefficient
            else:
                terms[at_i, at_j, tuple(factors)] += coefficient
        # short sums first: longer ones are then expressed in them
        for (at_i, at_j, known), ears_sum in sorted(shared.items(), key=lambda item: patterns.sum_size(item[1])):
            for index, weight in self.in_ear_sums(ears_sum).items():
                terms[at_i, at_j, tuple(sorted((*known, index)))] += weight
        return self.sum([Term(weight, *key) for key, weight in terms.items() if weight])

    def sum(self, terms: list[Term]) -> int:
        match terms:
            case [Term(1, (), (), (only,))]:
                return only
        return self.add(steps.Combination(tuple(terms)))

    def in_ear_sums(self, ears: Mapping[Pattern, int]) -> dict[int, int]:
        """Express a sum of ears in known ones; what remains becomes a new one."""
        result, rest = patterns.eliminate(ears, self.ear_sums, pattern_order)
        if rest:
            factor, rest = _primitive(rest)
            index = self.ear(rest)
            result[index] = result.get(index, 0) + factor
            self.add_ear_sum(rest)
        return result

    def add_ear_sum(self, ears: Polynomial) -> None:
        units = [pattern for pattern, c in ears.items() if abs(c) == 1]
        if units:
            pivot = max(units, key=pattern_order)
            self.ear_sums.append((pivot, ears, self.ear(ears)))
            mirrored, mirrored_pivot = patterns.mirrored(ears), patterns.mirror(pivot)
            if mirrored_pivot != pivot:
                self.ear_sums.append((mirrored_pivot, mirrored, self.ear(mirrored)))

    def ear(self, ears: Polynomial) -> int:
        return self.build_once(self.ears, ears, self.products)

    def products(self, ears: Polynomial) -> int:
        """Split every ear at its first cut node; equal left parts, and then equal right sums, share a product."""
        rights: dict[Pattern, Counter[Pattern]] = defaultdict(Counter)
        terms: list[Term] = []
        for ear, coefficient in ears.items():
            halves = _split_in_series(ear)
            if halves is None:
                terms.append(Term(coefficient, (), (), (self.clique(ear),)))
            else:
                rights[halves[0]][halves[1]] += coefficient
        lefts: dict[Key, Polynomial] = defaultdict(dict)
        for left, right in rights.items():
            factor, primitive = _primitive(right)
            lefts[_key(primitive)][left] = factor
        for right_key, left_sum in lefts.items():
            factor, left_sum = _primitive(left_sum)
            terms.append(Term(factor, (), (), (self.product(left_sum, dict(right_key)),)))
        return self.sum(terms)

    def product(self, left: Polynomial, right: Polynomial) -> int:
        """A product, or the transpose of its mirror image if that is known: (X Y)ᵀ = Yᵀ Xᵀ."""
        key = _key(left), _key(right)
        if key not in self.products_seen:
            mirrored = _key(patterns.mirrored(right)), _key(patterns.mirrored(left))
            if mirrored in self.products_seen:
                self.products_seen[key] = self.add(Transposed(self.products_seen[mirrored]))
            else:
                self.products_seen[key] = self.add(steps.Product(self.matrix(left), self.matrix(right)))
        return self.products_seen[key]

    def clique(self, ear: Pattern) -> int:
        return self.add(steps.Clique(*(self.matrix({side: 1}) for side in _clique_sides(ear))))

    def vector_indices(self, pendants: tuple[Pattern, ...]) -> tuple[int, ...]:
        return tuple(sorted(map(self.vector, pendants)))

    def vector(self, pendant: Pattern) -> int:
        """A pendant as a sum over the node v that gives the shortest ears between root and v."""
        if pendant not in self.vectors:
            tie, _, pendants_v, ears = patterns.split_pendant(pendant, patterns.nodes(pendant) - {0})
            factors = [self.add(steps.Tied(tie))] if tie else []
            factors += sorted(self.ear({ear: 1}) for ear in ears)
            matrix = self.sum([Term(1, (), (), tuple(factors))])
            self.vectors[pendant] = self.add(steps.Gathered(matrix, self.vector_indices(pendants_v)))
        return self.vectors[pendant]


# ---- splitting ears ----


@cache
def _split_in_series(ear: Pattern) -> tuple[Pattern, Pattern] | None:
    """The parts before and after the first node that all paths from 0 to 1 pass; its pendants belong to the second."""
    cuts = []
    for v in sorted(patterns.nodes(ear) - {0, 1}):
        before = next(part for part in patterns.components(ear, (v,)) if 0 in part)
        if 1 not in before:
            cuts.append((len(before), v, before))
    if not cuts:
        return None
    _, v, before = min(cuts)
    after = patterns.nodes(ear) - before
    return canonical(induced(ear, before | {v}), (0, v)), canonical(induced(ear, after), (v, 1))


@cache
def _clique_sides(ear: Pattern) -> tuple[Pattern, ...]:
    """The sides iu, iv, uv, uj, vj of a 4-clique on i = 0, u, v, j = 1; pendants of u and v belong to iu and iv."""
    found = []
    for pair in combinations(sorted(patterns.nodes(ear) - {0, 1}), 2):
        for u, v in (pair, pair[::-1]):
            ends = {part: _ends(ear, part, {0, 1, u, v}) for part in patterns.components(ear, (0, 1, u, v))}
            if all(len(corners) <= 2 for corners in ends.values()):
                pairs = ((0, u), (0, v), (u, v), (u, 1), (v, 1))
                found.append(tuple(_side(ear, ends, a, b) for a, b in pairs))
    if not found:
        raise NotImplementedError("a pattern that is more than one 4-clique")

    def preference(sides: tuple[Pattern, ...]) -> tuple[list[bool], list[object]]:
        """Prefer arcs as the sides at u: then few nodes i and j come into question."""
        return [not patterns.tie(sides[s], 0, 1) for s in (0, 3)], [pattern_order(side) for side in sides]

    return min(found, key=preference)


def _ends(pattern: Pattern, part: frozenset[int], corners: set[int]) -> frozenset[int]:
    return frozenset({v for inner in part for v in patterns.neighbours(pattern, inner)} & corners)


def _side(pattern: Pattern, ends: dict[frozenset[int], frozenset[int]], a: int, b: int) -> Pattern:
    """The arcs between two corners and the parts joined to no other; pendants of b are included if a is the root i."""
    inner = {v for part, corners in ends.items() if corners == {a, b} or (a == 0 and corners == {b}) for v in part}
    return canonical(induced(pattern, inner | {a, b}), (a, b))


def _key(polynomial: Polynomial) -> Key:
    return frozenset(polynomial.items())


def _primitive(polynomial: Polynomial) -> tuple[int, Polynomial]:
    """A polynomial as a factor times one with coprime coefficients, positive on its greatest pattern."""
    factor = gcd(*polynomial.values())
    if polynomial[max(polynomial, key=pattern_order)] < 0:
        factor = -factor
    return factor, {pattern: c // factor for pattern, c in polynomial.items()}
