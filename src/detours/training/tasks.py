"""Tasks: the targets of a data set for each of them, and how finished runs are compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.data import GraphSet, Split
from detours.errors import InputError
from detours.training.batches.inputs import Scaling
from detours.training.recipe import RANKED, Recipe, merit

Targets = NDArray[Any]


def targets_of(data: GraphSet, task: str) -> Targets:
    """Return the targets for a task, or raise `InputError` if they are unfit for it.

    Classes are int64 [rows], numbered from 0 in the order of `data.classes`; the others are float64 [rows, columns], in
    which an unknown label of "multilabel" is NaN.
    """
    if task == "classification":
        if data.task != task:
            what = "a table of labels;" if data.task == "multilabel" else "numbers that are not integers;"
            if data.y.ndim == 1 and (data.y == np.round(data.y)).all():
                what = f"of the type {data.y.dtype}: convert them to integers, or"
            raise InputError(f"the targets of {data.name} are {what} take task={data.task}.")
        if len(data.classes) < 2:
            count = len(data.classes)
            raise InputError(f"{data.name} has {count} class, but classification needs two or more.")
        return data.targets
    y = np.asarray(data.y, np.float64).reshape(len(data.y), -1)
    if task == "regression":
        if not np.isfinite(y).all():
            index = int(np.argmin(np.isfinite(y).all(axis=1)))
            labels = (np.isnan(y) | (y == 0) | (y == 1)).all()
            instead = ", or take task=multilabel, in which NaN is an unknown label" if labels else ""
            raise InputError(
                f"the target of {data.level} {index} of {data.name} is {y[index][~np.isfinite(y[index])][0]}; "
                f"targets must be finite numbers, so fix or leave out this one{instead}."
            )
        return y
    if not (np.isnan(y) | (y == 0) | (y == 1)).all():
        raise InputError(f"the labels of {data.name} must be 0, 1 or NaN where unknown for task=multilabel.")
    return y


def check_scores(data: GraphSet, targets: Targets, fold: int, split: Split, recipe: Recipe) -> None:
    """Raise `InputError` if the metric of a recipe is not defined on a part of a fold."""
    if recipe.metric not in RANKED:
        return
    if targets.ndim == 1 and len(data.classes) != 2:
        raise InputError(
            f"metric={recipe.metric} needs two classes or task=multilabel, but {data.name} has {len(data.classes)} "
            "classes."
        )
    for name, part in zip(("validation", "test"), split[1:], strict=True):
        labels = targets.reshape(len(targets), -1)[part]
        if len(part) and not ((labels == 0).any(axis=0) & (labels == 1).any(axis=0)).any():
            raise InputError(
                f"the {name} part of fold {fold} of {data.name} has one class only, so that {recipe.metric} is "
                "undefined; take other folds or another metric."
            )


def outputs_of(targets: Targets) -> int:
    """Return the number of outputs of a network: one for each class, or one for each column of targets."""
    return int(targets.max(initial=0)) + 1 if targets.ndim == 1 else targets.shape[1]


def centred(targets: Targets) -> Targets:
    """Return regression targets minus their median: the digits in which they differ then fit into 32 bits, and errors
    stay the same. (A single extreme value, even one outside all parts, would move the mean far from all others.)"""
    result: Targets = targets - np.median(targets, axis=0)
    return result


def target_scaling(targets: Targets, train: NDArray[np.int64]) -> Scaling:
    """Return the mean and standard deviation of the targets of a training part, which standardise regression."""
    y = targets[train]
    # the deviation of equal values, such as 0.1, is a rounding error, not 0
    return Scaling(y.mean(axis=0), np.where(np.ptp(y, axis=0) > 0, y.std(axis=0), 1))


def score_of(value: Mapping[str, Any], part: str) -> float:
    """Return the score of a part ("val" or "test") of a finished run, in the metric of its recipe."""
    return float(value[f"{part}_{value['metric']}"])


def rank_of(value: Mapping[str, Any]) -> tuple[float, float]:
    """Return the sort key of finished runs, the best first: the validation score, then the validation loss."""
    return -merit(value["metric"], score_of(value, "val")), float(value["val_loss"])


def balanced(targets: Targets, train: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return weights that give all classes of a training part the same share: [classes], or [2, columns] for labels.

    The loss of a row is the mean over its known labels, so each of few counts more than each of many.
    """
    y = targets[train]
    if y.ndim == 1:
        counts = np.bincount(y, minlength=outputs_of(targets))[:, None]
    else:
        known = (~np.isnan(y)).sum(axis=1, keepdims=True)
        shares = y.shape[1] / np.maximum(known, 1)  # at least 1, and 1 in complete rows
        counts = np.stack([np.where(y == value, shares, 0).sum(axis=0) for value in (0, 1)])
    weights: NDArray[np.float64] = counts.sum(axis=0) / (
        np.maximum((counts > 0).sum(axis=0), 1) * np.maximum(counts, 1)
    )
    return weights[:, 0] if y.ndim == 1 else weights
