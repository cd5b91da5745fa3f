"""python -m benchmarks.run [--quick] [--case NAME ...] [--out DIR]"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# Libraries read these when they are loaded, so the work runs in a process that starts with them.
ONE_THREAD = dict.fromkeys(
    "OMP_NUM_THREADS OPENBLAS_NUM_THREADS MKL_NUM_THREADS RAYON_NUM_THREADS NUMBA_NUM_THREADS".split(), "1"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print ratios, write JSON, Markdown and a PNG; return 0 if all counts agree."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = _parser().parse_args(arguments)
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    out = str(Path(options.out).resolve())
    command = [
        sys.executable,
        "-c",
        "import sys; from benchmarks.run import work; sys.exit(work(sys.argv[1:]))",
    ]
    try:
        return subprocess.call([*command, *arguments, "--out", out], env=environment, cwd=ROOT)
    except KeyboardInterrupt:
        return 130


def work(arguments: Sequence[str]) -> int:
    """Do the work of `main` in a process with one thread."""
    from rich.console import Console

    from benchmarks.suite import FULL, PARTS, QUICK

    options = _parser().parse_args(list(arguments))
    console = Console(width=None if sys.stdout.isatty() else 150)
    known = [case.name for case in (QUICK if options.quick else FULL)] + list(PARTS)
    wanted = options.case or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"no case {unknown[0]!r}; choose from {', '.join(known)}", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(known))
        return 0
    Path(options.out).mkdir(parents=True, exist_ok=True)
    try:
        return _measure(options, wanted, console)
    except KeyboardInterrupt:
        print("stopped; nothing was written", file=sys.stderr)
        return 130
    except SystemExit as end:  # of Rich, if the reader of the output is gone
        if isinstance(end.__context__, BrokenPipeError):
            return 141
        raise


def _parser() -> argparse.ArgumentParser:
    from benchmarks.rivals import GROUPS

    parser = argparse.ArgumentParser(
        prog="detours bench", description="Time detours against its rivals, in one process with one thread."
    )
    parser.add_argument("--quick", action="store_true", help="small generated graphs, under two minutes")
    parser.add_argument("--case", nargs="+", default=[], metavar="NAME", help="only these cases; see --list")
    parser.add_argument(
        "--against",
        nargs="+",
        choices=GROUPS,
        default=GROUPS,
        metavar="KIND",
        help=f"only these kinds of rivals: {', '.join(GROUPS)}",
    )
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument(
        "--out", default=str(ROOT / "benchmarks" / "results"), metavar="DIR", help="folder for the results"
    )
    return parser


def _measure(options: argparse.Namespace, wanted: list[str], console: Any) -> int:
    from benchmarks import report
    from benchmarks.cases import MissingData
    from benchmarks.contest import Result, run_case
    from benchmarks.suite import FULL, QUICK

    say = _status_line(sys.stderr.isatty())
    sheets: list[report.Sheet] = []
    results: list[Result] = []
    data: dict[str, Any] = {"machine": report.machine(), "quick": options.quick}

    def show(sheet: report.Sheet) -> None:
        say("")
        sheets.append(sheet)
        sheet.show(console)

    for case in QUICK if options.quick else FULL:
        if case.name in wanted:
            try:
                results.append(run_case(case, 0.4 if options.quick else 5.0, say, options.against))
                show(report.case_sheet(results[-1]))
            except MissingData as error:
                console.print(f"{case.title}: skipped, {error}\n", highlight=False)
    if len(results) > 1:
        show(report.summary_sheet(results))
    data["cases"] = [result.as_dict() for result in results]
    _parts(options, wanted, data, show, say)
    report.write(Path(options.out), sheets, data)
    console.print(f"results are in {options.out}", highlight=False)
    differing = [name for result in results for name, same in result.same.items() if not same]
    return 1 if differing else 0


def _parts(options: argparse.Namespace, wanted: list[str], data: dict[str, Any], show: Any, say: Any) -> None:
    from benchmarks import processes, report, scaling

    if "startup" in wanted:
        say("start-up, in fresh processes")
        data["startup"] = processes.start_up(3 if options.quick else 9)
        show(report.start_sheet(data["startup"]))
    if "threads" in wanted:
        say("threads")
        data["threads"] = scaling.threads(options.quick, say)
        show(report.threads_sheet(data["threads"]))
    if "scaling" in wanted:
        data["scaling"] = scaling.by_size(options.quick, say)
        show(report.sizes_sheet(data["scaling"]))
    if "lengths" in wanted:
        data["lengths"] = scaling.by_length(options.quick, say)
        show(report.lengths_sheet(data["lengths"]))
    if "scaling" in wanted or "lengths" in wanted:
        curves = data.get("scaling", []), data.get("lengths", [])
        scaling.plot(*curves, Path(options.out) / "scaling.png")


def _status_line(terminal: bool) -> Any:
    """Return a function that shows the current step in one line on a terminal, and nothing elsewhere."""

    def say(text: str) -> None:
        if terminal:
            sys.stderr.write(f"\r\x1b[2K{text}")
            sys.stderr.flush()

    return say


if __name__ == "__main__":
    sys.exit(main())
