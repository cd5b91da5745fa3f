"""What reads files and arguments, and what must not happen: the things that the mutational fuzzer tries."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import detours
from detours import cli
from detours.errors import DetoursError
from detours.store import Store

EDGES = [[0, 1, 2, 0, 1, 3, 3, 4], [1, 2, 0, 2, 0, 4, 0, 3]]
"""The graph of the folders of counts in the corpus, with repeats: its edges are not in the order of its rows."""
KEY = {"experiment": "fuzz", "code": "0", "data": "a"}


def try_graph(path: Path) -> None:
    """Read a graph from a file, and use it."""
    use(detours.Graph.read(path))


def try_saved(folder: Path) -> None:
    """Open a saved graph, and use it."""
    use(detours.Graph.open(folder))
    with contextlib.suppress(DetoursError):
        detours.count(detours.Graph.open(folder), 3, out=folder / "out", memory_limit=1)


def use(graph: detours.Graph) -> None:
    """Do what a caller does with a graph that was read."""
    if graph.num_nodes > 3000 or graph.num_arcs > 30_000:
        return
    repr(graph)
    result = detours.count(graph, 3)
    for values in (result.edge, result.node, result.by_length):
        assert values.dtype == np.int64
    assert len(result.edge) == graph.edge_index.shape[1]
    repr(graph.name_list()[:3])


def try_counts(folder: Path) -> None:
    """Open a folder that holds a count, finished or not, and count into it."""
    with contextlib.suppress(DetoursError):
        opened = detours.Detours.open(folder)
        repr(opened)
        assert len(opened.edge) == opened.graph.edge_index.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = detours.Graph.from_edge_index(EDGES)
    result = detours.count(graph, 4, out=folder)
    assert len(result.edge) == 8 and result.node.dtype == np.int64


def try_model(path: Path) -> None:
    """Load a model."""
    from detours.training.saved import SavedModel

    SavedModel.load(path)


def try_checkpoint(path: Path) -> None:
    """Load a checkpoint."""
    from detours.data import rings
    from detours.training.checkpoint import Checkpoint
    from detours.training.recipe import recipe

    data = rings(8, sizes=(3, 4), seed=5)
    made = recipe(data.name, data.digest, "here", data.level, hidden=2, layers=1, epochs=1, k=3)
    Checkpoint(path, [made], 0.0).load()


def try_own_data(path: Path) -> None:
    """Read a data set of anybody's own: PyG data or a folder in the format of TU Dortmund."""
    from detours.data import read_own

    read_own(path)


def try_cell(path: Path) -> None:
    """Look for a finished result in a store whose file is damaged."""
    store = Store(path.parent / "store")
    file = store.path(KEY)
    file.parent.mkdir(parents=True)
    shutil.copy(path, file)
    store.find(KEY)
    list(store)


def try_arguments(path: Path) -> None:
    """Run a command with arguments from a file, one line each; it must end with a code and at most a sentence."""
    text = path.read_bytes().decode("utf-8", "surrogateescape").replace("\0", "")
    arguments = text.split("\n")[0].split("\t")[:20]
    if {"demo", "bench", "train", "tune", "reproduce", "report", "data", "predict"} & set(arguments):
        return  # other commands with long work of their own
    if any(word.isdigit() and int(word) > 10**6 for word in arguments):
        return  # a k of millions takes gigabytes, as it should
    (path.parent / "g.txt").write_text("0 1\n1 2\n2 0\n2 3\n")
    before, out, err = os.getcwd(), io.StringIO(), io.StringIO()
    os.chdir(path.parent)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.run(arguments)
    finally:
        os.chdir(before)
    assert code in (0, 1, 2), f"code {code} of {shlex.join(arguments)}"
    said = err.getvalue()
    assert "this is a bug" not in said and "Traceback" not in said, f"{said} of {shlex.join(arguments)}"
    assert code == 0 or len(said.strip().splitlines()) == 1, f"{said!r} of {shlex.join(arguments)}"


TARGETS: dict[str, Callable[[Path], Any]] = {
    "graph": try_graph,
    "saved": try_saved,
    "counts": try_counts,
    "model": try_model,
    "checkpoint": try_checkpoint,
    "own": try_own_data,
    "cell": try_cell,
    "arguments": try_arguments,
}


def attempt(kind: str, path: Path) -> str:
    """Return what is wrong with how a file or folder is read; empty if it is read, or refused in a sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            TARGETS[kind](path)
        except (DetoursError, OverflowError) as error:
            says = str(error)
            if not says or "\n" in says or len(says) > 1500:
                return f"{type(error).__name__} is no sentence: {says[:200]!r}"
        except MemoryError:
            return "MemoryError"
        except Exception as error:
            import traceback

            place = traceback.extract_tb(error.__traceback__)[-1]
            return f"{type(error).__name__}: {str(error)[:200]} ({Path(place.filename).name}:{place.lineno})"
    return ""
