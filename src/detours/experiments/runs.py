"""The experiments of the paper, from data to tables: what `detours reproduce` runs.

Every experiment computes its cells through the store, so that it resumes where it was interrupted, and writes its
tables and figures into the folder of the store.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from detours.data import GRAPH_SETS, NODE_SETS
from detours.data.catalogue import data_root
from detours.errors import InputError
from detours.experiments.cycles import profiles as cycles
from detours.experiments.environment import Environment, Outcome
from detours.experiments.expressiveness import colouring, hard, pairs
from detours.experiments.expressiveness import ratios as expressiveness
from detours.store import Cell

if TYPE_CHECKING:
    from detours.experiments.networks.queue import RunSelection

NO_DATA = "give --root DIR or set DETOURS_DATA"


def run_expressiveness(environment: Environment, largest_k: int = 6) -> Outcome:
    """Count the graphs that each test tells apart: built-in hard pairs, the atlas, and data sets if found."""
    names = environment.names(GRAPH_SETS) if environment.has_data() or environment.only else []
    if environment.only and not names:
        only = ", ".join(environment.only)
        raise InputError(f"{only} holds one graph only; choose from {', '.join(GRAPH_SETS)}.")
    if not names:
        environment.notes.append(f"only the built-in graphs were used; {NO_DATA} to use data sets")
    cells: list[Cell] = []
    tests = expressiveness.methods(largest_k)
    for name in names:
        data, _ = environment.distinct(name)
        tasks = expressiveness.tasks(data, tests, n_jobs=environment.n_jobs)
        cells += environment.run(f"Expressiveness, {name}", tasks, tests)
    built_in = [] if environment.only else _built_in(environment)
    tables = expressiveness.tables(cells) + hard.tables(built_in)
    return Outcome(tables, environment.write("expressiveness", tables) + _figures(environment, cells))


def _built_in(environment: Environment) -> list[Cell]:
    atlas = find_spec("networkx") is not None
    if not atlas:
        environment.notes.append("the atlas of small graphs is skipped: it needs networkx; run: pip install networkx")
    tasks = hard.tasks(largest_k=hard.HARD_K, atlas=atlas, n_jobs=environment.n_jobs)
    return environment.run("Built-in graphs", tasks, [*hard.methods(hard.HARD_K), *hard.atlas_methods()])


def _figures(environment: Environment, cells: Sequence[Cell]) -> list[Path]:
    if not cells:
        return []
    if find_spec("matplotlib") is None:
        environment.notes.append("no figures: they need matplotlib; run: pip install 'detours[viz]'")
        return []
    from detours.viz import pair_figure, ratio_matrix, saved

    files = []
    for rule, meaning in expressiveness.RULES.items():
        title = f"Told apart, per cent of the pairs (EXP, CEXP) or graphs\nRule “{rule}”: {meaning}"
        figure = ratio_matrix(*expressiveness.matrix(cells, rule), title=title).figure
        files += saved(figure, environment.store.folder / f"expressiveness-{rule}")
    if any(cell.key["data"] == "ENZYMES" for cell in cells):
        data, _ = environment.distinct("ENZYMES")
        figure = pair_figure(*colouring.most_telling_pair(data))
        files += saved(figure, environment.store.folder / "colouring-ENZYMES")
    return files


def run_cycles(environment: Environment) -> Outcome:
    """Fill the paper's table of cycles: node data under both conventions, graph data by cycle lengths."""
    cells: list[Cell] = []
    for name in environment.names(NODE_SETS):
        tasks = cycles.node_tasks(environment.load(name), n_jobs=environment.n_jobs)
        cells += environment.run(f"Cycles, {name}", tasks)
    for name in environment.names(GRAPH_SETS):
        tasks = cycles.graph_tasks(*environment.distinct(name), n_jobs=environment.n_jobs)
        cells += environment.run(f"Cycles, {name}", tasks)
    if not cells:
        raise InputError(f"no data set was found; {NO_DATA}.")
    tables = cycles.tables(cells)
    return Outcome(tables, environment.write("cycles", tables))


def run_counting(environment: Environment) -> Outcome:
    """Run the cycle-counting benchmark: compare counts with the known numbers of cycles."""
    from detours.experiments.cycles import counting

    root = data_root(environment.root)
    if root is None or not (root / counting.FOLDER).is_dir():
        raise InputError(f"the benchmark, a folder {counting.FOLDER} among the data sets, was not found; {NO_DATA}.")
    with environment.watch("Reading the graphs"):
        data = counting.read_benchmark(root / counting.FOLDER)
    tables = counting.tables(environment.run("Counting", counting.tasks(data, environment.n_jobs)))
    return Outcome(tables, environment.write("counting", tables))


def run_kernels(
    environment: Environment, names: Sequence[str] = (), repeats: int = 10, only_finished: bool = False
) -> Outcome:
    """Evaluate the kernels of the paper's table 1, and our best kernel.

    Args:
        environment: The store and the data.
        names: Rows of the table; all if empty.
        repeats: Number of cross-validations, each with its own seed.
        only_finished: Whether to use finished cells only, and compute nothing.
    """
    if find_spec("sklearn") is None:
        raise InputError("graph kernels need scikit-learn; run: pip install 'detours[kernels]'")
    from threadpoolctl import threadpool_limits

    from detours.experiments.kernels.rows import DATA, rows_named, tasks
    from detours.experiments.kernels.table import tables

    rows = rows_named(names)
    sets = environment.names(DATA, own=True)
    if not sets:
        raise InputError(f"none of {', '.join(DATA)} was found; {NO_DATA}.")
    cells: list[Cell] = []
    loaded: set[str] = set()
    for name in sets:
        data = environment.load(name)
        if data.name in loaded:
            raise InputError(f"two data sets are called {data.name}, one of them {name}; take one at a time.")
        loaded.add(data.name)
        pending = tasks(data, rows, repeats)
        if only_finished:
            cells += [cell for task in pending if (cell := environment.store.find(task.key)) is not None]
        else:
            with threadpool_limits(1):  # folds run in parallel, so products within a fold must not
                cells += environment.run(f"Kernels, {name}", pending, n_jobs=environment.n_jobs)
    kernel_tables = tables(cells)
    if not kernel_tables:
        raise InputError(f"{environment.store.folder} has no finished repeat; run the command without --finished.")
    return Outcome(kernel_tables, environment.write("kernels", kernel_tables))


def run_networks(
    environment: Environment,
    names: Sequence[str],
    wanted: RunSelection | None = None,
    *,
    presets: Sequence[str] = (),
    rows: Sequence[str] = (),
    minutes: float = inf,
    only_finished: bool = False,
) -> Outcome:
    """Fill the tables of networks: graph and node classification, ablation, ZINC and heterophilous graphs.

    Args:
        environment: The store and the data.
        names: The tables to fill, in order.
        wanted: The seeds and folds of every entry, and the device.
        presets: Presets to train, or with `only_finished` to show: "ours", "paper", "paper-small". By default "ours",
            and on the paper's data "paper" or "paper-small", depending on their size.
        rows: Rows to train, or with `only_finished` to show, such as "MDNN GIN"; all if empty.
        minutes: Time after which training stops; an interrupted entry resumes next time.
        only_finished: Whether to use finished entries only, and train nothing.
    """
    from detours.experiments.networks.records import read_records
    from detours.experiments.networks.results import results
    from detours.experiments.networks.tables import tables

    if not only_finished:
        _train_networks(environment, names, wanted, presets, rows, minutes)
    found = results(read_records(environment.store))
    requested = {name.lower() for name in environment.only}
    chosen = {entry: found[entry] for entry in found if not requested or entry.data.lower() in requested}
    if only_finished and presets:
        chosen = {entry: each for entry, each in chosen.items() if entry.preset in presets}
    shown = tables(names, chosen, rows if only_finished else ())
    if not shown and only_finished:
        selection = ", ".join([*names, *presets, *rows])
        raise InputError(f"{environment.store.folder} has no finished entry of {selection}; leave out --finished.")
    if only_finished and (presets or rows or environment.only):
        return Outcome(shown, [])
    # write all finished entries, whatever the selection, which must not replace the complete tables
    return Outcome(shown, environment.write(names[0] if len(names) == 1 else "networks", tables(names, found)))


def _train_networks(
    environment: Environment,
    names: Sequence[str],
    wanted: RunSelection | None,
    presets: Sequence[str],
    rows: Sequence[str],
    minutes: float,
) -> None:
    if missing := [name for name in ("torch", "torch_geometric", "lightning") if find_spec(name) is None]:
        raise InputError(f"networks need {', '.join(missing)}; run: pip install 'detours[torch]'")
    from detours.experiments.networks import entries
    from detours.experiments.networks.queue import Queue, RunSelection
    from detours.training.runs import idle_k

    for name in names:
        entries.rows_named(name, rows)  # reports an unknown row before missing data
    if len(names) == 1:
        _check_table(environment.only, names[0], entries.DATA)
    end = time.monotonic() + 60 * minutes
    queue = Queue(environment.store, wanted or RunSelection(), environment.load, environment.say)
    waiting, idle = [], set()
    for name in names:
        if data := environment.names(entries.DATA[name]):
            chosen = entries.entries(name, presets=presets, only=data, rows=rows)
            k = queue.wanted.changes.get("k")
            idle |= {idle_k(entry.recipe(**queue.wanted.settings(entry)), [k]) for entry in chosen}
            waiting += queue.run(chosen, max(0.0, end - time.monotonic()) / 60)
        elif len(names) == 1:
            requested, known = ", ".join(environment.only), ", ".join(entries.DATA[name])
            raise InputError(
                f"{requested} is not in this table; choose from {known}."
                if requested
                else f"none of {known} was found; {NO_DATA}."
            )
    if len(idle) == 1 and all(idle):  # for each of the entries
        environment.notes.extend(idle)
    if waiting:
        environment.notes.append(f"{len(waiting)} entries are not finished; run the command again to continue")


def _check_table(requested: Sequence[str], name: str, tables: Mapping[str, Sequence[str]]) -> None:
    """Raise `InputError` if the requested data sets belong to another table, and name it."""
    wanted, known = ({each.lower() for each in data} for data in (requested, tables[name]))
    others = [table for table, data in tables.items() if wanted and wanted <= {each.lower() for each in data}]
    if others and not wanted & known:
        other = min(others, key=lambda table: table == "ablation")  # its data sets are all in other tables as well
        raise InputError(
            f"{', '.join(requested)} is not in this table; choose from {', '.join(tables[name])}, "
            f"or take `detours reproduce {other}`."
        )


def run_pairs(environment: Environment, folder: str, k: int) -> Outcome:
    """Count the pairs of a graph6 benchmark that each test tells apart."""
    from detours.data.readers.pair_files import read_pair_folder

    cells: list[Cell] = []
    for data in read_pair_folder(folder):
        tasks = pairs.tasks([data], k, n_jobs=environment.n_jobs)
        cells += environment.run(f"Pairs, {data.name}", tasks, pairs.methods(k))
    tables = pairs.tables(cells)
    return Outcome(tables, environment.write("pairs", tables))
