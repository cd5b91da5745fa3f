"""Networks that see detours: `DetourWeighted` convolutions, the `DetourTransformer`, `MDNN` and its baselines."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if find_spec("torch") is None or find_spec("torch_geometric") is None:
    raise ImportError(
        "detours.nn needs torch and torch_geometric, which are not both installed; run: pip install 'detours[torch]'"
    )

_HOME = {
    "Attention": "detours.nn.detour_transformer",
    "DetourTransformer": "detours.nn.detour_transformer",
    "DetourWeighted": "detours.nn.detour_weighted",
    "MDNN": "detours.nn.network",
    "NetworkOptions": "detours.nn.options",
    "PlainNetwork": "detours.nn.network",
    "Tokens": "detours.nn.tokens",
    "WeightedNetwork": "detours.nn.network",
    "convolution": "detours.nn.backbones",
    "hop_features": "detours.nn.encoders",
}

__all__ = [
    "MDNN",
    "Attention",
    "DetourTransformer",
    "DetourWeighted",
    "NetworkOptions",
    "PlainNetwork",
    "Tokens",
    "WeightedNetwork",
    "convolution",
    "hop_features",
]

if TYPE_CHECKING:
    from detours.nn.backbones import convolution
    from detours.nn.detour_transformer import Attention, DetourTransformer
    from detours.nn.detour_weighted import DetourWeighted
    from detours.nn.encoders import hop_features
    from detours.nn.network import MDNN, PlainNetwork, WeightedNetwork
    from detours.nn.options import NetworkOptions
    from detours.nn.tokens import Tokens
else:  # without a type, or type checkers would accept any name

    def __getattr__(name: str) -> Any:
        # Names load on first use, as in the package itself: PyG alone takes seconds to import.
        if name == "functional":
            return import_module("detours.nn.functional")
        if name not in _HOME:
            raise AttributeError(f"module 'detours.nn' has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
