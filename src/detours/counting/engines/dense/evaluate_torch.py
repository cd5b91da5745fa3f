"""Evaluation of closed forms with torch, on a CPU or a GPU: the same steps, the same exact counts.

A full matrix is kept only if some step needs it for all pairs. Products in int64 are split into exact
float64 ones (`exact_matmul.py`).

Matrices may be stored on another device than the one that computes: then they are fetched, computed and written back in
blocks of rows. This is how graphs are counted whose matrices do not fit on a GPU.
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

SPARSE_DENSITY = 0.004  # density up to which a sparse product is faster than a dense one on a GPU


def evaluate_tensors(
    contraction: Contraction, stack: TensorStack, home: torch.device | None = None, rows_per_block: int | None = None
) -> Iterator[tuple[int, Tensor]]:
    """Yield each length with its counts for the tied pairs, int64 on the device of the stack.

    ``home`` is the device that stores full matrices, by default the same; ``rows_per_block`` limits the rows computed
    at a time, by default all.

    >>> from detours.counting.derive.matrix_program import contraction
    >>> triangle = TensorStack(torch.tensor([1, 2, 3, 5, 6, 7]), None, 1, 3)
    >>> {length: counts.tolist() for length, counts in evaluate_tensors(contraction(3, False), triangle)}
    {2: [1, 1, 1, 1, 1, 1], 3: [0, 0, 0, 0, 0, 0]}
    """
    return _Evaluation(contraction, stack, home or stack.device, rows_per_block or stack.nodes).run()


class _Evaluation(Evaluation):
    """Evaluation on torch tensors: vectors and lists on the device of the stack, full matrices on ``home``."""

    dtypes = (torch.int64, torch.float64)

    def __init__(self, contraction: Contraction, stack: TensorStack, home: torch.device, rows_per_block: int) -> None:
        super().__init__(contraction, stack.degrees)
        self.stack, self.home, self.rows_per_block = stack, home, rows_per_block

    def measure(self, index: int) -> list[float]:
        if index in self.vectors:
            sizes = [self.vectors[index].abs().max()] * 3
        elif index in self.matrices:
            matrix = self.matrices[index]
            sums = [torch.linalg.vector_norm(matrix, 1, dim=axis).max() for axis in (2, 1)]
            sizes = [torch.linalg.vector_norm(matrix, torch.inf), *sums]
        else:
            values = self.on_tied(index, torch.float64).abs()
            sizes = [values.max(), *(self.stack.sums_at(end, values).max() for end in self.stack.ends)]
        measured: list[float] = torch.stack(sizes).tolist()
        return measured

    # ---- steps ----

    def run_step(self, index: int, step: Step, dtype: torch.dtype) -> None:
        match step:
            case steps.Gathered(matrix, weights):
                self.vectors[index] = self.gather(matrix, weights, dtype)
            case steps.Tied(tie):
                arcs = self.stack.arcs
                values = arcs if tie == "f" else arcs[self.stack.reverse]
                self.lists[index] = arcs * values if tie == "r" else values
            case steps.Transposed(source):
                if source in self.matrices:
                    self.matrices[index] = self.matrices[source].mT
                else:
                    self.lists[index] = self.on_tied(source, dtype)[self.stack.reverse]
            case steps.Combination(terms) if not self.contraction.whole[index]:
                self.lists[index] = self.add_up(terms, dtype)
            case steps.Clique():
                self.keep(index, [(self.all_rows, self.sum_cliques(step, dtype))])
            case steps.Product():
                self.keep(index, self.multiply(index, step, dtype))
            case steps.Combination():
                self.keep(index, ((rows, self.sum_in_rows(step, rows, dtype)) for rows in self.row_blocks()))

    def keep(self, index: int, blocks: Any) -> None:
        """Assemble blocks of rows: as a full matrix on ``home`` if one is needed, else as a list over tied pairs."""
        shape = (self.stack.graphs, self.stack.nodes, self.stack.nodes)
        for rows, block in blocks:
            if self.contraction.whole[index]:
                if rows.end - rows.begin == self.stack.nodes:
                    self.matrices[index] = block.to(self.home)
                else:
                    if index not in self.matrices:
                        self.matrices[index] = torch.empty(shape, dtype=block.dtype, device=self.home)
                    self.matrices[index][:, rows.begin : rows.end] = block
            else:
                if index not in self.lists:
                    self.lists[index] = torch.empty(len(self.stack.tied), dtype=block.dtype, device=self.stack.device)
                graph, i, j = (coordinate[rows.pairs] for coordinate in self.stack.coordinates)
                self.lists[index][rows.pairs] = block[graph, i - rows.begin, j]

    def sum_in_rows(self, step: steps.Combination, rows: Rows, dtype: torch.dtype) -> Tensor:
        total, on_tied = self.combine(step.terms, rows, dtype)
        block: Tensor = total.contiguous()
        if on_tied is not None:
            graph, i, j = (coordinate[rows.pairs] for coordinate in self.stack.coordinates)
            block[graph, i - rows.begin, j] += on_tied[rows.pairs]
        return block

    def multiply(self, index: int, step: steps.Product, dtype: torch.dtype) -> Iterator[tuple[Rows, Tensor]]:
        """A matrix product in blocks of rows; the right factor is fetched once."""
        known, on_arcs = self.proof.known, self.contraction.on_arcs
        use_sparse = dtype == torch.float64 and self.stack.graphs == 1 and self.stack.density < SPARSE_DENSITY
        if use_sparse and on_arcs[step.right] and not on_arcs[step.left]:
            transposed = self.sparse(self.on_tied(step.right, dtype)[self.stack.reverse], self.all_rows)
            for rows in self.row_blocks():
                yield rows, (transposed @ self.in_rows(step.left, rows)[0].T.contiguous()).T[None]
            return
        right = self.in_rows(step.right, self.all_rows)
        for rows in self.row_blocks():
            if use_sparse and on_arcs[step.left]:
                yield rows, (self.sparse(self.on_tied(step.left, dtype), rows) @ right[0])[None]
            elif dtype == torch.int64:
                yield rows, ring_product(self.in_rows(step.left, rows), right)
            else:
                bounds = known[step.left], known[step.right], known[index]
                yield rows, float_product(self.in_rows(step.left, rows), right, *bounds)

    def sparse(self, values: Tensor, rows: Rows) -> Tensor:
        """Values of tied pairs as rows of a sparse matrix, for a single graph."""
        _, i, j = (coordinate[rows.pairs] for coordinate in self.stack.coordinates)
        shape = (rows.end - rows.begin, self.stack.nodes)
        positions = torch.stack([i - rows.begin, j])
        with torch.sparse.check_sparse_tensor_invariants(enable=False):
            return torch.sparse_coo_tensor(positions, values[rows.pairs], shape, is_coalesced=True)

    def sum_cliques(self, step: steps.Clique, dtype: torch.dtype) -> Tensor:
        iu, iv, uv, uj, vj = (
            self.on_tied(side, dtype) if self.contraction.on_arcs[side] else self.in_rows(side, self.all_rows).to(dtype)
            for side in sources(step)
        )
        iv, vj = (side if side.dim() == 3 else self.scatter(side, self.all_rows) for side in (iv, vj))
        return sum_cliques(Sides(iu, iv, uv, uj, vj), self.stack)

    def gather(self, index: int, weights: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        weight = self.vector(weights, dtype) if weights else None
        if not self.contraction.whole[index]:
            values, (at_i, at_j) = self.on_tied(index, dtype), self.stack.ends
            return self.stack.sums_at(at_i, values if weight is None else values * weight.reshape(-1)[at_j])
        sums = []
        for rows in self.row_blocks():
            block = self.in_rows(index, rows).to(dtype)
            sums.append((block if weight is None else block * weight[:, None, :]).sum(2))
        return torch.cat(sums, dim=1)

    # ---- results of steps ----

    @cached_property
    def all_rows(self) -> Rows:
        return Rows(0, self.stack.nodes, slice(None))

    def row_blocks(self) -> Iterator[Rows]:
        if self.rows_per_block >= self.stack.nodes:
            yield self.all_rows
            return
        i = self.stack.coordinates[1]
        for begin in range(0, self.stack.nodes, self.rows_per_block):
            end = min(begin + self.rows_per_block, self.stack.nodes)
            yield Rows(begin, end, torch.nonzero((i >= begin) & (i < end))[:, 0])

    def in_rows(self, index: int, rows: Rows) -> Tensor:
        """Rows of a matrix, on the device."""
        if index in self.matrices:
            return self.matrices[index][:, rows.begin : rows.end].to(self.stack.device)
        return self.scatter(self.lists[index], rows)

    def scatter(self, values: Tensor, rows: Rows) -> Tensor:
        shape = (self.stack.graphs, rows.end - rows.begin, self.stack.nodes)
        block = torch.zeros(shape, dtype=values.dtype, device=self.stack.device)
        graph, i, j = (coordinate[rows.pairs] for coordinate in self.stack.coordinates)
        block[graph, i - rows.begin, j] = values[rows.pairs]
        return block

    def on_tied(self, index: int, dtype: torch.dtype) -> Tensor:
        if index not in self.lists:
            coordinates = (coordinate.to(self.home) for coordinate in self.stack.coordinates)
            self.lists[index] = self.matrices[index][tuple(coordinates)].to(self.stack.device)
        return self.lists[index].to(dtype)

    def cast(self, values: Tensor, dtype: torch.dtype) -> Tensor:
        return values.to(dtype)

    def ends(self) -> tuple[Tensor, Tensor]:
        return self.stack.ends
