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
    short_repr,
    warn_caller,
)


def test_long_values_are_shown_short_and_on_one_line() -> None:
    assert len(short_repr(np.zeros((50, 50)))) <= 60
    assert "\n" not in short_repr(np.zeros((50, 50)))


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
def test_file_errors_say_where_and_can_be_pickled(error: FileFormatError, text: str) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert str(error) == str(copy) == text
    assert (copy.path, copy.line) == (error.path, error.line)


def test_budget_errors_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(BudgetExceeded("Stopped.", found=[(0, 1)], reason="max_paths")))
    assert (str(error), error.found, error.reason) == ("Stopped.", [(0, 1)], "max_paths")


def test_warnings_point_at_the_caller() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_caller("look here", UserWarning)
    assert caught[0].filename == __file__
