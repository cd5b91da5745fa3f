"""Closed forms as a short list of steps on dense matrices, for any two different nodes, adjacent or not.

The number of simple paths of each length is a sum of quotients of a walk (`patterns.py`). Here such a sum is turned
into steps that each make one n × n matrix, or one vector, from earlier ones:

* a quotient is split at its roots i, j into the arc between them, pendants (vectors at i and at j) and ears; terms
  with the same cofactor share one sum of ears, and a sum of ears is written in earlier sums where that is possible;
* an ear has an inner node v that every way from i to j passes: left(i, v) times right(v, j), a matrix product; ears
  with the same left part are added up on the right first, so one product serves them all;
* an ear without such a node, from length 7 on, is a 4-clique on i, u, v, j whose sides may be patterns again.

What comes out is data (`matrix_steps.py`), and short: 16 products up to length 7, where there are 264 quotients.
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

MAX_LENGTH = 8  # from length 9 on there are quotients that no single 4-clique explains

Polynomial = dict[Pattern, int]  # a sum of patterns with two roots, 0 and 1, each with its coefficient
Key = frozenset[tuple[Pattern, int]]  # the same, to look it up


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
    return steps.thrifty(steps.without_waste(Contraction(directed, tuple(builder.steps), lengths)))


class _Builder:
    """Turns polynomials into steps; equal and mirrored ones only once."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.number: dict[Step, int] = {}
        self.matrices: dict[Key, int] = {}
        self.ears: dict[Key, int] = {}
        self.series: dict[tuple[Key, Key], int] = {}
        self.vectors: dict[Pattern, int] = {}
        self.ear_sums: list[tuple[Pattern, Polynomial, int]] = []
        """Sums of ears, each with a pattern of coefficient ±1, its pivot, to eliminate by."""

    def add(self, step: Step) -> int:
        if step not in self.number:
            self.number[step] = len(self.steps)
            self.steps.append(step)
        return self.number[step]

    def matrix(self, polynomial: Polynomial) -> int:
        return self.once(self.matrices, polynomial, self.combination)

    def once(self, known: dict[Key, int], polynomial: Polynomial, make: Callable[[Polynomial], int]) -> int:
        """Look up a polynomial; if it is new, transpose its mirror image or make it."""
        key = _key(polynomial)
        if key not in known:
            turned = known.get(_key(patterns.mirrored(polynomial)))
            known[key] = make(polynomial) if turned is None else self.add(Transposed(turned))
        return known[key]

    def combination(self, polynomial: Polynomial) -> int:
        """Split every pattern at its roots; of its ears the largest is added to those with the same cofactor."""
        shared: dict[tuple[tuple[int, ...], ...], Counter[Pattern]] = defaultdict(Counter)
        terms: Counter[tuple[tuple[int, ...], ...]] = Counter()
        for pattern, coefficient in polynomial.items():
            joined, hang_i, hang_j, ears = patterns.split(pattern, 0, 1)
            at_i, at_j = self.numbers(hang_i), self.numbers(hang_j)
            factors = [self.add(steps.Tied(joined))] if joined else []
            factors += [self.ear({ear: 1}) for ear in ears[:-1]]
            if ears:
                shared[at_i, at_j, tuple(factors)][ears[-1]] += coefficient
            else:
                terms[at_i, at_j, tuple(factors)] += coefficient
        # short sums first: longer ones are then written in them
        for (at_i, at_j, known), ears_sum in sorted(shared.items(), key=lambda item: patterns.sum_size(item[1])):
            for number, weight in self.in_ear_sums(ears_sum).items():
                terms[at_i, at_j, tuple(sorted((*known, number)))] += weight
        return self.sum([Term(weight, *key) for key, weight in terms.items() if weight])

    def sum(self, terms: list[Term]) -> int:
        match terms:
            case [Term(1, (), (), (only,))]:
                return only
        return self.add(steps.Combination(tuple(terms)))

    def in_ear_sums(self, ears: Mapping[Pattern, int]) -> dict[int, int]:
        """Write a sum of ears in known ones; what is left over becomes a new one."""
        result, rest = patterns.eliminate(ears, self.ear_sums, pattern_order)
        if rest:
            factor, rest = _primitive(rest)
            number = self.ear(rest)
            result[number] = result.get(number, 0) + factor
            self.remember(rest)
        return result

    def remember(self, ears: Polynomial) -> None:
        units = [pattern for pattern, c in ears.items() if abs(c) == 1]
        if units:
            pivot = max(units, key=pattern_order)
            self.ear_sums.append((pivot, ears, self.ear(ears)))
            turned, turned_pivot = patterns.mirrored(ears), patterns.mirror(pivot)
            if turned_pivot != pivot:
                self.ear_sums.append((turned_pivot, turned, self.ear(turned)))

    def ear(self, ears: Polynomial) -> int:
        return self.once(self.ears, ears, self.products)

    def products(self, ears: Polynomial) -> int:
        """Cut every ear at its first cut node; equal left parts, and then equal right sums, share a product."""
        rights: dict[Pattern, Counter[Pattern]] = defaultdict(Counter)
        terms: list[Term] = []
        for ear, coefficient in ears.items():
            halves = _in_series(ear)
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
        """A product, unless its mirror image has been taken before: (X Y)ᵀ = Yᵀ Xᵀ."""
        key = _key(left), _key(right)
        if key not in self.series:
            turned = _key(patterns.mirrored(right)), _key(patterns.mirrored(left))
            if turned in self.series:
                self.series[key] = self.add(Transposed(self.series[turned]))
            else:
                self.series[key] = self.add(steps.Product(self.matrix(left), self.matrix(right)))
        return self.series[key]

    def clique(self, ear: Pattern) -> int:
        return self.add(steps.Clique(*(self.matrix({side: 1}) for side in _clique_sides(ear))))

    def numbers(self, pendants: tuple[Pattern, ...]) -> tuple[int, ...]:
        return tuple(sorted(map(self.vector, pendants)))

    def vector(self, pendant: Pattern) -> int:
        """A pendant as a sum over one of its nodes v, chosen so that the ears between root and v are short."""
        if pendant not in self.vectors:
            joined, _, hang_v, ears = patterns.split_pendant(pendant, patterns.nodes(pendant) - {0})
            factors = [self.add(steps.Tied(joined))] if joined else []
            factors += sorted(self.ear({ear: 1}) for ear in ears)
            matrix = self.sum([Term(1, (), (), tuple(factors))])
            self.vectors[pendant] = self.add(steps.Gathered(matrix, self.numbers(hang_v)))
        return self.vectors[pendant]


# ---- taking ears apart ----


@cache
def _in_series(ear: Pattern) -> tuple[Pattern, Pattern] | None:
    """The parts before and after the first node that all ways from 0 to 1 pass; what hangs on it goes with the
    second."""
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
    """The sides iu, iv, uv, uj, vj of a 4-clique on i = 0, u, v, j = 1; what hangs on u, v goes with iu, iv."""
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
        """The sides of u should be arcs: few nodes are then near it."""
        return [not patterns.tie(sides[s], 0, 1) for s in (0, 3)], [pattern_order(side) for side in sides]

    return min(found, key=preference)


def _ends(pattern: Pattern, part: frozenset[int], corners: set[int]) -> frozenset[int]:
    return frozenset({v for inner in part for v in patterns.neighbours(pattern, inner)} & corners)


def _side(pattern: Pattern, ends: dict[frozenset[int], frozenset[int]], a: int, b: int) -> Pattern:
    """The arcs between two corners and the parts that touch no other; what hangs on b alone goes with the root's."""
    inner = {v for part, touched in ends.items() if touched == {a, b} or (a == 0 and touched == {b}) for v in part}
    return canonical(induced(pattern, inner | {a, b}), (a, b))


def _key(polynomial: Polynomial) -> Key:
    return frozenset(polynomial.items())


def _primitive(polynomial: Polynomial) -> tuple[int, Polynomial]:
    """A polynomial as a factor times one whose coefficients share no divisor and whose greatest pattern has a plus."""
    factor = gcd(*polynomial.values())
    if polynomial[max(polynomial, key=pattern_order)] < 0:
        factor = -factor
    return factor, {pattern: c // factor for pattern, c in polynomial.items()}
