"""Tasks in processes of their own: values in order, failures in one sentence, nobody left behind."""

import math
import multiprocessing
import operator
import os

import pytest

from detours.errors import DetoursError
from detours.training.pool import side_by_side


def test_values_come_in_the_order_of_the_tasks() -> None:
    assert side_by_side(operator.mul, [(2, 3), (4, 5), (6, 7)], jobs=2) == [6, 20, 42]
    assert not multiprocessing.active_children()


def test_a_failure_is_told_and_ends_the_others() -> None:
    with pytest.raises(DetoursError, match="unexpected ValueError"):
        side_by_side(math.sqrt, [(4,), (-1,)], jobs=1)
    assert not multiprocessing.active_children()


def test_a_process_that_dies_is_told() -> None:
    with pytest.raises(DetoursError, match=r"a process ended with exit code 3, .* fewer --jobs"):
        side_by_side(os._exit, [(3,), (3,)], jobs=2)
    assert not multiprocessing.active_children()
