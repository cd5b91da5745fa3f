"""Settings shared by all tests."""

import os
import signal

from hypothesis import HealthCheck, settings

# No deadline: the first call of a compiled function compiles it. `make test-all` draws more examples of each property;
# `HYPOTHESIS_PROFILE=thorough` draws more than a usual run can afford.
settings.register_profile("default", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("more", parent=settings.get_profile("default"), max_examples=150)
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# With one thread per core in each of several test processes, the threads would slow each other down.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell that starts the tests in the background makes them and their subprocesses ignore Ctrl-C; tests that send it
# would hang.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
