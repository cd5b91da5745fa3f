"""Closed forms for the number of simple paths, derived by program.

A walk of length L from i to j is a path iff its L + 1 positions hold different nodes.  Möbius inversion over the
partitions of the positions turns that into ordinary homomorphism counts (docs/how-it-works.md):

    P_L(i, j) = sum over partitions p of  mu(p) * hom_ij(walk / p),   mu(p) = prod over blocks (-1)^(b-1) (b-1)!

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
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise, permutations, product
from math import factorial, gcd

MAX_LENGTH = 6

Pattern = frozenset[tuple[int, int]]
"""A small digraph as a set of arcs.  Node 0 is the first terminal, node 1 the second where there are two."""

Tie = str
"""How node u is joined to v, seen from u: "f" u->v, "b" v->u, "r" both (always so when undirected), "" not at all."""


@dataclass(frozen=True)
class Link:
    """A sparse matrix with the entry (v, u) wherever v and u are tied: the product of the ears on that pair."""

    tie: Tie
    ears: tuple[Pattern, ...]


@dataclass(frozen=True)
class Monomial:
    """The count of one pattern as a function of a node v, for a fixed root."""

    tie: Tie
    pendants: tuple[Pattern, ...]
    messages: tuple[tuple[Link, Monomial], ...]


@dataclass(frozen=True)
class EdgeTerm:
    """coefficient * [ij is tied so] * pendants at i * pendants at j * ear sums on ij (numbers index `Formulas`)."""

    coefficient: int
    tie: Tie
    at_i: tuple[int, ...]
    at_j: tuple[int, ...]
    ear_sums: tuple[int, ...]


@dataclass(frozen=True)
class Formulas:
    """Everything needed to evaluate P_2 .. P_k on the arcs of a graph."""

    k: int
    directed: bool
    lengths: dict[int, tuple[EdgeTerm, ...]]
    """P_L as a sum of terms, for L = 2..k."""
    pendants: tuple[tuple[EdgeTerm, ...], ...]
    """Each pendant of a node i as a sum of terms over the nodes j tied to i."""
    ear_sums: tuple[dict[Monomial, int], ...]
    """Each sum of ears as a polynomial at j, rooted at i."""
    symmetric: tuple[bool, ...]
    """Whether an ear sum has the same value on ij and on ji."""
    pendant_number: dict[Pattern, int]
    ear_terms: dict[Pattern, dict[int, int]]
    """A single ear as a combination of ear sums (for the ears inside links)."""


@cache
def formulas(k: int, directed: bool) -> Formulas:
    """Closed forms for all lengths up to k <= 6."""
    if not 2 <= k <= MAX_LENGTH:
        raise ValueError(f"closed forms exist for k = 2..{MAX_LENGTH}, not for k = {k}")
    builder = _Builder(directed)
    lengths = {length: builder.edge_polynomial(quotients(length, directed)) for length in range(2, k + 1)}
    return Formulas(
        k=k,
        directed=directed,
        lengths=lengths,
        pendants=tuple(builder.pendant_terms),
        ear_sums=tuple(_rooted_polynomial(ears) for ears in builder.ear_sums),
        symmetric=tuple(mirrored(ears) == ears for ears in builder.ear_sums),
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
        for (tie, at_i, at_j), combined in sorted(single.items(), key=lambda item: sum_size(item[1])):
            for number, weight in self.in_ear_sums(combined).items():
                terms[tie, at_i, at_j, (number,)] += weight
        return tuple(EdgeTerm(weight, *key) for key, weight in terms.items() if weight)

    def numbers(self, pendants: tuple[Pattern, ...]) -> tuple[int, ...]:
        return tuple(sorted(self.pendant(pattern) for pattern in pendants))

    def pendant(self, pattern: Pattern) -> int:
        """The number of a pendant; its own formula, a sum over the neighbours of its node, is made on demand."""
        if pattern not in self.pendant_number:
            tie, hang_i, hang_j, ears = min(
                (split(pattern, 0, v) for v in sorted(neighbours(pattern, 0))),
                key=lambda parts: (max(map(len, parts[3]), default=0), repr(parts)),
            )
            at_i, at_j = self.numbers(hang_i), self.numbers(hang_j)
            products = self.ear_product(ears)
            self.pendant_number[pattern] = len(self.pendant_terms)
            self.pendant_terms.append(tuple(EdgeTerm(w, tie, at_i, at_j, numbers) for w, numbers in products))
        return self.pendant_number[pattern]

    def ear_product(self, ears: tuple[Pattern, ...]) -> list[tuple[int, tuple[int, ...]]]:
        """A product of single ears, multiplied out over their ear sums."""
        result = []
        for choice in product(*(self.ear(pattern).items() for pattern in ears)):
            weight = 1
            for _, factor in choice:
                weight *= factor
            result.append((weight, tuple(sorted(number for number, _ in choice))))
        return result

    def ear(self, pattern: Pattern) -> dict[int, int]:
        if pattern not in self.ear_terms:
            self.ear_terms[pattern] = self.in_ear_sums(Counter({pattern: 1}))
        return self.ear_terms[pattern]

    def in_ear_sums(self, ears: Counter[Pattern]) -> dict[int, int]:
        """Write a combination of ears in known ear sums; what is left over becomes a new one."""
        result, rest = eliminate(ears, zip(self.pivots, self.ear_sums, range(len(self.pivots)), strict=True))
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


# ---- from walks to quotients ----


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
    """Partitions of positions 0..length as block labels; neighbours (no loops) and the two ends (i != j) stay apart."""

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
    weight = 1
    for size in Counter(labels).values():
        weight *= (-1) ** (size - 1) * factorial(size - 1)
    return weight


# ---- patterns ----


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
    left, found = nodes(pattern).difference(without), []
    while left:
        stack = [left.pop()]
        part = set(stack)
        while stack:
            fresh = neighbours(pattern, stack.pop()) & left
            left -= fresh
            part |= fresh
            stack.extend(fresh)
        found.append(frozenset(part))
    return found


def split(
    pattern: Pattern, i: int, j: int
) -> tuple[Tie, tuple[Pattern, ...], tuple[Pattern, ...], tuple[Pattern, ...]]:
    """Take a pattern apart at i and j: the tie ij, pendants at i, pendants at j, ears."""
    hang_i, hang_j, ears = [], [], []
    for part in components(pattern, (i, j)):
        ends = {v for inner in part for v in neighbours(pattern, inner)} & {i, j}
        if ends == {i, j}:
            ears.append(_ear(pattern, part, i, j))
        elif ends == {i}:
            hang_i.append(canonical(induced(pattern, part | {i}), (i,)))
        else:
            hang_j.append(canonical(induced(pattern, part | {j}), (j,)))
    return tie(pattern, i, j), _ordered(hang_i), _ordered(hang_j), _ordered(ears)


def _ear(pattern: Pattern, part: frozenset[int], u: int, v: int) -> Pattern:
    arcs = induced(pattern, part | {u, v}) - {(u, v), (v, u)}
    return canonical(arcs, (u, v))


@cache
def canonical(pattern: Pattern, terminals: tuple[int, ...]) -> Pattern:
    """The same pattern for all isomorphic ones: terminals become 0, 1, inner nodes get their least numbering."""
    alike: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for v in sorted(nodes(pattern).difference(terminals)):
        degrees = (sum(a == v for a, _ in pattern), sum(b == v for _, b in pattern))
        alike[(*degrees, *(tie(pattern, v, t) for t in terminals))].append(v)
    best: tuple[tuple[int, int], ...] | None = None
    for orders in product(*(permutations(alike[key]) for key in sorted(alike, key=repr))):
        number = {v: n for n, v in enumerate((*terminals, *(v for order in orders for v in order)))}
        arcs = tuple(sorted((number[a], number[b]) for a, b in pattern))
        if best is None or arcs < best:
            best = arcs
    return frozenset(best or ())


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
    pattern, hanging = _cut_pendants(ear)
    pattern, bridging = _cut_ears(pattern)
    seen: set[int] = set()

    def monomial(v: int, parent: int) -> Monomial:
        seen.add(v)
        messages = []
        for child in sorted(neighbours(pattern, v) - {0, parent}):
            if child in seen:
                raise NotImplementedError("the pattern has treewidth above 2")
            ears = _ordered([canonical(e, (v, child)) for e in bridging[frozenset((v, child))]])
            messages.append((Link(tie(pattern, v, child), ears), monomial(child, v)))
        return Monomial(tie(pattern, v, 0), _ordered(hanging[v]), tuple(sorted(messages, key=repr)))

    return monomial(1, -1)


def _cut_pendants(pattern: Pattern) -> tuple[Pattern, dict[int, list[Pattern]]]:
    hanging: dict[int, list[Pattern]] = defaultdict(list)
    cuts = [(part, v) for v in nodes(pattern) - {0} for part in components(pattern, (v,)) if not part & {0, 1}]
    gone: frozenset[int] = frozenset()
    for part, v in sorted(cuts, key=lambda cut: (-len(cut[0]), sorted(cut[0]), cut[1])):
        if v not in gone and not part & gone:
            hanging[v].append(canonical(induced(pattern, part | {v}), (v,)))
            gone |= part
    return induced(pattern, nodes(pattern) - gone), hanging


def _cut_ears(pattern: Pattern) -> tuple[Pattern, dict[frozenset[int], list[Pattern]]]:
    bridging: dict[frozenset[int], list[Pattern]] = defaultdict(list)
    pairs = {(min(arc), max(arc)) for arc in pattern if 0 not in arc}
    cuts = [(part, pair) for pair in pairs for part in components(pattern, pair) if not part & {0, 1}]
    gone: frozenset[int] = frozenset()
    for part, (u, v) in sorted(cuts, key=lambda cut: (-len(cut[0]), sorted(cut[0]), cut[1])):
        if not part & gone and not gone & {u, v}:
            bridging[frozenset((u, v))].append(induced(pattern, part | {u, v}) - {(u, v), (v, u)})
            gone |= part
    return induced(pattern, nodes(pattern) - gone), bridging


@cache
def mirror(pattern: Pattern) -> Pattern:
    """The pattern with its roots exchanged."""
    flip = {0: 1, 1: 0}
    return canonical(frozenset((flip.get(a, a), flip.get(b, b)) for a, b in pattern), (0, 1))


def mirrored(polynomial: dict[Pattern, int]) -> dict[Pattern, int]:
    return {mirror(pattern): coefficient for pattern, coefficient in polynomial.items()}


# ---- sums of ears ----


def eliminate(
    ears: Mapping[Pattern, int], known: Iterable[tuple[Pattern, dict[Pattern, int], int]]
) -> tuple[dict[int, int], dict[Pattern, int]]:
    """Write a sum of ears in known ones, each given with its pivot, a pattern of coefficient ±1, and its number.

    Returns the coefficients of the known sums, and what is left over.
    """
    rest = {pattern: c for pattern, c in ears.items() if c}
    result: Counter[int] = Counter()
    # by falling pivot: subtracting a sum brings in only patterns below its pivot
    for pivot, polynomial, number in sorted(known, key=lambda entry: pattern_order(entry[0]), reverse=True):
        factor = rest.get(pivot, 0) * polynomial[pivot]
        if factor:
            result[number] += factor
            both = {p: rest.get(p, 0) - factor * polynomial.get(p, 0) for p in {**rest, **polynomial}}
            rest = {pattern: c for pattern, c in both.items() if c}
    return result, rest


def pattern_order(pattern: Pattern) -> tuple[int, list[tuple[int, int]]]:
    return len(pattern), sorted(pattern)


def _ordered(patterns: list[Pattern]) -> tuple[Pattern, ...]:
    return tuple(sorted(patterns, key=pattern_order))


def sum_size(ears: Counter[Pattern]) -> tuple[int, int]:
    return max(map(len, ears)), len(ears)
