"""`detours demo`: a tour of what the library does."""

from detours.cli.shared.command import report_errors
from detours.cli.shared.console import standard_output
from detours.cli.shared.options import Progress


@report_errors
def demo(progress: Progress = None) -> None:
    """Show what the library does, on graphs made in code.

    Counts small and large graphs, tells hard pairs apart, and trains a network if torch is installed; takes about a
    minute. The figure of the learning curve is saved in results/demo.

    \b
    Examples:
      detours demo
    """
    from detours.cli.demo.graphs import show_graphs
    from detours.cli.demo.training import show_training

    console = standard_output()
    show_graphs(console, progress)
    show_training(console, progress)
    console.print("\nYour turn:  detours count FILE -k 4  detours train --data rings  detours --help", style="dim")
