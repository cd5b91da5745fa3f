"""Closed forms as data: steps that each make one n × n matrix, or one vector, from earlier ones.

Whoever has matrices, of whatever kind, can carry them out in order (`evaluate.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from detours.counting.formulas import Tie


@dataclass(frozen=True, slots=True)
class Tied:
    """M(i, j) = 1 where i and j are tied so: "f" by the arc ij, "b" by ji, "r" by both."""

    tie: Tie


@dataclass(frozen=True, slots=True)
class Transposed:
    """M(i, j) = source(j, i)."""

    source: int


@dataclass(frozen=True, slots=True)
class Product:
    """M(i, j) = Σ_v left(i, v) · right(v, j)."""

    left: int
    right: int


@dataclass(frozen=True, slots=True)
class Clique:
    """M(i, j) = Σ_u Σ_v iu(i, u) · iv(i, v) · uv(u, v) · uj(u, j) · vj(v, j)."""

    iu: int
    iv: int
    uv: int
    uj: int
    vj: int


@dataclass(frozen=True, slots=True)
class Term:
    """coefficient · product of vectors at i · product of vectors at j · elementwise product of matrices."""

    coefficient: int
    at_i: tuple[int, ...]
    at_j: tuple[int, ...]
    factors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Combination:
    """M(i, j) = the sum of the terms."""

    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Gathered:
    """The vector x(i) = Σ_v matrix(i, v) · product of the weights at v."""

    matrix: int
    weights: tuple[int, ...]


Step = Tied | Transposed | Product | Clique | Combination | Gathered


@dataclass(frozen=True, eq=False)
class Contraction:
    """Steps in order; each refers to earlier ones by their numbers. `contraction` makes one of each kind."""

    directed: bool
    steps: tuple[Step, ...]
    lengths: dict[int, int]
    """The step whose matrix counts the paths of each length; its diagonal means nothing."""

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
    def done_after(self) -> tuple[tuple[int, ...], ...]:
        """Which earlier results, or its own, are needed no more once a step is finished."""
        last = list(range(len(self.steps)))
        for number, step in enumerate(self.steps):
            for source in sources(step):
                last[source] = number
        done: list[list[int]] = [[] for _ in self.steps]
        for number, end in enumerate(last):
            done[end].append(number)
        return tuple(map(tuple, done))

    @cached_property
    def most_held(self) -> int:
        """The most matrices that have to be kept at a time; a transpose is a view of another one."""
        held = most = 0
        for number, done in enumerate(self.done_after):
            held += self._is_matrix(number)
            most = max(most, held)
            held -= sum(map(self._is_matrix, done))
        return most

    def _is_matrix(self, number: int) -> bool:
        return not isinstance(self.steps[number], Gathered | Transposed)

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


def without_waste(directed: bool, steps: Sequence[Step], lengths: dict[int, int]) -> Contraction:
    """Leave out the steps that nothing needs, and number the others anew."""
    needed = set(lengths.values())
    for number in range(len(steps) - 1, -1, -1):
        if number in needed:
            needed.update(sources(steps[number]))
    new = {old: number for number, old in enumerate(sorted(needed))}
    kept = tuple(_renumbered(steps[old], new) for old in sorted(needed))
    return Contraction(directed, kept, {length: new[number] for length, number in lengths.items()})


def _renumbered(step: Step, new: dict[int, int]) -> Step:
    def every(old: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(new[number] for number in old)

    match step:
        case Transposed(source):
            return Transposed(new[source])
        case Product(left, right):
            return Product(new[left], new[right])
        case Clique():
            return Clique(*every(tuple(sources(step))))
        case Combination(terms):
            return Combination(
                tuple(Term(t.coefficient, every(t.at_i), every(t.at_j), every(t.factors)) for t in terms)
            )
        case Gathered(matrix, weights):
            return Gathered(new[matrix], every(weights))
        case Tied():
            return step
