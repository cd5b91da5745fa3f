"""The result of counting one graph: `Detours`."""

from __future__ import annotations

import os
from functools import cached_property
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Bool, Float64, Int64
from detours.atomic import atomic_write
from detours.checks import check_path
from detours.counting import export
from detours.counting.export import files
from detours.counting.export.attributes import to_networkx
from detours.counting.finished import open_finished
from detours.counting.statistics.expected import expected_by_length
from detours.counting.statistics.shortest import shortest_through_arcs, shortest_through_nodes
from detours.counting.sums import ranges_of_groups, sum_columns, sum_groups, sum_rows
from detours.errors import InputError
from detours.graph import Graph
from detours.graph.convert import library
from detours.graph.notebook import html_table

if TYPE_CHECKING:
    import networkx
    import pandas
    import pyarrow
    import torch

    Page = Any  # detours.viz.Page, of a room above this one


Values = TypeVar("Values", bound=NDArray[Any])
SHOWN = 12
"""The maximum number of lengths that are shown."""


class Run(NamedTuple):
    """The numbers of blocks of a count into a folder or on a cluster."""

    blocks: int
    resumed: int
    """Blocks that an earlier run had finished."""
    redone: int
    """Blocks started again because the process or machine working on them was lost."""


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
        chordless: bool = False,
        run: Run | None = None,
    ) -> None:
        self.graph = graph
        self.k = k
        self.arc_by_length: Int64 = arc_by_length
        """int64 [arcs, k - 1] in the order of the graph's CSR; column L - 2 counts detours of length L."""
        self._arc_cycles = arc_cycles
        self.chordless = chordless
        """Whether only chordless cycles, and the detours that form them, were counted."""
        self.run = run
        """The numbers of blocks, resumed and redone; None unless counted into a folder or on a cluster."""

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Detours:
        """Open a folder of counts that `count(..., out=folder)` wrote, with its graph; all arrays are memory-mapped."""
        graph, k, counts, run = open_finished(check_path("folder", folder))
        return cls(graph, k, *counts, run=Run(*run))

    @property
    def directed(self) -> bool:
        return self.graph.directed

    @property
    def arc_cycles(self) -> Int64:
        """int64 [arcs, k - 1] in the order of the graph's CSR: column L - 3 counts cycles of length L.

        Undirected, these are the detours of length L - 1. Directed, they are not: a detour of i → j leads from i to j,
        and a cycle through i → j goes on from j to i.
        """
        return self.arc_by_length if self._arc_cycles is None else self._arc_cycles

    @cached_property
    def edge_cycles(self) -> Int64:
        """int64 [edges, k - 1]: cycles of length L in column L - 3, edges in the caller's order (0 for a loop).

        >>> import detours
        >>> r = detours.count([[0, 1, 2], [1, 2, 0]], k=2, directed=True)  # a directed triangle has no detours
        >>> r.by_length.tolist(), r.edge_cycles.tolist()
        ([[0], [0], [0]], [[1], [1], [1]])
        """
        return self.by_length if self._arc_cycles is None else self._on_edges(self._arc_cycles)

    @cached_property
    def by_length(self) -> Int64:
        """int64 [edges, k - 1]: detours of length L in column L - 2, edges in the caller's order (0 for a loop)."""
        return self._on_edges(self.arc_by_length)

    @cached_property
    def edge(self) -> Int64:
        """int64 [edges]: k-DeN of every edge, in the caller's order."""
        return _frozen(self.totals(self.by_length))

    @cached_property
    def node(self) -> Int64:
        """int64 [nodes]: the sum of k-DeN over the (outgoing) edges of each node."""
        message = f"the detours around a node up to k = {self.k} exceed 2^63 when summed; use a smaller k, or use edge"
        indptr, sums = self.graph.indptr, np.empty(self.graph.num_nodes, np.int64)
        for first, last in ranges_of_groups(indptr):
            totals = self.totals(self.arc_by_length[slice(*indptr[[first, last]])])
            sums[first:last] = sum_groups(totals, indptr[first : last + 1], message)
        return _frozen(sums)

    @cached_property
    def node_cycles(self) -> Int64:
        """int64 [nodes, k - 1]: cycles of length L through each node in column L - 3.

        Undirected, `node` (Φ) is twice their sum, since a cycle through a node has two of its edges.

        >>> import detours
        >>> detours.count([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]], k=3).node_cycles.tolist()
        [[2, 1], [1, 1], [2, 1], [1, 1]]
        """
        message = f"the cycles through a node up to k = {self.k} exceed 2^63 when summed; use a smaller k"
        indptr, sums = self.graph.indptr, np.empty((self.graph.num_nodes, self.k - 1), np.int64)
        for first, last in ranges_of_groups(indptr):
            cycles = np.asarray(self.arc_cycles[slice(*indptr[[first, last]])])
            for column, values in enumerate(cycles.T):
                sums[first:last, column] = sum_groups(values, indptr[first : last + 1], message)
        return _frozen(sums // (1 if self.directed else 2))

    @cached_property
    def expected(self) -> Float64:
        """float64 [edges, k - 1]: the expected detours of each length in a random graph with the same degrees.

        The mean over the configuration model, given the edge; edges in the caller's order. Not from the paper.
        There is no formula for chordless detours: an `InputError`.

        >>> import detours
        >>> detours.count([(0, 1, 2, 3), (1, 2, 3, 0)], k=3).expected[0].round(3).tolist()  # a square
        [0.267, 0.533]
        """
        if self.chordless:
            raise InputError("expected and relative are about all detours, and these are chordless; count all of them.")
        return self._on_edges(_frozen(expected_by_length(self.graph, self.k)))

    @cached_property
    def relative(self) -> Float64:
        """float64 [edges]: k-DeN divided by its expected value, 0 where no detour is possible.

        Below 1, an edge has fewer detours than the degrees of the graph suggest; above 1, more.
        """
        total = self.expected.sum(axis=1)
        return _frozen(np.divide(self.edge, total, out=np.zeros(len(total)), where=total > 0))

    @cached_property
    def cycles(self) -> dict[int, int]:
        """Simple cycles of the whole graph by length, 3 .. k + 1 (directed cycles of a directed graph)."""
        arcs_per_edge = 1 if self.directed else 2
        totals = sum_columns(self.arc_cycles)
        return {length: total // (length * arcs_per_edge) for length, total in enumerate(totals, start=3)}

    @cached_property
    def shortest(self) -> Int64:
        """int64 [edges]: the length of the shortest cycle through each edge, 0 if none has at most k + 1 edges.

        Edges are in the caller's order. Cycles of a directed graph are directed and have at least three arcs.

        >>> import detours
        >>> detours.count([[0, 1, 2, 3, 0, 3], [1, 2, 3, 0, 2, 4]], k=3).shortest.tolist()
        [3, 3, 3, 3, 3, 0]
        """
        return self._on_edges(self._arc_shortest)

    @cached_property
    def node_shortest(self) -> Int64:
        """int64 [nodes]: the length of the shortest cycle through each node, 0 if none has at most k + 1 edges."""
        return _frozen(shortest_through_nodes(self._arc_shortest, self.graph.indptr))

    @cached_property
    def _arc_shortest(self) -> Int64:
        return _frozen(shortest_through_arcs(self.arc_cycles))

    @property
    def girth(self) -> int:
        """The length of the shortest cycle of the graph, 0 if none has at most k + 1 edges."""
        return next((length for length, count in self.cycles.items() if count), 0)

    @cached_property
    def bridges(self) -> Bool:
        """bool [edges]: whether each edge lies on no cycle, of any length, in the caller's order.

        In a directed graph: on no directed cycle, where two opposite arcs are a cycle too. A loop is not a bridge.
        """
        from detours.counting.shrink.bridges import arcs_on_cycles

        on_cycle = arcs_on_cycles(self.graph.indptr, self.graph.indices, self.directed)
        return self._on_edges(_frozen(~on_cycle))

    def _on_edges(self, arc_values: Values) -> Values:
        """Return the values of the caller's edges, in the caller's order; 0 for a loop."""
        if self.graph.edges_in_csr_order:
            return arc_values
        arc = self.graph.edge_arc
        kept = arc >= 0
        values: Any = np.zeros((len(arc), *arc_values.shape[1:]), arc_values.dtype)
        values[kept] = arc_values[arc[kept]]
        return cast(Values, _frozen(values))

    def to_networkx(self, *, attributes: bool = True) -> networkx.Graph:
        """Return a NetworkX graph with the columns of `to_pandas` on edges and of `nodes_to_pandas` on nodes.

        A NetworkX or igraph graph, or a GraphML, GML, GEXF or Pajek file, keeps its attributes, loops and parallel
        edges; the atoms of an RDKit molecule get the attribute `element`, and its bonds the attribute `bond`, their
        type. ``attributes=False`` returns the simple graph that was counted. All counts are integers, so that
        `networkx.write_gexf` and `networkx.write_graphml` can write them.
        """
        return to_networkx(self, attributes)

    def to_pandas(self, *, once: bool = False) -> pandas.DataFrame:
        """Return one row per edge: source, target, den, length_2 .. length_k, cycle_3 .. cycle_(k+1).

        Column length_L counts the detours of L edges, cycle_L the cycles of L edges through the edge; undirected,
        cycle_L is length_(L-1). There is one row for each edge that the caller gave, in that order; with ``once``, one
        row for each edge of the graph, even if both directions or repeats were given, and none for loops.

        Names that are all integers or all strings keep their type; any others become strings, as `str` writes them;
        two nodes that would become the same, such as 1 and "1", are an `InputError`.
        """
        return export.as_pandas(export.edge_tables(self, once))

    def nodes_to_pandas(self) -> pandas.DataFrame:
        """Return one row per node: node, cycle_3 .. cycle_(k+1) (the cycles of each length through it), and phi.

        >>> import detours
        >>> detours.count([("a", "b"), ("b", "c"), ("c", "a")], k=3).nodes_to_pandas()
          node  cycle_3  cycle_4  phi
        0    a        1        0    2
        1    b        1        0    2
        2    c        1        0    2
        """
        return export.as_pandas(export.node_tables(self))

    def to_arrow(self, *, once: bool = False) -> pyarrow.Table:
        """Return the rows of `to_pandas` as an Arrow table, which `polars.from_arrow` and DuckDB take as well."""
        return export.as_arrow(export.edge_tables(self, once))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows of `to_pandas` for any library that takes Arrow data, as in ``polars.DataFrame(result)``."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_parquet(self, path: str | os.PathLike[str], *, once: bool = False) -> None:
        """Write the rows of `to_pandas` to a Parquet file, in chunks: they may not fit in memory."""
        target = check_path("path", path)
        files.check_parquet(target)
        with atomic_write(target) as file:
            files.write_parquet(file, export.edge_tables(self, once))

    def totals(self, by_length: Int64) -> Int64:
        """Return the k-DeN of edges with these counts by length."""
        message = f"the detours of an edge up to k = {self.k} exceed 2^63 when summed; use by_length, or a smaller k"
        return sum_rows(by_length, message)

    def names_of(self, nodes: Int64) -> NDArray[Any]:
        """Return the names of these nodes as they appear in all tables: int64, or strings."""
        return nodes if self._node_names is None else self._node_names[nodes]

    @cached_property
    def _node_names(self) -> NDArray[Any] | None:
        return export.node_names(self.graph)

    def to_torch(self) -> dict[str, torch.Tensor]:
        """Return `edge_index`, `edge`, `node` and `by_length` as int64 tensors."""
        torch = library("torch", "'detours[torch]'")
        arrays = {
            "edge_index": self.graph.edge_index,
            "edge": self.edge,
            "node": self.node,
            "by_length": self.by_length,
        }
        return {name: torch.from_numpy(np.array(values)) for name, values in arrays.items()}

    def show(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Page:
        """Return an interactive page of the graph and its detours, and write it to a file if a path is given.

        In a notebook the page displays itself; elsewhere its `open()` opens it in a web browser. See `detours.viz.page`
        for the options.

        >>> import detours
        >>> detours.count([(0, 1, 2), (1, 2, 0)], k=2).show()  # doctest: +ELLIPSIS
        Page(... kB; save(path) writes it, open() opens it in a browser)
        """
        # Imported by name, since `viz` is a room above this one.
        page: Page = import_module("detours.viz").page(self, **options)
        if path is not None:
            page.save(path)
        return page

    def draw(self, ax: Any = None, **options: Any) -> Any:
        """Draw the graph with its detours in matplotlib with `detours.viz.draw_graph`, and return the axes.

        >>> import detours
        >>> detours.count([(0, 1, 2), (1, 2, 0)], k=2).draw().get_title()
        '2-DeN'
        """
        return import_module("detours.viz").draw_graph(self, ax, **options)

    def _repr_html_(self) -> str:
        rows = [
            (
                length,
                sum_columns(self.arc_by_length[:, length - 2 : length - 1])[0] // (1 if self.directed else 2),
                cycles,
            )
            for length, cycles in zip(range(2, min(self.k, SHOWN + 1) + 1), self.cycles.values(), strict=False)
        ]
        more = [("…",) * 3] if self.k - 1 > SHOWN else []
        kind = "chordless " if self.chordless else ""
        headings = ["edges of a detour", f"{kind}detours", f"{kind}cycles they form"]
        return html_table(f"{den_name(self)} of {self.graph!r}", headings, [*rows, *more])

    def __repr__(self) -> str:
        cycles = ", ".join(f"{total:,} of length {length}" for length, total in islice(self.cycles.items(), SHOWN))
        cycles += f", … up to length {self.k + 1}" if self.k - 1 > SHOWN else ""
        kind = "directed cycles" if self.directed else "chordless cycles" if self.chordless else "cycles"
        nodes = f"{self.graph.num_nodes:,} node{'s' * (self.graph.num_nodes != 1)}"
        edges = f"{self.graph.num_edges:,} {'arc' if self.directed else 'edge'}{'s' * (self.graph.num_edges != 1)}"
        return f"Detours(k={self.k}, {nodes}, {edges}; {kind}: {cycles})"


def den_name(result: Detours) -> str:
    """Return what was counted, as in headings: the k-DeN of the paper, or that of chordless detours."""
    return f"{'chordless ' if result.chordless else ''}{result.k}-DeN"


def _frozen(values: Values) -> Values:
    values.flags.writeable = False
    return values
