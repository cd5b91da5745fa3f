"""Features and Gram matrices against a slow oracle, and relations that must hold between them."""

from random import Random
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from detours.kernels import GraphKernel, Labelled, ShortestPath, WLDetour, WLShortestPath, WLSubtree
from detours.kernels.batch import read_batch
from detours.kernels.features import distances as distances_module
from detours.kernels.features import histograms as histograms_module
from detours.kernels.features import triples as triples_module
from detours.kernels.features.distances import distances_in
from tests.kernels.cases import KERNELS, batches, equal, features, name_of, relabelled
from tests.oracles import kernels as oracle

every_kernel = pytest.mark.parametrize(("kernel", "words"), KERNELS, ids=name_of)
each_kernel = pytest.mark.parametrize("kernel", [kernel for kernel, _ in KERNELS], ids=name_of)
few = settings(max_examples=25)


def with_output(kernel: GraphKernel, output: str, normalize: bool = False) -> Any:
    return clone(kernel).set_params(output=output, normalize=normalize)


@every_kernel
@few
@given(batch=batches(), normalize=st.booleans())
def test_gram_of_one_batch(kernel: GraphKernel, words: dict[str, Any], batch: list[Labelled], normalize: bool) -> None:
    rows = features(batch, oracle.Palette(), words)
    expected = oracle.gram(rows, rows, normalize)
    gram = with_output(kernel, "gram", normalize).fit_transform(batch)
    np.testing.assert_allclose(gram, expected, rtol=1e-12)
    assert normalize or gram.dtype == np.int64
    made = with_output(kernel, "features", normalize).fit_transform(batch)
    np.testing.assert_allclose((made @ made.T).toarray(), expected, rtol=1e-12)
    assert normalize or made.shape[1] == len(set().union(*rows))


@every_kernel
@few
@given(data=st.data(), normalize=st.booleans())
def test_gram_of_new_graphs(kernel: GraphKernel, words: dict[str, Any], data: st.DataObject, normalize: bool) -> None:
    """Colours that `fit` did not see match nothing, but add to the norms."""
    directed, words_or_not = data.draw(st.booleans()), data.draw(st.booleans())
    old, new = (data.draw(batches(directed=directed, words=words_or_not)) for _ in range(2))
    palette = oracle.Palette()
    expected = oracle.gram(features(new, palette, words), features(old, palette, words), normalize)
    gram = with_output(kernel, "gram", normalize).fit(old).transform(new)
    np.testing.assert_allclose(gram, expected, rtol=1e-12)
    featured = with_output(kernel, "features", normalize)
    made_old = featured.fit_transform(old)
    made_new = featured.transform(new)
    np.testing.assert_allclose((made_new @ made_old.T).toarray(), expected, rtol=1e-12)
    assert made_new.has_sorted_indices and made_new.shape == (len(new), made_old.shape[1])


@each_kernel
@few
@given(batch=batches())
def test_transform_of_the_fitted_graphs(kernel: GraphKernel, batch: list[Labelled]) -> None:
    for output in ("features", "gram"):
        both = with_output(kernel, output)
        at_once = both.fit_transform(batch)
        again = both.transform(batch)
        assert equal(at_once, again)
        assert equal(with_output(kernel, output).fit(batch).transform(batch), at_once)
        one_by_one = [both.transform([item]) for item in batch]
        for at, alone in enumerate(one_by_one):
            assert equal(alone, at_once[[at]])


@each_kernel
@few
@given(batch=batches(min_size=2), seed=st.integers(0, 1000))
def test_order_of_nodes_and_graphs(kernel: GraphKernel, batch: list[Labelled], seed: int) -> None:
    random = Random(seed)
    gram = with_output(kernel, "gram").fit_transform(batch)
    turned = [relabelled(item, random) if item.labels else item for item in batch]
    assert np.array_equal(with_output(kernel, "gram").fit_transform(turned), gram)
    made = with_output(kernel, "features").fit_transform(batch).toarray()
    backwards = with_output(kernel, "features").fit_transform(turned[::-1]).toarray()
    assert np.array_equal(backwards, made[::-1])  # even the columns are in the same order


@each_kernel
@few
@given(batch=batches())
def test_positive_semidefinite(kernel: GraphKernel, batch: list[Labelled]) -> None:
    gram = with_output(kernel, "gram", normalize=True).fit_transform(batch)
    assert np.array_equal(gram, gram.T)
    assert np.linalg.eigvalsh(gram).min() >= -1e-9
    assert {round(entry, 9) for entry in gram.diagonal().tolist()} <= {0.0, 1.0}


@pytest.mark.parametrize(
    "kernel",
    [WLSubtree(6, normalize=False), WLShortestPath(6, normalize=False), WLDetour(3, 6, normalize=False)],
    ids=name_of,
)
@given(batch=batches())
@few
def test_grams_of_all_rounds(kernel: GraphKernel, batch: list[Labelled]) -> None:
    grams = list(kernel.grams(batch))
    featured = with_output(kernel, "features")
    made = featured.fit_transform(batch)
    assert len(grams) == 7
    for rounds, gram in enumerate(grams):
        alone = with_output(kernel, "gram").set_params(n_iter=rounds).fit_transform(batch)
        assert np.array_equal(gram, alone)
        part = made[:, : featured.block_starts_[rounds + 1]]
        assert np.array_equal((part @ part.T).toarray(), gram)


def test_unseen_edge_labels_match_nothing() -> None:
    old, new = Labelled(nx.path_graph(3), None, [1, 1]), Labelled(nx.path_graph(3), None, [1, 2])
    kernel = WLSubtree(2, labels="none", edge_labels=True, output="gram", normalize=False).fit([old])
    assert kernel.transform([old, new]).tolist() == [[9 + 5 + 5], [9 + 2]]  # the end at the edge 1 once in round 1


@given(batch=batches(min_size=3))
@few
def test_distances_that_are_not_kept(batch: list[Labelled]) -> None:
    sizes = [item.graph.num_nodes for item in batch]
    tight = WLShortestPath(2, output="gram", memory_limit=2 * max(*sizes, 1) ** 2)
    assert np.array_equal(tight.fit_transform(batch), tight.set_params(memory_limit=None).fit_transform(batch))


def test_small_ranges_of_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small calls give the same result as a single one."""
    rings = [nx.cycle_graph(n) for n in range(3, 12)]
    whole = [WLShortestPath(3, output=output).fit_transform(rings) for output in ("gram", "features")]
    monkeypatch.setattr(triples_module, "PAIRS_AT_ONCE", 5)
    monkeypatch.setattr(distances_module, "PAIRS_AT_ONCE", 5)
    cut = [WLShortestPath(3, output=output).fit_transform(rings) for output in ("gram", "features")]
    assert all(equal(a, b) for a, b in zip(whole, cut, strict=True))


def test_more_columns_than_the_first_table_holds() -> None:
    """A long path: every distance makes a column, and the table has to grow."""
    n = 1500
    path = Labelled([(*range(n - 1), *range(1, n)), (*range(1, n), *range(n - 1))], [0] + [1] * (n - 1))
    rows = ShortestPath(labels="data", normalize=False).fit_transform([path, path]).toarray()
    assert rows.shape == (2, 3 * (n - 1) - 1)
    # from the first node to each other one and back; between others n - 1 - d pairs at distance d, in both directions
    expected = [1] * (n - 1) + [1] * (n - 1) + [2 * (n - 1 - d) for d in range(1, n - 1)]
    assert sorted(rows[0].tolist()) == sorted(expected)
    gram = ShortestPath(labels="data", output="gram", normalize=False).fit_transform([path, path])
    assert np.array_equal(gram, rows @ rows.T)


def test_distances_of_one_graph_are_computed_in_several_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C takes effect between two of them."""
    graphs = [nx.path_graph(6), nx.empty_graph(0), nx.empty_graph(0), nx.cycle_graph(7), nx.empty_graph(0)]
    batch = read_batch(graphs, False)
    at_once, fill = distances_in(batch, 10**6), distances_module._fill
    steps: list[tuple[int, int]] = []

    def record(begin: int, end: int, *arrays: Any) -> None:
        steps.append((begin, end))
        fill(begin, end, *arrays)

    monkeypatch.setattr(distances_module, "PAIRS_AT_ONCE", 40)
    monkeypatch.setattr(distances_module, "_fill", record)
    assert np.array_equal(distances_in(batch, 10**6).square, at_once.square)
    assert steps == [(0, 2), (2, 4), (4, 6), (6, 7), (7, 8), (8, 9), (9, 10), (10, 11), (11, 12), (12, 13)]


@given(batch=batches(min_size=2))
@few
def test_rounds_after_the_stable_one_add_the_same_products(batch: list[Labelled]) -> None:
    kernel = WLSubtree(15, normalize=False)
    rows = kernel.fit_transform(batch)
    *_, before, last = kernel.grams(batch)
    assert np.array_equal(last, (rows @ rows.T).toarray())
    stable = rows[:, kernel.block_starts_[-2] :]
    assert np.array_equal(last - before, (stable @ stable.T).toarray())


def test_rounds_after_the_stable_one_cost_no_products(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(histograms_module, "_multiply", lambda *_: calls.append(1))
    WLSubtree(1000, output="gram").fit_transform([nx.path_graph(5), nx.path_graph(6)])
    assert len(calls) <= 6
