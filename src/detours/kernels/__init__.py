"""Graph kernels as scikit-learn transformers: shortest paths, Weisfeiler–Lehman, and both with detours.

Each has `fit`, `transform` and `get_feature_names_out` for lists of graphs, and returns explicit sparse features or
exact Gram matrices. `top_features` lists the features with the largest weights in a linear model, `evidence` finds them
in a graph.
"""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ImportError("detours.kernels needs scikit-learn, which is not installed; run: pip install 'detours[kernels]'")

from detours.kernels.base import GraphKernel
from detours.kernels.conversion import Labelled, labelled
from detours.kernels.explain import WeightedFeature, evidence, explain, top_features
from detours.kernels.features.blocks import Carriers
from detours.kernels.shortest_path import ShortestPath
from detours.kernels.wl_detour import WLDetour
from detours.kernels.wl_shortest_path import WLShortestPath
from detours.kernels.wl_subtree import WLSubtree

__all__ = [
    "Carriers",
    "GraphKernel",
    "Labelled",
    "ShortestPath",
    "WLDetour",
    "WLShortestPath",
    "WLSubtree",
    "WeightedFeature",
    "evidence",
    "explain",
    "labelled",
    "top_features",
]
