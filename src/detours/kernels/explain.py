"""Which features does a fitted linear model rest on, and where does a graph have them?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from detours.errors import InputError, shown
from detours.kernels.base import GraphKernel
from detours.kernels.features.blocks import Carriers


@dataclass(frozen=True, slots=True)
class WeightedFeature:
    """A feature of a kernel and its weight in a linear model."""

    column: int
    name: str
    weight: float
    round: int


Evidence = tuple[WeightedFeature, Carriers]


def explain(kernel: GraphKernel, model: Any, *, top: int = 10, row: int = 0) -> list[WeightedFeature]:
    """The features with the largest weights, by absolute value; a positive weight speaks for the later class.

    Args:
        kernel: Fitted, with output="features".
        model: A linear model fitted on its features: anything with `coef_`, such as `LinearSVC`.
        top: How many.
        row: Which row of `coef_`, where there is one for each class.
    """
    weights = np.atleast_2d(np.asarray(getattr(model, "coef_", np.empty((0, 0)))))
    if row not in range(-len(weights), len(weights)) or getattr(kernel, "output_", None) != "features":
        raise InputError(
            f"explain needs a kernel fitted with output='features' and a linear model with row {row} of coef_, "
            f"but it was given {shown(kernel)} and {shown(model)}."
        )
    of_row = weights[row]
    if len(of_row) != kernel.block_starts_[-1]:
        raise InputError(
            f"The model has {len(of_row):,} weights but the kernel {kernel.block_starts_[-1]:,} features; "
            "fit the model on the features of this kernel."
        )
    order = np.argsort(-np.abs(of_row), kind="stable")[:top]
    return [
        WeightedFeature(column, kernel.feature_name(column), float(of_row[column]), kernel.feature_round(column)[0])
        for column in order.tolist()
    ]


def evidence(kernel: GraphKernel, features: Sequence[WeightedFeature], graph: Any) -> list[Evidence]:
    """Those of the features that a graph has, each with the nodes (and pairs of nodes) that carry it."""
    found = [(feature, kernel.carriers(graph, feature.column)) for feature in features]
    return [(feature, carriers) for feature, carriers in found if len(carriers.nodes)]
