"""Options that several commands share, and how their values are parsed."""

import os
import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from detours.checks import check_k
from detours.counting.engines.registry import ENGINES
from detours.errors import InputError

ALL_CORES = -1
ENDINGS = (
    "Edge list, .csv, .tsv, .mtx, .graphml, .gml, .gexf, .net, .adjlist, .graph, .g6, .s6 or .npz; may be .gz. "
    "Molecules (.sdf, .mol, .smi) with RDKit."
)

Engine = StrEnum("Engine", ["auto", *ENGINES])  # type: ignore[misc]  # mypy needs literal names
AUTO = Engine("auto")
LARGEST_K = 100_000
"""Limit of the command line, which prints one row or column per length."""


def parse_k(given: str | int) -> int:
    """Parse k, or raise a usage error."""
    # Only integer strings are converted; `check_k` reports everything else. A default is already an integer.
    text = str(given)
    try:
        k = check_k(int(text) if re.fullmatch(r"\s*[+-]?\d{1,18}\s*", text) else text)
    except InputError as error:
        raise typer.BadParameter(str(error)) from None
    if k > LARGEST_K:
        raise typer.BadParameter(f"k must be at most {LARGEST_K} here, but it is {k}; use a smaller one")
    return k


def parse_numbers(text: str) -> list[int]:
    """Parse a list of integers and ranges; repeated values are kept once.

    >>> parse_numbers("0-2,7")
    [0, 1, 2, 7]
    """
    numbers: list[int] = []
    for part in str(text).split(","):
        found = re.fullmatch(r"\s*(\d{1,6})(?:\s*-\s*(\d{1,6}))?\s*", part)
        if found is None or int(found[2] or found[1]) < int(found[1]):
            raise typer.BadParameter(f"{text!r}: give numbers and ranges, such as 0-9 or 0,3,5-7")
        numbers += range(int(found[1]), int(found[2] or found[1]) + 1)
    return list(dict.fromkeys(numbers))


def number_list(help: str) -> Any:
    """Return an option for a list of integers and ranges, such as folds or seeds."""
    return typer.Option(metavar="LIST", parser=parse_numbers, help=help, show_default=False)


def _parse_jobs(text: str) -> int:
    if not re.fullmatch(r"-1|0*[1-9]\d*", text):
        raise typer.BadParameter(f"{text!r} is not a number of threads; give 1 or more, or -1 for one per core")
    return int(text)


def _parse_memory(text: str) -> str:
    if not re.fullmatch(r"\d+(\.\d+)?\s*([kKmMgGtT]?i?[bB]?)", text.strip()):
        raise typer.BadParameter(f"{text!r} is not an amount of memory; give bytes, or a size such as 500MB or 2GB")
    return text.strip()


def _parse_columns(text: str) -> str:
    if text.count(",") != 1:
        raise typer.BadParameter(f"{text!r}: give two columns, by name or number, such as 1,2")
    return text


def _parse_separator(text: str) -> str:
    from detours.graph.files.shared.columns import SEPARATORS

    separator = {"tab": "\t", "\\t": "\t", "space": " "}.get(text, text)
    if separator not in SEPARATORS:
        raise typer.BadParameter(f"{text!r} is not a separator; give , ; | tab or space")
    return separator


def _parse_format(text: str) -> str:
    from detours.graph.files import check_format

    try:
        check_format(text)
    except InputError as error:
        raise typer.BadParameter(str(error)) from None
    return text


File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help=f"{ENDINGS} - reads standard input.",
        show_default=False,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        parser=_parse_columns,
        help="The two node columns of an edge table, by name or by number from 1.",
    ),
]
Sep = Annotated[
    str | None,
    typer.Option(metavar="SEP", parser=_parse_separator, help="Column separator: , ; | tab or space."),
]
FileFormat = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        parser=_parse_format,
        help="Format of the file, regardless of its name: edgelist, mtx, graphml, gml, gexf, pajek, adjlist, metis, "
        "g6, s6, npz or molecule.",
    ),
]
K = Annotated[
    int,
    typer.Option(
        "-k",
        metavar="K",
        parser=parse_k,
        help=f"Maximum length of a detour, in edges (2 to {LARGEST_K}); its cycle has one more. Use 5 to 7 for "
        "molecules, whose rings have five or six atoms, and 3 or 4 for dense networks.",
    ),
]
Chordless = Annotated[bool, typer.Option("--chordless", help="Only chordless (induced) cycles and their detours.")]
Directed = Annotated[
    bool | None,
    typer.Option(
        "--directed/--undirected",
        help="Read each edge as an arc from the first node to the second, or as undirected.  [default: as in the file]",
        show_default=False,
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Fail on loops and repeated edges instead of dropping them.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no tables, notes or progress.")]
Progress = Annotated[
    bool | None, typer.Option("--progress/--no-progress", help="Show progress.  [default: on a terminal]")
]
EngineChoice = Annotated[Engine, typer.Option(help="Algorithm; all give the same counts.")]
Jobs = Annotated[
    int | None, typer.Option(metavar="N", parser=_parse_jobs, help="Number of threads.  [default: one per core]")
]
Memory = Annotated[str | None, typer.Option(metavar="SIZE", parser=_parse_memory, help="Memory limit, such as 2GB.")]
Device = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="GPU for the dense engine, such as cuda; used where it is faster."),
]
Cluster = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Dask cluster, tcp://host:port, or local:2 for two local processes."),
]
KeepOld = Annotated[bool, typer.Option("--keep-old", help="Also reuse finished results of other versions of the code.")]
TorchDevice = Annotated[str, typer.Option(metavar="NAME", help="Device: auto, cpu, cuda or cuda:0.")]
RawFolder = Annotated[
    str | None,
    typer.Option(
        "--root", metavar="DIR", help="Folder of the raw data sets.  [default: $DETOURS_DATA]", show_default=False
    ),
]
OldRawFolder = Annotated[str | None, typer.Option("--data", metavar="DIR", help="Former name of --root.", hidden=True)]
OWN_DATA = "a .pt file of PyG data or a folder in the TU Dortmund format"
DataFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE|DIR", help=f"Like --data, for your own data: {OWN_DATA}.", show_default=False),
]


def listed(given: Sequence[str] | None) -> list[str]:
    """Split the values of a repeatable option at commas; an existing path is kept as it is."""
    parts = ([value] if os.path.exists(value) else value.split(",") for value in given or ())
    return [name.strip() for names in parts for name in names if name.strip()]
