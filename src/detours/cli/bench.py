"""`detours bench`: the benchmarks of a checkout."""

import sys
from pathlib import Path

import typer

from detours.cli.shared.command import report_errors
from detours.errors import InputError

ALL_OPTIONS = {"allow_extra_args": True, "ignore_unknown_options": True}


@report_errors
def bench(context: typer.Context) -> None:
    """Compare the speed with other libraries.

    Needs a checkout of the source; all options are passed to benchmarks/run.py.

    \b
    Examples:
      detours bench
      detours bench --quick
      detours bench -- --help
    """
    root = Path(__file__).resolve().parents[3]
    if not (root / "benchmarks" / "run.py").is_file():
        raise InputError(
            "the benchmarks come with the source, not with the installed package; "
            "run `detours bench` or `make bench` in a checkout"
        )
    import importlib

    sys.path.insert(0, str(root))
    code = importlib.import_module("benchmarks.run").main(context.args)
    raise typer.Exit(code or 0)
