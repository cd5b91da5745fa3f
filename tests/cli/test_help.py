"""Help, version, and what they cost."""

import subprocess
import sys
from typing import Any

import pytest
import typer

import detours
from detours import cli
from tests.cli.programs import Run


def commands(group: Any = None, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The names of all commands, those of groups included."""
    group = typer.main.get_command(cli.app) if group is None else group
    found = []
    for name, command in group.commands.items():
        found.append((*path, name))
        if hasattr(command, "commands"):
            found += commands(command, (*path, name))
    return found


GROUPS = [("data",), ("reproduce",)]


def test_all_commands_are_tested() -> None:
    assert len(commands()) > 20 and all(group in commands() for group in GROUPS)


@pytest.mark.parametrize("name", [name for name in commands() if name not in GROUPS], ids=" ".join)
def test_help_has_a_summary_and_examples(run: Run, name: tuple[str, ...]) -> None:
    shown = run(*name, "--help")
    assert (shown.code, shown.err) == (0, "") and run(*name, "-h") == shown
    assert f"detours {' '.join(name)}" in shown.out.split("Examples:")[1]


@pytest.mark.parametrize("name", [(), *GROUPS], ids=" ".join)
def test_a_group_without_a_command_shows_its_help(run: Run, name: tuple[str, ...]) -> None:
    shown = run(*name)
    assert (shown.code, shown.err) == (0, "") and shown == run(*name, "--help")
    listed = [each[-1] for each in commands() if each[:-1] == name]
    assert all(f"\n  {each} " in shown.out for each in listed)
    assert "..." not in shown.out.split("Commands:")[1]  # every summary fits on its line


def test_commands_are_listed_in_sections(run: Run) -> None:
    everyday, research = run("--help").out.split("Experiments and benchmarks:")
    assert "  count " in everyday and "Learning:\n  train " in everyday
    assert {line.split()[0] for line in research.strip().splitlines()} == {"reproduce", "report", "bench"}


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"detours {detours.__version__}\n", "")


def test_help_imports_nothing_heavy() -> None:
    """All help texts in one fresh interpreter."""
    code = (
        f"import sys; from detours import cli; [cli.run([*name, '--help']) for name in {commands()}];"
        "sys.exit(str({'numpy', 'scipy', 'numba', 'rich.progress', 'matplotlib', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stderr.strip() == "set()"
