"""Closed forms as data: steps that each make one n × n matrix, or one vector, from earlier ones.

Whoever has matrices, of whatever kind, can carry them out in order (`evaluate.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from detours.counting.derive.patterns import Tie


class Tied(NamedTuple):
    """M(i, j) = 1 where i and j are tied so: "f" by the arc ij, "b" by ji, "r" by both."""

    tie: Tie


class Transposed(NamedTuple):
    """M(i, j) = source(j, i)."""

    source: int


class Product(NamedTuple):
    """M(i, j) = Σ_v left(i, v) · right(v, j)."""

    left: int
    right: int


class Clique(NamedTuple):
    """M(i, j) = Σ_u Σ_v iu(i, u) · iv(i, v) · uv(u, v) · uj(u, j) · vj(v, j)."""

    iu: int
    iv: int
    uv: int
    uj: int
    vj: int


class Term(NamedTuple):
    """coefficient · product of vectors at i · product of vectors at j · elementwise product of matrices."""

    coefficient: int
    at_i: tuple[int, ...]
    at_j: tuple[int, ...]
    factors: tuple[int, ...]


class Combination(NamedTuple):
    """M(i, j) = the sum of the terms."""

    terms: tuple[Term, ...]


class Gathered(NamedTuple):
    """The vector x(i) = Σ_v matrix(i, v) · product of the weights at v."""

    matrix: int
    weights: tuple[int, ...]


Step = Tied | Transposed | Product | Clique | Combination | Gathered


@dataclass(frozen=True, eq=False)
class Contraction:
    """Steps in order; each refers to earlier ones by their numbers. `contraction` makes one of each kind."""

    directed: bool
    steps: tuple[Step, ...]
    lengths: dict[int, int]  # the step whose matrix counts the paths of each length; its diagonal means nothing

    @cached_property
    def on_arcs(self) -> tuple[bool, ...]:
        """Whether the matrix of a step is zero wherever no arc joins i and j, in either direction."""
        known: list[bool] = []
        for step in self.steps:
            match step:
                case Tied():
                    known.append(True)
                case Transposed(source):
                    known.append(known[source])
                case Combination(terms):
                    known.append(all(any(known[f] for f in term.factors) for term in terms))
                case _:
                    known.append(False)
        return tuple(known)

    @cached_property
    def whole(self) -> tuple[bool, ...]:
        """Which matrices are needed for all pairs when counts are asked for on the arcs alone.

        The others are only ever read where an arc joins i and j, so a list of those entries will do.
        """
        needed = [False] * len(self.steps)
        for number in range(len(self.steps) - 1, -1, -1):
            match self.steps[number]:
                case Product() | Clique() as step:
                    for source in sources(step):
                        needed[source] = True
                case Gathered(matrix):
                    needed[matrix] = True
                case Transposed(source) if needed[number]:
                    needed[source] = True
                case Combination(terms) if needed[number] and not self.on_arcs[number]:
                    for term in terms:
                        if not any(self.on_arcs[factor] for factor in term.factors):
                            for factor in term.factors:
                                needed[factor] = True
        return tuple(all_pairs and not listed for all_pairs, listed in zip(needed, self.on_arcs, strict=True))

    @cached_property
    def owner(self) -> tuple[int, ...]:
        """The step whose memory holds the result of each: a transpose is a view of another one."""
        known: list[int] = []
        for number, step in enumerate(self.steps):
            known.append(known[step.source] if isinstance(step, Transposed) else number)
        return tuple(known)

    @cached_property
    def done_after(self) -> tuple[tuple[int, ...], ...]:
        """Which earlier results, or its own, are needed no more once a step is finished."""
        last = list(range(len(self.steps)))
        for number, step in enumerate(self.steps):
            for source in sources(step):
                last[source] = number
        for number in range(len(self.steps) - 1, -1, -1):
            last[self.owner[number]] = max(last[self.owner[number]], last[number])
        done: list[list[int]] = [[] for _ in self.steps]
        for number, end in enumerate(last):
            done[end].append(number)
        return tuple(map(tuple, done))

    @cached_property
    def most_held(self) -> int:
        """The most matrices that have to be kept at a time."""
        return self._most([not isinstance(step, Gathered) for step in self.steps])

    @cached_property
    def most_whole(self) -> int:
        """The same where matrices that are zero off the arcs, or read only there, are kept as lists."""
        return self._most(self.whole)

    def _most(self, counted: Sequence[bool]) -> int:
        own = [
            counts and owner == number for number, (counts, owner) in enumerate(zip(counted, self.owner, strict=True))
        ]
        held = most = 0
        for number, done in enumerate(self.done_after):
            held += own[number]
            most = max(most, held)
            held -= sum(own[old] for old in done)
        return most

    def number_of(self, kind: type[Step]) -> int:
        return sum(isinstance(step, kind) for step in self.steps)


def sources(step: Step) -> Iterator[int]:
    """The numbers of the steps that a step needs."""
    match step:
        case Transposed(source):
            yield source
        case Product(left, right):
            yield from (left, right)
        case Clique(iu, iv, uv, uj, vj):
            yield from (iu, iv, uv, uj, vj)
        case Combination(terms):
            for term in terms:
                yield from (*term.at_i, *term.at_j, *term.factors)
        case Gathered(matrix, weights):
            yield from (matrix, *weights)
        case Tied():
            pass


def without_waste(contraction: Contraction) -> Contraction:
    """Leave out the steps that nothing needs."""
    needed = set(contraction.lengths.values())
    for number in range(len(contraction.steps) - 1, -1, -1):
        if number in needed:
            needed.update(sources(contraction.steps[number]))
    return _in_order(contraction, sorted(needed))


def thrifty(contraction: Contraction) -> Contraction:
    """The same steps in an order that keeps few matrices at a time.

    Among the steps that could come next, take the one that lets go of the most memory; it need not be the best order,
    but holds 14 matrices instead of 18 for length 8, and 23 instead of 34 if directed.
    """
    steps, owner = contraction.steps, contraction.owner
    waiting: dict[int, set[int]] = {number: set() for number in range(len(steps))}
    for number, step in enumerate(steps):
        for source in sources(step):
            waiting[owner[source]].add(number)
    left, order = dict.fromkeys(range(len(steps))), list[int]()
    # any number of lists is less than a matrix
    size = [0 if isinstance(step, Gathered | Transposed) else 1 for step in steps]
    size = [len(steps) if whole else one for one, whole in zip(size, contraction.whole, strict=True)]

    def growth(number: int) -> tuple[int, int]:
        read = {owner[source] for source in sources(steps[number])}
        freed = sum(size[held] for held in read if waiting[held] == {number})
        return (size[number] if owner[number] == number else 0) - freed, number

    while left:
        chosen = min((n for n in left if not any(s in left for s in sources(steps[n]))), key=growth)
        del left[chosen]
        order.append(chosen)
        for source in sources(steps[chosen]):
            waiting[owner[source]].discard(chosen)
    return _in_order(contraction, order)


def _in_order(contraction: Contraction, order: Sequence[int]) -> Contraction:
    new = {old: number for number, old in enumerate(order)}
    steps = tuple(_renumbered(contraction.steps[old], new) for old in order)
    return Contraction(contraction.directed, steps, {length: new[old] for length, old in contraction.lengths.items()})


def _renumbered(step: Step, new: dict[int, int]) -> Step:
    def every(old: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(new[number] for number in old)

    match step:
        case Transposed() | Product() | Clique():
            return type(step)(*every(tuple(sources(step))))
        case Combination(terms):
            every_term = (Term(t.coefficient, every(t.at_i), every(t.at_j), every(t.factors)) for t in terms)
            return Combination(tuple(every_term))
        case Gathered(matrix, weights):
            return Gathered(new[matrix], every(weights))
        case Tied():
            return step
