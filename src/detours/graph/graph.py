"""`Graph`, the immutable CSR that every input becomes, and the functions with which other rooms build one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from detours.arrays import Int32, Int64
from detours.checks import check_flag, check_path
from detours.errors import FileFormatError, InputError, short_repr
from detours.graph import convert, union
from detours.graph.csr_graph import CsrGraph
from detours.graph.edges import Dropped, EdgeList, check_csr, check_edge_index, report, sort_arcs
from detours.graph.pairs import from_pairs, is_frame, is_of_library

if TYPE_CHECKING:
    import igraph
    import networkx
    import scipy.sparse
    import torch_geometric.data

__all__ = ["Dropped", "Graph", "as_graphs", "as_list", "build_graph", "is_list", "is_one_graph", "wrap_arrays"]


class Graph(CsrGraph):
    """An immutable graph on the nodes 0 .. n-1, stored as a sorted CSR without loops or repeated edges.

    Create one with `from_networkx`, `from_scipy`, `from_edge_index`, `from_edges`, `from_pandas`, `from_pyg`,
    `from_igraph`, `read` or `open`, or with `from_any`, which recognises all of these inputs and more.
    ``directed=None`` follows the input: a NetworkX DiGraph, a directed igraph or rustworkx graph, or a file or table
    that says so gives a directed graph; matrices, edge lists, other tables and edge_index give an undirected one, with
    missing reverse arcs added. Loops are dropped and repeats merged; `dropped` counts them, and there is a warning, or
    an error with ``strict=True``.

    Two arrays hold edges. `edge_index` holds the caller's edges, in the caller's order, loops and repeats included;
    every result "per edge" has this order. `to_edge_index()` returns the arcs of the CSR: sorted, with both directions
    of an undirected edge. `edge_arc` maps the first to the second.

    >>> graph = Graph.from_edge_index([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> graph
    Graph(3 nodes, 2 edges)
    >>> graph.indices.tolist()
    [1, 0, 2, 1]
    """

    __slots__ = ()

    # ------------------------------------------------------------------ construction

    @classmethod
    def from_any(cls, source: Any, *, directed: bool | None = None, strict: bool = False) -> Graph:
        """Return a graph from that of another library, a matrix, edges, a table, PyG data, a molecule or a path.

        A list is an edge_index (two rows) or a list of pairs; one that could be either is refused. The `edges` of a
        NetworkX graph are read as pairs.
        """
        _check_flags(directed, strict)
        return _finish(source if isinstance(source, Graph) else _read_any(source), directed, strict)

    @classmethod
    def from_edge_index(
        cls, edge_index: Any, num_nodes: int | None = None, *, directed: bool | None = None, strict: bool = False
    ) -> Graph:
        """Return a graph from two rows, sources and targets: a NumPy array, a torch tensor or nested lists.

        An undirected edge is expected in both directions, as in PyG; a missing reverse is added and counted in
        ``dropped.one_way``.
        """
        return _build(check_edge_index(edge_index, num_nodes), directed, strict)

    @classmethod
    def from_edges(cls, pairs: Iterable[Any], *, directed: bool | None = None, strict: bool = False) -> Graph:
        """Return a graph from pairs of nodes, each an undirected edge, or an arc with ``directed=True``.

        The nodes are those that occur, sorted if they are all integers or all strings, as in an edge-list file.

        >>> Graph.from_edges([("Ada", "Grace"), ("Grace", "Alan")]).name_list()
        ['Ada', 'Alan', 'Grace']
        """
        return _build(from_pairs(pairs, ordered=bool(directed)), directed, strict)

    @classmethod
    def from_pandas(
        cls,
        table: Any,
        source: str = "source",
        target: str = "target",
        *,
        directed: bool | None = None,
        strict: bool = False,
    ) -> Graph:
        """Return a graph from a table of edges (pandas, Polars or Arrow) with these two columns of nodes.

        By default these are source and target, or from and to, as in the header of a file. As there, the graph is
        directed if a column Type says Directed in every row.
        """
        from detours.graph.frames import from_frame

        return _build(from_frame(table, source, target), directed, strict)

    @classmethod
    def from_networkx(cls, graph: networkx.Graph, *, directed: bool | None = None, strict: bool = False) -> Graph:
        """Return a graph from a NetworkX graph of any class, directed if it is; node names are kept."""
        return _build(convert.from_networkx(graph), directed, strict)

    @classmethod
    def from_scipy(cls, matrix: scipy.sparse.sparray, *, directed: bool | None = None, strict: bool = False) -> Graph:
        """Return a graph from a square SciPy sparse matrix; a nonzero entry is an arc from its row to its column."""
        return _build(convert.from_scipy(matrix), directed, strict)

    @classmethod
    def from_pyg(cls, data: torch_geometric.data.Data, *, directed: bool | None = None, strict: bool = False) -> Graph:
        """Return a graph from a PyG `Data` or `Batch` (a batch is one graph with several components)."""
        return _build(convert.from_pyg(data), directed, strict)

    @classmethod
    def from_igraph(cls, graph: igraph.Graph, *, directed: bool | None = None, strict: bool = False) -> Graph:
        """Return a graph from an igraph graph, directed if it is; names are kept if none is missing or repeated."""
        return _build(convert.from_igraph(graph), directed, strict)

    @classmethod
    def from_csr(cls, indptr: Any, indices: Any, *, directed: bool | None = None, strict: bool = False) -> Graph:
        """Return a graph from the two arrays of a CSR; rows are sorted and loops dropped, as for any other input."""
        return _build(convert.from_csr(indptr, indices), directed, strict)

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        directed: bool | None = None,
        strict: bool = False,
        format: str | None = None,
        columns: Sequence[str | int] | None = None,
        sep: str | None = None,
    ) -> Graph:
        """Read an edge list or another graph file, in the format of its ending; any may also end in .gz.

        A folder written by `save` is opened.

        Args:
            path: For example a .csv, .tsv, .txt, .mtx, .graphml, .gml, .gexf, .net (Pajek), .adjlist, .graph (METIS),
                .g6, .s6, .npz, .sdf, .mol or .smi file.
            directed: Whether the graph is directed. Default: as the file says.
            strict: Refuse loops, repeated edges and one-way arcs.
            format: Overrides the ending ("edgelist", "mtx", ...).
            columns: The two columns of nodes of an edge list, by name or by number from 1.
            sep: The column separator of an edge list, such as ";".
        """
        return _finish(_read_path(check_path("path", path), format, columns, sep), directed, strict)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Graph:
        """Open a folder written by `save`, memory-mapped: nothing is read or checked before it is needed."""
        from detours.graph.files.saved import check_content, checked_edges, open_folder

        given = check_path("folder", folder)
        saved, path = open_folder(given), given.absolute()  # files are read later, perhaps from another directory

        def check(indptr: Int64, indices: Int32) -> None:
            check_content(saved, path, edges=False)
            check_csr(indptr, indices, saved.directed, path)

        edges = None if saved.edge_index is None else partial(checked_edges, saved, path)
        arrays = (saved.indptr, saved.indices)
        return wrap_arrays(*arrays, saved.directed, saved.names, saved.dropped, edges, path=path, check=check)

    @classmethod
    def disjoint_union(
        cls, graphs: Iterable[Any], *, directed: bool | None = None, strict: bool = False
    ) -> tuple[Graph, Int64]:
        """Return the disjoint union of many graphs, and the int64 offsets of their nodes in it.

        Takes whatever `from_any` takes. Edges keep their order, graph by graph; names are not kept.

        >>> union, offsets = Graph.disjoint_union([Graph.from_edge_index([[0, 1], [1, 0]])] * 2)
        >>> union.indices.tolist(), offsets.tolist()
        ([1, 0, 3, 2], [0, 2, 4])
        """
        sources = as_list(graphs)
        if not any(isinstance(source, (Graph, str, os.PathLike)) for source in sources):
            parts = [_read_numbered(number, source) for number, source in enumerate(sources)]
            if len({(part.meaning, part.directed) for part in parts}) <= 1:
                # Sorted once, all together: far cheaper than one by one for thousands of small graphs.
                edges, offsets = union.join_edges(parts)
                return _build(edges, directed, strict), offsets
        return _join(as_graphs(sources, directed, strict))

    # ------------------------------------------------------------------ conversion and files

    def to_networkx(self) -> networkx.Graph:
        """Return a NetworkX Graph or DiGraph with the caller's node names."""
        return convert.to_networkx(self._edge_list())

    def to_scipy(self) -> scipy.sparse.csr_array:
        """Return the int64 adjacency matrix of zeros and ones."""
        return convert.to_scipy(self.indptr, self.indices)

    def to_pyg(self) -> torch_geometric.data.Data:
        """Return a PyG Data with edge_index and num_nodes (names are not kept)."""
        return convert.to_pyg(self._edge_list())

    def to_igraph(self) -> igraph.Graph:
        """Return an igraph graph; names other than 0 .. n-1 go to the vertex attribute "name"."""
        return convert.to_igraph(self._edge_list())

    def to_directed(self) -> Graph:
        """Return the directed graph with the same arcs."""
        return self._with_direction(True, strict=False)

    def to_undirected(self, *, strict: bool = False) -> Graph:
        """Return the undirected graph with an edge for every arc."""
        return self._with_direction(False, strict)

    def write(self, path: str | os.PathLike[str], *, format: str | None = None) -> None:
        """Write a file that `read` understands, in the format of its ending, completely or not at all."""
        from detours.graph import files

        files.write(self._edge_list(), check_path("path", path), format=format)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder of plain .npy arrays for `open`, completely or not at all."""
        from detours.graph.files.saved import SavedGraph, copy_folder, save_folder

        target = check_path("folder", folder)
        if self.path is not None and not target.exists() and copy_folder(self.path, self.directed, target):
            return
        arrays = (self.indptr, self.indices, self.directed, self.names, self.dropped, self._stored_edges())
        save_folder(SavedGraph(*arrays), target)

    def _edge_list(self) -> EdgeList:
        return EdgeList(self.to_edge_index(), self.num_nodes, self.names, directed=self.directed)

    def _with_direction(self, directed: bool | None, strict: bool) -> Graph:
        """Return this graph, or its directed or undirected counterpart."""
        if strict:
            report(self.dropped, strict)
        if directed is None or directed == self.directed:
            return self
        if directed:
            edges = None if self.edges_in_csr_order else self._edge_index
            arrays = self._arrays()
            return wrap_arrays(*arrays, True, self.names, self.dropped, edges, self.path, self._check, self.origin)
        csr = sort_arcs(EdgeList(self.to_edge_index(), self.num_nodes), directed=False)
        report(csr.dropped, strict)
        dropped = self.dropped._replace(one_way=csr.dropped.one_way)
        edge_index = self._stored_edges() if csr.in_order else self.edge_index
        return wrap_arrays(csr.indptr, csr.indices, False, self.names, dropped, edge_index, origin=self.origin)


# ---------------------------------------------------------------- for other rooms of this library


wrap_arrays = Graph._wrap
"""Return a graph from CSR arrays that already are as `Graph` requires; they are neither checked nor copied."""


def build_graph(edges: EdgeList, directed: bool | None = None) -> Graph:
    """Return the graph of an edge list, without a warning; `Graph.dropped` says what was dropped."""
    directed = edges.directed if directed is None else directed
    csr = sort_arcs(edges, directed)
    edge_index = None if csr.in_order else edges.edge_index
    return wrap_arrays(csr.indptr, csr.indices, directed, edges.names, csr.dropped, edge_index, origin=edges.origin)


def as_graphs(
    sources: Iterable[Any],
    directed: bool | None = None,
    strict: bool = False,
    *,
    keep_origin: bool = False,
    numbers: Iterable[int] | None = None,
) -> list[Graph]:
    """Return a graph for each source, with a single warning about what was dropped from all of them.

    Unless `keep_origin` is set, the results hold no reference to the sources, which could not be freed otherwise.
    Messages refer to the sources by `numbers`, by default 0, 1 and so on.
    """
    _check_flags(directed, strict)
    sources = as_list(sources)
    if directed is None and not strict and set(map(type, sources)) <= {Graph}:
        return sources
    graphs = []
    dropped = []
    for number, source in zip(numbers or range(len(sources)), sources, strict=True):
        loaded = source if isinstance(source, Graph) else _read_numbered(number, source)
        if isinstance(loaded, Graph):
            graphs.append(loaded._with_direction(directed, strict))
        else:
            graphs.append(build_graph(loaded if keep_origin else replace(loaded, origin=None), directed))
            dropped.append(graphs[-1].dropped)
    report(union.add_dropped(dropped), strict)
    return graphs


def is_list(given: Any) -> bool:
    """Return whether this is iterable, or has a length and items by index, like a PyTorch `Subset`.

    A dict does not count as a list: iteration would yield its keys.
    """
    if isinstance(given, Mapping):
        return False
    return hasattr(given, "__iter__") or (hasattr(given, "__len__") and hasattr(given, "__getitem__"))


def as_list(given: Any) -> list[Any]:
    """Return the items of whatever `is_list`."""
    if not is_list(given):
        raise InputError(f"a list of graphs is expected, but {short_repr(given)} was given.")
    return list(given) if hasattr(given, "__iter__") else [given[i] for i in range(len(given))]


def is_one_graph(given: Any) -> bool:
    """Return whether this is a single graph where a list is expected: a path, an array or a graph of some library."""
    if isinstance(given, str | os.PathLike | Graph):
        return True
    return is_of_library(given) or is_frame(given) or (hasattr(given, "dtype") and getattr(given, "ndim", 0) == 2)


def _check_flags(directed: Any, strict: Any) -> None:
    if directed is not None:
        check_flag("directed", directed, otherwise="None to follow the input")
    check_flag("strict", strict)


def _build(edges: EdgeList, directed: bool | None, strict: bool) -> Graph:
    _check_flags(directed, strict)
    graph = build_graph(edges, directed)
    report(graph.dropped, strict)
    return graph


def _finish(loaded: EdgeList | Graph, directed: bool | None, strict: bool) -> Graph:
    return loaded._with_direction(directed, strict) if isinstance(loaded, Graph) else _build(loaded, directed, strict)


def _join(graphs: Sequence[Graph]) -> tuple[Graph, Int64]:
    if len(set(map(attrgetter("directed"), graphs))) > 1:
        raise InputError(
            "Some of the graphs are directed and some are not; pass directed=True or directed=False for all."
        )
    arrays = [list(map(attrgetter(name), graphs)) for name in ("indptr", "indices")]
    indptr, indices, offsets = union.join_arrays(*arrays)

    def edge_index() -> Int64:
        edges = [graph.to_edge_index() if graph.edges_in_csr_order else graph.edge_index for graph in graphs]
        return union.shift_edges(edges, offsets)

    in_order = all(map(attrgetter("edges_in_csr_order"), graphs))
    directed = bool(graphs) and graphs[0].directed
    dropped = union.add_dropped(map(attrgetter("dropped"), graphs))
    return wrap_arrays(indptr, indices, directed, None, dropped, None if in_order else edge_index), offsets


def _read_any(source: Any) -> EdgeList | Graph:
    if isinstance(source, (str, os.PathLike)):
        return _read_path(source)
    if not is_frame(source):
        return convert.from_any(source)
    from detours.graph.frames import from_frame

    return from_frame(source)


def _read_numbered(number: int, source: Any) -> Any:
    try:
        return _read_any(source)
    except FileFormatError as error:
        message = str(error.args[0]).removesuffix(".")
        raise FileFormatError(f"{message} (graph number {number}).", error.path, error.line) from None
    except InputError as error:
        raise InputError(f"Graph number {number}: {error}") from None


def _read_path(
    path: str | os.PathLike[str],
    format: str | None = None,
    columns: Sequence[str | int] | None = None,
    sep: str | None = None,
) -> EdgeList | Graph:
    from detours.graph import files

    if files.is_saved_graph(path):
        return Graph.open(path)
    return files.read(path, format=format, columns=columns, sep=sep)
