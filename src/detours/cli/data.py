"""`detours data`: which data sets there are, what they hold, and whether their files are sound."""

from typing import Annotated, Any

import typer

from detours.cli.command import FAILED, print_json, reported, standard_output
from detours.cli.options import Json
from detours.cli.reproduce import Data

app = typer.Typer(
    help="Data sets: which there are, what they hold, whether their files are sound.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A data set, in upper or lower case.", show_default=False)]
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help="Data sets.  [default: all that are there]", show_default=False),
]


@app.command("list")
@reported
def list_sets(data: Data = None, as_json: Json = False) -> None:
    """All data sets and the tasks made in code, with their sizes where they are there.

    \b
    Examples:
      detours data list
      detours data list --data raw --json
    """
    from detours.data import NODE_SETS, TASKS, load, splits
    from detours.data.overview import ALL, counted, is_there
    from detours.errors import InputError

    _check_folder(data)
    rows: list[dict[str, Any]] = []
    for name in ALL:
        row: dict[str, Any] = {"data": name, "made_in_code": name in TASKS, "state": "not there"}
        row["level"] = "node" if name in NODE_SETS else "graph"
        row |= dict.fromkeys(("graphs", "nodes", "edges", "classes", "splits"))
        if is_there(name, data):
            try:
                found = load(name, data)
                row |= {"state": "there", **counted(found), "splits": splits(found, data).source}
            except InputError:
                row["state"] = "damaged, see: detours data check"
        rows.append(row)
    if as_json:
        print_json(rows)
        return
    _print_rows(rows)


@app.command()
@reported
def info(name: Name, data: Data = None, as_json: Json = False) -> None:
    """What a data set holds: counts, features, labels, classes, degrees and splits.

    \b
    Examples:
      detours data info MUTAG --data raw
      detours data info ring-lattice
    """
    from detours.data import load
    from detours.data.overview import profile

    facts = profile(load(name, data), data)
    if as_json:
        print_json(facts)
        return
    _print_facts(facts)


@app.command()
@reported
def check(names: Names = None, data: Data = None, as_json: Json = False) -> None:
    """Read data sets whole, with features, labels and splits, and say what is wrong with them.

    Ends with exit code 1 if anything is wrong. A data set that is not there is no fault unless it was named.

    \b
    Examples:
      detours data check
      detours data check MUTAG Texas --data raw
    """
    from detours.data.catalogue import full_name
    from detours.data.overview import ALL, checked, is_there
    from detours.errors import InputError

    _check_folder(data)
    rows: list[dict[str, Any]] = []
    for name in [full_name(each) for each in names] if names else ALL:
        if not names and not is_there(name, data):
            rows.append({"data": name, "state": "not there", "says": ""})
            continue
        try:
            rows.append({"data": name, "state": "ok", "says": checked(name, data)})
        except InputError as error:
            rows.append({"data": name, "state": "wrong", "says": " ".join(str(error).split())})
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            print(f"{row['data']:<14}{row['state']}{': ' if row['says'] else ''}{row['says']}")
    if any(row["state"] == "wrong" for row in rows):
        raise typer.Exit(FAILED)


def _check_folder(data: str | None) -> None:
    from pathlib import Path

    from detours.errors import InputError

    if data is not None and not Path(data).is_dir():
        raise InputError(f"--data {data}: there is no such folder; give the one that holds the raw data sets.")


def _print_rows(rows: list[dict[str, Any]]) -> None:
    from detours.cli.summary import plain_table, show

    table = plain_table()
    for heading in ("data set", "level"):
        table.add_column(heading)
    for heading in ("graphs", "nodes", "edges", "classes"):
        table.add_column(heading, justify="right")
    table.add_column("splits")
    for row in rows:
        numbers = (row["graphs"], row["nodes"], row["edges"], row["classes"])
        shown = ["–" if number is None else f"{number:,}" for number in numbers]
        table.add_row(row["data"], row["level"], *shown, row["splits"] or row["state"])
    console = standard_output()
    show(console, table)
    made = ", ".join(row["data"] for row in rows if row["made_in_code"])
    console.print(f"\nMade in code, no file needed: {made}.", style="dim", markup=False)


def _print_facts(facts: dict[str, Any]) -> None:
    from detours.cli.summary import plain_table, show

    found = facts["splits"]
    parts = ", ".join(f"{_range(found[part])} {part}" for part in ("train", "val", "test"))
    lines = {
        "level": facts["level"],
        "graphs": f"{facts['graphs']:,}" + ("" if facts["pairs"] is None else f" in {facts['pairs']:,} pairs"),
        "nodes": f"{facts['nodes']:,}",
        "arcs" if facts["directed"] else "edges": f"{facts['edges']:,}",
        "degrees": _range(facts["degrees"]),
        "attributes of nodes": facts["attributes"] or "none",
        "labels of nodes": facts["labels"] or "none",
        "labels of edges": facts["edge_labels"] or "none",
        "input columns": f"{facts['input_columns']:,}",
        "classes": ", ".join(f"{name}: {number:,}" for name, number in facts["class_sizes"].items()),
        "splits": f"{found['folds']} folds ({found['source']}): {parts}",
        "digest": facts["digest"],
    }
    table = plain_table()
    table.add_column(facts["data"])
    table.add_column("")
    for name, value in lines.items():
        table.add_row(name, str(value))
    show(standard_output(), table)


def _range(ends: list[int]) -> str:
    few, many = ends
    return f"{few:,}" if few == many else f"{few:,}–{many:,}"
