import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

from detours.errors import (
    BudgetExceeded,
    DetoursError,
    EngineError,
    FileFormatError,
    InputError,
    check_k,
    shown,
    warn_caller,
)


@pytest.mark.parametrize("k", [2, 9, 1000, np.int32(4), np.uint8(3)])
def test_k_is_accepted_and_becomes_an_int(k: object) -> None:
    assert check_k(k) == k
    assert type(check_k(k)) is int


@pytest.mark.parametrize("k", [1, 0, -3, 2.5, 4.0, "4", True, False, None, [4], np.bool_(True), np.float64(3)])
def test_k_is_refused_in_one_sentence(k: object) -> None:
    with pytest.raises(InputError) as caught:
        check_k(k)
    message = str(caught.value)
    assert repr(k) in message
    assert "at least 2" in message
    assert "\n" not in message


def test_long_values_are_shown_short_and_on_one_line() -> None:
    assert len(shown(np.zeros((50, 50)))) <= 60
    assert "\n" not in shown(np.zeros((50, 50)))


def test_everything_is_a_detours_error() -> None:
    for kind in (InputError, FileFormatError, BudgetExceeded, EngineError):
        assert issubclass(kind, DetoursError)
    assert issubclass(InputError, ValueError)
    assert issubclass(FileFormatError, InputError)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (FileFormatError("it is broken."), "it is broken."),
        (FileFormatError("it is broken.", "a.txt"), "a.txt: it is broken."),
        (FileFormatError("it is broken.", Path("a.txt"), 7), "a.txt, line 7: it is broken."),
    ],
)
def test_file_errors_say_where_and_survive_a_process_border(error: FileFormatError, text: str) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert str(error) == str(copy) == text
    assert (copy.path, copy.line) == (error.path, error.line)


def test_budget_carries_what_was_found() -> None:
    error = pickle.loads(pickle.dumps(BudgetExceeded("Stopped.", found=[(0, 1)], reason="max_paths")))
    assert (str(error), error.found, error.reason) == ("Stopped.", [(0, 1)], "max_paths")


def test_warnings_point_at_the_caller() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_caller("look here", UserWarning)
    assert caught[0].filename == __file__
