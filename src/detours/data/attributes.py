"""Attributes of nodes or edges that are read on first use, so that counting does not wait for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

from detours.arrays import Float32


class Attributes(Sequence[Float32]):
    """A list of float32 [rows, columns], one array per graph; `read` is called once, on first use.

    >>> import numpy as np
    >>> x = Attributes(lambda: [np.zeros((3, 2), np.float32)])
    >>> len(x), x[0].shape
    (1, (3, 2))
    """

    def __init__(self, read: Callable[[], Sequence[Float32]]) -> None:
        self._read = read

    @cached_property
    def _arrays(self) -> list[Float32]:
        return list(self._read())

    def subset(self, kept: Sequence[int]) -> Attributes:
        """Return the attributes of the graphs with these indices; nothing is read yet."""
        return Attributes(lambda: [self._arrays[i] for i in kept])

    def __getitem__(self, at: Any) -> Any:
        return self._arrays[at]

    def __iter__(self) -> Iterator[Float32]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled as a plain list: another machine may not have the files.
        return list, (self._arrays,)
