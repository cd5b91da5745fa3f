"""Paths and cycles on standard output: a line each, or JSON."""

import csv
import sys
from collections.abc import Iterable
from typing import Any

from detours.cli.shared.console import json_name, print_json
from detours.errors import BudgetExceeded, escape_control


def print_lines(found: Iterable[tuple[Any, ...]]) -> int:
    """Print the nodes of each item on one line, as soon as it is found, and return the number of lines.

    Names that contain spaces are quoted, as in a CSV file.
    """
    listed = 0
    writer = csv.writer(sys.stdout, delimiter=" ", lineterminator="\n")
    for listed, nodes in enumerate(found, 1):  # noqa: B007
        writer.writerow([escape_control(str(node)) for node in nodes])
    sys.stdout.flush()
    return listed


def print_listed_json(found: Iterable[tuple[Any, ...]], head: dict[str, Any], what: str) -> None:
    """Print all items as JSON; if a limit cuts them short, print those found and raise `BudgetExceeded`."""
    listed: list[list[Any]] = []
    failure: BudgetExceeded | None = None
    try:
        for nodes in found:
            listed.append([json_name(node) for node in nodes])
    except BudgetExceeded as error:
        failure = error
    print_json({**head, "complete": failure is None, "number": len(listed), what: listed})
    if failure is not None:
        raise failure
