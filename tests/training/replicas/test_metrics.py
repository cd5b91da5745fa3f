"""ROC-AUC and average precision of many rankings together, against scikit-learn."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from sklearn.metrics import average_precision_score, roc_auc_score  # noqa: E402

from detours.training.replicas.metrics import average_precision, roc_auc  # noqa: E402


@pytest.mark.parametrize("levels", [3, 10_000], ids=["ties", "hardly a tie"])
@pytest.mark.parametrize(("ours", "theirs"), [(roc_auc, roc_auc_score), (average_precision, average_precision_score)])
def test_equal_to_scikit_learn(levels: int, ours, theirs) -> None:
    rng = np.random.default_rng(levels)
    scores = rng.integers(0, levels, (4, 2, 60)).astype(np.float32)
    positive, part = rng.random((2, 60)) < 0.3, rng.random((4, 2, 60)) < 0.6
    scores[~part] = np.nan  # rows outside the part may have any value
    found = ours(*map(torch.from_numpy, (scores, positive, part)))
    expected = [
        [theirs(positive[column][part[at, column]], scores[at, column][part[at, column]]) for column in range(2)]
        for at in range(4)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("measure", [roc_auc, average_precision])
def test_one_class_has_no_ranking(measure) -> None:
    scores, part = torch.tensor([[0.1, 0.7]]), torch.ones(1, 2, dtype=torch.bool)
    assert measure(scores, torch.tensor([True, True]), part).isnan() and measure(scores, ~part[0], part).isnan()
