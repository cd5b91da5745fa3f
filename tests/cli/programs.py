"""Run commands, in this process or in a separate one, and collect their output."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]

QUICK = "--data rings --hidden 8 --set layers=1 --epochs 3 -k 3 --device cpu".split()
"""Options of `detours train` for a small network on a generated task."""


def one_sentence(text: str) -> bool:
    return len(text.strip().splitlines()) == 1 and "Traceback" not in text


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from detours.cli import main; main()", *arguments]


def start(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(arguments, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def interrupt(program: subprocess.Popen[str]) -> tuple[str, str]:
    """Send Ctrl-C and return the output of the program; fail if it does not end."""
    program.send_signal(signal.SIGINT)
    try:
        return program.communicate(timeout=60)
    finally:
        program.kill()
