"""Help texts, and the common settings of all groups of commands."""

from typing import Any

import typer
from typer.core import TyperGroup


class SectionedGroup(TyperGroup):
    """A group whose commands are listed in sections, named by `rich_help_panel`.

    Plain text: importing Rich would take longer than everything else that `--help` does.
    """

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one section per panel, in the order of the commands."""
        sections: dict[str, list[tuple[str, str]]] = {}
        names = self.list_commands(ctx)
        width = formatter.width - 6 - max(map(len, names))
        for name in names:
            command: Any = self.get_command(ctx, name)
            section = sections.setdefault(command.rich_help_panel or "Commands", [])
            section.append((name.ljust(max(map(len, names))), command.get_short_help_str(width)))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def show_help(context: typer.Context) -> None:
    """Print the help of a group called without a command."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def new_app(name: str | None = None, help: str | None = None, completion: bool = False) -> typer.Typer:
    """Return an empty group of commands, which shows its help when called without one.

    With `completion` it has options to install shell completion.
    """
    texts: dict[str, Any] = {} if help is None else {"help": help}  # None would hide the docstring of a callback
    return typer.Typer(
        name=name,
        cls=SectionedGroup,
        callback=show_help,
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        add_completion=completion,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        **texts,
    )
