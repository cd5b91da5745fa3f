"""Settings shared by all tests."""

import os
import signal

from hypothesis import HealthCheck, settings

# No deadline: the first call of a compiled function compiles it. `make test-all` draws more examples of each property;
# `HYPOTHESIS_PROFILE=thorough` draws more than any usual run can afford.
settings.register_profile("default", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("more", parent=settings.get_profile("default"), max_examples=150)
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Several processes of tests with as many threads each as there are cores would wait for one another.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell that starts the tests in the background lets them ignore Ctrl-C, and the programs they start too; some tests
# press it, and would wait for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
