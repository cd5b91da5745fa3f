"""`detours report`: all finished results next to the paper's, as Markdown and one HTML page."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from detours.cli.shared.command import report_errors
from detours.cli.shared.targets import check_writable


@report_errors
def report(
    results: Annotated[Path, typer.Option(metavar="DIR", help="Results folder of `detours reproduce`.")] = Path(
        "results"
    ),
    out: Annotated[Path, typer.Option(metavar="FILE", help="Report to write, as .md and as .html.")] = Path("report"),
    update: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Rewrite the marked tables of this Markdown file instead; repeatable."),
    ] = None,
) -> None:
    """Write a report of all finished results.

    The report has tables of networks, kernels and expressive power, each detour network against its baseline,
    agreement with the paper, learning curves, numbers published by others, and costs. It needs no data and trains
    nothing.

    \b
    Examples:
      detours report --results results
      detours report --results results --update docs/kernels.md
    """
    for path in update or [out.with_suffix(".md"), out.with_suffix(".html")]:
        check_writable(path)
    if update:
        from detours.experiments.report.documents import update_document

        for path in update:
            print(f"{'Updated' if update_document(path, results) else 'Unchanged:'} {path}", file=sys.stderr)
        return
    from detours.experiments.report.report import write_report

    files = write_report(results, out)
    print(f"Wrote {', '.join(map(str, files))}", file=sys.stderr)
