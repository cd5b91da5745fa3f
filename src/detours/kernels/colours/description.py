"""What a colour stands for, in words and as a small drawing: a node and its neighbourhood."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from detours.wl.words import count_in_words, describe_edges

if TYPE_CHECKING:
    from detours.kernels.colours.colouring import Colouring

DRAWN_STEPS = 3
"""The most steps from the node that a drawing shows."""


class Neighbour(NamedTuple):
    """A neighbour: its colour in the previous round, and the edge to it in words, empty if all edges are alike."""

    edge: str
    colour: int


def name_start(colouring: Colouring, colour: int) -> str:
    """Describe a colour of round 0; one of the plain copy is marked as such."""
    plain = colouring.options.plain and bool(colouring.tables[0].row(colour)[0])
    return _describe_node(colouring, colour) + ", whatever its detours" * plain


def _describe_node(colouring: Colouring, colour: int) -> str:
    options, row = colouring.options, colouring.tables[0].row(colour).tolist()
    words = []
    columns, rest = row[: colouring.num_columns], row[colouring.num_columns :]
    is_plain = options.plain and bool(columns.pop(0))
    if options.with_degree:
        words.append(f"degree {columns[0]}" if not colouring.directed else f"degree {columns[0]} out {columns[1]} in")
    if options.with_labels:
        words.append(f"label {colouring.label_values[rest[0]]}")
        rest = rest[1:]
    if is_plain:
        return ", ".join(words) or "node"
    if options.detours == "phi":
        words.append(f"phi {columns[-1]}")
    if options.detours == "den-sum":
        words.append(f"den {{{', '.join(_list_arcs(rest, colouring.directed))}}}")
    if options.detours == "den" and options.k is not None:
        words.append(_describe_arcs(rest, options.k - 1, colouring.directed))
    return ", ".join(words) or "node"


def _list_arcs(values: list[int], directed: bool) -> list[str]:
    """List the number of detours of every arc of a node; directed arcs begin with their direction."""
    if not directed:
        return list(map(str, values))
    pairs = zip(values[::2], values[1::2], strict=True)
    return [f"{count} {'arriving' if direction else 'leaving'}" for direction, count in pairs]


def _describe_arcs(values: list[int], lengths: int, directed: bool) -> str:
    width = lengths + directed  # directed arcs begin with their direction
    rows = [values[at : at + width] for at in range(0, len(values), width)]
    if not directed:
        return describe_edges(rows)
    leaving, arriving = ([row[1:] for row in rows if row[0] == direction] for direction in (0, 1))
    return f"leaving {describe_edges(leaving, True)}; arriving {describe_edges(arriving, True)}"


def describe(colouring: Colouring, round: int, colour: int) -> str:
    """Describe a colour of any round: the node, its neighbours, and how far the colour reaches beyond them."""
    words = name_start(colouring, _centre(colouring, round, colour))
    if round == 0:
        return words
    neighbours = Counter(
        (edge, _describe_node(colouring, _centre(colouring, round - 1, other)))
        for edge, other in _neighbours(colouring, round, colour)
    )
    listed = [
        f"{count_in_words(times)} {'neighbours' if times > 1 else 'neighbour'}{f' by {edge}' * bool(edge)} ({text})"
        for (edge, text), times in neighbours.items()
    ]
    reach = f"; and all that is up to {round} steps away" if round > 1 else ""
    return f"{words}; {', '.join(listed) or 'no neighbours'}{reach}"


def draw(colouring: Colouring, round: int, colour: int) -> str:
    """Draw the node and its neighbourhood as a tree, one line for each group of equal neighbours."""
    lines = [name_start(colouring, _centre(colouring, round, colour))]
    lines += _branches(colouring, round, colour, DRAWN_STEPS)
    return "\n".join(lines)


def _branches(colouring: Colouring, round: int, colour: int, steps: int) -> list[str]:
    if round == 0:
        return []
    neighbours = Counter(_neighbours(colouring, round, colour))
    if neighbours and steps == 0:
        return ["└─ …"]
    lines = []
    for at, ((edge, other), times) in enumerate(neighbours.items(), 1):
        last = at == len(neighbours)
        text = _describe_node(colouring, _centre(colouring, round - 1, other))
        lines.append(f"{'└' if last else '├'}─ {f'{times} × ' * (times > 1)}{f'{edge}: ' * bool(edge)}{text}")
        branches = _branches(colouring, round - 1, other, steps - 1)
        lines += [f"{' ' if last else '│'}  {line}" for line in branches]
    return lines


def _row(colouring: Colouring, round: int, colour: int) -> list[int]:
    row: list[int] = colouring.tables[min(round, len(colouring.tables) - 1)].row(colour).tolist()
    return row


def _centre(colouring: Colouring, round: int, colour: int) -> int:
    """Return the colour that nodes with a colour of a later round had in round 0."""
    for earlier in range(round, 0, -1):
        colour = _row(colouring, earlier, colour)[0]
    return colour


def _neighbours(colouring: Colouring, round: int, colour: int) -> list[Neighbour]:
    entries = _row(colouring, round, colour)[1:]
    return [Neighbour(_edge(colouring, entry >> 32), entry & 0xFFFFFFFF) for entry in entries]


def _edge(colouring: Colouring, arc: int) -> str:
    """Describe the colour of an arc, as encoded by `ColouredBatch.arc_colours`."""
    words = []
    if colouring.directed:
        words.append("an arriving arc" if arc & 1 else "a leaving arc")
    if colouring.options.edge_labels:
        words.append(f"label {colouring.edge_label_values[arc >> 1]}")
    return ", ".join(words)
