"""`Graph`: an immutable CSR, the one door through which every graph enters."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from detours.errors import InputError, shown
from detours.graph import convert
from detours.graph import names as naming
from detours.graph.arcs import locate
from detours.graph.edges import Built, Dropped, Ints, Listed, Names, build, check_edge_index, report

if TYPE_CHECKING:
    import igraph
    import networkx
    import scipy.sparse
    import torch_geometric.data

__all__ = ["Dropped", "Graph"]

_NOTHING = Dropped()


class Graph:
    """A graph whose nodes are 0 .. n-1, stored once, sorted, without loops or repeats.

    Make one with `from_networkx`, `from_scipy`, `from_edge_index`, `from_pyg`, `from_igraph`, `read`, `open`,
    or `from_any`, which tells these apart. Arcs are made two-way unless ``directed=True``, loops are dropped
    and repeats merged; `dropped` says how many, with a warning, or an error with ``strict=True``.

    >>> graph = Graph.from_edge_index([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> graph
    Graph(3 nodes, 2 edges)
    >>> graph.indices.tolist()
    [1, 0, 2, 1]
    """

    __slots__ = (
        "_edge_arc",
        "_edge_index",
        "_places",
        "directed",
        "dropped",
        "edges_in_csr_order",
        "indices",
        "indptr",
        "names",
        "path",
    )

    indptr: Ints
    """int64 [n + 1]: row i is ``indices[indptr[i]:indptr[i + 1]]``."""
    indices: NDArray[np.int32]
    """int32 [arcs]: the neighbours (successors if directed) of each node, ascending."""
    directed: bool
    names: Names | None
    """The caller's names by index; None when they are 0 .. n-1 themselves."""
    dropped: Dropped
    """What was tidied away: loops, duplicates, one-way arcs."""
    path: Path | None
    """The folder this graph was opened from, None otherwise."""
    edges_in_csr_order: bool
    """Whether the caller's edges are the arcs of the CSR in its own order, nothing else."""
    _edge_index: Ints | Callable[[], Ints] | None  # a function makes them when somebody asks
    _edge_arc: Ints | None
    _places: dict[Hashable, int] | None

    def __init__(self) -> None:
        raise InputError(
            "A Graph is made with Graph.from_any, from_networkx, from_scipy, from_edge_index, from_pyg, "
            "from_igraph, read or open, not by calling Graph itself."
        )

    @classmethod
    def _make(
        cls,
        indptr: Ints,
        indices: NDArray[np.int32],
        *,
        directed: bool = False,
        names: Names | None = None,
        dropped: Dropped = _NOTHING,
        edge_index: Ints | Callable[[], Ints] | None = None,
        path: Path | None = None,
    ) -> Graph:
        """Wrap arrays that keep the promises of the class already; they are not copied."""
        graph = object.__new__(cls)
        put = object.__setattr__
        put(graph, "indptr", _frozen(indptr))
        put(graph, "indices", _frozen(indices))
        put(graph, "directed", directed)
        put(graph, "names", _frozen_names(names))
        put(graph, "dropped", dropped)
        put(graph, "path", path)
        put(graph, "edges_in_csr_order", edge_index is None)
        put(graph, "_edge_index", _frozen(edge_index) if isinstance(edge_index, np.ndarray) else edge_index)
        put(graph, "_edge_arc", None)
        put(graph, "_places", None)
        return graph

    @classmethod
    def _from_listed(cls, listed: Listed, directed: bool | None, strict: bool) -> Graph:
        wanted = listed.directed if directed is None else directed
        built = build(listed, wanted)
        report(built.dropped, strict)
        return cls._from_built(built, listed, wanted)

    @classmethod
    def _from_built(cls, built: Built, listed: Listed, directed: bool) -> Graph:
        return cls._make(
            built.indptr,
            built.indices,
            directed=directed,
            names=listed.names,
            dropped=built.dropped,
            edge_index=None if built.in_order else listed.edge_index,
        )

    # ------------------------------------------------------------------ in

    @classmethod
    def from_any(cls, source: Any, *, directed: bool | None = None, strict: bool = False) -> Graph:
        """Take whatever holds a graph: a Graph, NetworkX, SciPy sparse, edge_index, PyG, igraph, or a path.

        directed=None keeps the flag of a `Graph` and means undirected for everything else.
        """
        found = source if isinstance(source, Graph) else found_in(source)
        if isinstance(found, Graph):
            return found._turned(directed, strict)
        return cls._from_listed(found, directed, strict)

    @classmethod
    def from_edge_index(
        cls, edge_index: Any, num_nodes: int | None = None, *, directed: bool = False, strict: bool = False
    ) -> Graph:
        """From two rows, sources and targets: a NumPy array, a torch tensor or nested lists.

        An undirected edge is expected in both directions, as in PyG; one that comes once is counted in
        ``dropped.one_way`` and completed.
        """
        return cls._from_listed(check_edge_index(edge_index, num_nodes), directed, strict)

    @classmethod
    def from_networkx(cls, graph: networkx.Graph, *, directed: bool = False, strict: bool = False) -> Graph:
        """From any NetworkX graph; its node names are kept."""
        return cls._from_listed(convert.listed_networkx(graph), directed, strict)

    @classmethod
    def from_scipy(cls, matrix: scipy.sparse.sparray, *, directed: bool = False, strict: bool = False) -> Graph:
        """From a square SciPy sparse matrix: an entry other than 0 is an arc from its row to its column."""
        return cls._from_listed(convert.listed_scipy(matrix), directed, strict)

    @classmethod
    def from_pyg(cls, data: torch_geometric.data.Data, *, directed: bool = False, strict: bool = False) -> Graph:
        """From a PyG `Data` or `Batch` (a batch is one graph of several parts)."""
        return cls._from_listed(convert.listed_pyg(data), directed, strict)

    @classmethod
    def from_igraph(cls, graph: igraph.Graph, *, directed: bool = False, strict: bool = False) -> Graph:
        """From an igraph graph; the vertex attribute "name" is kept if it tells the vertices apart."""
        return cls._from_listed(convert.listed_igraph(graph), directed, strict)

    @classmethod
    def from_csr(cls, indptr: Any, indices: Any, *, directed: bool = False, strict: bool = False) -> Graph:
        """From the two arrays of a CSR; tidied like any other input if its rows are not clean already."""
        return cls._from_listed(convert.listed_csr(indptr, indices), directed, strict)

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        directed: bool | None = None,
        strict: bool = False,
        format: str | None = None,
    ) -> Graph:
        """Read an edge list, .mtx, .graphml, .gml, .g6, .s6 or .npz, each also with .gz, as the ending says.

        A folder written by `save` is opened. `format` overrules the ending ("edgelist", "mtx", ...).
        """
        found = _found_in_file(path, format)
        if isinstance(found, Graph):
            return found._turned(directed, strict)
        return cls._from_listed(found, directed, strict)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Graph:
        """Open a folder written by `save`, memory-mapped: nothing is read until it is needed."""
        from detours.graph.files import saved as store

        stored = store.open_folder(Path(folder))
        return cls._make(
            stored.indptr,
            stored.indices,
            directed=stored.directed,
            names=stored.names,
            dropped=stored.dropped,
            edge_index=stored.edge_index,
            path=Path(folder),
        )

    @classmethod
    def disjoint_union(
        cls, graphs: Iterable[Any], *, directed: bool | None = None, strict: bool = False
    ) -> tuple[Graph, Ints]:
        """One graph of many, side by side, and the int64 offsets at which the nodes of each begin.

        Takes whatever `from_any` takes. Edges keep their order, graph after graph; names are not kept.

        >>> union, offsets = Graph.disjoint_union([Graph.from_edge_index([[0, 1], [1, 0]])] * 2)
        >>> union.indices.tolist(), offsets.tolist()
        ([1, 0, 3, 2], [0, 2, 4])
        """
        from detours.graph import union

        return union.disjoint_union(list(graphs), directed, strict)

    # ----------------------------------------------------------- properties

    @property
    def num_nodes(self) -> int:
        return len(self.indptr) - 1

    @property
    def num_arcs(self) -> int:
        return len(self.indices)

    @property
    def num_edges(self) -> int:
        """Arcs if directed, pairs of arcs if not."""
        return len(self.indices) if self.directed else len(self.indices) // 2

    @property
    def degree(self) -> Ints:
        """int64 [n]: neighbours of each node (successors if directed)."""
        return np.diff(self.indptr)

    @property
    def edge_index(self) -> Ints:
        """int64 [2, E]: the caller's edges in the caller's order, loops and repeats included."""
        if not isinstance(self._edge_index, np.ndarray):
            made = self.to_edge_index() if self._edge_index is None else self._edge_index()
            object.__setattr__(self, "_edge_index", _frozen(made))
        assert isinstance(self._edge_index, np.ndarray)
        return self._edge_index

    @property
    def edge_arc(self) -> Ints:
        """int64 [E]: where in `indices` the arc of each of the caller's edges lies; -1 for a loop."""
        if self._edge_arc is None:
            if self.edges_in_csr_order:
                found = np.arange(self.num_arcs, dtype=np.int64)
            else:
                found = locate(self.indptr, self.indices, self.edge_index)
            object.__setattr__(self, "_edge_arc", _frozen(found))
        assert self._edge_arc is not None
        return self._edge_arc

    def node(self, name: Hashable) -> int:
        """The index of the node with this name.

        A name given as text also finds the integer it spells, as a command line has nothing but text.
        """
        if self._places is None and isinstance(self.names, tuple):
            object.__setattr__(self, "_places", {known: at for at, known in enumerate(self.names)})
        index = naming.find(name, self.num_nodes, self._places if self._places is not None else self.names)
        if index is None:
            raise InputError(
                f"The graph has no node {shown(name)}; nodes are {naming.sample(self.names, self.num_nodes)}."
            )
        return index

    def name(self, index: int) -> Any:
        """The caller's name of the node with this index."""
        if self.names is None:
            return int(index)
        return int(self.names[index]) if isinstance(self.names, np.ndarray) else self.names[index]

    def name_list(self) -> list[Any]:
        """All names by index."""
        if self.names is None:
            return list(range(self.num_nodes))
        return self.names.tolist() if isinstance(self.names, np.ndarray) else list(self.names)

    # ------------------------------------------------------------------ out

    def to_edge_index(self) -> Ints:
        """int64 [2, arcs]: every arc, so both directions of an undirected edge, sorted."""
        both = np.empty((2, self.num_arcs), dtype=np.int64)
        both[0] = np.repeat(np.arange(self.num_nodes, dtype=np.int64), self.degree)
        both[1] = self.indices
        return both

    def to_networkx(self) -> networkx.Graph:
        """A NetworkX Graph or DiGraph with the caller's node names."""
        return convert.to_networkx(self)

    def to_scipy(self) -> scipy.sparse.csr_array:
        """The int64 adjacency matrix of zeros and ones."""
        return convert.to_scipy(self)

    def to_pyg(self) -> torch_geometric.data.Data:
        """A PyG Data with edge_index and num_nodes (names are not kept)."""
        return convert.to_pyg(self)

    def to_igraph(self) -> igraph.Graph:
        """An igraph graph; names other than 0 .. n-1 go to the vertex attribute "name"."""
        return convert.to_igraph(self)

    def to_directed(self) -> Graph:
        """The same arcs, each direction now counted on its own."""
        return self._turned(True, strict=False)

    def to_undirected(self, *, strict: bool = False) -> Graph:
        """Every arc made two-way."""
        return self._turned(False, strict)

    def write(self, path: str | os.PathLike[str], *, format: str | None = None) -> None:
        """Write a file that `read` understands, its kind told by its ending; whole or not at all."""
        from detours.graph import files

        files.write(self, path, format=format)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder of plain .npy arrays for `open`; whole or not at all."""
        from detours.graph.files import saved as store

        store.save_folder(self, Path(folder))

    def _turned(self, directed: bool | None, strict: bool) -> Graph:
        if strict:
            report(self.dropped, strict)
        if directed is None or directed == self.directed:
            return self
        if directed:
            return self._make(
                self.indptr,
                self.indices,
                directed=True,
                names=self.names,
                dropped=self.dropped,
                edge_index=self._own_edges(),
                path=self.path,
            )
        built = build(Listed(self.to_edge_index(), self.num_nodes), directed=False)
        report(built.dropped, strict)
        return self._make(
            built.indptr,
            built.indices,
            names=self.names,
            dropped=self.dropped._replace(one_way=built.dropped.one_way),
            edge_index=self._own_edges() if built.in_order else self.edge_index,
        )

    def _own_edges(self) -> Ints | None:
        return None if self.edges_in_csr_order else self.edge_index

    # ------------------------------------------------------------- behaviour

    def __repr__(self) -> str:
        kind = "arcs, directed" if self.directed else "edges" if self.num_edges != 1 else "edge"
        nodes = "node" if self.num_nodes == 1 else "nodes"
        names = "" if self.names is None else f", names {naming.sample(self.names, self.num_nodes)}"
        return f"Graph({self.num_nodes:,} {nodes}, {self.num_edges:,} {kind}{names})"

    def __eq__(self, other: object) -> bool:
        """Equal nodes, names and arcs; the order in which the caller listed the edges does not matter."""
        if not isinstance(other, Graph):
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
        raise AttributeError(f"A Graph does not change; {name} cannot be set.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"A Graph does not change; {name} cannot be deleted.")

    def __reduce__(self) -> tuple[Any, ...]:
        # As plain arrays: a memory map would otherwise look for its file on a machine that may not have it.
        arrays = (np.asarray(self.indptr), np.asarray(self.indices))
        return _restore, (*arrays, self.directed, self.names, self.dropped, self._own_edges())


def _restore(
    indptr: Ints,
    indices: NDArray[np.int32],
    directed: bool,
    names: Names | None,
    dropped: Dropped,
    edge_index: Ints | None,
) -> Graph:
    return Graph._make(
        indptr, indices, directed=directed, names=names, dropped=Dropped(*dropped), edge_index=edge_index
    )


def found_in(source: Any) -> Listed | Graph:
    """What there is to make a graph of; a graph itself if it was saved as one."""
    return _found_in_file(source) if isinstance(source, (str, os.PathLike)) else convert.listed(source)


def _found_in_file(path: str | os.PathLike[str], format: str | None = None) -> Listed | Graph:
    from detours.graph import files

    return Graph.open(path) if files.is_saved_graph(path) else files.read(path, format=format)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only plain view, so that kernels see one array type and nobody changes a graph by accident."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def _frozen_names(names: Names | None) -> Names | None:
    if names is None or isinstance(names, tuple):
        return names
    return _frozen(names) if isinstance(names, np.ndarray) else tuple(names)
