"""Data sets of the paper, tasks made in code, and graphs made to be hard to tell apart (`detours.data.hard`)."""

from detours.data.sets import GRAPH_SETS, NODE_SETS, GraphSet, load
from detours.data.synthetic import rings

__all__ = ["GRAPH_SETS", "NODE_SETS", "GraphSet", "load", "rings"]
