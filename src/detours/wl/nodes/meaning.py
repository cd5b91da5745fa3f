"""What a colour of round 0 stands for, in words."""

from __future__ import annotations

from detours.wl.nodes.neighbourhood import Neighbourhood
from detours.wl.refinement import Prepared

NAMES = {"degree": "degree", "labels": "label", "phi": "Φ"}


def meaning(prepared: Prepared, node: int) -> str:
    """The colour of a node in round 0: what `init` looked at, and what it saw there."""
    method = prepared.method
    if prepared.first is not None:
        return f"{method.k}-DeN of the edges: {_row(prepared.first, node, prepared.graphs[0].directed)}"
    if method.init == "uniform":
        return "any node"
    value = prepared.start.values[prepared.start.colour[node]]
    shown = repr(value) if isinstance(value, str) else ", ".join(map(str, value.tolist()))
    return f"{NAMES[method.init]} {shown}"


def _row(first: Neighbourhood, node: int, directed: bool) -> str:
    """The sorted counts of the edges of a node; those of arcs that leave and of arcs that arrive if directed."""
    assert first.arc_values is not None
    arcs = slice(first.indptr[node], first.indptr[node + 1])
    values = sorted(map(tuple, first.arc_values[first.arc_colour[arcs]].tolist()))
    if not directed:
        return _listed(values)
    leaving, arriving = ([value[1:] for value in values if value[0] == backwards] for backwards in (0, 1))
    return f"{_listed(leaving)} leaving, {_listed(arriving)} arriving"


def _listed(values: list[tuple[int, ...]]) -> str:
    return ", ".join(str(value[0]) if len(value) == 1 else str(value) for value in values) or "none"
