"""Best epochs and patience, against a loop on the host."""

import pytest

torch = pytest.importorskip("torch")

from detours.training.replicas.progress import Progress, Scores  # noqa: E402

VALIDATION = [(1.0, 0.5), (0.9, 0.75), (0.8, 0.75), (0.85, 0.75), (0.7, 0.5), (0.6, 0.25), (0.5, 0.9)]
"""Loss and accuracy of every epoch: the last one comes when the patience is over."""


def followed(
    patience: list[int], epochs: list[int], by_loss: list[bool], smooth: list[float] | None = None
) -> Progress:
    replicas = len(patience)
    smooth = torch.tensor(smooth if smooth else [0.0] * replicas, dtype=torch.float64)
    progress = Progress(torch.tensor(patience), torch.tensor(epochs), torch.tensor(by_loss), smooth)
    for number, (loss, accuracy) in enumerate(VALIDATION, 1):
        every = [1.0, 0.5, loss, accuracy, number / 10, number / 100]
        progress.update(Scores(*(torch.full((replicas,), each, dtype=torch.float64) for each in every)))
    return progress


def test_ties_go_to_the_lower_loss_or_to_the_first_and_patience_counts_from_there() -> None:
    progress = followed([3, 3, 9, 9], [50, 50, 50, 4], [True, False, True, True])
    bests = [progress.best_of(at) for at in range(4)]
    assert [best.epoch for best in bests] == [3, 2, 7, 3]
    assert (bests[0].val_loss, bests[0].val_score, bests[0].test_loss, bests[0].test_score) == (
        0.8,
        0.75,
        pytest.approx(0.3),
        pytest.approx(0.03),
    )
    rows = progress.read(7)
    assert [[row[at].active for row in rows].count(True) for at in range(4)] == [6, 5, 7, 4]
    assert [row[0].better for row in rows] == [True, True, True, False, False, False, False]
    assert progress.active.tolist() == [False, False, True, False]


def test_a_single_good_epoch_counts_little_in_a_smoothed_score() -> None:
    smooth, expected = 0.8, []
    for number, (loss, accuracy) in enumerate(VALIDATION):
        before = expected[-1] if number else (loss, accuracy)
        expected.append(
            tuple(smooth * old + (1 - smooth) * new for old, new in zip(before, (loss, accuracy), strict=True))
        )
    best = max(range(len(expected)), key=lambda at: expected[at][1])
    reached = followed([9, 9], [50, 50], [True, True], [smooth, 0.0])
    found, plain = reached.best_of(0), reached.best_of(1)
    assert (found.epoch, plain.epoch) == (best + 1, 7)
    assert (found.val_loss, found.val_score) == (pytest.approx(expected[best][0]), pytest.approx(expected[best][1]))
    assert found.test_loss == pytest.approx(found.epoch / 10)


def test_a_replica_whose_loss_is_no_number_is_over() -> None:
    progress = Progress(
        torch.tensor([9, 9]), torch.tensor([9, 9]), torch.tensor([True, True]), torch.zeros(2, dtype=torch.float64)
    )
    loss = torch.tensor([torch.nan, 1.0], dtype=torch.float64)
    progress.update(Scores(loss, loss, loss, loss, loss, loss))
    assert progress.active.tolist() == [False, True]


def test_an_epoch_whose_validation_loss_is_no_number_is_not_the_best() -> None:
    """Outputs that are NaN may be right by chance: argmax takes them as the first class."""
    numbers = torch.tensor([3, 3]), torch.tensor([9, 9]), torch.tensor([True, True])
    progress = Progress(*numbers, torch.zeros(2, dtype=torch.float64))
    one = torch.ones(2, dtype=torch.float64)
    for loss, score in ((torch.nan, 0.9), (0.5, 0.8), (torch.nan, 0.9)):
        val_loss = torch.tensor([loss, torch.nan], dtype=torch.float64)
        progress.update(Scores(one, one, val_loss, score * one, one, one))
    assert [progress.best_of(at).epoch for at in range(2)] == [2, 0]
    assert progress.best_of(0).val_score == 0.8 and progress.active.tolist() == [True, False]


def test_replicas_are_dropped_with_their_state() -> None:
    progress = followed([3, 3, 9], [50, 50, 50], [True, False, True])
    state = {name: value.clone() for name, value in progress.state().items()}
    progress.keep(torch.tensor([2, 0]))
    assert [progress.best_of(at).epoch for at in range(2)] == [7, 3] and progress.active.tolist() == [True, False]
    given = ([3, 3, 9], [50, 50, 50], [True, False, True])
    again = Progress(*(torch.tensor(each) for each in given), torch.zeros(3, dtype=torch.float64))
    again.load(state)
    assert [again.best_of(at).epoch for at in range(3)] == [3, 2, 7] and int(again.done) == 7
