"""The limit on NumPy's threads, and that it is restored."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from detours.counting.engines.threads import one_blas_thread


def threads() -> set[int]:
    return {found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"}


def test_overlapping_contexts_restore_the_limit() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        if before == {1}:
            pytest.skip("this NumPy multiplies on one thread anyway")
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        assert threads() == {1}
        first.__exit__(None, None, None)  # not in the order of entering, as with threads
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == before
