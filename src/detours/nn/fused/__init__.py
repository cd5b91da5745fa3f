"""Steps of the networks as single GPU kernels, where torch would launch a dozen.

The kernels, in the files ``*_triton.py``, are written in Triton, which comes with the GPU builds of torch. For other
devices, each has an equivalent in plain torch next to its caller; `fused` decides between the two. Most kernels treat
stacked networks as additional columns: a tensor [rows, networks, channels] is a matrix with that many rows.
"""

from detours.nn.fused.choice import fused

__all__ = ["fused"]
