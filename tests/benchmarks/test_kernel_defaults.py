"""The table of kernels: every variant is measured on the same folds."""

import pytest

pytest.importorskip("sklearn")

from benchmarks.kernel_defaults import DEFAULT, GRAKEL, kernels, measure, sheet
from detours.data import rings


def test_detours_separate_classes_that_plain_kernels_do_not() -> None:
    data = rings(40, sizes=(3,))
    results = measure(data, 1, [DEFAULT, "k = 3"])
    assert list(results) == ["largest class", DEFAULT, "k = 3"]
    assert results["largest class"] == [50.0] and results[DEFAULT][0] > 90
    assert "points below the best of ours" in sheet({"rings": results}).notes[0]
    assert GRAKEL in kernels(data) and 'labels="degree"' not in kernels(data)
