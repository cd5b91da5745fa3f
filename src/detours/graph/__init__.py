"""The one door through which every graph enters: checked, sorted, stored once."""

from detours.graph.edges import Dropped
from detours.graph.graph import Graph

__all__ = ["Dropped", "Graph"]
