"""Files that are written whole or not at all."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from detours.errors import InputError


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file beside `path` (gzip if its name says so) that takes its place if all goes well, or vanishes."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file to write.")
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(beside, "wb") as raw:
            if path.suffix.lower() == ".gz":
                # No name and no time inside: the same graph always gives the same bytes.
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                    yield cast(IO[bytes], packed)
            else:
                yield raw
        os.replace(beside, path)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror or error}).") from None
    finally:
        beside.unlink(missing_ok=True)
