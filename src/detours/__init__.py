"""Exact detour counts (k-DeN) around every edge of a graph, and graph learning built on them."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

_MODULE_OF = {
    "Graph": "detours.graph",
    "Detours": "detours.counting.result",
    "count": "detours.counting.count",
    "count_many": "detours.counting.count",
    "count_pairs": "detours.counting.pairs",
    "cycles": "detours.counting.count",
    "explain": "detours.counting.count",
    "paths": "detours.counting.count",
}

_TORCH = ("torch", "torch_geometric")

_SUBMODULES = ("data", "errors", "kernels", "nn", "training", "transforms", "viz", "wl")

__all__ = [
    "Detours",
    "Graph",
    "__version__",
    "count",
    "count_many",
    "count_pairs",
    "cycles",
    "data",
    "errors",
    "explain",
    "kernels",
    "nn",
    "paths",
    "training",
    "transforms",
    "viz",
    "wl",
]


def _is_installed(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ValueError:  # a module without a specification, such as a stub
        return True


for _name, *_libraries in (("kernels", "sklearn"), ("nn", *_TORCH), ("transforms", *_TORCH)):
    if not all(map(_is_installed, _libraries)):  # `from detours import *` and `help` do without them
        __all__.remove(_name)
del _name, _libraries

if TYPE_CHECKING:
    from detours import data, errors, kernels, nn, training, transforms, viz, wl
    from detours.counting.count import count, count_many, cycles, explain, paths
    from detours.counting.pairs import count_pairs
    from detours.counting.result import Detours
    from detours.graph import Graph

    __version__: str
else:  # without a type, or type checkers would accept any name

    def __getattr__(name: str) -> Any:
        # Names load on first use: `import detours` stays about as cheap as `import numpy`.
        if name in _SUBMODULES:
            return import_module(f"detours.{name}")
        if name != "__version__" and name not in _MODULE_OF:
            raise AttributeError(f"module 'detours' has no attribute {name!r}")
        value = _version() if name == "__version__" else getattr(import_module(_MODULE_OF[name]), name)
        globals()[name] = value
        return value


def _version() -> str:
    """Return the installed version, or "0+unknown" for a source tree that is only on the path."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("detours")
    except PackageNotFoundError:
        return "0+unknown"


def __dir__() -> list[str]:
    return sorted(__all__)
