"""What a count gives back: `Detours` for one graph, `DetoursList` for many counted together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from detours.counting.on_disk.job import Run
from detours.graph import Graph
from detours.graph.convert import library

if TYPE_CHECKING:
    import networkx
    import pandas
    import torch

Int64 = NDArray[np.int64]

ROWS = 1 << 18
"""Rows added up at a time: counts may lie on a disk, and be more than the memory holds."""


class Detours:
    """The detours of one graph, counted by length.

    >>> import detours
    >>> square = detours.count([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]], k=3)  # a square with one diagonal
    >>> square.edge.tolist()
    [2, 2, 2, 2, 2]
    >>> square.node.tolist()
    [6, 4, 6, 4]
    >>> square.cycles
    {3: 2, 4: 1}
    """

    def __init__(
        self,
        graph: Graph,
        k: int,
        arc_by_length: Int64,
        arc_cycles: Int64 | None = None,
        *,
        run: Run | None = None,
    ) -> None:
        self.graph = graph
        self.k = k
        self.arc_by_length = arc_by_length
        """int64 [arcs, k - 1] in the order of the graph's own CSR; column L - 2 counts detours of length L."""
        self._arc_cycles = arc_cycles
        self.run = run
        """How many blocks there were, resumed or done again; None unless counted into a folder or on a cluster."""

    @property
    def directed(self) -> bool:
        return self.graph.directed

    @property
    def arc_cycles(self) -> Int64:
        """int64 [arcs, k - 1]: cycles of length 3 .. k + 1 through each arc (undirected: the same as its detours)."""
        return self.arc_by_length if self._arc_cycles is None else self._arc_cycles

    @cached_property
    def by_length(self) -> Int64:
        """int64 [edges, k - 1]: detours of length L in column L - 2, edges in the caller's own order (0 for a loop)."""
        if self.graph.edges_in_csr_order:
            return self.arc_by_length
        arc = self.graph.edge_arc
        kept = arc >= 0
        values = np.zeros((len(arc), self.k - 1), np.int64)
        values[kept] = self.arc_by_length[arc[kept]]
        return _frozen(values)

    @cached_property
    def edge(self) -> Int64:
        """int64 [edges]: k-DeN of every edge, in the caller's own order."""
        return _frozen(self.totals(self.by_length))

    @cached_property
    def node(self) -> Int64:
        """int64 [nodes]: the sum of k-DeN over the (outgoing) edges of each node."""
        per_arc = self.totals(self.arc_by_length)
        return _frozen(_row_sums(per_arc, self.graph.indptr, self.k))

    @cached_property
    def cycles(self) -> dict[int, int]:
        """Simple cycles of the whole graph by length, 3 .. k + 1 (directed cycles of a directed graph)."""
        seen_from = 1 if self.directed else 2
        totals = _exact_column_sums(self.arc_cycles)
        return {length: total // (length * seen_from) for length, total in enumerate(totals, start=3)}

    def to_networkx(self) -> networkx.Graph:
        """The graph with `den` and `den_by_length` on every edge, `phi` on every node."""
        graph = self.graph.to_networkx()
        names = self.graph.name_list()
        source = np.repeat(np.arange(self.graph.num_nodes), np.diff(self.graph.indptr))
        den = self.totals(self.arc_by_length).tolist()
        rows = zip(source.tolist(), self.graph.indices.tolist(), den, self.arc_by_length.tolist(), strict=True)
        for u, v, total, lengths in rows:
            graph.edges[names[u], names[v]].update(den=total, den_by_length=lengths)
        for name, phi in zip(names, self.node.tolist(), strict=True):
            graph.nodes[name]["phi"] = phi
        return graph

    def to_pandas(self) -> pandas.DataFrame:
        """One row per edge in the caller's order: source, target, den, length_2 .. length_k."""
        pandas = library("pandas", "'detours[tables]'")
        source, target = self.graph.edge_index
        columns: dict[str, Any] = {
            "source": self._named(source),
            "target": self._named(target),
            "den": self.edge,
        }
        columns |= {f"length_{n}": self.by_length[:, n - 2] for n in range(2, self.k + 1)}
        made: Any = pandas.DataFrame(columns)
        return made

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the rows of `to_pandas` to a file, some at a time: they may be more than the memory holds."""
        from detours.counting.export import write_parquet

        write_parquet(self, Path(path))

    def totals(self, by_length: Int64) -> Int64:
        """The k-DeN of edges with these counts."""
        return _checked_sum(by_length, "an edge", self.k)

    def to_torch(self) -> dict[str, torch.Tensor]:
        """`edge_index`, `edge`, `node` and `by_length` as int64 tensors."""
        torch = library("torch", "'detours[torch]'")
        arrays = {
            "edge_index": self.graph.edge_index,
            "edge": self.edge,
            "node": self.node,
            "by_length": self.by_length,
        }
        return {name: torch.from_numpy(np.array(values)) for name, values in arrays.items()}

    def _named(self, nodes: Int64) -> Any:
        if self.graph.names is None:
            return nodes
        names = self.graph.name_list()
        return [names[v] for v in nodes.tolist()]

    def __repr__(self) -> str:
        cycles = ", ".join(f"{total:,} of length {length}" for length, total in self.cycles.items())
        kind = "directed cycles" if self.directed else "cycles"
        return f"Detours(k={self.k}, {self.graph.num_nodes:,} nodes, {self.graph.num_edges:,} edges; {kind}: {cycles})"


class DetoursList(Sequence[Detours]):
    """The detours of many graphs, counted as one disjoint union; `whole` holds them all, item i is graph i."""

    def __init__(self, graphs: Sequence[Graph], whole: Detours) -> None:
        self.graphs = graphs
        self.whole = whole

    @cached_property
    def _arcs(self) -> Int64:
        return np.cumsum([0, *(graph.num_arcs for graph in self.graphs)])

    @overload
    def __getitem__(self, index: int) -> Detours: ...
    @overload
    def __getitem__(self, index: slice) -> list[Detours]: ...
    def __getitem__(self, index: int | slice) -> Detours | list[Detours]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self.graphs))[index]
        arcs = slice(self._arcs[index], self._arcs[index + 1])
        through = None if self.whole._arc_cycles is None else self.whole._arc_cycles[arcs]
        return Detours(self.graphs[index], self.whole.k, self.whole.arc_by_length[arcs], through)

    def __len__(self) -> int:
        return len(self.graphs)

    @cached_property
    def edge(self) -> Int64:
        """k-DeN of the edges of all graphs, one graph after the other, each in the caller's own order."""
        return np.concatenate([d.edge for d in self]) if len(self) else np.empty(0, np.int64)

    @cached_property
    def by_length(self) -> Int64:
        return np.concatenate([d.by_length for d in self]) if len(self) else np.empty((0, self.whole.k - 1), np.int64)

    @property
    def node(self) -> Int64:
        return self.whole.node

    @property
    def cycles(self) -> dict[int, int]:
        """Cycles of all graphs together, by length."""
        return self.whole.cycles

    def __repr__(self) -> str:
        return f"DetoursList({len(self):,} graphs; {self.whole!r})"


def _frozen(counts: Int64) -> Int64:
    counts.flags.writeable = False
    return counts


def _checked_sum(by_length: Int64, where: str, k: int) -> Int64:
    total: Int64 = by_length.sum(axis=1)
    # counts are not negative, so a sum of a few of them that passed 2^63 once shows as a negative number
    if len(total) and (total.min() < 0 or by_length.sum(axis=1, dtype=np.float64).max() >= 2.0**63):
        raise OverflowError(
            f"the detours of {where} up to k = {k} pass 2^63 when added up; ask for a smaller k or use by_length"
        )
    return total


def _row_sums(per_arc: Int64, indptr: Int64, k: int) -> Int64:
    sums = np.zeros(len(indptr) - 1, np.int64)
    filled = np.flatnonzero(np.diff(indptr))
    if len(filled):
        if np.add.reduceat(per_arc.astype(np.float64), indptr[filled]).max() >= 2.0**63 * (1 - 1e-9):
            raise OverflowError(
                f"the detours around a node up to k = {k} pass 2^63 when added up; ask for a smaller k or use edge"
            )
        sums[filled] = np.add.reduceat(per_arc, indptr[filled])
    return sums


def _exact_column_sums(values: Int64) -> list[int]:
    """Column sums as Python integers, beyond 2^63 where need be."""
    totals = [0] * values.shape[1]
    for begin in range(0, len(values), ROWS):
        part = np.asarray(values[begin : begin + ROWS])
        high, low = (part >> 32).sum(axis=0), (part & 0xFFFFFFFF).sum(axis=0)
        totals = [t + (int(h) << 32) + int(lo) for t, h, lo in zip(totals, high, low, strict=True)]
    return totals
