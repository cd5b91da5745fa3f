"""Training of networks on any data: `fit` and `tune` from Python, `detours train` and `tune` from the command line."""

from typing import TYPE_CHECKING, Any

__all__ = ["fit", "tune"]

if TYPE_CHECKING:
    from detours.training.door import fit
    from detours.training.search.tune import tune


def __getattr__(name: str) -> Any:
    # On first use, as everywhere: torch takes seconds to import.
    if name == "fit":
        from detours.training.door import fit

        return fit
    if name == "tune":
        from detours.training.search.tune import tune

        return tune
    raise AttributeError(f"module 'detours.training' has no attribute {name!r}")
