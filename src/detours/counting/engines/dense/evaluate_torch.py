"""Evaluation of closed forms on torch tensors, on a CPU or a GPU: the same steps, the same exact numbers.

A matrix is kept whole only if some step needs it for all pairs; what is zero off the arcs, or read only there, is a
list with one entry per tied pair. A step runs in float64 if a bound proves every sum in it below 2^53: first the bound
from the largest degrees (`bounds.py`), and where that does not do, one from the entries its sources came to. Otherwise
it runs in int64 modulo 2^64, with products cut into exact float64 ones (`tensor_products.py`).

Matrices may live on another device than the one that computes: then rows are fetched, worked out and put back some at a
time. That is how graphs are counted whose matrices do not fit on a GPU.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from detours.counting.derive.matrix_steps import (
    Clique,
    Combination,
    Contraction,
    Gathered,
    Product,
    Step,
    Term,
    Tied,
    Transposed,
    sources,
)
from detours.counting.engines.dense.bounds import Proof
from detours.counting.engines.dense.cliques import Sides, sum_cliques
from detours.counting.engines.dense.exact_matmul import float_product, ring_product
from detours.counting.engines.dense.stack import TensorStack
from detours.counting.engines.dense.sums import add_up, product_of

SPARSE = 0.004
"""The share of pairs joined by an arc up to which a sparse product beats a dense one on a GPU."""


class Rows(NamedTuple):
    """Some rows of all matrices, and the tied pairs that lie there."""

    begin: int
    end: int
    pairs: Tensor | slice


def evaluate_tensors(
    contraction: Contraction, stack: TensorStack, home: torch.device | None = None, height: int | None = None
) -> Iterator[tuple[int, Tensor]]:
    """Yield each length with its counts for the tied pairs, int64 on the device of the stack.

    ``home`` is where matrices are kept, if not on that device; ``height`` how many rows are worked out at a time, if
    not all.

    >>> from detours.counting.derive.matrix_program import contraction
    >>> triangle = TensorStack(torch.tensor([1, 2, 3, 5, 6, 7]), None, 1, 3)
    >>> {length: counts.tolist() for length, counts in evaluate_tensors(contraction(3, False), triangle)}
    {2: [1, 1, 1, 1, 1, 1], 3: [0, 0, 0, 0, 0, 0]}
    """
    return _Evaluation(contraction, stack, home or stack.device, height or stack.nodes).run()


class _Evaluation:
    """Steps under way: vectors and lists on the device, whole matrices at home."""

    def __init__(self, contraction: Contraction, stack: TensorStack, home: torch.device, height: int) -> None:
        self.contraction, self.stack, self.home, self.height = contraction, stack, home, height
        self.whole: dict[int, Tensor] = {}
        self.listed: dict[int, Tensor] = {}
        self.vectors: dict[int, Tensor] = {}
        self.proof = Proof(stack.degrees, self.measure)

    def run(self) -> Iterator[tuple[int, Tensor]]:
        asked: dict[int, list[int]] = defaultdict(list)
        for length, number in self.contraction.lengths.items():
            asked[number].append(length)
        for number, step in enumerate(self.contraction.steps):
            self.carry_out(number, step, torch.float64 if self.proof.add(step) else torch.int64)
            for length in asked[number]:
                yield length, self.on_tied(number, torch.int64)
            for old in self.contraction.done_after[number]:
                for kept in (self.whole, self.listed, self.vectors):
                    kept.pop(old, None)

    def measure(self, number: int) -> list[float]:
        """The largest entry, sum of a row and sum of a column, signs left out."""
        if number in self.vectors:
            sizes = [self.vectors[number].abs().max()] * 3
        elif number in self.whole:
            matrix = self.whole[number]
            sums = [torch.linalg.vector_norm(matrix, 1, dim=axis).max() for axis in (2, 1)]
            sizes = [torch.linalg.vector_norm(matrix, torch.inf), *sums]
        else:
            values = self.on_tied(number, torch.float64).abs()
            sizes = [values.max(), *(self.stack.sums_at(end, values).max() for end in self.stack.ends)]
        found: list[float] = torch.stack(sizes).tolist()
        return found

    # ---- steps ----

    def carry_out(self, number: int, step: Step, word: torch.dtype) -> None:
        match step:
            case Gathered(matrix, weights):
                self.vectors[number] = self.gather(matrix, weights, word)
            case Tied(tie):
                ahead = self.stack.arcs
                back = ahead if tie == "f" else ahead[self.stack.reverse]
                self.listed[number] = ahead * back if tie == "r" else back
            case Transposed(source):
                if source in self.whole:
                    self.whole[number] = self.whole[source].mT
                else:
                    self.listed[number] = self.on_tied(source, word)[self.stack.reverse]
            case Combination(terms) if not self.contraction.whole[number]:
                self.listed[number] = add_up(terms, _OnTied(self, word))
            case Clique():
                self.keep(number, [(self.all_rows, self.sum_cliques(step, word))])
            case Product():
                self.keep(number, self.multiply(number, step, word))
            case Combination():
                self.keep(number, ((rows, self.combine(step, rows, word)) for rows in self.row_blocks()))

    def keep(self, number: int, blocks: Any) -> None:
        """Put blocks of rows together: as a whole matrix at home if that is needed, else as a list of tied pairs."""
        shape = (self.stack.graphs, self.stack.nodes, self.stack.nodes)
        for rows, block in blocks:
            if self.contraction.whole[number]:
                if rows.end - rows.begin == self.stack.nodes:
                    self.whole[number] = block.to(self.home)
                else:
                    if number not in self.whole:
                        self.whole[number] = torch.empty(shape, dtype=block.dtype, device=self.home)
                    self.whole[number][:, rows.begin : rows.end] = block
            else:
                if number not in self.listed:
                    self.listed[number] = torch.empty(len(self.stack.tied), dtype=block.dtype, device=self.stack.device)
                graph, i, j = (at[rows.pairs] for at in self.stack.place)
                self.listed[number][rows.pairs] = block[graph, i - rows.begin, j]

    def combine(self, step: Combination, rows: Rows, word: torch.dtype) -> Tensor:
        listed: dict[bool, list[Term]] = {False: [], True: []}
        for term in step.terms:
            listed[any(self.contraction.on_arcs[factor] for factor in term.factors)].append(term)
        block: Tensor = add_up(listed[False], _InRows(self, word, rows)).contiguous()
        if listed[True]:
            graph, i, j = (at[rows.pairs] for at in self.stack.place)
            block[graph, i - rows.begin, j] += add_up(listed[True], _OnTied(self, word))[rows.pairs]
        return block

    def multiply(self, number: int, step: Product, word: torch.dtype) -> Iterator[tuple[Rows, Tensor]]:
        """A product, some rows at a time; the right factor is fetched once."""
        known, on_arcs = self.proof.known, self.contraction.on_arcs
        scattered = word == torch.float64 and self.stack.graphs == 1 and self.stack.density < SPARSE
        if scattered and on_arcs[step.right] and not on_arcs[step.left]:
            turned = self.sparse(self.on_tied(step.right, word)[self.stack.reverse], self.all_rows)
            for rows in self.row_blocks():
                yield rows, (turned @ self.in_rows(step.left, rows)[0].T.contiguous()).T[None]
            return
        right = self.in_rows(step.right, self.all_rows)
        for rows in self.row_blocks():
            if scattered and on_arcs[step.left]:
                yield rows, (self.sparse(self.on_tied(step.left, word), rows) @ right[0])[None]
            elif word == torch.int64:
                yield rows, ring_product(self.in_rows(step.left, rows), right)
            else:
                bounds = known[step.left], known[step.right], known[number]
                yield rows, float_product(self.in_rows(step.left, rows), right, *bounds)

    def sparse(self, values: Tensor, rows: Rows) -> Tensor:
        """Values of tied pairs as rows of a sparse matrix; there is but one graph."""
        _, i, j = (at[rows.pairs] for at in self.stack.place)
        shape = (rows.end - rows.begin, self.stack.nodes)
        places = torch.stack([i - rows.begin, j])
        with torch.sparse.check_sparse_tensor_invariants(enable=False):
            return torch.sparse_coo_tensor(places, values[rows.pairs], shape, is_coalesced=True)

    def sum_cliques(self, step: Clique, word: torch.dtype) -> Tensor:
        iu, iv, uv, uj, vj = (
            self.on_tied(side, word) if self.contraction.on_arcs[side] else self.in_rows(side, self.all_rows).to(word)
            for side in sources(step)
        )
        iv, vj = (side if side.dim() == 3 else self.scatter(side, self.all_rows) for side in (iv, vj))
        return sum_cliques(Sides(iu, iv, uv, uj, vj), self.stack)

    def gather(self, number: int, weights: tuple[int, ...], word: torch.dtype) -> Tensor:
        weight = product_of(weights, _OnTied(self, word)) if weights else None
        if not self.contraction.whole[number]:
            values, (at_i, at_j) = self.on_tied(number, word), self.stack.ends
            return self.stack.sums_at(at_i, values if weight is None else values * weight.reshape(-1)[at_j])
        found = []
        for rows in self.row_blocks():
            block = self.in_rows(number, rows).to(word)
            found.append((block if weight is None else block * weight[:, None, :]).sum(2))
        return torch.cat(found, dim=1)

    # ---- what steps came to ----

    @cached_property
    def all_rows(self) -> Rows:
        return Rows(0, self.stack.nodes, slice(None))

    def row_blocks(self) -> Iterator[Rows]:
        if self.height >= self.stack.nodes:
            yield self.all_rows
            return
        i = self.stack.place[1]
        for begin in range(0, self.stack.nodes, self.height):
            end = min(begin + self.height, self.stack.nodes)
            yield Rows(begin, end, torch.nonzero((i >= begin) & (i < end))[:, 0])

    def in_rows(self, number: int, rows: Rows) -> Tensor:
        """Rows of a matrix, on the device."""
        if number in self.whole:
            return self.whole[number][:, rows.begin : rows.end].to(self.stack.device)
        return self.scatter(self.listed[number], rows)

    def scatter(self, values: Tensor, rows: Rows) -> Tensor:
        shape = (self.stack.graphs, rows.end - rows.begin, self.stack.nodes)
        block = torch.zeros(shape, dtype=values.dtype, device=self.stack.device)
        graph, i, j = (at[rows.pairs] for at in self.stack.place)
        block[graph, i - rows.begin, j] = values[rows.pairs]
        return block

    def on_tied(self, number: int, word: torch.dtype) -> Tensor:
        if number not in self.listed:
            place = (at.to(self.home) for at in self.stack.place)
            self.listed[number] = self.whole[number][tuple(place)].to(self.stack.device)
        return self.listed[number].to(word)


class _InRows:
    """Terms are worked out for all pairs in some rows."""

    def __init__(self, evaluation: _Evaluation, word: torch.dtype, rows: Rows) -> None:
        self.evaluation, self.word, self.rows = evaluation, word, rows

    def matrix(self, number: int) -> Tensor:
        return self.evaluation.in_rows(number, self.rows).to(self.word)

    def vector(self, number: int) -> Tensor:
        return self.evaluation.vectors[number].to(self.word)

    def outer(self, pairs: list[tuple[Any, Any]]) -> Any:
        rows = slice(self.rows.begin, self.rows.end)
        return sum(
            (x if isinstance(x, int) else x[:, rows, None]) * (y if isinstance(y, int) else y[:, None, :])
            for x, y in pairs
        )


class _OnTied:
    """Terms are worked out for the tied pairs only."""

    def __init__(self, evaluation: _Evaluation, word: torch.dtype) -> None:
        self.evaluation, self.word = evaluation, word

    def matrix(self, number: int) -> Tensor:
        return self.evaluation.on_tied(number, self.word)

    def vector(self, number: int) -> Tensor:
        return self.evaluation.vectors[number].to(self.word)

    def outer(self, pairs: list[tuple[Any, Any]]) -> Any:
        at_i, at_j = self.evaluation.stack.ends
        return sum(
            (x if isinstance(x, int) else x.reshape(-1)[at_i]) * (y if isinstance(y, int) else y.reshape(-1)[at_j])
            for x, y in pairs
        )
