"""Warnings about dropped edges, and checks of values, in the user's own data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.errors import DroppedEdgesWarning, InputError, short_repr, warn_caller
from detours.graph import Graph
from detours.graph.edges import Dropped, describe_dropped
from detours.graph.union import add_dropped


def warn_dropped(name: str, graphs: Sequence[Graph], num_graphs: int, *, directions: bool = False) -> None:
    """Warn once about all edges dropped, merged or completed when these graphs, out of `num_graphs`, were built."""
    changed = [graph.dropped for graph in graphs if any(graph.dropped)]
    which = f"The graph of {name}" if num_graphs == 1 else f"{len(changed)} of the {num_graphs} graphs of {name}"
    warn_total(which, add_dropped(changed), directions=directions)


def warn_total(which: str, dropped: Dropped, *, directions: bool) -> None:
    """Warn about the edges dropped, merged or completed in some graphs, if there are any.

    With `directions`, one-way arcs are kept, and training decides.
    """
    if not any(dropped):
        return
    if directions:
        advice = " in training, unless the setting directed is true."
    else:
        advice = ", since targets of graphs are learned without directions; give both arcs of each edge to avoid this."
    warn_caller(
        f"{which} had {describe_dropped(dropped)}: loops are dropped, repeats merged, and arcs taken both ways"
        + (advice if dropped.one_way else "."),
        DroppedEdgesWarning,
    )


def as_real(values: Any, what: str, hint: str = "") -> NDArray[Any]:
    """Return real numbers, from a tensor on any device or anything else, as an array."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.to_dense() if values.is_sparse or values.is_sparse_csr else values
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values  # NumPy has no bfloat16
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError):  # other unsupported types, or ragged lists
        array = np.empty(0, object)
    if array.dtype.kind not in "iubf":
        kind = getattr(values, "dtype", type(values).__name__)
        found = f"the text {short_repr(str(array.flat[0]))}" if array.dtype.kind == "U" and array.size else f"a {kind}"
        raise InputError(f"{what} must contain integers or other real numbers, but there is {found}{hint}.")
    return array
