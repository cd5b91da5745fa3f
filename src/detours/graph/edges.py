"""From a list of edges to the sorted arrays of a CSR; NumPy only, so that small graphs start at once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.checks import check_integer
from detours.errors import DroppedEdgesWarning, FileFormatError, InputError, shown, warn_caller

Ints = NDArray[np.int64]
Names = Sequence[Hashable] | Ints

MAX_NODES = 2**31 - 1  # neighbours are stored as int32
_LOW = 2**32 - 1
# An id this far beyond the number of edges is a name (a user id, say); arrays up to it would fill the memory.
_SPARSE_IDS = 100_000_000


class Dropped(NamedTuple):
    """What was tidied away: loops dropped, repeats merged, arcs that came without their reverse."""

    loops: int = 0
    duplicates: int = 0
    one_way: int = 0


@dataclass(frozen=True, slots=True)
class Listed:
    """Edges as the caller listed them, before any tidying.

    meaning: ``"arcs"``: one entry per direction, so an undirected edge should come twice;
    ``"lines"``: an entry is an undirected edge, or an arc when the caller asks for a directed graph;
    ``"edges"``: an entry is an undirected edge, and both its arcs when the caller asks for a directed graph.
    """

    edge_index: Ints
    num_nodes: int
    names: Names | None = None
    meaning: Literal["arcs", "lines", "edges"] = "arcs"
    directed: bool = False  # what to build when the caller does not say


class Built(NamedTuple):
    indptr: Ints
    indices: NDArray[np.int32]
    dropped: Dropped
    in_order: bool  # the caller's list is exactly the CSR's own arcs, in its order


def build(listed: Listed, directed: bool) -> Built:
    """Sort, merge and (unless directed) symmetrise the listed edges."""
    src, dst = listed.edge_index
    both_ways = not directed or listed.meaning == "edges"
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
    counted = one_way if listed.meaning == "arcs" else 0
    indptr, indices = _split(arcs, listed.num_nodes)
    return Built(indptr, indices, Dropped(loops, duplicates, counted), in_order)


def _without_loops(arcs: Ints, is_loop: NDArray[np.bool_]) -> tuple[Ints, int]:
    loops = int(np.count_nonzero(is_loop))
    return (arcs[~is_loop] if loops else arcs), loops


def _sorted_distinct(arcs: Ints) -> tuple[Ints, bool]:
    """The arcs sorted without repeats, and whether they came so. Sorts in place."""
    if (arcs[1:] > arcs[:-1]).all():
        return arcs, True
    arcs.sort()
    new = arcs[1:] != arcs[:-1]
    if new.all():
        return arcs, False
    return arcs[np.concatenate(([True], new))], False


def _with_reverse(arcs: Ints) -> Ints:
    """Sorted distinct arcs with the missing reverses added, still sorted."""
    reverse = arcs << 32
    reverse |= arcs >> 32
    reverse.sort()
    if np.array_equal(arcs, reverse):
        return arcs
    return _sorted_distinct(np.concatenate((arcs, reverse)))[0]


def _split(arcs: Ints, num_nodes: int) -> tuple[Ints, NDArray[np.int32]]:
    indptr = np.zeros(num_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(arcs >> 32, minlength=num_nodes), out=indptr[1:])
    return indptr, (arcs & _LOW).astype(np.int32)


def report(dropped: Dropped, strict: bool) -> None:
    """Say once what was tidied away, or refuse it when the caller is strict."""
    if not any(dropped):
        return
    loops, duplicates, one_way = dropped
    counts = ((loops, "loop"), (duplicates, "repeated edge"), (one_way, "one-way arc"))
    *others, last = [f"{number} {thing}{'s' * (number != 1)}" for number, thing in counts if number]
    found = f"{', '.join(others)} and {last}" if others else last
    if strict:
        raise InputError(
            f"The graph has {found}, which strict=True does not allow; "
            "clean it first, or pass strict=False to drop, merge and mirror them."
        )
    warn_caller(
        f"The graph had {found}: loops are dropped, repeats merged, one-way arcs taken as undirected edges "
        "(directed=True keeps their direction); strict=True makes this an error.",
        DroppedEdgesWarning,
    )


def check_edge_index(edge_index: Any, num_nodes: int | None = None) -> Listed:
    """Check an edge_index (2 rows: sources and targets) and copy it into int64."""
    array = as_numpy(edge_index, "edge_index")
    if array.ndim != 2 or array.shape[0] != 2:
        raise InputError(_wrong_shape(array))
    ids = whole_numbers(array, "edge_index")
    if num_nodes is not None:
        num_nodes = check_num_nodes(num_nodes)
    if ids.size == 0:
        return Listed(ids, num_nodes or 0)
    low, high = int(ids.min()), int(ids.max())
    if low < 0:
        raise InputError(f"edge_index holds the node id {low}; ids must be 0 or larger.")
    if num_nodes is None:
        num_nodes = _nodes_up_to(high, ids.shape[1])
    elif high >= num_nodes:
        raise InputError(
            f"edge_index holds the node id {high}, but with num_nodes={num_nodes} ids end at {num_nodes - 1}."
        )
    return Listed(ids, num_nodes)


def _nodes_up_to(high: int, num_edges: int) -> int:
    if high >= MAX_NODES:
        raise InputError(
            f"edge_index holds the node id {high}, and ids end at {MAX_NODES - 1}; renumber the nodes from 0."
        )
    if high > _SPARSE_IDS and high > 100 * num_edges:
        raise InputError(
            f"edge_index holds the node id {high} but only {num_edges} edges; "
            "renumber the nodes from 0, or pass num_nodes to confirm that there are so many."
        )
    return high + 1


def check_num_nodes(num_nodes: object) -> int:
    return check_integer("num_nodes", num_nodes, minimum=0, maximum=MAX_NODES)


def as_numpy(values: Any, what: str) -> NDArray[Any]:
    """An array of whatever the caller has: lists, NumPy, a torch tensor on any device."""
    try:
        return np.asarray(values.detach().cpu().numpy() if hasattr(values, "detach") else values)
    except (ValueError, TypeError, RuntimeError) as error:
        raise InputError(
            f"{what} must be rows of node ids of the same length, but it cannot be made an array ({error})."
        ) from None


def whole_numbers(array: NDArray[Any], what: str) -> Ints:
    """A fresh C-ordered int64 copy of an array that holds whole numbers, whatever its type."""
    kind = array.dtype.kind
    if kind == "f" and array.size:
        whole = np.isfinite(array) & (np.floor(array) == array) & (np.abs(array) < 2.0**63)
        if not whole.all():
            raise InputError(f"{what} holds {array[~whole][0]}; node ids must be whole numbers.")
    elif kind == "u" and array.size and int(array.max()) > MAX_NODES:
        high = int(array.max())
        raise InputError(f"{what} holds {high}, and node ids end at {MAX_NODES - 1}; renumber the nodes from 0.")
    elif kind == "O":
        raise InputError(
            f"{what} holds Python objects such as {shown(next(iter(array.flat), None))}; "
            f"node ids must be whole numbers up to {MAX_NODES - 1}."
        )
    elif kind not in "iuf":
        raise InputError(f"{what} has type {array.dtype}; node ids must be whole numbers.")
    return np.array(array, dtype=np.int64, order="C")


def _wrong_shape(array: NDArray[Any]) -> str:
    text = f"edge_index must have shape (2, number of edges), but an array of shape {array.shape} was given"
    if array.ndim == 2 and array.shape[1] == 2:
        return text + "; pass its transpose (edge_index.T)."
    if array.ndim == 2 and array.shape[0] == array.shape[1]:
        return text + "; for an adjacency matrix use Graph.from_scipy(scipy.sparse.csr_array(matrix))."
    return text + "; give one row of sources and one of targets."


def refuse_nan(weights: NDArray[Any], what: str) -> None:
    if weights.dtype.kind in "fc" and np.isnan(weights).any():
        raise InputError(f"{what} holds NaN (not a number); remove those edges or give them a number.")


def check_csr(graph: Any) -> None:
    """Refuse a graph from disk whose arrays were damaged: the kernels follow them without looking."""
    indptr, indices, n = graph.indptr, graph.indices, graph.num_nodes
    sound = indptr[0] == 0 and indptr[-1] == len(indices) and bool((np.diff(indptr) >= 0).all())
    if sound and len(indices):
        sound = indices.min() >= 0 and indices.max() < n
    if sound and len(indices):
        source = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr))
        ascending = (indices[1:] > indices[:-1]) | (source[1:] != source[:-1])
        sound = bool(ascending.all()) and not (source == indices).any()
        if sound and not graph.directed:
            sound = np.array_equal(np.bincount(indices, minlength=n), np.diff(indptr))
    if not sound:
        raise FileFormatError("the saved graph is damaged; save it again.", graph.path)
