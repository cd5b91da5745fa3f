"""Many graphs as one, side by side; no work per graph beyond collecting its arrays."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.errors import FileFormatError, InputError
from detours.graph.edges import MAX_NODES, Dropped, Ints, Listed, build, report
from detours.graph.graph import Graph, found_in

_NOTHING = Dropped()


def is_one_graph(given: Any) -> bool:
    """Whether something that should be a list of graphs is one graph: a file, an array or a library's own."""
    if isinstance(given, str | os.PathLike | Graph):
        return True
    of_a_library = any(hasattr(given, name) for name in ("adj", "tocsr", "get_edgelist", "is_undirected"))
    return of_a_library or (hasattr(given, "dtype") and getattr(given, "ndim", 0) == 2)


def disjoint_union(sources: Sequence[Any], directed: bool | None, strict: bool) -> tuple[Graph, Ints]:
    if not any(isinstance(source, (Graph, str, os.PathLike)) for source in sources):
        parts = [_numbered(at, source) for at, source in enumerate(sources)]
        if len({part.meaning for part in parts}) <= 1:
            return _of_listed(parts, bool(directed), strict)
    return _of_graphs(many(sources, directed, strict))


def many(sources: Iterable[Any], directed: bool | None = None, strict: bool = False) -> list[Graph]:
    """A Graph of each source; what was tidied away is told once, for all of them together."""
    sources = list(sources)
    if directed is None and not strict and set(map(type, sources)) <= {Graph}:
        return sources
    graphs = []
    tidied = []
    for at, source in enumerate(sources):
        found = source if isinstance(source, Graph) else _numbered(at, source)
        if isinstance(found, Listed):
            wanted = found.directed if directed is None else directed
            graph = Graph._from_built(build(found, wanted), found, wanted)
            tidied.append(graph.dropped)
        else:
            graph = found._turned(directed, strict)
        graphs.append(graph)
    report(_total(tidied), strict)
    return graphs


def _numbered(at: int, source: Any) -> Any:
    try:
        return found_in(source)
    except FileFormatError:
        raise
    except InputError as error:
        raise InputError(f"Graph number {at}: {error}") from None


def _offsets(lengths: Iterable[int], count: int) -> Ints:
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, count), out=offsets[1:])
    return offsets


def _node_offsets(lengths: Iterable[int], count: int) -> Ints:
    offsets = _offsets(lengths, count)
    if offsets[-1] > MAX_NODES:
        raise InputError(f"The graphs have {offsets[-1]} nodes together, and {MAX_NODES} are allowed; take fewer.")
    return offsets


def _shifted(edges: list[Ints], node_offsets: Ints) -> Ints:
    together = np.concatenate([np.empty((2, 0), dtype=np.int64), *edges], axis=1)
    together += np.repeat(node_offsets[:-1], [part.shape[1] for part in edges])
    return together


def _of_listed(parts: list[Listed], directed: bool, strict: bool) -> tuple[Graph, Ints]:
    """Sorted once, all together: for thousands of small graphs far cheaper than one by one."""
    node_offsets = _node_offsets((part.num_nodes for part in parts), len(parts))
    edges = _shifted([part.edge_index for part in parts], node_offsets)
    listed = Listed(edges, int(node_offsets[-1]), meaning=parts[0].meaning if parts else "arcs")
    return Graph._from_listed(listed, directed, strict), node_offsets


def _of_graphs(graphs: Sequence[Graph]) -> tuple[Graph, Ints]:
    if len(set(map(attrgetter("directed"), graphs))) > 1:
        raise InputError(
            "Some of the graphs are directed and some are not; pass directed=True or directed=False for all."
        )
    indptrs, indices = list(map(attrgetter("indptr"), graphs)), list(map(attrgetter("indices"), graphs))
    node_offsets = _node_offsets((len(indptr) - 1 for indptr in indptrs), len(graphs))
    arc_offsets = _offsets(map(len, indices), len(graphs))

    def edge_index() -> Ints:
        return _shifted([_edges(graph) for graph in graphs], node_offsets)

    in_order = all(map(attrgetter("edges_in_csr_order"), graphs))
    union = Graph._make(
        *_arrays(indptrs, indices, node_offsets, arc_offsets),
        directed=bool(graphs) and graphs[0].directed,
        dropped=_total([graph.dropped for graph in graphs]),
        edge_index=None if in_order else edge_index,
    )
    return union, node_offsets


def _arrays(
    indptrs: list[Ints], rows: list[NDArray[np.int32]], node_offsets: Ints, arc_offsets: Ints
) -> tuple[Ints, NDArray[np.int32]]:
    ends = np.ones(node_offsets[-1] + len(indptrs), dtype=np.bool_)
    ends[node_offsets[:-1] + np.arange(len(indptrs))] = False  # each indptr begins with a zero
    indptr = np.zeros(node_offsets[-1] + 1, dtype=np.int64)
    indptr[1:] = np.concatenate([np.empty(0, dtype=np.int64), *indptrs])[ends]
    indptr[1:] += np.repeat(arc_offsets[:-1], np.diff(node_offsets))
    indices = np.concatenate([np.empty(0, dtype=np.int32), *rows])
    indices += np.repeat(node_offsets[:-1].astype(np.int32), np.diff(arc_offsets))
    return indptr, indices


def _edges(graph: Graph) -> Ints:
    return graph.to_edge_index() if graph.edges_in_csr_order else graph.edge_index


def _total(parts: list[Dropped]) -> Dropped:
    some = [part for part in parts if part != _NOTHING]
    return Dropped(*(sum(column) for column in zip(*some, strict=True))) if some else Dropped()
