"""Weisfeiler–Leman tests (colour refinement), with colours that count detours.

`refine` colours the nodes of many graphs consistently. `same`, `compare` and `groups` tell which graphs differ.
`certificate` turns the colours of a graph into a text that can be stored and compared on any machine.
With `individualise=` these functions also compare copies of the graphs in which a node is marked or deleted.
`separate` climbs from the cheapest test to an exact answer. `detours.wl.tuples` has k-WL on tuples of nodes, and
`detours.wl.isomorphism` decides isomorphism with the solvers of igraph or NetworkX.

Refinement is sound: isomorphic graphs always get equal colours, so graphs told apart are certainly not isomorphic.
Graphs that are not told apart may be isomorphic or not.
"""

from detours.wl.certification import certificate, certificates
from detours.wl.colors import Colors
from detours.wl.comparison import Comparison, compare, groups, same
from detours.wl.refinement import refine
from detours.wl.separation import Rung, Separation, separate
from detours.wl.tuples.refinement import TupleColors, refine_tuples, tuple_bytes, tuple_certificates, tuple_size_counts

__all__ = [
    "Colors",
    "Comparison",
    "Rung",
    "Separation",
    "TupleColors",
    "certificate",
    "certificates",
    "compare",
    "groups",
    "refine",
    "refine_tuples",
    "same",
    "separate",
    "tuple_bytes",
    "tuple_certificates",
    "tuple_size_counts",
]
