"""`CsrGraph`: the arrays of a graph, the edges of the caller, and the names of the nodes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64
from detours.checks import check_integer
from detours.errors import InputError, short_repr
from detours.graph import names as naming
from detours.graph.arcs import check_located, locate
from detours.graph.edges import Dropped, Names

_NOTHING = Dropped()


class CsrGraph:
    """What a `Graph` holds, without its constructors, conversions and files."""

    __slots__ = (
        "_check",
        "_edge_arc",
        "_edge_index",
        "_index",
        "_unchecked",
        "directed",
        "dropped",
        "edges_in_csr_order",
        "indices",
        "indptr",
        "names",
        "num_arcs",
        "num_nodes",
        "origin",
        "path",
    )

    indptr: Int64
    """int64 [n + 1]: row i is ``indices[indptr[i]:indptr[i + 1]]``."""
    indices: Int32
    """int32 [arcs]: the neighbours (successors if directed) of each node, ascending."""
    num_nodes: int
    num_arcs: int
    directed: bool
    names: Names | None
    """The caller's names by index; None if they are 0 .. n-1 themselves."""
    dropped: Dropped
    """The number of loops dropped, repeats merged and one-way arcs completed."""
    path: Path | None
    """The folder this graph was opened from, None otherwise."""
    origin: Callable[[], Any] | None
    """Returns a NetworkX graph with all attributes of the input; None if it has none, and after pickling."""
    edges_in_csr_order: bool
    """Whether `edge_index` has exactly the arcs of the CSR, in its order."""
    _edge_index: Int64 | Callable[[], Int64] | None  # a function is called on first use
    _edge_arc: Int64 | None
    _index: dict[Hashable, int] | None
    _unchecked: tuple[Int64, Int32]
    _check: Callable[[Int64, Int32], None] | None

    def __init__(self) -> None:
        raise InputError(
            "Create a Graph with Graph.from_any, from_networkx, from_scipy, from_edge_index, from_pyg, from_igraph, "
            "read or open, not by calling Graph itself."
        )

    @classmethod
    def _wrap(
        cls,
        indptr: Int64,
        indices: Int32,
        directed: bool = False,
        names: Names | None = None,
        dropped: Dropped = _NOTHING,
        edge_index: Int64 | Callable[[], Int64] | None = None,
        path: Path | None = None,
        check: Callable[[Int64, Int32], None] | None = None,
        origin: Callable[[], Any] | None = None,
    ) -> Self:
        graph = object.__new__(cls)
        put = object.__setattr__
        put(graph, "num_nodes", len(indptr) - 1)
        put(graph, "num_arcs", len(indices))
        put(graph, "_check", check)
        if check is None:
            put(graph, "indptr", _frozen(indptr))
            put(graph, "indices", _frozen(indices))
        else:
            put(graph, "_unchecked", (_frozen(indptr), _frozen(indices)))
        put(graph, "directed", directed)
        put(graph, "names", _frozen_names(names))
        put(graph, "dropped", dropped)
        put(graph, "path", path)
        put(graph, "origin", origin)
        put(graph, "edges_in_csr_order", edge_index is None)
        put(graph, "_edge_index", _frozen(edge_index) if isinstance(edge_index, np.ndarray) else edge_index)
        put(graph, "_edge_arc", None)
        put(graph, "_index", None)
        return graph

    def __getattr__(self, name: str) -> Any:
        """Check the arrays of an opened graph on first use: opening must not read all of it."""
        if name not in ("indptr", "indices"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        arrays = self._unchecked
        assert self._check is not None
        self._check(*arrays)
        object.__setattr__(self, "indptr", arrays[0])
        object.__setattr__(self, "indices", arrays[1])
        return arrays[name == "indices"]

    def _arrays(self) -> tuple[Int64, Int32]:
        """Return indptr and indices, which may still be unchecked if the graph was opened."""
        return (self.indptr, self.indices) if self._check is None else self._unchecked

    @property
    def num_edges(self) -> int:
        """The number of arcs if directed, else of pairs of arcs."""
        return self.num_arcs if self.directed else self.num_arcs // 2

    @property
    def degree(self) -> Int64:
        """int64 [n]: the number of neighbours of each node (successors if directed)."""
        return np.diff(self.indptr)

    @property
    def edge_index(self) -> Int64:
        """int64 [2, E]: the caller's edges in the caller's order, loops and repeats included."""
        if not isinstance(self._edge_index, np.ndarray):
            columns = self.to_edge_index() if self._edge_index is None else self._edge_index()
            object.__setattr__(self, "_edge_index", _frozen(columns))
        assert isinstance(self._edge_index, np.ndarray)
        return self._edge_index

    @property
    def edge_arc(self) -> Int64:
        """int64 [E]: the position in `indices` of the arc of each column of `edge_index`; -1 for a loop."""
        if self._edge_arc is None:
            if self.edges_in_csr_order:
                edge_arc = np.arange(self.num_arcs, dtype=np.int64)
            else:
                edge_arc = locate(self.indptr, self.indices, self.edge_index)
                if self.path is not None:
                    check_located(edge_arc, self.indptr, self.indices, self.edge_index, self.path)
            object.__setattr__(self, "_edge_arc", _frozen(edge_arc))
        assert self._edge_arc is not None
        return self._edge_arc

    def node(self, name: Hashable) -> int:
        """Return the index of the node with this name; a string also matches the integer it spells."""
        if self._index is None and isinstance(self.names, tuple):
            object.__setattr__(self, "_index", {name: i for i, name in enumerate(self.names)})
        index = naming.find(name, self.num_nodes, self._index if self._index is not None else self.names)
        if index is None:
            raise InputError(
                f"The graph has no node {short_repr(name)}; nodes are {naming.sample(self.names, self.num_nodes)}."
            )
        return index

    def name(self, index: int) -> Any:
        """Return the caller's name of the node with this index."""
        index = check_integer("index", index, minimum=0, maximum=self.num_nodes - 1)
        if self.names is None:
            return index
        return int(self.names[index]) if isinstance(self.names, np.ndarray) else self.names[index]

    def name_list(self) -> list[Any]:
        """Return all names by index."""
        if self.names is None:
            return list(range(self.num_nodes))
        return self.names.tolist() if isinstance(self.names, np.ndarray) else list(self.names)

    def to_edge_index(self) -> Int64:
        """Return int64 [2, arcs]: every arc of the CSR, sorted, with both directions of an undirected edge."""
        arcs = np.empty((2, self.num_arcs), dtype=np.int64)
        arcs[0] = np.repeat(np.arange(self.num_nodes, dtype=np.int64), self.degree)
        arcs[1] = self.indices
        return arcs

    def _stored_edges(self) -> Int64 | None:
        """Return `edge_index`, or None where the arcs of the CSR replace it."""
        return None if self.edges_in_csr_order else self.edge_index

    def __repr__(self) -> str:
        kind = "arcs, directed" if self.directed else "edges" if self.num_edges != 1 else "edge"
        nodes = "node" if self.num_nodes == 1 else "nodes"
        names = "" if self.names is None else f", names {naming.sample(self.names, self.num_nodes)}"
        return f"Graph({self.num_nodes:,} {nodes}, {self.num_edges:,} {kind}{names})"

    def _repr_html_(self) -> str:
        from detours.graph.notebook import graph_table

        return graph_table(self)

    def __eq__(self, other: object) -> bool:
        """Equal nodes, names and arcs; the order in which the caller listed the edges does not matter."""
        if not isinstance(other, CsrGraph):
            return NotImplemented
        return (
            self.directed == other.directed
            and np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.indices, other.indices)
            and (self.names is other.names or self.name_list() == other.name_list())
        )

    def __hash__(self) -> int:
        return hash((self.num_nodes, self.num_arcs, self.directed))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"A Graph is immutable; {name} cannot be set.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"A Graph is immutable; {name} cannot be deleted.")

    def __reduce__(self) -> tuple[Any, ...]:
        # As plain arrays: a memory map would otherwise look for its file on a machine that may not have it.
        arrays = (np.asarray(self.indptr), np.asarray(self.indices))
        return type(self)._wrap, (*arrays, self.directed, self.names, self.dropped, self._stored_edges())


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only plain view: compiled code sees one array type, and a graph cannot be changed by accident."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def _frozen_names(names: Names | None) -> Names | None:
    if names is None or isinstance(names, tuple):
        return names
    return _frozen(names) if isinstance(names, np.ndarray) else tuple(names)
