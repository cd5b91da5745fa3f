"""Ranking metrics, for all replicas together and without synchronising: ROC-AUC and average precision.

Both follow scikit-learn, ties included. Scores are sorted once; the number of positives and negatives below, or at,
each score follows from cumulative sums, to which rows outside the evaluated part add 0.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def roc_auc(scores: Tensor, positive: Tensor, part: Tensor) -> Tensor:
    """Return the area under the ROC curve: the share of pairs of a positive and a negative in the right order.

    A tie is half in order. NaN where there is no positive or no negative.

    Args:
        scores: [..., rows]
        positive: [rows], or of a shape that can be expanded to that of `scores`.
        part: [..., rows] the rows that count.
    """
    ranking = _Ranking(scores, positive & part, ~positive & part)
    ordered = ranking.below(ranking.negatives) + 0.5 * ranking.equal(ranking.negatives)
    pairs = ranking.positives[..., -1] * ranking.negatives[..., -1]
    return (ranking.is_positive * ordered).sum(-1) / pairs


def average_precision(scores: Tensor, positive: Tensor, part: Tensor) -> Tensor:
    """Return the mean over the positives of the precision at their score; arguments and NaN as for `roc_auc`."""
    ranking = _Ranking(scores, positive & part, ~positive & part)
    positives, negatives = ranking.positives[..., -1:], ranking.negatives[..., -1:]
    true_positives = positives - ranking.below(ranking.positives)
    false_positives = negatives - ranking.below(ranking.negatives)
    precision = true_positives / (true_positives + false_positives).clamp(min=1)
    mean = (ranking.is_positive * precision).sum(-1, keepdim=True) / positives
    return torch.where(negatives > 0, mean, torch.nan).squeeze(-1)


class _Ranking:
    """Rows by ascending score."""

    def __init__(self, scores: Tensor, positive: Tensor, negative: Tensor) -> None:
        # NaN of a diverged network must not stop the others: any finite value will do
        ascending, order = torch.where(positive | negative, scores, 0).nan_to_num().contiguous().sort(dim=-1)
        self.left, self.right = (torch.searchsorted(ascending, ascending, right=right) for right in (False, True))
        self.is_positive, is_negative = (
            each.expand_as(scores).gather(-1, order).double() for each in (positive, negative)
        )
        self.positives, self.negatives = (F.pad(each.cumsum(-1), (1, 0)) for each in (self.is_positive, is_negative))
        """[..., rows + 1] counts among the first rows."""

    def below(self, counts: Tensor) -> Tensor:
        """Return, for each row, the count of lower scores."""
        return counts.gather(-1, self.left)

    def equal(self, counts: Tensor) -> Tensor:
        """Return, for each row, the count of equal scores."""
        return counts.gather(-1, self.right) - counts.gather(-1, self.left)
