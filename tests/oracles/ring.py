"""Matrix products of integers in Python's own arithmetic, reduced at the very end."""

import numpy as np
from numpy.typing import NDArray


def product_modulo_word(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """left @ right modulo 2^64, as int64."""
    exact = left.astype(object) @ right.astype(object)
    wrapped = (exact + 2**63) % 2**64 - 2**63
    return wrapped.astype(np.int64)
