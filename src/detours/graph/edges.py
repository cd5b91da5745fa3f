"""Edge lists, and the sorted CSR built from one; NumPy only, so that small graphs do not wait for Numba."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Bool, Int32, Int64
from detours.checks import check_integer
from detours.containers import check_rows
from detours.errors import DroppedEdgesWarning, FileFormatError, InputError, short_repr, warn_caller

Names = Sequence[Hashable] | Int64

MAX_NODES = 2**31 - 1  # neighbours are stored as int32
_LOW = 2**32 - 1
# An id this far beyond the number of edges is a name, such as a user id; arrays of that size would fill the memory.
_SPARSE_IDS = 100_000_000


class Dropped(NamedTuple):
    """The number of loops dropped, repeated edges merged, and one-way arcs completed with their reverse."""

    loops: int = 0
    duplicates: int = 0
    one_way: int = 0


@dataclass(frozen=True, slots=True)
class EdgeList:
    """The edges of a graph in any order, with loops and repeats: what readers return and writers accept.

    Attributes:
        edge_index: int64 [2, edges], the sources and the targets.
        num_nodes: The number of nodes; they are 0 .. num_nodes - 1.
        names: The caller's names of the nodes; None if they are 0 .. num_nodes - 1 themselves.
        meaning: ``"arcs"``: a column is one direction, so an undirected edge should occur twice;
            ``"lines"``: a column is an undirected edge, or an arc if a directed graph is requested;
            ``"edges"``: a column is an undirected edge, or both of its arcs if a directed graph is requested.
        directed: What to build if the caller does not say.
        origin: Returns a NetworkX graph with the same names and all attributes of the input; None if it has none.
    """

    edge_index: Int64
    num_nodes: int
    names: Names | None = None
    meaning: Literal["arcs", "lines", "edges"] = "arcs"
    directed: bool = False
    origin: Callable[[], Any] | None = None

    def once(self) -> Int64:
        """Return the arcs if directed, else every edge once, smaller node first; the list must hold every arc."""
        return self.edge_index if self.directed else self.edge_index[:, self.edge_index[0] < self.edge_index[1]]

    def name_list(self) -> list[Any]:
        """Return the names of all nodes by index."""
        if self.names is None:
            return list(range(self.num_nodes))
        return self.names.tolist() if isinstance(self.names, np.ndarray) else list(self.names)


class Csr(NamedTuple):
    """The sorted arcs of an edge list."""

    indptr: Int64
    indices: Int32
    dropped: Dropped
    in_order: bool
    """Whether the edge list has exactly these arcs, in this order."""


def sort_arcs(edges: EdgeList, directed: bool) -> Csr:
    """Return the arcs sorted, without loops and repeats, and symmetric unless directed."""
    src, dst = edges.edge_index
    both_ways = not directed or edges.meaning == "edges"
    given = src << 32
    given |= dst
    arcs, loops = _without_loops(given, src == dst)
    kept = len(arcs)
    arcs, in_order = _sorted_distinct(arcs)
    duplicates = kept - len(arcs)
    distinct = len(arcs)
    if both_ways:
        arcs = _with_reverse(arcs)
    one_way = len(arcs) - distinct
    in_order = in_order and not loops and not one_way
    counted = one_way if edges.meaning == "arcs" else 0
    indptr, indices = _split(arcs, edges.num_nodes)
    return Csr(indptr, indices, Dropped(loops, duplicates, counted), in_order)


def _without_loops(arcs: Int64, is_loop: Bool) -> tuple[Int64, int]:
    loops = int(np.count_nonzero(is_loop))
    return (arcs[~is_loop] if loops else arcs), loops


def _sorted_distinct(arcs: Int64) -> tuple[Int64, bool]:
    """Return the arcs sorted without repeats, and whether they already were; sorts in place."""
    if (arcs[1:] > arcs[:-1]).all():
        return arcs, True
    arcs.sort()
    new = arcs[1:] != arcs[:-1]
    if new.all():
        return arcs, False
    return arcs[np.concatenate(([True], new))], False


def _with_reverse(arcs: Int64) -> Int64:
    """Return sorted distinct arcs with the missing reverses added, still sorted."""
    reverse = arcs << 32
    reverse |= arcs >> 32
    reverse.sort()
    if np.array_equal(arcs, reverse):
        return arcs
    return _sorted_distinct(np.concatenate((arcs, reverse)))[0]


def _split(arcs: Int64, num_nodes: int) -> tuple[Int64, Int32]:
    indptr = np.zeros(num_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(arcs >> 32, minlength=num_nodes), out=indptr[1:])
    return indptr, (arcs & _LOW).astype(np.int32)


def describe_dropped(dropped: Dropped) -> str:
    """Return the counts of what was dropped, merged or completed as text.

    >>> describe_dropped(Dropped(loops=1, one_way=2))
    '1 loop and 2 one-way arcs'
    """
    counts = zip(dropped, ("loop", "repeated edge", "one-way arc"), strict=True)
    *others, last = [f"{count} {thing}{'s' * (count != 1)}" for count, thing in counts if count]
    return f"{', '.join(others)} and {last}" if others else last


def report(dropped: Dropped, strict: bool) -> None:
    """Warn about what was dropped, merged or completed; raise `InputError` instead if `strict`."""
    if not any(dropped):
        return
    counts = describe_dropped(dropped)
    if strict:
        raise InputError(
            f"The graph has {counts}, which strict=True does not allow; "
            "remove them first, or pass strict=False to drop loops, merge repeats and complete one-way arcs."
        )
    actions = (
        "loops are dropped",
        "repeats are merged",
        "one-way arcs become undirected edges (directed=True keeps their direction)",
    )
    done = ", ".join(action for count, action in zip(dropped, actions, strict=True) if count)
    warn_caller(f"The graph had {counts}: {done}; strict=True makes this an error.", DroppedEdgesWarning)


def check_edge_index(edge_index: Any, num_nodes: int | None = None) -> EdgeList:
    """Return an edge_index (2 rows, sources and targets) as a checked int64 copy."""
    array = as_numpy(edge_index, "edge_index")
    if array.ndim != 2 or array.shape[0] != 2:
        raise InputError(_wrong_shape(array))
    ids = as_integers(array, "edge_index")
    if num_nodes is not None:
        num_nodes = check_integer("num_nodes", num_nodes, minimum=0, maximum=MAX_NODES)
    if ids.size == 0:
        return EdgeList(ids, num_nodes or 0)
    low, high = int(ids.min()), int(ids.max())
    if low < 0:
        raise InputError(f"edge_index holds the node id {low}; ids must be 0 or larger.")
    if num_nodes is None:
        num_nodes = _nodes_up_to(high, ids.shape[1])
    elif high >= num_nodes:
        raise InputError(
            f"edge_index holds the node id {high}, but with num_nodes={num_nodes} ids must be at most {num_nodes - 1}."
        )
    return EdgeList(ids, num_nodes)


def _nodes_up_to(high: int, num_edges: int) -> int:
    if high >= MAX_NODES:
        raise InputError(
            f"edge_index holds the node id {high}, but ids must be at most {MAX_NODES - 1}; renumber the nodes from 0."
        )
    if high > _SPARSE_IDS and high > 100 * num_edges:
        raise InputError(
            f"edge_index holds the node id {high} but only {num_edges} edges; "
            "renumber the nodes from 0, or pass num_nodes to confirm their number."
        )
    return high + 1


def as_numpy(values: Any, what: str) -> NDArray[Any]:
    """Return lists, a NumPy array or a torch tensor on any device as a NumPy array."""
    rows = values[:2] if isinstance(values, (list, tuple)) else [values]
    if any(hasattr(row, "mask") and np.ma.is_masked(row) for row in rows):
        raise InputError(f"{what} must be complete, but it is an array with masked entries; remove these edges.")
    try:
        return np.asarray(values.detach().cpu().numpy() if hasattr(values, "cpu") else values)
    except (ValueError, TypeError, RuntimeError) as error:
        raise InputError(
            f"{what} must be rows of node ids of the same length, but it cannot be converted to an array ({error})."
        ) from None


def as_integers(array: NDArray[Any], what: str) -> Int64:
    """Return a C-ordered int64 copy of an array that holds integers, whatever its type."""
    kind = array.dtype.kind
    if kind == "f" and array.size:
        integral = np.isfinite(array) & (np.floor(array) == array) & (np.abs(array) < 2.0**63)
        if not integral.all():
            raise InputError(f"{what} holds {array[~integral][0]}; node ids must be integers.")
    elif kind == "u" and array.size and int(array.max()) > MAX_NODES:
        high = int(array.max())
        raise InputError(
            f"{what} holds {high}, but node ids must be at most {MAX_NODES - 1}; renumber the nodes from 0."
        )
    elif kind == "O":
        raise InputError(
            f"{what} holds Python objects such as {short_repr(next(iter(array.flat), None))}; "
            f"node ids must be integers up to {MAX_NODES - 1}."
        )
    elif kind not in "iuf":
        raise InputError(f"{what} has type {array.dtype}; node ids must be integers.")
    return np.array(array, dtype=np.int64, order="C")


def _wrong_shape(array: NDArray[Any]) -> str:
    text = f"edge_index must have shape (2, number of edges), but an array of shape {array.shape} was given"
    if array.ndim == 2 and array.shape[1] == 2:
        return text + "; pass its transpose (edge_index.T), or use Graph.from_edges for rows of pairs."
    if array.ndim == 2 and array.shape[0] == array.shape[1]:
        return text + "; for an adjacency matrix use Graph.from_scipy(scipy.sparse.csr_array(matrix))."
    return text + "; give one row of sources and one of targets."


def refuse_nan(weights: NDArray[Any], what: str) -> None:
    """Raise `InputError` if a weight is NaN."""
    if weights.dtype.kind in "fc" and np.isnan(weights).any():
        raise InputError(f"{what} holds NaN; remove these edges or correct their weights.")


def check_csr(indptr: Int64, indices: Int32, directed: bool, path: Path | None) -> None:
    """Raise `FileFormatError` if the arrays of an opened graph are damaged: compiled loops do not check bounds."""
    n, valid = len(indptr) - 1, True
    try:
        check_rows(indptr, indices, n)
    except ValueError:
        valid = False
    if valid and len(indices):
        source = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr))
        ascending = (indices[1:] > indices[:-1]) | (source[1:] != source[:-1])
        valid = bool(ascending.all()) and not (source == indices).any()
        if valid and not directed:
            valid = np.array_equal(np.bincount(indices, minlength=n), np.diff(indptr))
    if not valid:
        raise FileFormatError("the saved graph is damaged; save it again.", path)
