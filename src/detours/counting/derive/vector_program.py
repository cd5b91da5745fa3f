"""From closed forms to a short list of vector operations, which the row engine runs for each block of roots.

A vector holds one value for every node v near the root i.  There are three operations:

    touch     v is tied to the root
    product   sum over u tied to v of  link(v, u) * source(u)
    combine   sums of  coefficient * pendants(v) * vector(v) * ... * vector(v)

Ears are added up before they are multiplied by the next link (Horner's rule), so that k = 6 on an undirected graph
needs five products.  The value of an ear sum is then read, or summed over the neighbours, at the other ends j of the
root's edges.  Ear sums that occur in links or pendants of others are computed in an earlier pass over the graph.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import gcd
from typing import NamedTuple

from detours.counting.derive.closed_forms import Formulas, Link, Monomial, formulas
from detours.counting.derive.patterns import Tie, eliminate


class Weighting(NamedTuple):
    """A sparse matrix on tied pairs (v, u): the sum of coefficient * product of ear sums on (v, u)."""

    tie: Tie
    terms: tuple[tuple[int, tuple[int, ...]], ...]

    @property
    def plain(self) -> bool:
        return self.terms == ((1, ()),)


class Touch(NamedTuple):
    tie: Tie


class Product(NamedTuple):
    weighting: Weighting
    source: int


class Combine(NamedTuple):
    terms: tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...]  # (coefficient, pendants, vectors) each


@dataclass
class Vector:
    operation: Touch | Product | Combine
    support: int  # zero farther than this from the root
    demand: int = 0
    """Needed at most this many steps from the root along served edges (1: only at their ends)."""


class Reading(NamedTuple):
    """A summand of an ear sum: coefficient * vector(j), or coefficient * sum over u of weighting(j, u) * vector(u)."""

    coefficient: int
    vector: int
    weighting: Weighting | None


@dataclass
class Pass:
    """Vectors in order of evaluation, and how to read the ear sums of this pass from them."""

    vectors: list[Vector]
    readings: dict[int, list[Reading]]

    @property
    def products(self) -> int:
        return sum(isinstance(v.operation, Product) for v in self.vectors)

    @cached_property
    def reach(self) -> int:
        """The largest distance from the roots at which some vector is both non-zero and needed."""
        return max(min(v.support, v.demand) for v in self.vectors)

    @cached_property
    def slot(self) -> list[int]:
        """The buffer slot of each vector; a slot is reused after the last use of the vector in it."""
        last_use = list(range(len(self.vectors)))
        for index, vector in enumerate(self.vectors):
            for used in _sources(vector.operation):
                last_use[used] = index
        for reading in (r for group in self.readings.values() for r in group):
            last_use[reading.vector] = len(self.vectors)
        slot: list[int] = []
        free_at: list[int] = []
        for index in range(len(self.vectors)):
            free = next((s for s, end in enumerate(free_at) if end < index), len(free_at))
            free_at[free : free + 1] = [last_use[index]]
            slot.append(free)
        return slot

    @property
    def slots(self) -> int:
        """The number of vectors kept at the same time."""
        return 1 + max(self.slot, default=-1)

    def weightings(self, directed: bool) -> set[Weighting]:
        """The weightings that need an array of weights."""
        used = {v.operation.weighting for v in self.vectors if isinstance(v.operation, Product)}
        used |= {r.weighting for group in self.readings.values() for r in group if r.weighting is not None}
        return {weighting for weighting in used if directed or not weighting.plain}


class Program(NamedTuple):
    formulas: Formulas
    passes: tuple[Pass, ...]
    pendants_before: tuple[tuple[int, ...], ...]
    """The pendants that pass p multiplies by; they need only ear sums of earlier passes."""
    symmetric: bool  # it is enough to serve every edge from one of its ends, whichever

    @property
    def products(self) -> int:
        return sum(p.products for p in self.passes)


@cache
def program(k: int, directed: bool) -> Program:
    """The program that evaluates the closed forms up to k."""
    derived = formulas(k, directed)
    schedule = _schedule(derived)
    passes = tuple(_PassBuilder(derived).build(ear_sums) for ear_sums in schedule)
    return Program(derived, passes, tuple(_pendants_in(p) for p in passes), all(derived.symmetric))


Polynomial = dict[Monomial, int]
Summand = tuple[int, Weighting, Polynomial]  # coefficient * weighting * vector of the polynomial


@dataclass
class _PassBuilder:
    derived: Formulas
    vectors: list[Vector] = field(default_factory=list)
    index: dict[Touch | Product | Combine, int] = field(default_factory=dict)
    known_products: dict[Weighting, list[tuple[Polynomial, Monomial, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """The products so far, by weighting: polynomial multiplied, its pivot, index of the resulting vector."""

    def build(self, ear_sums: list[int]) -> Pass:
        # all inner vectors first: a vector that one ear sum needs can be read for another
        summands = {e: self.summands(self.derived.ear_sums[e]) for e in ear_sums}
        sources = {e: [(c, w, self.vector(inner), inner) for c, w, inner in summands[e]] for e in ear_sums}
        readings = {e: [r for source in sources[e] for r in self.readings(*source)] for e in ear_sums}
        self.set_demands(readings)
        return Pass(self.vectors, readings)

    def readings(self, coefficient: int, weighting: Weighting, source: int, inner: Polynomial) -> list[Reading]:
        """Read existing products where possible; otherwise sum over the neighbours of the ends of the edges only."""
        known, rest = self.in_products(weighting, inner)
        if rest:
            return [Reading(coefficient, source, weighting)]
        return [Reading(coefficient * factor, vector, None) for factor, vector in known]

    def vector(self, polynomial: Polynomial) -> int:
        """The index of the vector that evaluates this polynomial; it is added if new."""
        terms: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = []
        single: dict[tuple[Tie, tuple[int, ...]], Polynomial] = defaultdict(dict)
        for monomial, coefficient in polynomial.items():
            pendants = tuple(sorted(self.derived.pendant_index[p] for p in monomial.pendants))
            if len(monomial.messages) == 1:
                single[monomial.tie, pendants][monomial] = coefficient
            else:
                factors = [self.message(link, inner) for link, inner in monomial.messages]
                terms.append((coefficient, pendants, self.with_touch(monomial.tie, factors)))
        for (tie, pendants), monomials in single.items():
            for coefficient, weighting, inner in self.summands(monomials):
                for factor, product in self.products(weighting, inner):
                    terms.append((coefficient * factor, pendants, self.with_touch(tie, [product])))
        if len(terms) == 1 and terms[0][:2] == (1, ()) and len(terms[0][2]) == 1:
            return terms[0][2][0]
        return self.add(Combine(tuple(sorted(terms))))

    def message(self, link: Link, inner: Monomial) -> int:
        ((_, product),) = self.products(self.weighting(Counter({link: 1})), {inner: 1})
        return product

    def with_touch(self, tie: Tie, factors: list[int]) -> tuple[int, ...]:
        return tuple(sorted(factors + ([self.add(Touch(tie))] if tie else [])))

    def products(self, weighting: Weighting, inner: Polynomial) -> list[tuple[int, int]]:
        """The product of a weighting and a polynomial as a linear combination of vectors, at most one of them new."""
        known, rest = self.in_products(weighting, inner)
        if rest:
            pivot = max(rest, key=lambda m: (abs(rest[m]) == 1, _depth(m), repr(m)))
            divisor = gcd(*rest.values()) * (1 if rest[pivot] > 0 else -1)
            scaled = {m: c // divisor for m, c in rest.items()}
            product = self.add(Product(weighting, self.vector(scaled)))
            self.known_products[weighting].append((scaled, pivot, product))
            known.append((divisor, product))
        return known

    def in_products(self, weighting: Weighting, inner: Polynomial) -> tuple[list[tuple[int, int]], Polynomial]:
        """Express a product in known ones; the remaining polynomial is still to be multiplied."""
        known = ((pivot, scaled, product) for scaled, pivot, product in self.known_products[weighting])
        factors, rest = eliminate(inner, known, _depth)
        return [(factor, product) for product, factor in factors.items()], rest

    def summands(self, monomials: Polynomial) -> list[Summand]:
        """Factor out: one product per link, and one link per source (monomials of one message, same cofactor)."""
        by_link: dict[Link, Polynomial] = defaultdict(dict)
        for monomial, coefficient in monomials.items():
            ((link, inner),) = monomial.messages
            by_link[link][inner] = coefficient
        sources: dict[tuple[Tie, frozenset[tuple[Monomial, int]]], tuple[Polynomial, Counter[Link]]] = {}
        for link, polynomial in by_link.items():
            divisor = gcd(*polynomial.values())
            scaled = {m: c // divisor for m, c in polynomial.items()}
            # a plain link is kept separate, so that it needs no weights
            key = (link.tie if link.ears else "plain " + link.tie, frozenset(scaled.items()))
            sources.setdefault(key, (scaled, Counter()))[1][link] += divisor  # not from the set: its order is random
        result = []
        for scaled, links in sources.values():
            divisor = gcd(*links.values())
            smaller = Counter({link: c // divisor for link, c in links.items()})
            result.append((divisor, self.weighting(smaller), scaled))
        return result

    def weighting(self, links: Counter[Link]) -> Weighting:
        """The sum of links, each a product of ears, expanded in ear sums."""
        terms: Counter[tuple[int, ...]] = Counter()
        for link, coefficient in links.items():
            products: Counter[tuple[int, ...]] = Counter({(): coefficient})
            for ear in link.ears:
                expanded: Counter[tuple[int, ...]] = Counter()
                for ear_sums, weight in products.items():
                    for index, factor in self.derived.ear_terms[ear].items():
                        expanded[tuple(sorted((*ear_sums, index)))] += weight * factor
                products = expanded
            terms.update(products)
        (tie,) = {link.tie for link in links}
        return Weighting(tie, tuple(sorted((c, ear_sums) for ear_sums, c in terms.items())))

    def add(self, operation: Touch | Product | Combine) -> int:
        if operation not in self.index:
            self.index[operation] = len(self.vectors)
            self.vectors.append(Vector(operation, self.support(operation)))
        return self.index[operation]

    def support(self, operation: Touch | Product | Combine) -> int:
        if isinstance(operation, Touch):
            return 1
        if isinstance(operation, Product):
            return self.vectors[operation.source].support + 1
        return max(min(self.vectors[v].support for v in factors) for _, _, factors in operation.terms)

    def set_demands(self, readings: dict[int, list[Reading]]) -> None:
        def require(vector: int, demand: int) -> None:
            self.vectors[vector].demand = max(self.vectors[vector].demand, demand)

        for reading in (r for group in readings.values() for r in group):
            require(reading.vector, 1 if reading.weighting is None else 2)
        for vector in reversed(self.vectors):
            if isinstance(vector.operation, Product):
                require(vector.operation.source, vector.demand + 1)
            elif isinstance(vector.operation, Combine):
                for factor in {v for _, _, factors in vector.operation.terms for v in factors}:
                    require(factor, vector.demand)


def _schedule(derived: Formulas) -> list[list[int]]:
    """Ear sums by pass: each after those it needs, otherwise as late as possible, to share the vectors of late ones."""
    needs = [_needed_ear_sums(derived, polynomial) for polynomial in derived.ear_sums]
    level = [0] * len(needs)
    for index, needed in enumerate(needs):  # an ear sum comes after the ones it needs
        level[index] = 1 + max((level[n] for n in needed), default=-1)
    last = max(level)
    latest = [last] * len(needs)
    for index in reversed(range(len(needs))):
        for earlier in needs[index]:
            latest[earlier] = min(latest[earlier], latest[index] - 1)
    return [[n for n in range(len(needs)) if latest[n] == p] for p in range(last + 1)]


def _needed_ear_sums(derived: Formulas, polynomial: dict[Monomial, int]) -> set[int]:
    needed: set[int] = set()
    for monomial in polynomial:
        for pendant in monomial.pendants:
            needed |= _ear_sums_of_pendant(derived, derived.pendant_index[pendant])
        for link, inner in monomial.messages:
            for ear in link.ears:
                needed |= derived.ear_terms[ear].keys()
            needed |= _needed_ear_sums(derived, {inner: 1})
    return needed


def _ear_sums_of_pendant(derived: Formulas, pendant: int) -> set[int]:
    needed: set[int] = set()
    for term in derived.pendants[pendant]:
        needed.update(term.ear_sums)
        for inner in (*term.at_i, *term.at_j):
            needed |= _ear_sums_of_pendant(derived, inner)
    return needed


def _depth(monomial: Monomial) -> int:
    return 1 + max((_depth(inner) for _, inner in monomial.messages), default=0)


def _pendants_in(one_pass: Pass) -> tuple[int, ...]:
    combines = [v.operation for v in one_pass.vectors if isinstance(v.operation, Combine)]
    return tuple(sorted({p for c in combines for _, pendants, _ in c.terms for p in pendants}))


def _sources(operation: Touch | Product | Combine) -> Sequence[int]:
    if isinstance(operation, Product):
        return [operation.source]
    if isinstance(operation, Combine):
        return [v for _, _, factors in operation.terms for v in factors]
    return []
