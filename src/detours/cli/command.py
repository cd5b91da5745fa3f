"""What every command shares: failures as one sentence and an exit code, the console, reading a graph."""

import functools
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import typer

from detours.cli.interrupt import INTERRUPTED, arrived
from detours.errors import DetoursError, DroppedEdgesWarning

if TYPE_CHECKING:
    from rich.console import Console

    from detours.graph import Graph

FAILED, USAGE, PIPE_CLOSED = 1, 2, 141
# Some releases of Typer bring their own copy of Click; in either this is the base class of wrong usage.
UsageError: type[Any] = typer.BadParameter.__mro__[1]

P = ParamSpec("P")


def reported(command: Callable[P, None]) -> Callable[P, None]:
    """A command whose every failure is one sentence and an exit code."""

    @functools.wraps(command)
    def reported(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except (typer.Exit, UsageError):
            raise
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            _silence_stdout()
            raise typer.Exit(PIPE_CLOSED) from None
        except Exception as error:
            if os.environ.get("DETOURS_TRACEBACK"):
                raise
            if arrived():
                say("interrupted")
                raise typer.Exit(INTERRUPTED) from None
            say(_sentence(error))
            raise typer.Exit(FAILED) from None

    return reported


def _sentence(error: Exception) -> str:
    if isinstance(error, DetoursError | OverflowError):
        return str(error)
    if isinstance(error, MemoryError):
        return "not enough memory; set --memory to stay within a limit, or take a smaller k"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, ImportError):
        return str(error)
    kind = type(error).__name__
    return f"unexpected {kind}: {error}; this is a bug, please report it with DETOURS_TRACEBACK=1 set"


def say(sentence: str) -> None:
    print("detours:", " ".join(sentence.split()), file=sys.stderr)


def _silence_stdout() -> None:
    # Whoever read our output has left; without this the interpreter complains when it flushes at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def standard_output() -> "Console":
    """A console that ends the command quietly when nobody reads its output any more."""
    from rich.console import Console

    class PipeConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return PipeConsole(highlight=False)


def read_graph(file: str, *, directed: bool, strict: bool, quiet: bool, progress: bool | None) -> "Graph":
    """The graph of a file, with progress and a note on what was tidied away on standard error."""
    from detours.cli.progress import progress_bar
    from detours.cli.summary import dropped_note
    from detours.graph import Graph

    with progress_bar(f"Reading {Path(file).name}", show=progress), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        graph = Graph.read(file, directed=directed or None, strict=strict)
    # What was tidied away is said in the words of this command.
    notes = [str(one.message) for one in told if not issubclass(one.category, DroppedEdgesWarning)]
    for note in (*notes, dropped_note(graph.dropped)):
        if note and not quiet:
            print(f"note: {note}", file=sys.stderr)
    return graph


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))
