"""Networks of one shape trained together: parameters with a leading dimension, everything else shared."""
