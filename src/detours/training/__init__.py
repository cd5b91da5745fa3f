"""Training of networks on any data: `fit` from Python, `detours train` from the command line."""

from typing import TYPE_CHECKING, Any

__all__ = ["fit"]

if TYPE_CHECKING:
    from detours.training.door import fit


def __getattr__(name: str) -> Any:
    # On first use, as everywhere: torch takes seconds to import.
    if name not in __all__:
        raise AttributeError(f"module 'detours.training' has no attribute {name!r}")
    from detours.training.door import fit

    return fit
