"""`detours show`: a graph, or two side by side, as an interactive page."""

import os
import re
import sys
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from detours.cli.shared import options
from detours.cli.shared.command import report_errors
from detours.cli.shared.graphs import STANDARD_INPUT, check_one_input, read_graph
from detours.cli.shared.targets import check_different, check_writable
from detours.errors import InputError

if TYPE_CHECKING:
    from detours.graph import Graph

MARK = b'<meta name="generator" content="detours'


@report_errors
def show(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A graph in a format of `detours count`, or a SMILES string.",
            show_default=False,
        ),
    ],
    other: Annotated[
        str | None, typer.Argument(metavar="OTHER", help="A second graph, to compare.", show_default=False)
    ] = None,
    k: options.K = 4,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Page to write.  [default: name of the graph, or SMILES, with .html]"),
    ] = None,
    around: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE",
            help="Draw only the surroundings of this node; with two nodes, also the detours between them. Repeatable.",
        ),
    ] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Open the page in the web browser.")] = False,
    chordless: options.Chordless = False,
    directed: options.Directed = None,
    strict: options.Strict = False,
    columns: options.Columns = None,
    sep: options.Sep = None,
    format: options.FileFormat = None,
    quiet: options.Quiet = False,
    progress: options.Progress = None,
) -> None:
    """Draw a graph as an interactive page.

    The page is one HTML file that needs no server and no network. Edges are coloured by their detours; a click lists
    and draws them. Two graphs are drawn side by side, with the nodes at which colour refinement tells them apart.

    \b
    Examples:
      detours show roads.txt -k 4
      detours show people.csv -k 4 --around Ada --around Grace
      detours show a.g6 b.g6 --out pair.html --open
      detours show 'c1ccc2ccccc2c1' -k 9
    """
    import detours
    from detours.cli.shared.progress import progress_bar
    from detours.viz import page

    files = [file] if other is None else [file, other]
    check_one_input(files)
    check_different("the graphs and --out" if other else "the graph and --out", files, out)
    target = _target(files, out)
    reading = {"directed": directed, "strict": strict, "columns": columns, "sep": sep, "format": format, "quiet": quiet}
    graphs = [_read(name, reading) for name in files]
    for node in around or ():
        graphs[0].node(node)  # raises for an unknown node, before the work
    with progress_bar(f"Counting and drawing, k = {k}", show=False if quiet and progress is None else progress):
        settings: dict[str, Any] = {"directed": directed, "chordless": chordless, "n_jobs": options.ALL_CORES}
        results = [detours.count(graph, k, **settings) for graph in graphs]
        shown = page(
            tuple(results) if other is not None else results[0],
            names=[Path(name).name if os.path.exists(name) else name for name in files],
            around=around,
        )
    shown.save(target)
    if not quiet:
        print(f"Wrote {target} ({len(shown.html.encode()) / 1000:,.0f} kB); open it in a web browser.", file=sys.stderr)
    if open_it:
        import webbrowser

        webbrowser.open(target.resolve().as_uri())


def _target(files: list[str], out: Path | None) -> Path:
    """Return the file to write, or raise `InputError`; only --out may replace a file that is not a page of `show`."""
    if out is not None:
        if out.suffix.lower() not in (".html", ".htm"):
            raise InputError(f"cannot write {out}: the name must end in .html")
        check_writable(out)
        return out
    target = Path("-".join(map(_stem, files)) + ".html")
    check_writable(target)
    if target.exists() and MARK not in target.read_bytes()[:4000]:
        raise InputError(f"{target} exists and was not written by this command; give another name with --out")
    return target


def _stem(file: str) -> str:
    """Return the name of a file without its extension; for a SMILES, its letters and digits with a hash where needed.

    Case-insensitive file systems do not distinguish c1ccccc1 (benzene) from C1CCCCC1 (cyclohexane).

    >>> _stem("C1CCCCC1"), _stem("c1ccccc1"), _stem("CC(=O)O"), _stem("[*]")
    ('C1CCCCC1', 'c1ccccc1-13cad0', 'CC-O-O-b00014', 'molecule-76d344')
    """
    if file == STANDARD_INPUT:
        return "graph"
    if os.path.exists(file):  # not Path.exists, which raises for texts too long for a name
        return Path(file).stem
    plain = re.sub("[^A-Za-z0-9]+", "-", file).strip("-")[:40] or "molecule"
    return plain if plain == file.upper() else f"{plain}-{sha256(file.encode()).hexdigest()[:6]}"


def _read(file: str, reading: dict[str, Any]) -> "Graph":
    from detours.graph import Graph
    from detours.graph.files.molecule import parse_smiles

    if not os.path.exists(file) and file != STANDARD_INPUT:
        molecule = parse_smiles(file)
        if molecule is not None:
            return Graph.from_any(molecule)
        if not Path(file).suffix and find_spec("rdkit") is not None:
            raise InputError(f"{file}: there is no such file, and RDKit cannot read it as a SMILES.")
    return read_graph(file, **reading)
