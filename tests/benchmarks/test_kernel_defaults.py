"""The table of kernels: every variant is measured on the same folds."""

import pytest

pytest.importorskip("sklearn")

from benchmarks.kernel_defaults import DEFAULT, GRAKEL, kernels, measure, sheet
from detours.data import rings


def test_detours_tell_what_plain_kernels_guess() -> None:
    data = rings(40, sizes=(3,))
    found = measure(data, 1, [DEFAULT, "k = 3"])
    assert list(found) == ["largest class", DEFAULT, "k = 3"]
    assert found["largest class"] == [50.0] and found[DEFAULT][0] > 90
    assert "points below the best of ours" in sheet({"rings": found}).notes[0]
    assert GRAKEL in kernels(data) and 'labels="degree"' not in kernels(data)
