"""`detours demo`: a tour of what the library does."""

import shutil
import sys
from pathlib import Path

from detours.cli.shared.command import report_errors
from detours.cli.shared.console import standard_output
from detours.cli.shared.options import Progress


@report_errors
def demo(progress: Progress = None) -> None:
    """Show what the library does, on generated graphs.

    Counts small and large graphs, tells hard pairs apart, trains a network if torch is installed, and draws two graphs
    on an interactive page; takes about a minute. The page and a figure of the learning curves go to results/demo.

    \b
    Examples:
      detours demo
    """
    from detours.cli.demo.graphs import show_graphs
    from detours.cli.demo.picture import show_picture
    from detours.cli.demo.training import show_training

    console = standard_output()
    show_graphs(console, progress)
    show_training(console, progress)
    show_picture(console, progress)
    if shutil.which("detours") is None and sys.prefix != sys.base_prefix:  # as in `make demo`
        console.print(f"\nTo use the command detours:  source {_relative(Path(sys.prefix))}/bin/activate", style="dim")
    console.print("\nYour turn:  detours count FILE -k 4  detours show FILE  detours --help", style="dim")


def _relative(folder: Path) -> Path:
    """Return a folder relative to the working directory, if it is below it."""
    cwd = Path.cwd()
    return folder.relative_to(cwd) if folder.is_relative_to(cwd) else folder
