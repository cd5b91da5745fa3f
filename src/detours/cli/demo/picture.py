"""The end of `detours demo`: an interactive page of two of the paper's graphs."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from detours.cli.demo.graphs import PAPER_K, paper_graph

if TYPE_CHECKING:
    from rich.console import Console

PAGE = Path("results", "demo", "detours.html")


def show_picture(console: "Console", progress: bool | None, path: Path = PAGE) -> None:
    """Write the page and say how to open it."""
    from detours.cli.shared.progress import progress_bar

    console.print()
    console.rule("[bold]An interactive page", align="left")
    if find_spec("networkx") is None:
        console.print("Skipped: this needs networkx; run: pip install 'detours[viz]'", style="dim", markup=False)
        return
    from detours.viz import page

    with progress_bar("Drawing", show=progress):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = page((paper_graph("G2"), paper_graph("G3")), PAPER_K, names=["G2", "G3"]).save(path)
    console.print(
        "G2 and G3 side by side: click an edge to see its detours, and colour the\n"
        "nodes by refinement to see where the two graphs begin to differ. It is a\n"
        "single file; open it in a web browser:\n"
    )
    console.print(f"  {file}", style="bold green")
    console.print(f"  {file.resolve().as_uri()}", style="dim", soft_wrap=True)
