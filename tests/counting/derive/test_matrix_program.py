"""Closed forms for all pairs as steps: their number, their values, and whether their bounds hold."""

from time import process_time

import numpy as np
import pytest
from numpy.typing import NDArray

from detours.counting.derive import patterns
from detours.counting.derive.matrix_program import MAX_LENGTH, contraction
from detours.counting.derive.matrix_steps import Clique, Combination, Gathered, Product, sources
from detours.counting.engines.dense import bounds as bounds_module
from detours.counting.engines.dense.bounds import bounds, step_dtypes
from detours.counting.engines.dense.evaluate import Stack, evaluate, evaluate_tied
from tests.oracles.pairs import pairs_by_subsets, values_of_steps

KINDS = [(k, directed) for k in range(2, MAX_LENGTH + 1) for directed in (False, True)]


def random_adjacency(n: int, density: float, directed: bool, seed: int) -> NDArray[np.bool_]:
    adjacency = np.random.default_rng(seed).random((n, n)) < density
    np.fill_diagonal(adjacency, False)
    return adjacency if directed else adjacency | adjacency.T


def truth(adjacency: NDArray[np.bool_], k: int) -> NDArray[np.int64]:
    return pairs_by_subsets(len(adjacency), [(int(i), int(j)) for i, j in np.argwhere(adjacency)], k)


@pytest.mark.parametrize(("k", "products", "cliques"), [(3, 2, 0), (6, 8, 0), (7, 16, 1), (8, 34, 7)])
def test_few_products_are_needed(k: int, products: int, cliques: int) -> None:
    program = contraction(k, directed=False)
    assert program.number_of(Product) <= products
    assert program.number_of(Clique) == cliques


@pytest.mark.parametrize(("k", "directed"), KINDS)
def test_steps_are_in_order_and_all_needed(k: int, directed: bool) -> None:
    program = contraction(k, directed)
    used = set(program.lengths.values())
    for index, step in enumerate(program.steps):
        assert all(source < index for source in sources(step))
        used.update(sources(step))
    assert used == set(range(len(program.steps)))
    assert list(program.lengths) == list(range(2, k + 1))
    assert sorted(old for freed in program.freed_after for old in freed) == list(range(len(program.steps)))
    assert len(set(program.steps)) == len(program.steps)


@pytest.mark.parametrize(("k", "directed", "matrices"), [(4, False, 3), (6, False, 6), (8, False, 14), (8, True, 24)])
def test_few_matrices_are_kept(k: int, directed: bool, matrices: int) -> None:
    assert contraction(k, directed).peak_full_matrices <= matrices


@pytest.mark.parametrize(("k", "directed"), KINDS)
def test_results_outlive_their_views_and_readers(k: int, directed: bool) -> None:
    program = contraction(k, directed)
    end = {old: index for index, freed in enumerate(program.freed_after) for old in freed}
    for index, step in enumerate(program.steps):
        assert all(end[source] >= index for source in sources(step))
        assert end[program.owner[index]] >= end[index]
    held, most = set(), 0
    for index, freed in enumerate(program.freed_after):
        held.add(program.owner[index])
        most = max(most, sum(program.whole[owner] for owner in held))
        held -= set(freed)
    assert most == program.peak_full_matrices


@pytest.mark.parametrize("directed", [False, True])
def test_matrices_not_needed_for_all_pairs_are_read_on_arcs_only(directed: bool) -> None:
    """Overwrite the other entries: in exact integers, the counts on the arcs stay correct."""
    adjacency = random_adjacency(8, 0.4, directed, seed=2)
    program = contraction(MAX_LENGTH, directed)
    correct, overwritten = values_of_steps(program, adjacency), values_of_steps(program, adjacency, spoil_off_arcs=True)
    tied = adjacency | adjacency.T
    assert any((a != b).any() for a, b in zip(correct, overwritten, strict=True))
    for index in program.lengths.values():
        assert (correct[index] == overwritten[index])[tied].all()


def test_derivation_takes_less_than_a_minute() -> None:
    for directed in (False, True):
        for derived in (contraction, patterns.canonical):
            derived.cache_clear()
        started = process_time()
        contraction(MAX_LENGTH, directed)
        assert process_time() - started < 60


@pytest.mark.parametrize(("k", "directed"), [(1, False), (MAX_LENGTH + 1, True)])
def test_k_without_closed_form_raises(k: int, directed: bool) -> None:
    with pytest.raises(ValueError, match=f"not for k = {k}"):
        contraction(k, directed)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("density", [0.25, 0.6, 1.0])
def test_values_bounds_and_sparsity_of_steps(density: float, directed: bool) -> None:
    """In exact integers: counts are correct, bounds hold, and matrices declared zero off the arcs are."""
    adjacency = random_adjacency(8, density, directed, seed=5)
    program, correct = contraction(MAX_LENGTH, directed), truth(adjacency, MAX_LENGTH)
    values = values_of_steps(program, adjacency)
    off_diagonal = ~np.eye(8, dtype=bool)
    for length, index in program.lengths.items():
        assert (values[index] == correct[:, :, length - 2])[off_diagonal].all()
    limits = bounds(program, int(adjacency.sum(1).max()), int(adjacency.sum(0).max()))
    untied = ~(adjacency | adjacency.T)
    for step, value, bound, on_arcs in zip(program.steps, values, limits, program.on_arcs, strict=True):
        size = np.abs(value)
        assert size.max() <= bound.entry
        if not isinstance(step, Gathered):
            assert size.sum(1).max() <= bound.row
            assert size.sum(0).max() <= bound.column
            assert not on_arcs or not value[untied].any()


@pytest.mark.parametrize(("k", "directed"), KINDS)
@pytest.mark.parametrize("density", [0.07, 0.3, 0.8])
def test_evaluation_of_a_stack(k: int, directed: bool, density: float) -> None:
    """Sparse graphs use lists of arcs, others full matrices; graphs in a stack do not affect each other."""
    graphs = [random_adjacency(9, density, directed, seed) for seed in range(4)]
    stack, program = Stack(np.stack(graphs).astype(np.float64), directed), contraction(k, directed)
    correct = np.stack([truth(adjacency, k) for adjacency in graphs])
    off_diagonal = ~np.eye(9, dtype=bool)
    everywhere, tied = dict(evaluate(program, stack)), dict(evaluate_tied(program, stack))
    assert sorted(everywhere) == sorted(tied) == list(range(2, k + 1))
    for length in everywhere:
        assert (everywhere[length] == correct[..., length - 2])[:, off_diagonal].all()
        assert (tied[length] == correct[..., length - 2].reshape(-1)[stack.tied]).all()


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("density", [0.1, 0.5])
@pytest.mark.parametrize("exact", [2, 50, 10_000])
def test_integers_and_floats_agree(directed: bool, density: float, exact: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = Stack(random_adjacency(30, density, directed, seed=8)[None].astype(np.float64), directed)
    program = contraction(MAX_LENGTH, directed)
    assert set(step_dtypes(program, stack.out_degree, stack.in_degree)) == {np.float64}
    in_floats = dict(evaluate(program, stack))
    step_dtypes.cache_clear()
    monkeypatch.setattr(bounds_module, "EXACT", exact)
    dtypes = step_dtypes(program, stack.out_degree, stack.in_degree)
    try:
        in_integers = dict(evaluate(program, stack))
    finally:
        step_dtypes.cache_clear()
    assert np.int64 in dtypes[:-1]
    for index, step in enumerate(program.steps):
        assert dtypes[index] is np.int64 or all(dtypes[source] is np.float64 for source in sources(step))
    for length, counts in in_floats.items():
        np.testing.assert_array_equal(counts, in_integers[length])


def test_floats_are_used_only_where_exact() -> None:
    program = contraction(7, directed=False)
    assert set(step_dtypes(program, 18, 18)) == {np.float64}
    at_a_hub = step_dtypes(program, 5000, 5000)
    assert at_a_hub[program.lengths[7]] is np.int64
    assert at_a_hub[program.lengths[3]] is np.float64


def test_combinations_have_no_redundant_terms() -> None:
    for k, directed in KINDS:
        for step in contraction(k, directed).steps:
            if isinstance(step, Combination):
                keys = [(term.at_i, term.at_j, term.factors) for term in step.terms]
                assert len(set(keys)) == len(keys)
                assert all(term.coefficient and term.factors for term in step.terms)
