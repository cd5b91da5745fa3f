"""Data sets of the paper, and graphs made to be hard to tell apart."""

from detours.data.sets import GRAPH_SETS, NODE_SETS, GraphSet, load

__all__ = ["GRAPH_SETS", "NODE_SETS", "GraphSet", "load"]
