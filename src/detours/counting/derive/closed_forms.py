"""Closed forms for the number of simple paths, derived by program.

The number of simple paths of each length is a sum of quotients of a walk (`patterns.py`).
Every quotient graph is split at its two roots i, j into

* pendants: pieces that hang on one node (an edge: its degree; a triangle: the closed walks of length 3), and
* ears: connected pieces that join i and j (the path i-x-j: the number of common neighbours),

so P_L becomes a polynomial in values at i, at j and on the arc ij.  Ears that always occur together are added up once
(`ear_sums`): for undirected graphs little more than one sum per length is left.
An ear sum is evaluated from its root i: without i its patterns are trees, apart from further pendants and ears, which
have been counted before.
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
    """coefficient * [ij has this tie] * pendants at i * pendants at j * ear sums on ij (indices into `Formulas`)."""

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
    pendant_index: dict[Pattern, int]
    ear_terms: dict[Pattern, dict[int, int]]  # a single ear as a linear combination of ear sums, for ears inside links


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
        pendant_index=builder.pendant_index,
        ear_terms=builder.ear_terms,
    )


@dataclass
class _Builder:
    """Collects pendants and ear sums while splitting polynomials; smaller pieces always come first."""

    directed: bool
    pendant_index: dict[Pattern, int] = field(default_factory=dict)
    pendant_terms: list[tuple[EdgeTerm, ...]] = field(default_factory=list)
    ear_sums: list[dict[Pattern, int]] = field(default_factory=list)
    pivots: list[Pattern] = field(default_factory=list)
    ear_terms: dict[Pattern, dict[int, int]] = field(default_factory=dict)

    def edge_polynomial(self, quotients: dict[Pattern, int]) -> tuple[EdgeTerm, ...]:
        """Split each quotient at its roots; ears with the same cofactor are added up into one ear sum."""
        single: dict[tuple[Tie, tuple[int, ...], tuple[int, ...]], Counter[Pattern]] = defaultdict(Counter)
        terms: Counter[tuple[Tie, tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = Counter()
        for pattern, coefficient in quotients.items():
            tie, pendants_i, pendants_j, ears = split(pattern, 0, 1)
            tie = tie if self.directed else ""  # evaluated on edges only, where an undirected tie always holds
            at_i, at_j = self.pendant_indices(pendants_i), self.pendant_indices(pendants_j)
            if len(ears) == 1:
                single[tie, at_i, at_j][ears[0]] += coefficient
            else:
                for weight, indices in self.ear_product(ears):
                    terms[tie, at_i, at_j, indices] += coefficient * weight
        # shortest sums first: they could not be recognised inside longer ones
        for (tie, at_i, at_j), combined in sorted(single.items(), key=lambda item: patterns.sum_size(item[1])):
            for index, weight in self.in_ear_sums(combined).items():
                terms[tie, at_i, at_j, (index,)] += weight
        return tuple(EdgeTerm(weight, *key) for key, weight in terms.items() if weight)

    def pendant_indices(self, pendants: tuple[Pattern, ...]) -> tuple[int, ...]:
        return tuple(sorted(self.pendant(pattern) for pattern in pendants))

    def pendant(self, pattern: Pattern) -> int:
        """The index of a pendant; its formula, a sum over the neighbours of its node, is derived on first use."""
        if pattern not in self.pendant_index:
            tie, pendants_i, pendants_j, ears = patterns.split_pendant(pattern, patterns.neighbours(pattern, 0))
            at_i, at_j = self.pendant_indices(pendants_i), self.pendant_indices(pendants_j)
            products = self.ear_product(ears)
            self.pendant_index[pattern] = len(self.pendant_terms)
            self.pendant_terms.append(tuple(EdgeTerm(w, tie, at_i, at_j, indices) for w, indices in products))
        return self.pendant_index[pattern]

    def ear_product(self, ears: tuple[Pattern, ...]) -> list[tuple[int, tuple[int, ...]]]:
        """A product of single ears, expanded in their ear sums."""
        choices = product(*(self.ear(pattern).items() for pattern in ears))
        return [(prod(c for _, c in choice), tuple(sorted(index for index, _ in choice))) for choice in choices]

    def ear(self, pattern: Pattern) -> dict[int, int]:
        if pattern not in self.ear_terms:
            self.ear_terms[pattern] = self.in_ear_sums(Counter({pattern: 1}))
        return self.ear_terms[pattern]

    def in_ear_sums(self, ears: Counter[Pattern]) -> dict[int, int]:
        """Express a linear combination of ears in known ear sums; what remains becomes a new one."""
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
        self.add_pieces(_rooted_polynomial(ears))
        self.ear_sums.append(ears)
        self.pivots.append(max(units, key=pattern_order))
        return len(self.ear_sums) - 1

    def add_pieces(self, polynomial: dict[Monomial, int]) -> None:
        """Add every pendant and ear that occurs inside a rooted polynomial."""
        for monomial in polynomial:
            self.pendant_indices(monomial.pendants)
            for link, inner in monomial.messages:
                for pattern in link.ears:
                    self.ear(pattern)
                self.add_pieces({inner: 1})


# ---- an ear, seen from its root ----


def _rooted_polynomial(ears: dict[Pattern, int]) -> dict[Monomial, int]:
    return {rooted(pattern): coefficient for pattern, coefficient in ears.items()}


@cache
def rooted(ear: Pattern) -> Monomial:
    """The ear between i = 0 and j = 1 as a monomial at j.

    Pieces separated from i and j by one node become pendants of that node, pieces separated by two neighbouring nodes
    become ears of that link.  What remains must be a tree once i is removed: then sums over neighbours, from the leaves
    up, count it.
    """
    pattern, pendants_at = _cut_off(ear, [(v,) for v in patterns.nodes(ear) - {0}])
    pattern, ears_on = _cut_off(pattern, [(min(arc), max(arc)) for arc in pattern if 0 not in arc])
    seen: set[int] = set()

    def monomial(v: int, parent: int) -> Monomial:
        seen.add(v)
        messages = []
        for child in sorted(patterns.neighbours(pattern, v) - {0, parent}):
            if child in seen:
                raise NotImplementedError("the pattern has treewidth above 2")
            pieces = (piece - {(v, child), (child, v)} for piece in ears_on[min(v, child), max(v, child)])
            ears = ordered([patterns.canonical(piece, (v, child)) for piece in pieces])
            messages.append((Link(patterns.tie(pattern, v, child), ears), monomial(child, v)))
        pendants = ordered([patterns.canonical(piece, (v,)) for piece in pendants_at[v,]])
        return Monomial(patterns.tie(pattern, v, 0), pendants, tuple(sorted(messages, key=repr)))

    return monomial(1, -1)


def _cut_off(
    pattern: Pattern, separators: list[tuple[int, ...]]
) -> tuple[Pattern, dict[tuple[int, ...], list[Pattern]]]:
    """Cut off the pieces that a separator disconnects from 0 and 1, largest first; return the rest and the pieces."""
    pieces: dict[tuple[int, ...], list[Pattern]] = defaultdict(list)
    cuts = {(part, at) for at in separators for part in patterns.components(pattern, at) if not part & {0, 1}}
    removed: frozenset[int] = frozenset()
    for part, at in sorted(cuts, key=lambda cut: (-len(cut[0]), sorted(cut[0]), cut[1])):
        if removed.isdisjoint(part.union(at)):
            pieces[at].append(patterns.induced(pattern, part.union(at)))
            removed |= part
    return patterns.induced(pattern, patterns.nodes(pattern) - removed), pieces
