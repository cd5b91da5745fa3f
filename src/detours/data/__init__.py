"""Data sets of the paper and some more, synthetic tasks, splits, and neighbour sampling.

Graphs that are hard to tell apart are in `detours.data.hard`.
"""

from detours.data import hard
from detours.data.catalogue import GRAPH_SETS, HETEROPHILOUS_SETS, MORE_SETS, NODE_SETS, TASKS, load
from detours.data.encoder import Encoder
from detours.data.generated.synthetic import fused_rings, ring_lattice, rings
from detours.data.graph_set import GraphSet
from detours.data.readers.pyg import graph_set_of, read_own
from detours.data.sampling import NeighborSampler, Sampled
from detours.data.split_files import splits
from detours.data.splitting import Split, Splits, stratified_splits

__all__ = [
    "GRAPH_SETS",
    "HETEROPHILOUS_SETS",
    "MORE_SETS",
    "NODE_SETS",
    "TASKS",
    "Encoder",
    "GraphSet",
    "NeighborSampler",
    "Sampled",
    "Split",
    "Splits",
    "fused_rings",
    "graph_set_of",
    "hard",
    "load",
    "read_own",
    "ring_lattice",
    "rings",
    "splits",
    "stratified_splits",
]
