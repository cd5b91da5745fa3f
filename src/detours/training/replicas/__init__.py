"""Networks of one shape trained together: parameters with a leading dimension, and everything else shared."""
