"""`certificate` and `certificates`: the colours of a graph as a short string, the same on every machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

from detours.wl.digests import digest_graphs
from detours.wl.individual.tree import digest_trees
from detours.wl.options import Options
from detours.wl.preparation import Prepared, prepare


def certificate(G: Any, **options: Unpack[Options]) -> str:
    """Return a string of 64 hexadecimal digits, equal for two graphs if and only if they are not told apart.

    It depends only on the graph up to isomorphism and on the options of `refine`, not on the machine or other graphs.
    Compare only certificates with the same options. `labels` and `edge_labels` are those of this graph only.

    >>> path, other_path, triangle = [(0, 1), (1, 2), (2, 3)], [(2, 1), (0, 2), (1, 3)], [(0, 1), (1, 2), (2, 0)]
    >>> certificate(path) == certificate(other_path), certificate(path) == certificate(triangle)
    (True, False)
    """
    if options.get("labels") is not None:
        options["labels"] = [options["labels"]]
    if options.get("edge_labels") is not None:
        options["edge_labels"] = [options["edge_labels"]]
    return _certify(prepare("certificate", [G], **options))[0]


def certificates(graphs: Iterable[Any], **options: Unpack[Options]) -> list[str]:
    """Return the `certificate` of every graph, all refined together; the options are those of `refine`.

    >>> triangle, same, path = [(0, 1), (1, 2), (2, 0)], [(2, 1), (1, 0), (0, 2)], [(0, 1), (1, 2), (2, 3)]
    >>> first, second, third = certificates([triangle, same, path])
    >>> first == second, first == third
    (True, False)
    """
    return _certify(prepare("certificates", graphs, **options))


def _certify(prepared: Prepared) -> list[str]:
    digests = digest_graphs(prepared)
    if prepared.method.individualise is not None:
        digests = digest_trees(prepared, digests)
    return [digest.hex() for digest in digests]
