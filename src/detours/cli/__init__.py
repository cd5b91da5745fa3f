"""The command line, `detours`: one module per command, registered here.

Exit codes: 0 success, 1 the input or the work failed, 2 wrong usage, 130 interrupted. A failure is one sentence on
standard error, or a traceback where DETOURS_TRACEBACK is set. Standard output carries only the requested output.
"""

import os
import sys
import warnings
from typing import Annotated

import typer

from detours.cli import (
    bench,
    compare,
    count,
    cycles,
    data,
    demo,
    explain,
    paths,
    predict,
    report,
    reproduce,
    show,
    train,
    tune,
)
from detours.cli.shared.command import report_errors, run_app
from detours.cli.shared.help import new_app, show_help
from detours.cli.shared.interrupt import discard_unfinished, leave, prompt_exit

LEARNING, RESEARCH = "Learning", "Experiments and benchmarks"

app = new_app(name="detours", completion=True)
app.command()(count.count)
app.command()(paths.paths)
app.command()(cycles.cycles)
app.command()(explain.explain)
app.command()(compare.compare)
app.command()(show.show)
app.command()(demo.demo)
app.command(rich_help_panel=LEARNING)(train.train)
app.command(rich_help_panel=LEARNING)(tune.tune)
app.command(rich_help_panel=LEARNING)(predict.predict)
app.add_typer(data.app, name="data", rich_help_panel=LEARNING)
app.add_typer(reproduce.app, name="reproduce", rich_help_panel=RESEARCH)
app.command(rich_help_panel=RESEARCH)(report.report)
app.command(rich_help_panel=RESEARCH, context_settings=bench.ALL_OPTIONS)(bench.bench)


@app.callback(invoke_without_command=True)
@report_errors
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Count the detours and short cycles through every edge and node of a graph, exactly.

    \b
    Examples:
      detours demo
      detours count roads.txt -k 4
      detours paths roads.txt 17 42 -k 5
      detours show roads.txt -k 4
      detours train --data rings -k 5 --folds 0
    """
    if version:
        from detours import __version__

        print(f"detours {__version__}")
    else:
        show_help(context)


def run(arguments: list[str]) -> int:
    """Run the command with these arguments in this process, and return its exit code."""
    return run_app(app, arguments)


def _note(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as a one-line note, without its location in the code."""
    print(f"note: {' '.join(str(message).split())}", file=sys.stderr)


def main() -> None:
    """The entry point of the `detours` command."""
    warnings.showwarning = _note
    # Python has None for streams that were closed by `>&-`; what would be printed there is dropped.
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    sys.stdout, sys.stderr = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # A node name with a character that the terminal cannot encode must not raise.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    with prompt_exit(discard_unfinished):
        code = leave(run(sys.argv[1:]))
    sys.exit(code)
