"""`detours data`: the known data sets, their contents, and whether their files are complete."""

from typing import Annotated, Any

import typer

from detours.cli.shared.command import FAILED, report_errors
from detours.cli.shared.console import plain_table, print_json, show, standard_output
from detours.cli.shared.help import new_app
from detours.cli.shared.options import OWN_DATA, Json, OldRawFolder, RawFolder

app = new_app(help="List, describe and check the data sets.")

Name = Annotated[
    str, typer.Argument(metavar="NAME", help=f"Data set, in upper or lower case, or {OWN_DATA}.", show_default=False)
]
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help="Data sets.  [default: all that are found]", show_default=False),
]


@app.command("list")
@report_errors
def list_sets(root: RawFolder = None, data: OldRawFolder = None, as_json: Json = False) -> None:
    """List the data sets, with the sizes of those that are found.

    \b
    Examples:
      detours data list
      detours data list --root raw --json
    """
    from detours.data import load, splits
    from detours.data.known import KNOWN
    from detours.data.overview import is_available, summary_counts
    from detours.errors import InputError

    root = _check_folder(root or data)
    rows: list[dict[str, Any]] = []
    for name, known in KNOWN.items():
        row: dict[str, Any] = {"data": name, "made_in_code": not known.raw, "state": "not found", "level": known.level}
        row |= dict.fromkeys(("graphs", "nodes", "edges", "classes", "splits"))
        if is_available(name, root):
            try:
                loaded = load(name, root)
                row |= {"state": "there", **summary_counts(loaded), "splits": splits(loaded, root).source}
            except InputError:
                row["state"] = "damaged, see: detours data check"
        rows.append(row)
    if as_json:
        print_json(rows)
        return
    _print_rows(rows)


@app.command()
@report_errors
def info(name: Name, root: RawFolder = None, data: OldRawFolder = None, as_json: Json = False) -> None:
    """Describe a data set: sizes, features, classes and splits.

    \b
    Examples:
      detours data info MUTAG --root raw
      detours data info downloads/COX2
      detours data info ring-lattice
    """
    from detours.data import load
    from detours.data.overview import profile

    root = root or data
    facts = profile(load(name, root), root)
    if as_json:
        print_json(facts)
        return
    _print_facts(facts)


@app.command()
@report_errors
def check(names: Names = None, root: RawFolder = None, data: OldRawFolder = None, as_json: Json = False) -> None:
    """Read data sets in full and report errors.

    The exit code is 1 if there are any. A data set that is not found is an error only if it was named.

    \b
    Examples:
      detours data check
      detours data check MUTAG Texas --root raw
    """
    from detours.data.catalogue import full_name, own_path
    from detours.data.overview import ALL_NAMES, check_data_set, is_available
    from detours.errors import InputError

    root = _check_folder(root or data)
    rows: list[dict[str, Any]] = []
    for name in [each if own_path(each, root) else full_name(each) for each in names] if names else ALL_NAMES:
        if not names and not is_available(name, root):
            rows.append({"data": name, "state": "not found", "says": ""})
            continue
        try:
            rows.append({"data": name, "state": "ok", "says": check_data_set(name, root)})
        except InputError as error:
            rows.append({"data": name, "state": "wrong", "says": " ".join(str(error).split())})
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            print(f"{row['data']:<20}{row['state']}{': ' if row['says'] else ''}{row['says']}")
    if any(row["state"] == "wrong" for row in rows):
        raise typer.Exit(FAILED)


def _check_folder(root: str | None) -> str | None:
    from pathlib import Path

    from detours.errors import InputError

    if root is not None and not Path(root).is_dir():
        raise InputError(f"--root {root}: there is no such folder; give the folder of the raw data sets.")
    return root


def _print_rows(rows: list[dict[str, Any]]) -> None:
    table = plain_table(left=("data set", "level"), right=("graphs", "nodes", "edges", "classes"))
    table.add_column("splits")
    for row in rows:
        sizes = (row["graphs"], row["nodes"], row["edges"], row["classes"])
        shown = ["–" if size is None else f"{size:,}" for size in sizes]
        table.add_row(row["data"], row["level"], *shown, row["splits"] or row["state"])
    console = standard_output()
    show(console, table)
    generated = ", ".join(row["data"] for row in rows if row["made_in_code"])
    console.print(f"\nGenerated, no files needed: {generated}.", style="dim", markup=False)


def _print_facts(facts: dict[str, Any]) -> None:
    splits = facts["splits"]
    parts = ", ".join(f"{_range(splits[part])} {part}" for part in ("train", "val", "test"))
    classes = ", ".join(f"{name}: {size:,}" for name, size in facts["class_sizes"].items())
    lines = {
        "level": facts["level"],
        "graphs": f"{facts['graphs']:,}" + ("" if facts["pairs"] is None else f" in {facts['pairs']:,} pairs"),
        "nodes": f"{facts['nodes']:,}",
        "arcs" if facts["directed"] else "edges": f"{facts['edges']:,}",
        "degrees": _range(facts["degrees"]),
        "node attributes": facts["attributes"] or "none",
        "node labels": facts["labels"] or "none",
        "edge attributes": facts["edge_attributes"] or "none",
        "edge labels": facts["edge_labels"] or "none",
        "input columns": f"{facts['input_columns']:,}",
        "classes" if classes else "targets": classes or facts["targets"],
        "splits": f"{splits['folds']} fold{'s' * (splits['folds'] != 1)} ({splits['source']}): {parts}",
        "digest": facts["digest"],
    }
    table = plain_table(left=(facts["data"], ""))
    for name, value in lines.items():
        table.add_row(name, str(value))
    show(standard_output(), table)


def _range(ends: list[int]) -> str:
    low, high = ends
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"
