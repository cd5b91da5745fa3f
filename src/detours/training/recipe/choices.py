"""The choices that settings of training have; those of networks are in `detours.choices`."""

from __future__ import annotations

from typing import Literal, get_args

Model = Literal["plain", "weighted", "mdnn"]
MODELS: tuple[str, ...] = get_args(Model)
Preset = Literal["ours", "paper"]
Precision = Literal["32-true", "bf16-mixed", "64-true"]
Ties = Literal["loss", "first"]
Schedule = Literal["constant", "linear", "cosine"]
Pool = Literal["max", "mean", "add", "mean+max", "mean+add", "max+add", "mean+max+add"]
Evaluation = Literal["whole", "sampled"]
Task = Literal["classification", "regression", "multilabel"]
Metric = Literal["accuracy", "roc_auc", "ap", "mae"]
ClassWeights = Literal["none", "balanced"]
RegressionLoss = Literal["l1", "mse"]

METRICS = {"classification": ("accuracy", "roc_auc", "ap"), "regression": ("mae",), "multilabel": ("roc_auc", "ap")}
"""The metrics of each task, its default first."""
LOWER_IS_BETTER = ("mae",)
RANKED = ("roc_auc", "ap")
"""Metrics of a ranking of a part, not means of a score of each row."""


def merit(metric: str, score: float) -> float:
    """Return a score in a metric, negative where lower is better: the best has the highest merit."""
    return -score if metric in LOWER_IS_BETTER else score
