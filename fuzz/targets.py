"""The functions that the mutational fuzzer tests: they read files or arguments and check the outcome."""

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
"""The graph of the count folders in the corpus: it has duplicates, and its edges are not in row order."""
KEY = {"experiment": "fuzz", "code": "0", "data": "a"}


def try_graph(path: Path) -> None:
    """Read a graph from a file and use it."""
    use(detours.Graph.read(path))


def try_saved(folder: Path) -> None:
    """Open a saved graph and use it."""
    use(detours.Graph.open(folder))
    with contextlib.suppress(DetoursError):
        detours.count(detours.Graph.open(folder), 3, out=folder / "out", memory_limit=1)


def use(graph: detours.Graph) -> None:
    """Use a graph as a caller would."""
    if graph.num_nodes > 3000 or graph.num_arcs > 30_000:
        return
    repr(graph)
    result = detours.count(graph, 3)
    for values in (result.edge, result.node, result.by_length):
        assert values.dtype == np.int64
    assert len(result.edge) == graph.edge_index.shape[1]
    repr(graph.name_list()[:3])


def try_counts(folder: Path) -> None:
    """Open a folder of a count, finished or not, and count into it."""
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
    settings = recipe(data.name, data.digest, "here", data.level, hidden=2, layers=1, epochs=1, k=3)
    Checkpoint(path, [settings], 0.0).load()


def try_own_data(path: Path) -> None:
    """Read a custom data set: PyG data or a folder in the TU Dortmund format."""
    from detours.data import read_own

    read_own(path)


def try_cell(path: Path) -> None:
    """Look up a finished result in a store whose file may be damaged."""
    store = Store(path.parent / "store")
    file = store.path(KEY)
    file.parent.mkdir(parents=True)
    shutil.copy(path, file)
    store.find(KEY)
    list(store)


def try_arguments(path: Path) -> None:
    """Run a command with the arguments in a file; it must return an exit code and print at most one error line."""
    text = path.read_bytes().decode("utf-8", "surrogateescape").replace("\0", "")
    arguments = text.split("\n")[0].split("\t")[:20]
    if {"demo", "bench", "train", "tune", "reproduce", "report", "data", "predict"} & set(arguments):
        return  # these commands may run for long
    if any(word.isdigit() and int(word) > 10**6 for word in arguments):
        return  # a k of millions needs gigabytes, as expected
    (path.parent / "g.txt").write_text("0 1\n1 2\n2 0\n2 3\n")
    cwd, out, err = os.getcwd(), io.StringIO(), io.StringIO()
    os.chdir(path.parent)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.run(arguments)
    finally:
        os.chdir(cwd)
    assert code in (0, 1, 2), f"code {code} of {shlex.join(arguments)}"
    message = err.getvalue()
    assert "this is a bug" not in message and "Traceback" not in message, f"{message} of {shlex.join(arguments)}"
    assert code == 0 or len(message.strip().splitlines()) == 1, f"{message!r} of {shlex.join(arguments)}"


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
    """Read a file or folder; return a description of the failure, or "" if it was read or refused in one sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            TARGETS[kind](path)
        except (DetoursError, OverflowError) as error:
            message = str(error)
            if not message or "\n" in message or len(message) > 1500:
                return f"{type(error).__name__} is not a sentence: {message[:200]!r}"
        except MemoryError:
            return "MemoryError"
        except Exception as error:
            import traceback

            frame = traceback.extract_tb(error.__traceback__)[-1]
            return f"{type(error).__name__}: {str(error)[:200]} ({Path(frame.filename).name}:{frame.lineno})"
    return ""
