"""The features with the largest weights in a linear model, and where a graph has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from detours.checks import check_integer
from detours.errors import InputError, short_repr
from detours.kernels.base import GraphKernel
from detours.kernels.features.blocks import Carriers


@dataclass(frozen=True, slots=True)
class WeightedFeature:
    """A feature of a kernel and its weight in a linear model.

    >>> WeightedFeature(column=0, name="degree 2", weight=0.5, round=0).weight
    0.5
    """

    column: int
    name: str
    """A short name, different for every feature."""
    weight: float
    round: int
    meaning: str = ""
    """What it stands for, in words: a node, its neighbours, and the cycles through its edges."""

    def __str__(self) -> str:
        return f"{self.weight:+.3g}  {self.meaning or self.name}"


Evidence = tuple[WeightedFeature, Carriers]


def top_features(kernel: GraphKernel, model: Any, *, top: int = 10, row: int = 0) -> list[WeightedFeature]:
    """Return the features with the largest absolute weights; a positive weight is in favour of the second class.

    `meaning` describes each feature in words; `kernel.draw_feature(column)` draws the neighbourhood it stands for.

    Args:
        kernel: A kernel fitted with output="features".
        model: A linear model fitted on its features: anything with `coef_`, such as `LinearSVC`.
        top: The number of features.
        row: The row of `coef_`, if it has one for each class.

    >>> from sklearn.svm import LinearSVC
    >>> from detours.kernels import WLSubtree
    >>> triangle, path = [(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2), (2, 3)]
    >>> kernel = WLSubtree(n_iter=0)
    >>> model = LinearSVC().fit(kernel.fit_transform([triangle, path]), [0, 1])
    >>> [(feature.name, feature.weight > 0) for feature in top_features(kernel, model)]
    [('degree 1', True), ('degree 2', False)]
    """
    check_integer("top", top, minimum=0)
    weights = getattr(model, "coef_", np.empty((0, 0)))
    weights = np.atleast_2d(weights.toarray() if hasattr(weights, "toarray") else np.asarray(weights))
    if row not in range(-len(weights), len(weights)) or getattr(kernel, "output_", None) != "features":
        raise InputError(
            f"top_features needs a kernel fitted with output='features' and a linear model with row {row} of coef_, "
            f"but it was given {short_repr(kernel)} and {short_repr(model)}."
        )
    weights = weights[row]
    if len(weights) != kernel.block_starts_[-1]:
        raise InputError(
            f"The model has {len(weights):,} weights but the kernel has {kernel.block_starts_[-1]:,} features; "
            "fit the model on the features of this kernel."
        )
    order = np.argsort(-np.abs(weights), kind="stable")[:top]
    return [
        WeightedFeature(
            column,
            kernel.feature_name(column),
            float(weights[column]),
            kernel.feature_round(column)[0],
            kernel.describe_feature(column),
        )
        for column in order.tolist()
    ]


explain = top_features
"""The name of `top_features` in 0.1; unrelated to `detours.explain`, the cost of counting."""


def evidence(kernel: GraphKernel, features: Sequence[WeightedFeature], graph: Any) -> list[Evidence]:
    """Return those features that a graph has, each with the nodes (and pairs of nodes) that carry it.

    >>> from sklearn.svm import LinearSVC
    >>> from detours.kernels import WLSubtree
    >>> triangle, path = [(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2), (2, 3)]
    >>> kernel = WLSubtree(n_iter=0)
    >>> model = LinearSVC().fit(kernel.fit_transform([triangle, path]), [0, 1])
    >>> found = evidence(kernel, top_features(kernel, model), path)
    >>> [(feature.name, carriers.nodes.tolist()) for feature, carriers in found]
    [('degree 1', [0, 3]), ('degree 2', [1, 2])]
    """
    candidates = [(feature, kernel.carriers(graph, feature.column)) for feature in features]
    return [(feature, carriers) for feature, carriers in candidates if len(carriers.nodes)]
