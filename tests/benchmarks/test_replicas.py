"""Lower bounds of an epoch from the products in it, and times of epochs from logs."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")

from benchmarks.replicas import (  # noqa: E402
    Counted,
    Floor,
    epoch_of_processes,
    epoch_of_stacks,
    fit_of,
    floor_of,
    settings_of,
    union_length,
)
from detours.training.recipe import settings  # noqa: E402


def test_products_are_counted() -> None:
    one, other, shared = torch.ones(3, 5, 7), torch.ones(3, 7, 11), torch.ones(7, 11)
    with Counted() as counted:
        torch.bmm(one, other)
        torch.baddbmm(torch.ones(3, 1, 11), one, shared.expand(3, 7, 11))
        torch.addmm(torch.ones(11), one[0], shared)
        one + 1  # not a product
    assert counted.flops == 2 * (3 + 3 + 1) * 5 * 7 * 11
    read, written = (3 * 35 + 3 * 77, 3 * 35 + 77, 35 + 77), (3 * 55, 3 * 55, 55)
    assert counted.bytes == 4 * (sum(read) + sum(written))
    assert Floor(10.0, 20.0).seconds(Floor(5.0, 5.0)) == (2.0, 4.0)


def test_an_epoch_has_a_floor(tmp_path: Path) -> None:
    assert settings_of("graph").keys() <= settings().keys()
    fit = fit_of("rings", "cpu", None, tmp_path, num_folds=1)
    floor = floor_of(fit)
    weights = fit.stack.flat.numel()
    fit.epoch()
    assert len(fit.read()) == 1 and not fit.progress.filled.any()
    assert floor.flops > 2 * weights and floor.bytes > 7 * 4 * weights


def test_only_the_time_in_which_all_train_counts() -> None:
    """Two runs from 0 to 4 and from 3 to 9 seconds; an epoch takes one second, and half a second while both train."""
    first, second = [0.0, 1, 2, 3, 3.5, 4], [3.0, 3.5, 4, 5, 6, 7, 8, 9]
    assert epoch_of_processes([first, second], jobs=2) == 2 * 1.0 / 4
    assert epoch_of_processes([first], jobs=2) == 4 / 5
    with pytest.raises(ValueError, match="no time in which 2 runs train in parallel; give more epochs"):
        epoch_of_processes([[0.0, 1.0], [2.0, 3.0]], jobs=2)
    with pytest.raises(ValueError, match="no time in which 0 runs"):
        epoch_of_processes([], jobs=2)


def test_runs_that_train_as_one_network_count_once() -> None:
    single, stacked = [9.0, 10.0, 11.0], [5.0, 9.0, 13.0]
    assert epoch_of_stacks([stacked, stacked, stacked], jobs=2) == 4
    assert epoch_of_stacks([single, stacked, stacked], jobs=2) == (1 + 4) / 2
    assert epoch_of_stacks([single, stacked, stacked], jobs=1) == 1 + 4


def test_overlapping_kernels_count_once() -> None:
    assert union_length([]) == 0
    assert union_length([(5, 6), (0, 2), (1, 3), (1, 2), (6, 7)]) == 5
