"""Closed forms as data: steps that each compute one n × n matrix, or one vector, from earlier ones.

`engines/dense` evaluates them in order, with NumPy (`evaluate.py`) or torch (`evaluate_torch.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from detours.counting.derive.patterns import Tie


class Tied(NamedTuple):
    """M(i, j) = 1 where i and j have this tie: "f" the arc ij, "b" ji, "r" both."""

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
    """Steps in order; each refers to earlier ones by index. Built by `matrix_program.contraction`."""

    directed: bool
    steps: tuple[Step, ...]
    lengths: dict[int, int]  # index of the step that counts the paths of each length; its diagonal is meaningless

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
        """Which matrices are needed for all pairs if only counts on the arcs are requested.

        The others are only read where an arc joins i and j, so a list of those entries is enough.
        """
        needed = [False] * len(self.steps)
        for index in range(len(self.steps) - 1, -1, -1):
            match self.steps[index]:
                case Product() | Clique() as step:
                    for source in sources(step):
                        needed[source] = True
                case Gathered(matrix):
                    needed[matrix] = True
                case Transposed(source) if needed[index]:
                    needed[source] = True
                case Combination(terms) if needed[index] and not self.on_arcs[index]:
                    for term in terms:
                        if not any(self.on_arcs[factor] for factor in term.factors):
                            for factor in term.factors:
                                needed[factor] = True
        return tuple(all_pairs and not listed for all_pairs, listed in zip(needed, self.on_arcs, strict=True))

    @cached_property
    def owner(self) -> tuple[int, ...]:
        """The step that owns the memory of each result: a transpose is a view of its source."""
        known: list[int] = []
        for index, step in enumerate(self.steps):
            known.append(known[step.source] if isinstance(step, Transposed) else index)
        return tuple(known)

    @cached_property
    def freed_after(self) -> tuple[tuple[int, ...], ...]:
        """The results that are no longer needed once a step is finished; its own may be among them."""
        last = list(range(len(self.steps)))
        for index, step in enumerate(self.steps):
            for source in sources(step):
                last[source] = index
        for index in range(len(self.steps) - 1, -1, -1):
            last[self.owner[index]] = max(last[self.owner[index]], last[index])
        freed: list[list[int]] = [[] for _ in self.steps]
        for index, end in enumerate(last):
            freed[end].append(index)
        return tuple(map(tuple, freed))

    @cached_property
    def peak_matrices(self) -> int:
        """The largest number of matrices kept at the same time."""
        return self._peak([not isinstance(step, Gathered) for step in self.steps])

    @cached_property
    def peak_full_matrices(self) -> int:
        """The same if matrices that are zero off the arcs, or read only there, are kept as lists."""
        return self._peak(self.whole)

    def _peak(self, is_matrix: Sequence[bool]) -> int:
        own = [
            counts and owner == index for index, (counts, owner) in enumerate(zip(is_matrix, self.owner, strict=True))
        ]
        held = peak = 0
        for index, freed in enumerate(self.freed_after):
            held += own[index]
            peak = max(peak, held)
            held -= sum(own[old] for old in freed)
        return peak

    def number_of(self, kind: type[Step]) -> int:
        return sum(isinstance(step, kind) for step in self.steps)


def sources(step: Step) -> Iterator[int]:
    """The indices of the steps that a step reads."""
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


def without_unused_steps(contraction: Contraction) -> Contraction:
    """Drop the steps that no length needs."""
    needed = set(contraction.lengths.values())
    for index in range(len(contraction.steps) - 1, -1, -1):
        if index in needed:
            needed.update(sources(contraction.steps[index]))
    return _reordered(contraction, sorted(needed))


def in_thrifty_order(contraction: Contraction) -> Contraction:
    """The same steps in an order that keeps few matrices at a time.

    Greedy: of the steps that could come next, take the one that frees the most memory. The order need not be optimal,
    but keeps 14 matrices instead of 18 for length 8, and 23 instead of 34 if directed.
    """
    steps, owner = contraction.steps, contraction.owner
    readers: dict[int, set[int]] = {index: set() for index in range(len(steps))}
    for index, step in enumerate(steps):
        for source in sources(step):
            readers[owner[source]].add(index)
    remaining, order = dict.fromkeys(range(len(steps))), list[int]()
    # sizes such that all lists together are smaller than one matrix
    size = [0 if isinstance(step, Gathered | Transposed) else 1 for step in steps]
    size = [len(steps) if whole else one for one, whole in zip(size, contraction.whole, strict=True)]

    def growth(index: int) -> tuple[int, int]:
        read = {owner[source] for source in sources(steps[index])}
        freed = sum(size[held] for held in read if readers[held] == {index})
        return (size[index] if owner[index] == index else 0) - freed, index

    while remaining:
        chosen = min((n for n in remaining if not any(s in remaining for s in sources(steps[n]))), key=growth)
        del remaining[chosen]
        order.append(chosen)
        for source in sources(steps[chosen]):
            readers[owner[source]].discard(chosen)
    return _reordered(contraction, order)


def _reordered(contraction: Contraction, order: Sequence[int]) -> Contraction:
    new = {old: index for index, old in enumerate(order)}
    steps = tuple(_with_sources(contraction.steps[old], new) for old in order)
    return Contraction(contraction.directed, steps, {length: new[old] for length, old in contraction.lengths.items()})


def _with_sources(step: Step, new: dict[int, int]) -> Step:
    def mapped(old: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(new[index] for index in old)

    match step:
        case Transposed() | Product() | Clique():
            return type(step)(*mapped(tuple(sources(step))))
        case Combination(terms):
            new_terms = (Term(t.coefficient, mapped(t.at_i), mapped(t.at_j), mapped(t.factors)) for t in terms)
            return Combination(tuple(new_terms))
        case Gathered(matrix, weights):
            return Gathered(new[matrix], mapped(weights))
        case Tied():
            return step
