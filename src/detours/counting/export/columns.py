"""Which numbers of a result are columns of tables, attributes of NetworkX graphs and arrays in .npz files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int64

if TYPE_CHECKING:
    from detours.counting.result import Detours

Columns = dict[str, NDArray[Any]]


class NodeStatistic(NamedTuple):
    """A number of every node, or one for each length."""

    attribute: str
    """Of `Detours`, and the name of the array in .npz files."""
    column: str
    """The name of its column; {} stands for the length, if there is one for each."""
    first: int = 0
    """The length of the first column."""


class EdgeStatistic(NamedTuple):
    """A number of every edge, or one for each length."""

    attribute: str
    column: str
    of_arcs: Callable[[Detours, Any], NDArray[Any]]
    """Return it for some arcs of the CSR, given by a slice or by their numbers: all at once may not fit in memory."""
    first: int = 0


NODES = (NodeStatistic("node_cycles", "cycle_{}", first=3), NodeStatistic("node", "phi"))
EDGES = (
    EdgeStatistic("edge", "den", lambda result, arcs: result.totals(result.arc_by_length[arcs])),
    EdgeStatistic("by_length", "length_{}", lambda result, arcs: result.arc_by_length[arcs], first=2),
    EdgeStatistic("edge_cycles", "cycle_{}", lambda result, arcs: result.arc_cycles[arcs], first=3),
)


def node_columns(result: Detours) -> Columns:
    """Return the columns of all nodes, without their names."""
    columns: Columns = {}
    for each in NODES:
        columns |= _columns(each.column, each.first, getattr(result, each.attribute))
    return columns


def edge_columns(result: Detours, arcs: slice | Int64) -> Columns:
    """Return the columns of some arcs of the CSR, without their ends; 0 where the number of the arc is -1, a loop."""
    columns: Columns = {}
    for each in EDGES:
        columns |= _columns(each.column, each.first, _on_rows(result, arcs, each.of_arcs))
    return columns


def npz_arrays(result: Detours) -> Mapping[str, NDArray[Any]]:
    """Return the numbers of all edges, in the caller's order, and nodes by their attributes."""
    return {each.attribute: getattr(result, each.attribute) for each in (*EDGES, *NODES)}


def _columns(name: str, first: int, values: NDArray[Any]) -> Columns:
    if values.ndim == 1:
        return {name: values}
    return {name.format(length): column for length, column in enumerate(values.T, first)}


def _on_rows(result: Detours, arcs: slice | Int64, of_arcs: Callable[[Detours, Any], NDArray[Any]]) -> NDArray[Any]:
    if isinstance(arcs, slice):
        return np.asarray(of_arcs(result, arcs))
    kept = arcs >= 0
    values = of_arcs(result, arcs[kept])
    found = np.zeros((len(arcs), *values.shape[1:]), values.dtype)
    found[kept] = values
    return found
