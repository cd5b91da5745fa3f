"""k-WL on tuples of nodes, folklore and oblivious."""

from detours.wl.tuples.refinement import (
    TupleColors,
    refine_tuples,
    tuple_bytes,
    tuple_certificates,
    tuple_size_counts,
)

__all__ = ["TupleColors", "refine_tuples", "tuple_bytes", "tuple_certificates", "tuple_size_counts"]
