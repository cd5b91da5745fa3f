"""Checks of output files before the work starts: a typing error must not cost an hour."""

import os
from collections.abc import Iterable
from pathlib import Path

from detours.cli.shared.graphs import STANDARD_INPUT
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
    check_name(path)
    if not target.parent.is_dir():
        raise InputError(f"cannot write {path}: the folder {target.parent} does not exist; create it first.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InputError(f"cannot write {path}: the folder {target.parent} is not writable; give another one.")


def check_name(path: Path) -> None:
    """Raise `InputError` for a name that can be neither a new file nor a new folder.

    >>> check_name(Path("-"))
    Traceback (most recent call last):
        ...
    detours.errors.InputError: cannot write to standard output; give the name of a file or folder.
    """
    if str(path) == STANDARD_INPUT:
        raise InputError("cannot write to standard output; give the name of a file or folder.")
    if path.exists() and not path.is_file() and not path.is_dir():  # it would be replaced by a file
        raise InputError(f"cannot write {path}: it is a device, not a file; give another name.")


def check_different(what: str, inputs: Iterable[str | Path | None], *outputs: Path | None) -> None:
    """Raise `InputError` if an output would replace an input or another output; ``what`` names all of them.

    >>> check_different("--out and --out-nodes", [], Path("k4.csv"), Path("k4.csv"))
    Traceback (most recent call last):
        ...
    detours.errors.InputError: --out and --out-nodes must be different files, but k4.csv is given twice.
    """
    given = {
        os.path.realpath(path)
        for path in inputs
        if path is not None and (str(path) == STANDARD_INPUT or os.path.exists(path))
    }
    for path in outputs:
        if path is None:
            continue
        if os.path.realpath(path) in given:
            raise InputError(f"{what} must be different files, but {path} is given twice.")
        given.add(os.path.realpath(path))
