"""Tasks in worker processes: values in order, failures in one sentence, no process left behind."""

import math
import multiprocessing
import operator
import os

import pytest

from detours.errors import DetoursError
from detours.training.pool import run_in_processes


def test_values_come_in_the_order_of_the_tasks() -> None:
    assert run_in_processes(operator.mul, [(2, 3), (4, 5), (6, 7)], jobs=2) == [6, 20, 42]
    assert not multiprocessing.active_children()


def test_a_failure_is_reported_and_ends_the_others() -> None:
    with pytest.raises(DetoursError, match="unexpected ValueError"):
        run_in_processes(math.sqrt, [(4,), (-1,)], jobs=1)
    assert not multiprocessing.active_children()


def test_a_process_that_dies_is_reported() -> None:
    with pytest.raises(DetoursError, match=r"a process ended with exit code 3, .* fewer --jobs"):
        run_in_processes(os._exit, [(3,), (3,)], jobs=2)
    assert not multiprocessing.active_children()
