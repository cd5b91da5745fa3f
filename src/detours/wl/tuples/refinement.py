"""k-WL on tuples of nodes, oblivious and folklore, for k = 1, 2, 3; one graph at a time, exact and canonical.

Both start from the *atomic type* atp(v) of a tuple: which of its nodes are equal and which are joined, each direction
by itself. With v[p←w] for the tuple v with w put at position p, a round makes the new colour of v from

- k-FWL (folklore): c(v) and {{ (c(v[1←w]), …, c(v[k←w])) : w a node }}
- k-WL (oblivious): c(v) and, for every position p, {{ c(v[p←w]) : w a node }}

For k = 1 neither would use the edges. There both mean the usual 1-WL, colour refinement: c(v) and {{ (atp(v, w), c(w))
: w a node }}. (Before the vectors of k-FWL, k > 1, the atomic type of v and w would add nothing.) Only neighbours need
to be visited, as all other nodes are the complement. In a directed graph, neighbours joined both ways and those joined
one way are different atomic types.

**Oblivious from folklore.** For k-WL only (k-1)-FWL is run, which saves a factor n. After every round t, the k-WL
colour of v and the atomic type of v with the (k-1)-FWL colours of its faces v₋ₚ (v without position p) determine each
other. Proof: unrolled, the k-WL colour is atp(v) and, for every p, the multisets on the line through v in direction p
at all rounds before t. These depend on v₋ₚ only; call them aₚ(v₋ₚ). Permuting the positions of tuples permutes their
colours, so the functions aₚ are all the same but for a renaming. By induction, then, the next multiset on the line
over x = v₋ₚ is {{ (atp(v), a(v₋₁), …, a(v₋ₖ)) : w at p }}, where a(v₋ₚ) = a(x) does not depend on w and the others
are the colours of the tuples x[q←w] up to the order of their nodes. This is a round of (k-1)-FWL. ∎

**Canonical.** Classes are numbered by their parents and then by their signatures, which are made of the numbers of the
round before and nothing else. So graphs need no common table: if their tables (for every class its parent, atomic
type, size and signature) are equal, the same numbers stand for the same colours. Of a stable colouring the last table
suffices: if it is equal for two graphs, their classes are a stable partition of both together with the same number of
tuples of each in every class, and refinement never gets finer than that. A certificate is the SHA-256 of the tables.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32
from detours.checks import check_integer, parse_bytes, readable_bytes
from detours.errors import InputError
from detours.graph import Graph
from detours.wl.options import check_graphs, check_rounds
from detours.wl.tuples.faces import largest_code, size_counts, tuple_codes, tuple_table
from detours.wl.tuples.partition import Refinement

__all__ = [
    "TupleColors",
    "refine_tuples",
    "tuple_bytes",
    "tuple_certificates",
    "tuple_size_counts",
]

DEFAULT_MEMORY = 8 * 2**30
"""Bytes a refinement may take by default."""

_MOST_TUPLES = 2**31 - 1  # colours are int32


@dataclass(frozen=True, eq=False, repr=False)
class TupleColors:
    """The colours of all tuples of one graph after the last round, as returned by `refine_tuples`.

    >>> refine_tuples([[(0, 1), (1, 2), (2, 0)]], 2)[0].stable
    True
    """

    graph: Graph
    dim: int
    folklore: bool
    rounds: int
    """The number of rounds that split a class."""
    stable: bool
    """Whether no further round would split a class; False if the rounds ended before that was known."""
    certificate: str
    """Equal for two graphs, with the same options, if and only if they are not told apart."""
    _faces: Refinement

    @property
    def colors(self) -> Int32:
        """int32 [n, …, n]: the colour of each tuple; colours mean the same in graphs of equal certificates."""
        shape = (self.graph.num_nodes,) * self.dim
        if self._faces.dim == self.dim:
            return self._faces.colour.reshape(shape).copy()
        ranks = np.unique(tuple_codes(self._faces, self.dim), return_inverse=True)[1]
        return ranks.astype(np.int32).reshape(shape)

    @property
    def size_counts(self) -> tuple[tuple[int, int], ...]:
        """Pairs (size, number of colour classes of that size), by size."""
        sizes, counts = size_counts(self._faces, self.dim, self.stable)
        return tuple(zip(sizes.tolist(), counts.tolist(), strict=True))

    def __repr__(self) -> str:
        nodes = _several(self.graph.num_nodes, "node")
        colours = _several(sum(number for _, number in self.size_counts), "colour")
        state = "stable" if self.stable else "not known to be stable"
        rounds = _several(self.rounds, "round")
        return f"TupleColors({_name(self.dim, self.folklore)}, {nodes}: {colours}, {state} after {rounds})"


def refine_tuples(
    graphs: Iterable[Any],
    dim: int,
    *,
    folklore: bool = False,
    rounds: int | None = None,
    memory_limit: int | str | None = None,
) -> list[TupleColors]:
    """Colour the tuples of `dim` nodes of every graph, each graph by itself.

    Args:
        graphs: A list of graphs of any kind that `detours.count` takes, all directed or all undirected.
        dim: 1, 2 or 3, the k of k-WL.
        folklore: Use k-FWL instead of the oblivious k-WL. (k-FWL tells the same graphs apart as (k+1)-WL.)
        rounds: The largest number of rounds; None to refine until the colouring is stable.
        memory_limit: Bytes, or a text like "2GB"; a graph that may need more is refused. 8 GB by default.

    >>> hexagon = [[0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 0], [1, 2, 3, 4, 5, 0, 0, 1, 2, 3, 4, 5]]
    >>> triangles = [[0, 1, 2, 3, 4, 5, 1, 2, 0, 4, 5, 3], [1, 2, 0, 4, 5, 3, 0, 1, 2, 3, 4, 5]]
    >>> refine_tuples([hexagon, triangles], dim=2, folklore=True)
    [TupleColors(2-FWL, 6 nodes: 4 colours, stable after 1 round),
     TupleColors(2-FWL, 6 nodes: 3 colours, stable after 0 rounds)]
    """
    return list(_refined("refine_tuples", graphs, dim, folklore, rounds, memory_limit))


def tuple_certificates(
    graphs: Iterable[Any],
    dim: int,
    *,
    folklore: bool = False,
    rounds: int | None = None,
    memory_limit: int | str | None = None,
) -> list[str]:
    """Return a text for each graph, equal for two graphs if and only if k-WL does not tell them apart.

    It depends only on the graph: not on the order of its nodes, the other graphs or the machine. The arguments are
    those of `refine_tuples`.

    >>> triangle, path = [(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2), (2, 3)]
    >>> first, second, third = tuple_certificates([triangle, path, triangle], 2)
    >>> first == third, first == second
    (True, False)
    """
    refined = _refined("tuple_certificates", graphs, dim, folklore, rounds, memory_limit)
    return [colors.certificate for colors in refined]


def tuple_size_counts(
    graph: Any,
    dim: int,
    *,
    folklore: bool = False,
    rounds: int | None = None,
    memory_limit: int | str | None = None,
) -> tuple[tuple[int, int], ...]:
    """Return pairs (size, number of colour classes of that size), by size; a weaker invariant than the certificate.

    >>> tuple_size_counts([(0, 1), (1, 2), (2, 0)], 2)  # three pairs of a node with itself, six of neighbours
    ((3, 1), (6, 1))
    """
    (colors,) = _refined("tuple_size_counts", [graph], dim, folklore, rounds, memory_limit)
    return colors.size_counts


def tuple_bytes(num_nodes: int, dim: int, folklore: bool = False, limited: bool = False) -> int:
    """Return a bound on the memory of a refinement in bytes, without a few copies of the graph.

    Usually far less is used. Most of it is space for the signatures of one class in case all its tuples differ and, for
    3-WL with `limited` rounds, for a list of all triples in case the rounds end before the colouring is stable.

    >>> tuple_bytes(10, 2) < tuple_bytes(10, 3)
    True
    """
    inner = _inner_dim(dim, folklore)
    num_nodes = check_integer("num_nodes", num_nodes, minimum=0)
    tuples: int = num_nodes**inner
    if inner == 1:
        return 128 * tuples
    lines = 8 * inner * tuples
    partition = (4 + 4 + 8 + 4) * tuples
    groups = (8 + 8 + 8 + 4 + 4 + 16) * tuples
    signatures = 8 * (inner - 1) * num_nodes * tuples
    triples = 48 * num_nodes * tuples if limited and inner < dim else 0
    return lines + partition + groups + max(signatures, triples)


def _refined(
    caller: str, graphs: Iterable[Any], dim: int, folklore: bool, rounds: int | None, memory_limit: int | str | None
) -> Iterator[TupleColors]:
    inner = _inner_dim(dim, folklore)
    most = check_rounds(rounds)
    limit = parse_bytes(memory_limit) or DEFAULT_MEMORY
    for graph in check_graphs(caller, graphs):
        _check_size(graph.num_nodes, dim, folklore, most is not None, limit)
        yield _refine(graph, dim, folklore, Refinement(graph, inner), most)


def _refine(graph: Graph, dim: int, folklore: bool, faces: Refinement, rounds: int | None) -> TupleColors:
    name = f"{_name(dim, folklore)} of {graph.num_nodes} nodes{', directed' * graph.directed}\n"
    history = hashlib.sha256(name.encode())
    if rounds is not None:
        _feed(history, [np.flatnonzero(np.bincount(faces.kinds)), faces.sizes])
    stable = graph.num_nodes == 0
    done = 0
    while not stable and done != rounds:
        stable = not faces.round()
        done += 1
        if rounds is not None and not stable:
            _feed(history, faces.table())
    if stable:
        history = hashlib.sha256(name.encode())
        _feed(history, faces.table())
    elif faces.dim < dim:
        _feed(history, tuple_table(faces, dim))
    faces.clear()
    return TupleColors(graph, dim, folklore, faces.rounds, stable, history.hexdigest(), faces)


def _feed(digest: Any, parts: Iterable[NDArray[Any]]) -> None:
    for part in parts:
        digest.update(f"{len(part)}:".encode())
        digest.update(np.ascontiguousarray(part, dtype=part.dtype.newbyteorder("<")).data)


def _inner_dim(dim: int, folklore: bool) -> int:
    value = check_integer("dim, the k of k-WL,", dim, minimum=1, maximum=3)
    return value if folklore or value == 1 else value - 1


def _check_size(num_nodes: int, dim: int, folklore: bool, limited: bool, limit: int) -> None:
    """Raise `InputError` if there are too many tuples for int32 indices or for the memory."""
    if num_nodes ** _inner_dim(dim, folklore) > _MOST_TUPLES:
        raise InputError(
            f"{_name(dim, folklore)} on {num_nodes:,} nodes has more tuples than the {_MOST_TUPLES:,} that can be "
            "numbered; use a smaller graph or a smaller dim."
        )
    if _inner_dim(dim, folklore) < dim and largest_code(num_nodes, dim) >= 2**63:
        raise InputError(
            f"{_name(dim, folklore)} on {num_nodes:,} nodes may have more colours than fit into 64-bit integers; "
            "use a smaller graph or a smaller dim."
        )
    needed = tuple_bytes(num_nodes, dim, folklore, limited)
    if needed <= limit:
        return
    fits, too_many = 0, num_nodes
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if tuple_bytes(middle, dim, folklore, limited) <= limit:
            fits = middle
        else:
            too_many = middle
    raise InputError(
        f"{_name(dim, folklore)} on {num_nodes:,} nodes may need {readable_bytes(needed)}, more than memory_limit = "
        f"{readable_bytes(limit)}, in which graphs of up to {fits:,} nodes fit; raise memory_limit or use a smaller "
        "dim."
    )


def _name(dim: int, folklore: bool) -> str:
    return f"{dim}-{'F' if folklore and dim > 1 else ''}WL"


def _several(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
