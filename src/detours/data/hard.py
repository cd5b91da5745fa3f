"""Pairs of graphs that are hard to tell apart, constructed in code; the two graphs of a pair are never isomorphic.

>>> {name: len(pairs) for name, pairs in hard_pairs().items()}
{'cycles': 8, 'csl': 45, 'regular': 20, 'strongly-regular': 8, 'cfi': 7}
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from detours.atomic import atomic_write
from detours.checks import check_integer
from detours.data.generated.constructions import (
    atlas,
    cfi,
    cfi_pair,
    chang,
    complete,
    csl,
    csl_classes,
    cube,
    cycle_unions,
    from_edges,
    group_tables,
    is_connected,
    latin_square,
    petersen,
    prism,
    rook,
    shrikhande,
    triangular,
)
from detours.errors import InputError, short_repr
from detours.graph import Graph
from detours.graph.files.graph6 import encode

__all__ = [
    "atlas",
    "cfi",
    "cfi_bases",
    "cfi_pair",
    "chang",
    "csl",
    "csl_classes",
    "cycle_unions",
    "hard_pairs",
    "latin_square",
    "lift_pair",
    "pair_benchmark",
    "random_regular_pair",
    "rook",
    "shrikhande",
    "triangular",
    "write_pairs",
]

Pair = tuple[Graph, Graph]

_DRAWS = 1000  # attempts to find a pair before giving up


def hard_pairs() -> dict[str, list[Pair]]:
    """Return small hard pairs by category; 1-WL tells none of them apart.

    "cycles": two cycles and one of twice the length; "csl": all pairs of the ten CSL classes; "regular": random regular
    graphs; "strongly-regular": pairs with equal parameters; "cfi": plain and twisted, over the graphs of `cfi_bases`.
    """
    sizes = [(n, d) for d in (3, 4) for n in range(10, 30, 2)]
    return {
        "cycles": [cycle_unions(n) for n in range(3, 11)],
        "csl": list(combinations(csl_classes(), 2)),
        "regular": [random_regular_pair(n, d, seed=n) for n, d in sizes],
        "strongly-regular": list(_strongly_regular_pairs(36)),
        "cfi": [cfi_pair(base) for base in cfi_bases().values()],
    }


def cfi_bases() -> dict[str, Graph]:
    """Return the base graphs of the "cfi" pairs, by name, in the order of `hard_pairs`."""
    bipartite = from_edges(6, ((i, j) for i in range(3) for j in range(3, 6)))
    return {
        "K3": complete(3),
        "K4": complete(4),
        "prism": prism(),
        "K3,3": bipartite,
        "cube": cube(),
        "Petersen": petersen(),
        "K5": complete(5),
    }


def random_regular_pair(n: int, d: int, seed: int = 0) -> Pair:
    """Return two random connected d-regular graphs of n nodes that 2-FWL tells apart, and that are thus not isomorphic.

    Each is generated from a circulant graph by many swaps of the ends of two random edges.
    """
    if not 3 <= d <= n - 3 or n * d % 2:
        raise InputError(
            f"Two different connected d-regular graphs of n nodes need 3 <= d <= n - 3 and n·d even, "
            f"but n is {short_repr(n)} and d is {short_repr(d)}."
        )
    random = np.random.default_rng([seed, n, d])
    return _first_pair(lambda: _random_regular(n, d, random), f"{d}-regular graphs of {n} nodes")


def lift_pair(base: Any, layers: int = 2, seed: int = 0) -> Pair:
    """Return two random connected lifts of a graph: `layers` copies of it, with every edge redirected to a random copy.

    Both cover every node of the base `layers` times, so 1-WL never tells them apart, but 2-FWL does, so they are not
    isomorphic. A tree has no connected lifts, a cycle only one.
    """
    graph = Graph.from_any(base, directed=False)
    if layers < 2 or not is_connected(graph):
        raise InputError(
            f"A lift needs at least 2 layers of a connected graph, but {layers} of {graph} were requested."
        )
    random = np.random.default_rng([seed, layers])
    return _first_pair(lambda: _random_lift(graph, layers, random), f"lifts of {graph} with {layers} layers")


def pair_benchmark(pairs: int = 400, max_nodes: int = 200, seed: int = 0) -> dict[str, list[Pair]]:
    """Return `pairs` hard pairs of at most max_nodes nodes, in the usual categories of such benchmarks.

    "basic": lifts of 10 to 14 nodes; "regular": random regular graphs; "strongly-regular": all known ones, up to a
    tenth of the pairs; "extension": larger lifts; "cfi": over random bases. 1-WL tells none of them apart.
    """
    check_integer("pairs", pairs, minimum=0)
    check_integer("max_nodes", max_nodes, minimum=40)
    random = np.random.default_rng(seed)
    strongly_regular = [pair for pair, _ in zip(_strongly_regular_pairs(max_nodes), range(pairs // 10), strict=False)]
    num_basic, num_regular, num_cfi = 3 * pairs // 20, pairs // 4, pairs // 4
    num_extension = pairs - len(strongly_regular) - num_basic - num_regular - num_cfi

    def seeds(n: int) -> list[int]:
        return [int(seed) for seed in random.integers(2**31, size=n)]

    def regular_pair(seed: int) -> Pair:
        d = 3 + seed % 3
        return random_regular_pair(2 * (5 + seed // 3 % (min(max_nodes, 70) // 2 - 4)), d, seed)

    return {
        "basic": [lift_pair(_random_base(5 + seed % 3, seed), 2, seed) for seed in seeds(num_basic)],
        "regular": [regular_pair(seed) for seed in seeds(num_regular)],
        "strongly-regular": strongly_regular,
        "extension": [lift_pair(_random_base(8 + seed % 6, seed), 2 + seed % 2, seed) for seed in seeds(num_extension)],
        "cfi": [cfi_pair(base) for base in _random_cfi_bases(num_cfi, max_nodes, random)],
    }


def write_pairs(folder: str | os.PathLike[str], pairs: Mapping[str, Iterable[Pair]]) -> None:
    """Write each category to a graph6 file in the folder; lines 2i and 2i + 1, counted from 0, are pair i.

    A category without pairs gets no file.
    """
    root = Path(folder)
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be created ({error.strerror}); give another name.") from None
    for name, category in pairs.items():
        graphs = [graph for pair in category for graph in pair]
        if not graphs:
            continue
        with atomic_write(root / f"{name}.g6") as file:
            for graph in graphs:
                i, j = graph.to_edge_index()
                file.write(encode(graph.num_nodes, np.stack((i[i < j], j[i < j]))) + b"\n")


# -------------------------------------------------------------------------------------------------- random graphs


def _first_pair(draw: Callable[[], Graph], what: str) -> Pair:
    """Return the first connected graph drawn, and the first one after it that 2-FWL tells apart from it."""
    drawn = filter(is_connected, (draw() for _ in range(_DRAWS)))
    first = next(drawn, None)
    second = None if first is None else next((other for other in drawn if _differ(first, other)), None)
    if first is None or second is None:
        raise InputError(
            f"No two connected {what} that 2-FWL tells apart were found in {_DRAWS:,} draws; take larger ones."
        )
    return first, second


def _differ(first: Graph, second: Graph) -> bool:
    """Return whether 2-FWL tells two graphs apart."""
    from detours.wl.tuples.refinement import tuple_certificates

    one, other = tuple_certificates([first, second], 2, folklore=True)
    return one != other


def _random_regular(n: int, d: int, random: np.random.Generator) -> Graph:
    steps = [*range(1, d // 2 + 1), *([n // 2] if d % 2 else [])]
    edges = [(i, (i + step) % n) for step in steps for i in range(n // 2 if 2 * step == n else n)]
    present = {frozenset(edge) for edge in edges}
    for at, other in random.integers(len(edges), size=(20 * len(edges), 2)).tolist():
        (a, b), (c, e) = edges[at], edges[other]
        new = [(a, e), (c, b)]
        if a != e and c != b and at != other and not present & {frozenset(edge) for edge in new}:
            present -= {frozenset(edges[at]), frozenset(edges[other])}
            present |= {frozenset(edge) for edge in new}
            # One is reversed, as otherwise sources would always remain sources.
            edges[at], edges[other] = new[0], new[1][::-1]
    return from_edges(n, edges)


def _random_lift(base: Graph, layers: int, random: np.random.Generator) -> Graph:
    n = base.num_nodes
    source, target = base.to_edge_index()
    once = source < target
    edges = []
    for i, j in zip(source[once].tolist(), target[once].tolist(), strict=True):
        edges += [(i + n * layer, j + n * int(to)) for layer, to in enumerate(random.permutation(layers))]
    return from_edges(n * layers, edges)


def _random_base(n: int, seed: int) -> Graph:
    """Return a random connected graph with a few more edges than a tree."""
    random = np.random.default_rng([seed, n])
    return _random_connected(n, n // 2 + 1 + int(random.integers(n // 2)), random)


def _random_connected(n: int, extra: int, random: np.random.Generator) -> Graph:
    """Return a random tree with this number of random edges added."""
    tree = {(int(random.integers(i)), i) for i in range(1, n)}
    others = [pair for pair in combinations(range(n), 2) if pair not in tree]
    chosen = random.choice(len(others), size=min(extra, len(others)), replace=False)
    return from_edges(n, [*sorted(tree), *(others[at] for at in sorted(chosen.tolist()))])


def _random_cfi_bases(n: int, max_nodes: int, random: np.random.Generator) -> Iterator[Graph]:
    """Yield n random non-isomorphic graphs with two or more independent cycles and small CFI graphs."""
    from detours.wl.tuples.refinement import tuple_certificates

    seen: set[str] = set()
    while len(seen) < n:
        size = int(random.integers(4, 4 + max_nodes // 8))
        base = _random_connected(size, int(random.integers(2, size + 1)), random)
        if sum(2 ** (int(degree) - 1) for degree in base.degree) <= max_nodes:
            (certificate,) = tuple_certificates([base], 2, folklore=True)
            if certificate not in seen:
                seen.add(certificate)
                yield base


def _strongly_regular_pairs(max_nodes: int) -> Iterator[Pair]:
    """Yield pairs of strongly regular graphs with equal parameters, from the smallest to the largest."""
    yield rook(4), shrikhande()
    if max_nodes >= 28:
        yield from combinations([triangular(8), *chang()], 2)
    for order in range(6, int(max_nodes**0.5) + 1):
        yield from combinations([latin_square(table) for table in group_tables(order).values()], 2)
