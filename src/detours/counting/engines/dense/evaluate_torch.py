"""Evaluation of closed forms with torch, on a CPU or a GPU: the same steps, the same exact numbers.

A matrix is kept whole only if some step needs it for all pairs. Products in int64 are cut into exact
float64 ones (`exact_matmul.py`).

Matrices may live on another device than the one that computes: then rows are fetched, worked out and put back some at a
time. That is how graphs are counted whose matrices do not fit on a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from detours.counting.derive import matrix_steps as steps
from detours.counting.derive.matrix_steps import Contraction, Step, sources
from detours.counting.engines.dense.cliques import Sides, sum_cliques
from detours.counting.engines.dense.evaluation import Evaluation, Rows
from detours.counting.engines.dense.exact_matmul import float_product, ring_product
from detours.counting.engines.dense.stack import TensorStack

SPARSE = 0.004  # the share of pairs joined by an arc up to which a sparse product beats a dense one on a GPU


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


class _Evaluation(Evaluation):
    """On tensors of torch's: vectors and lists on the device, whole matrices at home."""

    words = (torch.int64, torch.float64)

    def __init__(self, contraction: Contraction, stack: TensorStack, home: torch.device, height: int) -> None:
        super().__init__(contraction, stack.degrees)
        self.stack, self.home, self.height = stack, home, height

    def measure(self, number: int) -> list[float]:
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
            case steps.Gathered(matrix, weights):
                self.vectors[number] = self.gather(matrix, weights, word)
            case steps.Tied(tie):
                ahead = self.stack.arcs
                back = ahead if tie == "f" else ahead[self.stack.reverse]
                self.listed[number] = ahead * back if tie == "r" else back
            case steps.Transposed(source):
                if source in self.whole:
                    self.whole[number] = self.whole[source].mT
                else:
                    self.listed[number] = self.on_tied(source, word)[self.stack.reverse]
            case steps.Combination(terms) if not self.contraction.whole[number]:
                self.listed[number] = self.add_up(terms, word)
            case steps.Clique():
                self.keep(number, [(self.all_rows, self.sum_cliques(step, word))])
            case steps.Product():
                self.keep(number, self.multiply(number, step, word))
            case steps.Combination():
                self.keep(number, ((rows, self.sum_in_rows(step, rows, word)) for rows in self.row_blocks()))

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

    def sum_in_rows(self, step: steps.Combination, rows: Rows, word: torch.dtype) -> Tensor:
        total, on_tied = self.combine(step.terms, rows, word)
        block: Tensor = total.contiguous()
        if on_tied is not None:
            graph, i, j = (at[rows.pairs] for at in self.stack.place)
            block[graph, i - rows.begin, j] += on_tied[rows.pairs]
        return block

    def multiply(self, number: int, step: steps.Product, word: torch.dtype) -> Iterator[tuple[Rows, Tensor]]:
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

    def sum_cliques(self, step: steps.Clique, word: torch.dtype) -> Tensor:
        iu, iv, uv, uj, vj = (
            self.on_tied(side, word) if self.contraction.on_arcs[side] else self.in_rows(side, self.all_rows).to(word)
            for side in sources(step)
        )
        iv, vj = (side if side.dim() == 3 else self.scatter(side, self.all_rows) for side in (iv, vj))
        return sum_cliques(Sides(iu, iv, uv, uj, vj), self.stack)

    def gather(self, number: int, weights: tuple[int, ...], word: torch.dtype) -> Tensor:
        weight = self.vector(weights, word) if weights else None
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

    def cast(self, values: Tensor, word: torch.dtype) -> Tensor:
        return values.to(word)

    def ends(self) -> tuple[Tensor, Tensor]:
        return self.stack.ends
