"""Counts of detours in words, for the descriptions of colours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def count_in_words(count: int) -> str:
    """Return a small count as a word, a larger one in digits.

    >>> count_in_words(2), count_in_words(1234)
    ('two', '1,234')
    """
    return NUMBER_WORDS[count] if 0 <= count < len(NUMBER_WORDS) else f"{count:,}"


def enumerate_words(words: Sequence[str]) -> str:
    """Join words with commas and a final "and".

    >>> enumerate_words(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def describe_edge(counts: Sequence[int], directed: bool = False) -> str:
    """Describe the cycles through an edge, or the detours of an arc, from its detour counts by length, from 2 on.

    >>> describe_edge((2, 0, 1)), describe_edge((0, 0, 0)), describe_edge((0, 1), directed=True)
    ('on two 3-cycles and one 5-cycle', 'on no cycle of up to 5 edges', 'with one detour of 3 edges')
    """
    if not any(counts):
        return f"without a detour of up to {len(counts) + 1} edges" if directed else no_cycle(len(counts) + 2)
    found = [(length, count) for length, count in enumerate(counts, 2) if count]
    if directed:
        return "with " + enumerate_words(
            [f"{count_in_words(count)} detour{'s' * (count > 1)} of {length} edges" for length, count in found]
        )
    return "on " + enumerate_words(
        [f"{count_in_words(count)} {length + 1}-cycle{'s' * (count > 1)}" for length, count in found]
    )


def no_cycle(longest: int) -> str:
    """Describe an edge without cycles up to the given length."""
    return f"on no cycle of up to {longest} edges"


def describe_edges(edges: Iterable[Sequence[int]], directed: bool = False) -> str:
    """Describe all edges of a node, grouping those with equal counts.

    >>> describe_edges([(0, 0, 1), (0, 0, 1), (0, 0, 0)])
    'two edges on one 5-cycle, one edge on no cycle of up to 5 edges'
    """
    multiplicity = Counter(map(tuple, edges))
    noun = "arc" if directed else "edge"
    return (
        ", ".join(
            f"{count_in_words(times)} {noun}{'s' * (times > 1)} {describe_edge(counts, directed)}"
            for counts, times in sorted(multiplicity.items(), reverse=True)
        )
        or f"no {noun}s"
    )
