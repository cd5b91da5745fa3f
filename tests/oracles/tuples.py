"""k-WL on tuples straight from the definitions: dictionaries, one colour table shared by all graphs."""

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from itertools import product

Arc = tuple[int, int]
Tuple = tuple[int, ...]
Coloring = dict[Tuple, int]


def atomic_type(nodes: Tuple, arcs: Collection[Arc]) -> Hashable:
    """Which positions have equal nodes, and which have the two ends of an arc."""
    return tuple((a == b, (a, b) in arcs) for a in nodes for b in nodes)


def put(nodes: Tuple, position: int, node: int) -> Tuple:
    return (*nodes[:position], node, *nodes[position + 1 :])


def signature(nodes: Tuple, colors: Coloring, num_nodes: int, arcs: Collection[Arc], folklore: bool) -> Hashable:
    """The old colour of a tuple and those of its neighbours, which determine its next colour."""
    positions, all_nodes = range(len(nodes)), range(num_nodes)
    if len(nodes) == 1:
        seen = Counter((atomic_type((*nodes, other), arcs), colors[other,]) for other in all_nodes)
        return colors[nodes], frozenset(seen.items())
    if folklore:
        vectors = Counter(tuple(colors[put(nodes, i, w)] for i in positions) for w in all_nodes)
        return colors[nodes], frozenset(vectors.items())
    lines = tuple(frozenset(Counter(colors[put(nodes, i, w)] for w in all_nodes).items()) for i in positions)
    return colors[nodes], lines


def tuple_wl(
    graphs: Sequence[tuple[int, Collection[Arc]]], dim: int, folklore: bool, rounds: int
) -> list[list[Coloring]]:
    """[round][graph] -> colour of every tuple; colours are comparable between the graphs of a round."""

    def numbered(signatures: list[dict[Tuple, Hashable]]) -> list[Coloring]:
        table: dict[Hashable, int] = {}
        return [{at: table.setdefault(sign, len(table)) for at, sign in one.items()} for one in signatures]

    sets = [(num_nodes, frozenset(arcs)) for num_nodes, arcs in graphs]
    tuples = [list(product(range(num_nodes), repeat=dim)) for num_nodes, _ in sets]
    colorings = numbered(
        [{at: atomic_type(at, arcs) for at in mine} for mine, (_, arcs) in zip(tuples, sets, strict=True)]
    )
    history = [colorings]
    for _ in range(rounds):
        colorings = numbered(
            [
                {at: signature(at, colors, num_nodes, arcs, folklore) for at in colors}
                for colors, (num_nodes, arcs) in zip(colorings, sets, strict=True)
            ]
        )
        history.append(colorings)
    return history


def stable_tuple_wl(graphs: Sequence[tuple[int, Collection[Arc]]], dim: int, folklore: bool) -> list[Coloring]:
    """The stable colours of all graphs together, by as many rounds as it takes."""
    rounds = 1
    while True:
        history = tuple_wl(graphs, dim, folklore, rounds)
        before, after = ({color for one in colorings for color in one.values()} for colorings in history[-2:])
        if len(before) == len(after):
            return history[-1]
        rounds *= 2
