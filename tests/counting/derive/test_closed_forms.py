"""The derivation: counts of terms, known closed forms, every formula against homomorphisms by brute force."""

from itertools import product

import numpy as np
import pytest

import detours
from detours.counting.derive.closed_forms import EdgeTerm, Formulas, formulas, rooted
from detours.counting.derive.patterns import Pattern, nodes, quotients, split
from detours.counting.derive.vector_program import program


def homomorphisms(pattern: Pattern, adjacency: np.ndarray, fixed: dict[int, int]) -> int:
    """Maps of the pattern's nodes into the graph that keep every arc, with some nodes fixed."""
    free = sorted(nodes(pattern) - fixed.keys())
    count = 0
    for images in product(range(len(adjacency)), repeat=len(free)):
        at = {**fixed, **dict(zip(free, images, strict=True))}
        count += all(adjacency[at[a], at[b]] for a, b in pattern)
    return count


def random_adjacency(directed: bool, seed: int, n: int = 6) -> np.ndarray:
    rng = np.random.default_rng(seed)
    adjacency = rng.random((n, n)) < 0.6
    np.fill_diagonal(adjacency, False)
    return adjacency if directed else adjacency & adjacency.T


@pytest.mark.parametrize(("directed", "terms"), [(False, [1, 4, 8, 24, 58]), (True, [1, 4, 10, 33, 102])])
def test_number_of_quotients(directed: bool, terms: list[int]) -> None:
    assert [len(quotients(length, directed)) for length in range(2, 7)] == terms


def test_short_lengths_have_the_textbook_coefficients() -> None:
    # P3 = A^3 - d_i - d_j + 1: one term with an ear, three without
    by_shape = {(len(t.at_i), len(t.at_j), len(t.ear_sums)): t.coefficient for t in formulas(3, False).lengths[3]}
    assert by_shape == {(0, 0, 0): 1, (1, 0, 0): -1, (0, 1, 0): -1, (0, 0, 1): 1}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("length", [2, 3, 4, 5])
def test_quotients_add_up_to_paths(directed: bool, length: int) -> None:
    adjacency = random_adjacency(directed, seed=length, n=5)
    i, j = map(int, np.argwhere(adjacency)[0])
    total = sum(c * homomorphisms(p, adjacency, {0: i, 1: j}) for p, c in quotients(length, directed).items())
    graph = detours.Graph.from_edge_index(np.argwhere(adjacency).T, num_nodes=5, directed=directed)
    assert total == sum(len(path) == length + 1 for path in detours.paths(graph, i, j, length))


@pytest.mark.parametrize("directed", [False, True])
def test_splitting_preserves_the_number_of_homomorphisms(directed: bool) -> None:
    adjacency = random_adjacency(directed, seed=3, n=5)
    i, j = map(int, np.argwhere(adjacency)[2])
    for pattern in quotients(5, directed):
        _, pendants_i, pendants_j, ears = split(pattern, 0, 1)
        total = homomorphisms(pattern, adjacency, {0: i, 1: j})
        arcs_exist = all(adjacency[{0: i, 1: j}[a], {0: i, 1: j}[b]] for a, b in pattern if {a, b} == {0, 1})
        product_of_pieces = int(arcs_exist)
        for pendant in pendants_i:
            product_of_pieces *= homomorphisms(pendant, adjacency, {0: i})
        for pendant in pendants_j:
            product_of_pieces *= homomorphisms(pendant, adjacency, {0: j})
        for ear in ears:
            product_of_pieces *= homomorphisms(ear, adjacency, {0: i, 1: j})
        assert product_of_pieces == total


def evaluate(derived: Formulas, terms: tuple[EdgeTerm, ...], adjacency: np.ndarray, i: int, j: int) -> int:
    """An edge polynomial by definition: pendants and ears as homomorphism counts."""
    pattern_of = {index: pattern for pattern, index in derived.pendant_index.items()}
    total = 0
    for term in terms:
        forward, backward = adjacency[i, j], adjacency[j, i]
        if ("f" in term.tie and not forward) or ("b" in term.tie and not backward):
            continue
        if term.tie == "r" and not (forward and backward):
            continue
        value = term.coefficient
        for end, pendants in ((i, term.at_i), (j, term.at_j)):
            for index in pendants:
                value *= homomorphisms(pattern_of[index], adjacency, {0: end})
        for index in term.ear_sums:
            value *= ear_sum(derived, index, adjacency, i, j)
        total += value
    return total


def ear_sum(derived: Formulas, index: int, adjacency: np.ndarray, i: int, j: int) -> int:
    polynomial = derived.ear_sums[index]
    ears = {pattern: polynomial[rooted(pattern)] for pattern in rooted_patterns() if rooted(pattern) in polynomial}
    assert len(ears) == len(polynomial)
    return sum(c * homomorphisms(pattern, adjacency, {0: i, 1: j}) for pattern, c in ears.items())


def rooted_patterns() -> set[Pattern]:
    patterns: set[Pattern] = set()
    for directed in (False, True):
        for length in range(2, 6):
            for quotient in quotients(length, directed):
                patterns.update(split(quotient, 0, 1)[3])
    return patterns


@pytest.mark.parametrize("directed", [False, True])
def test_pendants_are_sums_over_neighbours(directed: bool) -> None:
    derived = formulas(5, directed)
    adjacency = random_adjacency(directed, seed=1, n=5)
    for pattern, index in derived.pendant_index.items():
        for i in range(len(adjacency)):
            around = np.flatnonzero(adjacency[i] | adjacency[:, i])
            found = sum(evaluate(derived, derived.pendants[index], adjacency, i, int(j)) for j in around)
            assert found == homomorphisms(pattern, adjacency, {0: i})


def test_few_ear_sums_and_products_are_needed() -> None:
    assert [len(formulas(k, False).ear_sums) for k in range(2, 7)] == [1, 2, 3, 4, 6]
    assert [program(k, False).passes[-1].products for k in range(2, 7)] == [0, 1, 2, 3, 5]
    assert all(formulas(6, False).symmetric)


@pytest.mark.parametrize("k", [1, 7])
def test_k_without_closed_form_raises(k: int) -> None:
    with pytest.raises(ValueError, match=r"closed forms exist for k = 2\.\.6"):
        formulas(k, False)
