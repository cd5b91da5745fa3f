"""The clock of compiling."""

import time

from numba import njit

from detours.compiled import CompileClock


def test_only_compiling_is_timed() -> None:
    @njit
    def inner(x: int) -> int:
        return x + 1

    @njit
    def outer(x: int) -> int:
        return inner(x) * 2

    with CompileClock() as clock:
        begin = time.perf_counter()
        assert outer(3) == 8
        first = time.perf_counter() - begin
        compiling = clock.seconds
        assert 0.1 * first < compiling <= first
        for number in range(100):
            outer(number)
        time.sleep(0.01)
    assert clock.seconds == compiling
