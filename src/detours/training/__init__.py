"""Training of networks on any data: `fit` and `tune` from Python, `detours train` and `tune` from the command line."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

_HOME = {
    "SavedModel": "detours.training.saved",
    "fit": "detours.training.door",
    "tune": "detours.training.search.tune",
}

__all__ = ["SavedModel", "fit", "tune"]

if TYPE_CHECKING:
    from detours.training.door import fit
    from detours.training.saved import SavedModel
    from detours.training.search.tune import tune
else:  # without a type, or type checkers would accept any name

    def __getattr__(name: str) -> Any:
        # On first use, as everywhere: torch takes seconds to import.
        if name not in _HOME:
            raise AttributeError(f"module 'detours.training' has no attribute {name!r}")
        if missing := [library for library in ("torch", "torch_geometric", "lightning") if find_spec(library) is None]:
            raise ImportError(f"detours.training needs {', '.join(missing)}; run: pip install 'detours[torch]'")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
