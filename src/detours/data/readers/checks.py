"""What is said about own data that is not as it should be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.errors import DroppedEdgesWarning, InputError, shown, warn_caller
from detours.graph import Graph
from detours.graph.edges import Dropped, described
from detours.graph.union import add_dropped


def tell_dropped(name: str, made: Sequence[Graph], of: int) -> None:
    """Warn once of what was dropped, merged or completed in graphs that were just made, out of so many."""
    changed = [graph.dropped for graph in made if any(graph.dropped)]
    which = f"The graph of {name}" if of == 1 else f"{len(changed)} of the {of} graphs of {name}"
    tell_found(which, add_dropped(changed), single=of == 1)


def tell_found(which: str, found: Dropped, *, single: bool) -> None:
    """Warn of what was dropped, merged or completed in these graphs, if anything was."""
    if not any(found):
        return
    if single:
        advice = "; to keep directions, give a GraphSet of a directed Graph, and the setting directed=True."
    else:
        advice = ", since data of several graphs have no directions; with both arcs of each edge there is no such note."
    warn_caller(
        f"{which} had {described(found)}: loops are dropped, repeats merged, and arcs taken both ways"
        + (advice if found.one_way else "."),
        DroppedEdgesWarning,
    )


def as_real(values: Any, what: str, hint: str = "") -> NDArray[Any]:
    """Return real numbers, in memory or on any device, as an array."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.to_dense() if values.is_sparse or values.is_sparse_csr else values
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values  # which NumPy does not know
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError):  # other such types, or lists of several lengths
        array = np.empty(0, object)
    if array.dtype.kind not in "iubf":
        kind = getattr(values, "dtype", type(values).__name__)
        given = f"the text {shown(str(array.flat[0]))}" if array.dtype.kind == "U" and array.size else f"a {kind}"
        raise InputError(f"{what} must hold integers or other real numbers, but there is {given}{hint}.")
    return array
