"""The results that the paper reports, as data, to print next to ours."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def paper_tables() -> dict[str, Any]:
    """Everything in `paper.json`: accuracies, cycle profiles, expressive power.

    >>> paper_tables()["cycle_totals_directed"]["Squirrel"]["5"]
    11332570484
    """
    tables: dict[str, Any] = json.loads(files("detours.experiments").joinpath("paper.json").read_text("utf-8"))
    return tables
