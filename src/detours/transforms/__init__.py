"""PyG transforms that write detour counts into `Data`, `Batch` and `HeteroData`, one graph or a whole data set."""

from importlib.util import find_spec

if find_spec("torch_geometric") is None:
    raise ImportError("detours.transforms needs PyTorch and PyG; run: pip install 'detours[torch]'")

from detours.transforms.add_detour_number import AddDetourNumber
from detours.transforms.add_detour_tokens import AddDetourTokens
from detours.transforms.add_detour_weights import AddDetourWeights

__all__ = ["AddDetourNumber", "AddDetourTokens", "AddDetourWeights"]
