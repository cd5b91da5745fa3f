"""How a command ends: every failure is one sentence and an exit code."""

import functools
import os
import re
import sys
from collections.abc import Callable
from typing import Any, ParamSpec

import typer

from detours.cli.shared.interrupt import INTERRUPTED, code_of_signal, farewell
from detours.errors import DetoursError, escape_control

FAILED, USAGE, PIPE_CLOSED = 1, 2, 141
# Some releases of Typer vendor Click; in either case this is the base class of usage errors.
UsageError: type[Any] = typer.BadParameter.__mro__[1]

P = ParamSpec("P")


def run_app(app: typer.Typer, arguments: list[str]) -> int:
    """Run an app with these arguments in this process, and return its exit code."""
    try:
        code: int = app(arguments, prog_name="detours", standalone_mode=False) or 0
    except UsageError as error:
        command = error.ctx.command_path if error.ctx else "detours"
        message = error.format_message().replace(": Value error, ", ": ")  # of pydantic, which some releases use
        print(f"{command}: {escape_control(message)} (see `{command} --help`)", file=sys.stderr)
        return USAGE
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except SystemExit as end:  # SIGTERM, or Typer's own way out if the reader of a help text is gone
        if isinstance(end.__context__, BrokenPipeError):
            return PIPE_CLOSED
        return end.code if isinstance(end.code, int) else FAILED
    except OSError as error:  # a help text that cannot be written; commands report their own errors
        if os.environ.get("DETOURS_TRACEBACK"):
            raise
        say(_sentence(error))
        return FAILED
    if code == INTERRUPTED:  # printed here, as Typer turns an interrupt in its own code into this exit code
        say(farewell())
    return code


def report_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Make every failure of a command one sentence on standard error and an exit code."""

    @functools.wraps(command)
    def reporting(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except (typer.Exit, UsageError):
            raise
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            _silence_stdout()
            raise typer.Exit(PIPE_CLOSED) from None
        except Exception as error:
            if os.environ.get("DETOURS_TRACEBACK"):
                raise
            if code := code_of_signal():
                raise typer.Exit(code) from None
            say(_sentence(error))
            raise typer.Exit(FAILED) from None

    return reporting


_OPTIONS = {
    "columns=(1, 2)": "--columns 1,2",
    "columns=(1, 3)": "--columns 1,3",
    "directed=True": "--directed",
    "directed=False": "--undirected",
    "strict=True": "--strict",
    "with out=": "with --out FOLDER",
    "memory_limit = ": "--memory ",
    "memory_limit": "--memory",
    "n_jobs": "--jobs",
    "max_paths = ": "--max-paths ",
    "time_limit = ": "--time-limit ",
    "time_limit must be a number above 0, or None for no limit": "--time-limit must be a number above 0",
    "than limit = ": "than --limit ",
    "convert them with to_directed() or to_undirected()": "pass --directed or --undirected",
}
"""Maps arguments in messages of the library to options of the command line."""


def _sentence(error: Exception) -> str:
    if isinstance(error, DetoursError | OverflowError):
        sentence = str(error)
        for argument, option in _OPTIONS.items():
            sentence = sentence.replace(argument, option)
        return re.sub(r'format="(\w+)"( \(--format \1\))?', r"--format \1", sentence)
    if isinstance(error, MemoryError):
        return (
            "not enough memory; use a smaller k, or count in parts: `detours count` with --memory and --out FOLDER "
            "stays within a limit"
        )
    if isinstance(error, FileNotFoundError) and error.filename is None and _working_directory_is_gone():
        return "the working directory no longer exists; change to another one"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, ImportError):
        return str(error)
    kind = type(error).__name__
    return f"unexpected {kind}: {error}; this is a bug, please report it with DETOURS_TRACEBACK=1 set"


def _working_directory_is_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def say(sentence: str) -> None:
    """Print one line on standard error."""
    print("detours:", escape_control(" ".join(sentence.split())), file=sys.stderr)


def _silence_stdout() -> None:
    # The reader of the pipe is gone; without this the interpreter reports an error when it flushes at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
