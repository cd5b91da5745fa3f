"""`detours predict`: predictions of a saved model for new graphs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from detours.cli.shared.command import report_errors
from detours.cli.shared.console import escape, plain_table, print_json, show, standard_output
from detours.cli.shared.graphs import check_one_input, notes_unless, read_graph
from detours.cli.shared.options import OWN_DATA, DataFile, Directed, Json, Quiet, RawFolder, TorchDevice
from detours.cli.shared.targets import check_different
from detours.cli.train import check_installed
from detours.errors import InputError

if TYPE_CHECKING:
    from detours.data import GraphSet
    from detours.training.saved import SavedModel


@report_errors
def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A file written by `detours train --save`.", show_default=False)
    ],
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE...", help="Graphs, one per file.", show_default=False)
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="NAME|PATH", help=f"Data set instead of files, by name, or {OWN_DATA}.")
    ] = None,
    data_file: DataFile = None,
    root: RawFolder = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write one row per graph or node to a .csv file.")
    ] = None,
    directed: Directed = None,
    device: TorchDevice = "auto",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict the classes of graphs, or of the nodes of a graph.

    Prints the predicted class and the probability of every class; for regression, the predicted values; for several
    labels per graph, the probability of every label. A model trained on node labels or attributes needs a data set
    that has them; one trained on degrees takes any graph file. Targets are not needed, and are ignored if present.

    \b
    Examples:
      detours predict models/rings-mdnn-gin-0123456789ab-01234567-k4-seed0-fold0.pt a.g6 b.edgelist
      detours predict models/MUTAG-mdnn-gin-0123456789ab-01234567-k4-seed0-fold0.pt --data MUTAG --out classes.csv
      detours predict models/mine-mdnn-gin-0123456789ab-01234567-k4-seed0-fold0.pt --data new.pt --json
    """
    check_installed()
    if sum(map(bool, (files, data, data_file))) != 1:
        raise typer.BadParameter("give one model, and either graph files or --data NAME")
    check_one_input(files or [])
    from detours.cli.shared.output import check_output
    from detours.training.devices import chosen_device
    from detours.training.saved import SavedModel

    target = None if out is None else check_output(out, (".csv",))
    check_different("the model, the graphs and --out", [model, *(files or []), data, data_file], out)
    saved = SavedModel.load(model)
    where = chosen_device(device)
    if data or data_file:
        with notes_unless(quiet):
            sets = [saved.read(data or data_file, root)]
        names: list[Any] = list(range(len(sets[0]))) if sets[0].level == "graph" else [sets[0].name]
    else:
        names = files or []
        sets = _read(names, saved, directed, quiet)
    with notes_unless(quiet):
        rows = [row for data_set in sets for row in _rows(saved, names, data_set, where)]
    if target is not None:
        _write(target, rows)
    if as_json:
        print_json(rows)
    elif quiet:
        return
    elif out is None:
        _show(rows)
    else:
        print(f"Wrote {out}", file=sys.stderr)


def _read(files: list[str], saved: "SavedModel", directed: bool | None, quiet: bool) -> "list[GraphSet]":
    """Read graph files: as one data set for graph-level models, as one data set each for node-level models."""
    from detours.data import GraphSet

    encoder = saved.encoder
    if encoder.largest_degree is None:
        needs = "labels" if encoder.labels is not None else f"{encoder.attributes} attributes"
        raise InputError(
            f"the model was trained on {saved.recipe.data}, whose nodes have {needs}, but graph files have none; "
            "use it with --data, or train a model on data without them."
        )
    graphs = [read_graph(file, directed=directed, strict=False, quiet=quiet) for file in files]
    if saved.recipe.level == "node":
        both_ways = [file for file, graph in zip(files, graphs, strict=True) if not graph.directed]
        if saved.recipe.directed and directed is None and both_ways and not quiet:
            print(
                f"note: the model follows the directions of arcs, but {escape(both_ways[0])} was read as undirected; "
                "--directed reads its lines as arcs, --undirected keeps it so without this note",
                file=sys.stderr,
            )
        return [GraphSet(file, [graph], level="node") for file, graph in zip(files, graphs, strict=True)]
    return [GraphSet("files", graphs)]


def _rows(saved: "SavedModel", names: list[Any], data: "GraphSet", device: str) -> list[dict[str, Any]]:
    classes, task = saved.class_names or saved.classes.tolist(), saved.recipe.task
    rows = []
    for index, row in enumerate(saved.predict(data, device).tolist()):
        if data.level == "graph":
            head = {"graph": names[index]}
        else:
            head = {"graph": data.name, "node": data.graphs[0].name(index)}
        if task == "regression":
            columns = ["value"] if len(row) == 1 else [f"value {column}" for column in classes]
            rows.append({**head, **dict(zip(columns, row, strict=True))})
            continue
        probabilities = {f"p({label})": p for label, p in zip(classes, row, strict=True)}
        best = {"class": classes[max(range(len(row)), key=row.__getitem__)]} if task == "classification" else {}
        rows.append({**head, **best, **probabilities})
    return rows


def _write(out: Path, rows: list[dict[str, Any]]) -> None:
    import csv
    from io import StringIO

    from detours.atomic import atomic_write
    from detours.counting.export.files import csv_text

    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: csv_text(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows
    )
    with atomic_write(out) as file:
        file.write(text.getvalue().encode())


def _show(rows: list[dict[str, Any]]) -> None:
    table = plain_table()
    for heading in rows[0]:
        table.add_column(escape(heading), justify="left" if heading == "graph" else "right")
    for row in rows:
        table.add_row(*(escape(_text(name, value)) for name, value in row.items()))
    show(standard_output(), table)


def _text(heading: str, value: Any) -> str:
    """Format a probability with three decimals, and a predicted value, of any size, with six significant digits."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.6g}" if heading.startswith("value") else f"{value:.3f}"
