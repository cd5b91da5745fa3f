"""Settings shared by all tests."""

import os

from hypothesis import HealthCheck, settings

# No deadline: the first call of a kernel compiles it. `HYPOTHESIS_PROFILE=thorough` digs deeper than every
# run can afford.
settings.register_profile("default", max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
