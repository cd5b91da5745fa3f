"""What scikit-learn asks of every estimator, by its own checks where they apply, over every kernel.

Checks that need no data run on the kernels themselves. Most others fit on tables of numbers; they run on `FromTable`
classes, which turn every row into a graph and are otherwise the kernels. A check that the installed version of
scikit-learn does not have is skipped.
"""

import inspect
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import estimator_checks

from detours.kernels import GraphKernel
from tests.kernels.cases import each_kind, equal

GRAPHS = [nx.cycle_graph(3), nx.path_graph(4), nx.cycle_graph(5), nx.star_graph(3)]

WITHOUT_DATA = """
    check_estimator_cloneable check_estimator_repr check_no_attributes_set_in_init check_get_params_invariance
    check_set_params check_parameters_default_constructible check_do_not_raise_errors_in_init_or_set_params
    check_mixin_order check_estimator_tags_renamed check_valid_tag_types check_get_feature_names_out_error
""".split()
WITH_TABLES = """
    check_estimators_fit_returns_self check_estimators_overwrite_params
    check_dict_unchanged check_fit_idempotent check_fit_check_is_fitted check_estimators_pickle
    check_methods_sample_order_invariance check_methods_subset_invariance check_pipeline_consistency
    check_transformers_unfitted check_fit2d_1sample check_fit2d_1feature
""".split()


def graphs_of(table: Any) -> list[nx.Graph]:
    """A ring with a tail for every row."""
    graphs = []
    for row in np.asarray(table, np.float64):
        graph = nx.cycle_graph(3 + int(abs(row[0]) * 7) % 3)
        nx.add_path(graph, [0, *range(10, 11 + int(abs(row).sum() * 5) % 4)])
        graphs.append(graph)
    return graphs


def from_table(kernel: GraphKernel) -> GraphKernel:
    """The kernel as an estimator that takes tables, with dense output, which is all that some checks can compare."""

    class FromTable(type(kernel)):  # type: ignore[misc]
        def fit(self, X: Any, y: Any = None) -> Any:
            return super().fit(graphs_of(X), y)

        def transform(self, X: Any) -> Any:
            return super().transform(graphs_of(X))

        def fit_transform(self, X: Any, y: Any = None) -> Any:
            return super().fit_transform(graphs_of(X), y)

    globals()["FromTable"] = FromTable  # so that it can be pickled
    FromTable.__qualname__ = "FromTable"
    return FromTable(**kernel.get_params()).set_params(output="gram")


def check_named(name: str) -> Any:
    if not hasattr(estimator_checks, name):
        pytest.skip(f"this version of scikit-learn has no {name}")
    return getattr(estimator_checks, name)


@each_kind
@pytest.mark.parametrize("name", WITHOUT_DATA)
def test_checks_without_data(kernel: GraphKernel, name: str) -> None:
    check_named(name)(type(kernel).__name__, kernel)


@pytest.mark.filterwarnings("ignore")
@each_kind
@pytest.mark.parametrize("name", WITH_TABLES)
def test_checks_with_tables(kernel: GraphKernel, name: str) -> None:
    check_named(name)(type(kernel).__name__, from_table(kernel))


@each_kind
@pytest.mark.parametrize("output", ["features", "gram"])
def test_parameters_are_read_by_fit_alone(kernel: GraphKernel, output: str) -> None:
    fitted = clone(kernel).set_params(output=output, normalize=False).fit(GRAPHS)
    expected = fitted.transform(GRAPHS)
    fitted.set_params(output="gram" if output == "features" else "features", normalize=True, labels="none")
    assert equal(fitted.transform(GRAPHS), expected)
    normalised = fitted.fit(GRAPHS).transform(GRAPHS)
    assert issparse(normalised) == (output == "gram") and normalised.dtype == np.float64


@each_kind
def test_unknown_fit_parameters_are_refused(kernel: GraphKernel) -> None:
    with pytest.raises(TypeError, match="sample_weight"):
        clone(kernel).fit_transform(GRAPHS, None, sample_weight=[1, 2, 3, 4])
    assert list(inspect.signature(kernel.fit_transform).parameters) == ["X", "y"]


@each_kind
def test_set_output(kernel: GraphKernel) -> None:
    pytest.importorskip("pandas")
    framed = clone(kernel).set_params(output="gram").set_output(transform="pandas").fit_transform(GRAPHS)
    assert list(framed.columns) == [f"graph {number}" for number in range(4)]
    assert np.array_equal(framed.to_numpy(), clone(kernel).set_params(output="gram").fit_transform(GRAPHS))
    sparse = clone(kernel).set_output(transform="pandas")
    with pytest.raises(ValueError, match=r"(?i)sparse.*pandas|pandas.*sparse"):
        sparse.fit_transform(GRAPHS)
    with config_context(transform_output="pandas"), pytest.raises(ValueError, match=r"(?i)sparse"):
        clone(kernel).fit_transform(GRAPHS)
    assert issparse(sparse.set_output(transform="default").fit_transform(GRAPHS))
