"""Closed forms for the number of simple paths, derived by program.

The number of simple paths of each length is a sum of quotients of a walk (`patterns.py`).
Every quotient graph is taken apart at its two roots i, j into

* pendants: pieces that hang on one node (an edge: its degree; a triangle: the closed walks of length 3), and
* ears: connected pieces that join i and j (the path i-x-j: the number of common neighbours),

so P_L becomes a polynomial in numbers that belong to i, to j and to the arc ij.  Ears that always occur together
are added up once and for all (`ear_sums`): for undirected graphs one sum per length is nearly all that is left.
An ear sum is evaluated from its root i: without i its patterns are trees, up to further pendants and ears that
were counted before.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from math import gcd, prod
from typing import NamedTuple

from detours.counting.derive import patterns
from detours.counting.derive.patterns import Pattern, Tie, ordered, pattern_order, split

MAX_LENGTH = 6


class Link(NamedTuple):
    """A sparse matrix with the entry (v, u) wherever v and u are tied: the product of the ears on that pair."""

    tie: Tie
    ears: tuple[Pattern, ...]


class Monomial(NamedTuple):
    """The count of one pattern as a function of a node v, for a fixed root."""

    tie: Tie
    pendants: tuple[Pattern, ...]
    messages: tuple[tuple[Link, Monomial], ...]


class EdgeTerm(NamedTuple):
    """coefficient * [ij is tied so] * pendants at i * pendants at j * ear sums on ij (numbers index `Formulas`)."""

    coefficient: int
    tie: Tie
    at_i: tuple[int, ...]
    at_j: tuple[int, ...]
    ear_sums: tuple[int, ...]


class Formulas(NamedTuple):
    """Everything needed to evaluate P_2 .. P_k on the arcs of a graph."""

    k: int
    directed: bool
    lengths: dict[int, tuple[EdgeTerm, ...]]  # P_L as a sum of terms, for L = 2..k
    pendants: tuple[tuple[EdgeTerm, ...], ...]  # each pendant of a node i as a sum of terms over the nodes j tied to i
    ear_sums: tuple[dict[Monomial, int], ...]  # each sum of ears as a polynomial at j, rooted at i
    symmetric: tuple[bool, ...]  # whether an ear sum has the same value on ij and on ji
    pendant_number: dict[Pattern, int]
    ear_terms: dict[Pattern, dict[int, int]]  # a single ear as a combination of ear sums (for the ears inside links)


@cache
def formulas(k: int, directed: bool) -> Formulas:
    """Closed forms for all lengths up to k <= 6."""
    if not 2 <= k <= MAX_LENGTH:
        raise ValueError(f"closed forms exist for k = 2..{MAX_LENGTH}, not for k = {k}")
    builder = _Builder(directed)
    lengths = {length: builder.edge_polynomial(patterns.quotients(length, directed)) for length in range(2, k + 1)}
    return Formulas(
        k=k,
        directed=directed,
        lengths=lengths,
        pendants=tuple(builder.pendant_terms),
        ear_sums=tuple(_rooted_polynomial(ears) for ears in builder.ear_sums),
        symmetric=tuple(patterns.mirrored(ears) == ears for ears in builder.ear_sums),
        pendant_number=builder.pendant_number,
        ear_terms=builder.ear_terms,
    )


@dataclass
class _Builder:
    """Collects pendants and ear sums while polynomials are taken apart; smaller pieces are always finished first."""

    directed: bool
    pendant_number: dict[Pattern, int] = field(default_factory=dict)
    pendant_terms: list[tuple[EdgeTerm, ...]] = field(default_factory=list)
    ear_sums: list[dict[Pattern, int]] = field(default_factory=list)
    pivots: list[Pattern] = field(default_factory=list)
    ear_terms: dict[Pattern, dict[int, int]] = field(default_factory=dict)

    def edge_polynomial(self, quotients: dict[Pattern, int]) -> tuple[EdgeTerm, ...]:
        """Split each quotient at its roots; ears with the same cofactor are added before they get a number."""
        single: dict[tuple[Tie, tuple[int, ...], tuple[int, ...]], Counter[Pattern]] = defaultdict(Counter)
        terms: Counter[tuple[Tie, tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = Counter()
        for pattern, coefficient in quotients.items():
            tie, hang_i, hang_j, ears = split(pattern, 0, 1)
            tie = tie if self.directed else ""  # asked only on edges, where an undirected tie is always there
            at_i, at_j = self.numbers(hang_i), self.numbers(hang_j)
            if len(ears) == 1:
                single[tie, at_i, at_j][ears[0]] += coefficient
            else:
                for weight, numbers in self.ear_product(ears):
                    terms[tie, at_i, at_j, numbers] += coefficient * weight
        # the longest sums first would hide the short ones inside them
        for (tie, at_i, at_j), combined in sorted(single.items(), key=lambda item: patterns.sum_size(item[1])):
            for number, weight in self.in_ear_sums(combined).items():
                terms[tie, at_i, at_j, (number,)] += weight
        return tuple(EdgeTerm(weight, *key) for key, weight in terms.items() if weight)

    def numbers(self, pendants: tuple[Pattern, ...]) -> tuple[int, ...]:
        return tuple(sorted(self.pendant(pattern) for pattern in pendants))

    def pendant(self, pattern: Pattern) -> int:
        """The number of a pendant; its own formula, a sum over the neighbours of its node, is made on demand."""
        if pattern not in self.pendant_number:
            tie, hang_i, hang_j, ears = patterns.split_pendant(pattern, patterns.neighbours(pattern, 0))
            at_i, at_j = self.numbers(hang_i), self.numbers(hang_j)
            products = self.ear_product(ears)
            self.pendant_number[pattern] = len(self.pendant_terms)
            self.pendant_terms.append(tuple(EdgeTerm(w, tie, at_i, at_j, numbers) for w, numbers in products))
        return self.pendant_number[pattern]

    def ear_product(self, ears: tuple[Pattern, ...]) -> list[tuple[int, tuple[int, ...]]]:
        """A product of single ears, multiplied out over their ear sums."""
        choices = product(*(self.ear(pattern).items() for pattern in ears))
        return [(prod(c for _, c in choice), tuple(sorted(number for number, _ in choice))) for choice in choices]

    def ear(self, pattern: Pattern) -> dict[int, int]:
        if pattern not in self.ear_terms:
            self.ear_terms[pattern] = self.in_ear_sums(Counter({pattern: 1}))
        return self.ear_terms[pattern]

    def in_ear_sums(self, ears: Counter[Pattern]) -> dict[int, int]:
        """Write a combination of ears in known ear sums; what is left over becomes a new one."""
        known = zip(self.pivots, self.ear_sums, range(len(self.pivots)), strict=True)
        result, rest = patterns.eliminate(ears, known, pattern_order)
        if rest:
            divisor = gcd(*rest.values())
            result[self.new_ear_sum({pattern: c // divisor for pattern, c in rest.items()})] = divisor
        return result

    def new_ear_sum(self, ears: dict[Pattern, int]) -> int:
        units = [pattern for pattern, c in ears.items() if abs(c) == 1]
        if not units:
            raise ArithmeticError("no ear with coefficient 1 to eliminate by")
        self.finish_parts(_rooted_polynomial(ears))
        self.ear_sums.append(ears)
        self.pivots.append(max(units, key=pattern_order))
        return len(self.ear_sums) - 1

    def finish_parts(self, polynomial: dict[Monomial, int]) -> None:
        """Number every pendant and ear that occurs inside a rooted polynomial."""
        for monomial in polynomial:
            self.numbers(monomial.pendants)
            for link, inner in monomial.messages:
                for pattern in link.ears:
                    self.ear(pattern)
                self.finish_parts({inner: 1})


# ---- an ear, seen from its root ----


def _rooted_polynomial(ears: dict[Pattern, int]) -> dict[Monomial, int]:
    return {rooted(pattern): coefficient for pattern, coefficient in ears.items()}


@cache
def rooted(ear: Pattern) -> Monomial:
    """The ear between i = 0 and j = 1 as a monomial at j.

    Pieces cut off from i and j by one node become pendants of it, pieces cut off by two neighbouring nodes become
    ears of that link.  What remains must be a tree once i is removed: then sums over neighbours, from the leaves up,
    count it.
    """
    pattern, hanging = _cut_off(ear, [(v,) for v in patterns.nodes(ear) - {0}])
    pattern, bridging = _cut_off(pattern, [(min(arc), max(arc)) for arc in pattern if 0 not in arc])
    seen: set[int] = set()

    def monomial(v: int, parent: int) -> Monomial:
        seen.add(v)
        messages = []
        for child in sorted(patterns.neighbours(pattern, v) - {0, parent}):
            if child in seen:
                raise NotImplementedError("the pattern has treewidth above 2")
            arcs = (ends - {(v, child), (child, v)} for ends in bridging[min(v, child), max(v, child)])
            ears = ordered([patterns.canonical(each, (v, child)) for each in arcs])
            messages.append((Link(patterns.tie(pattern, v, child), ears), monomial(child, v)))
        pendants = ordered([patterns.canonical(each, (v,)) for each in hanging[v,]])
        return Monomial(patterns.tie(pattern, v, 0), pendants, tuple(sorted(messages, key=repr)))

    return monomial(1, -1)


def _cut_off(pattern: Pattern, places: list[tuple[int, ...]]) -> tuple[Pattern, dict[tuple[int, ...], list[Pattern]]]:
    """Cut off the pieces that some nodes separate from 0 and 1, the largest first; return the rest and the pieces."""
    pieces: dict[tuple[int, ...], list[Pattern]] = defaultdict(list)
    cuts = {(part, at) for at in places for part in patterns.components(pattern, at) if not part & {0, 1}}
    gone: frozenset[int] = frozenset()
    for part, at in sorted(cuts, key=lambda cut: (-len(cut[0]), sorted(cut[0]), cut[1])):
        if gone.isdisjoint(part.union(at)):
            pieces[at].append(patterns.induced(pattern, part.union(at)))
            gone |= part
    return patterns.induced(pattern, patterns.nodes(pattern) - gone), pieces
