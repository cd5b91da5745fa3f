"""Checks of output files before the work starts: a typing error must not cost an hour."""

import os
from pathlib import Path

from detours.errors import InputError


def check_writable(path: Path) -> None:
    """Raise `InputError` if a file cannot be written under this name.

    >>> check_writable(Path("nowhere/page.html"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    detours.errors.InputError: cannot write nowhere/page.html: the folder .../nowhere does not exist; create it first.
    """
    target = path.resolve()  # follow links: the file is replaced, not the link to it
    if target.is_dir():
        raise InputError(f"cannot write {path}: it is a folder; give the name of a file.")
    if path.exists() and not path.is_file():  # it would be replaced by a file
        raise InputError(f"cannot write {path}: it is a device, not a file; give another name.")
    if not target.parent.is_dir():
        raise InputError(f"cannot write {path}: the folder {target.parent} does not exist; create it first.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InputError(f"cannot write {path}: the folder {target.parent} is not writable; give another one.")
