"""Steps of the networks as single kernels of a GPU, where torch would launch a dozen.

The kernels, in the files ``*_triton.py``, are written in Triton, which comes with torch where torch knows a GPU. Each
has an equal in plain torch beside the place that calls it, for every other device; `fused` says which of the two is
taken. To most, stacked networks are more columns: a tensor [rows, networks, channels] is a matrix of as many rows.
"""

from detours.nn.fused.choice import fused

__all__ = ["fused"]
