"""The columns of tables, which are also the attributes of NetworkX graphs and the arrays in .npz files."""

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
    """A value for every node, or one for each length."""

    attribute: str
    """The attribute of `Detours`, and the name of the array in .npz files."""
    column: str
    """The name of the column; {} stands for the length, if there is a column for each."""
    first: int = 0
    """The length of the first column."""


class EdgeStatistic(NamedTuple):
    """A value for every edge, or one for each length."""

    attribute: str
    column: str
    of_arcs: Callable[[Detours, Any], NDArray[Any]]
    """Returns the values for some arcs of the CSR, a slice or indices: all at once may not fit in memory."""
    first: int = 0


NODES = (NodeStatistic("node_cycles", "cycle_{}", first=3), NodeStatistic("node", "phi"))
EDGES = (
    EdgeStatistic("edge", "den", lambda result, arcs: result.totals(result.arc_by_length[arcs])),
    EdgeStatistic("by_length", "length_{}", lambda result, arcs: result.arc_by_length[arcs], first=2),
    EdgeStatistic("edge_cycles", "cycle_{}", lambda result, arcs: result.arc_cycles[arcs], first=3),
)


def node_columns(result: Detours) -> Columns:
    """Return the columns of all nodes, except their names."""
    columns: Columns = {}
    for each in NODES:
        columns |= _columns(each.column, each.first, getattr(result, each.attribute))
    return columns


def edge_columns(result: Detours, arcs: slice | Int64) -> Columns:
    """Return the columns of some arcs of the CSR, except their ends; 0 where the index is -1, a loop."""
    columns: Columns = {}
    for each in EDGES:
        columns |= _columns(each.column, each.first, _on_rows(result, arcs, each.of_arcs))
    return columns


def npz_arrays(result: Detours) -> Mapping[str, NDArray[Any]]:
    """Return the values of all edges, in the caller's order, and of all nodes, by attribute."""
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
    rows = np.zeros((len(arcs), *values.shape[1:]), values.dtype)
    rows[kept] = values
    return rows
