"""Data of anybody: PyG data in memory or in a .pt file, and folders in the TU Dortmund format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Float32, Int64
from detours.containers import check_expansion, check_tensors, damage_named, load_tensors
from detours.data.graph_set import GraphSet
from detours.data.readers.checks import as_real, tell_dropped, tell_found
from detours.data.readers.tu import read_tu
from detours.data.sizes import own_name
from detours.errors import FileFormatError, InputError, shown, warn_caller
from detours.graph import Graph
from detours.graph.convert import from_pyg
from detours.graph.graph import build_graph

_PER_NODE = 32  # bytes of memory, about
_GRAPH: Literal["graph"] = "graph"
MASKS = ("train_mask", "val_mask", "test_mask")
FEW = 20
"""Numbers from 0 that may be meant as classes, if there are no more of them."""
MANY = 1_000
"""Labels of which so many are told: they may be numbers that are meant as such."""


def graph_set_of(dataset: Any, name: str = "data", *, targets: bool = True) -> GraphSet:
    """Return PyG data as a `GraphSet`.

    Args:
        dataset: A `Data` with a target `y` for every node, or a data set or list of `Data`, one with such a `y` or more
            with one target each. Integers are classes, other numbers are to be predicted, and a row of several 0, 1
            and NaN (unknown) are labels. `x` and `edge_attr` are features of nodes and edges; a single column of
            integers is taken as labels. Edges are taken in both directions. Masks of nodes are folds; nodes in none of
            them may have a target that stands for unknown, such as -1 or NaN.
        name: The name of the data set.
        targets: Whether targets must be there. With False, for data to predict, `y` is empty if any is missing or
            unfit, and masks are not read.

    >>> import torch
    >>> from torch_geometric.data import Data
    >>> edge = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([1]), num_nodes=2)
    >>> graph_set_of([edge, edge], name="edges").y.tolist()
    [1, 1]
    """
    if hasattr(dataset, "to_homogeneous"):
        raise InputError("A PyG HeteroData was given; call its to_homogeneous() first.")
    # data sets of PyG have the attributes of their graphs too
    single = hasattr(dataset, "edge_index") and not hasattr(type(dataset), "indices")
    listed = [dataset] if single else list(dataset) if isinstance(dataset, Iterable) else [None]
    if not listed:
        raise InputError("data must have at least one graph, but the list is empty.")
    listed = [graph for each in listed for graph in _apart(each)]
    if any(getattr(each, "edge_index", None) is None for each in listed):
        raise InputError(
            f"data must be a GraphSet, or PyG data with edge_index and y, but {shown(dataset)} was given; "
            "of graphs of other libraries and their targets, detours.data.load(graphs, y=targets) is one."
        )
    without = [at for at, each in enumerate(listed) if getattr(each, "y", None) is None]
    if without and targets:
        which = name if len(without) == len(listed) else f"graph {without[0]} of {name}"
        raise InputError(f"{which} has no target y; give it one, without which a model can only predict.")
    y, level = (np.empty(0), _GRAPH) if without else _targets(listed, targets)
    graphs = [_graph(at, each) for at, each in enumerate(listed)]
    tell_dropped(name, graphs, len(graphs))
    labels, x = _features(listed, "x", [graph.num_nodes for graph in graphs])
    edge_labels, edge_x = _features(listed, "edge_attr", [graph.edge_index.shape[1] for graph in graphs])
    if targets:
        _tell_many(name, x=labels, edge_attr=edge_labels)
    folds = _masked(listed[0], level) if targets else None
    name = own_name(name, graphs) if targets else name
    made = GraphSet(
        name,
        graphs,
        _without_unknown(y, folds) if folds else y,
        labels,
        level=level,
        edge_labels=edge_labels,
        x=x,
        edge_x=edge_x,
        folds=folds,
    )
    if targets:
        _tell_targets(made)
    return made


def _tell_targets(data: GraphSet) -> None:
    """Warn of targets that may be meant otherwise than they are taken."""
    classes, values = data.classes, np.unique(data.y) if data.y.ndim == 1 else np.empty(0)
    number = len(values)
    if classes.size and classes[0] >= 0 and classes[-1] >= number:
        missing = int(np.argmax(classes != np.arange(number)))
        own = f"its {number} classes are {shown(classes.tolist())}" if number > 1 else f"all are {classes[0]}"
        warn_caller(f"{data.name} has no class {missing}; {own}.", UserWarning)
    elif number > 2 and classes.size and classes[0] < 0 and (classes[1:] == np.arange(number - 1)).all():
        unknown = f"; if it stands for unknown, leave such {data.level}s out"
        unknown += " of all masks" if data.level == "node" else ""
        warn_caller(f"{data.name} has the class {classes[0]} beside 0 to {number - 2}{unknown}.", UserWarning)
    elif data.task == "regression" and 1 < number <= FEW and (values == np.arange(number)).all():
        warn_caller(
            f"The targets of {data.name} are 0 to {number - 1}, but no integers: they are taken as numbers to predict. "
            "For classes give integers, such as y.long().",
            UserWarning,
        )


def is_tu_folder(path: Path) -> bool:
    """Return whether a folder, or raw/ in it, holds a data set in the TU Dortmund format."""
    return any(next(folder.glob("*_A.txt"), None) is not None for folder in (path / "raw", path) if folder.is_dir())


def check_own(path: Path) -> None:
    """Raise `FileFormatError` if what is at a path is neither a .pt file nor a folder in the TU Dortmund format."""
    if path.is_dir():
        if not is_tu_folder(path):
            raise FileFormatError(
                "this is a folder, but no file in it ends in _A.txt, as one does in the TU Dortmund format; "
                "give a folder that has one, or a .pt file with PyG data.",
                path,
            )
    elif path.suffix not in (".pt", ".pth"):
        if path.name.endswith("_A.txt"):
            raise FileFormatError(f"this is one file of a data set; give the folder {path.parent} that holds it.", path)
        raise FileFormatError(
            "this is no data set; give a .pt file with PyG data, or a folder in the TU Dortmund format.", path
        )


def read_own(path: str | os.PathLike[str], *, targets: bool = True) -> GraphSet:
    """Return the data in a .pt file that `torch.save` made of PyG data, or in a folder of the TU Dortmund format.

    Reading a .pt file runs no code: it may hold a `Data`, a list of them, or what a data set of PyG saves. With
    `targets` False they may be missing, as in `graph_set_of`.

    >>> import tempfile, torch
    >>> from torch_geometric.data import Data
    >>> edge = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([0]), num_nodes=2)
    >>> file = Path(tempfile.mkdtemp(), "edges.pt")
    >>> torch.save([edge, edge], file)
    >>> len(read_own(file))
    2
    """
    path = Path(path)
    check_own(path)
    if path.is_dir():
        folder = path / "raw" if (path / "raw").is_dir() else path
        found = sorted(folder.glob("*_A.txt"))
        if len(found) != 1:
            raise FileFormatError(f"a folder should hold one file NAME_A.txt, but it holds {len(found)}.", folder)
        name = found[0].name.removesuffix("_A.txt")
        read = read_tu(folder, name, targets=targets)
        tell_found(f"The graphs of {name}", read.dropped, single=False)
        name = own_name(name, read.graphs) if targets else name
        return read.graph_set(name)
    found = _load(path)
    with damage_named(path, "the PyG data"):
        listed = found if isinstance(found, list) else [found]
        nodes = sum(int(each.num_nodes or 0) for each in listed if hasattr(each, "num_nodes"))
        check_expansion(_PER_NODE * nodes, path.stat().st_size, path)
        return graph_set_of(found, path.stem, targets=targets)


def _targets(listed: Sequence[Any], needed: bool) -> tuple[NDArray[Any], Literal["graph", "node"]]:
    try:
        hint = "; number classes from 0"
        targets = [as_real(each.y, f"y of graph {at}", hint) for at, each in enumerate(listed)]
    except InputError:
        if needed:
            raise
        return np.empty(0), _GRAPH
    level: Literal["graph", "node"] = "node" if len(listed) == 1 and targets[0].size != 1 else "graph"
    number = listed[0].num_nodes if level == "node" else 1
    rows = [each if each.ndim == 2 else each.reshape(-1, 1) for each in targets]
    wrong = (at for at, row in enumerate(rows) if len(row) != number or row.shape != rows[0].shape)
    unfit = next(wrong, None)
    if unfit is not None and not needed:
        return np.empty(0), _GRAPH
    if unfit is not None:
        shape = targets[unfit].shape
        row = f"; a row of targets has the shape (1, {shape[0]})" if level == _GRAPH and len(shape) == 1 else ""
        raise InputError(
            "y must hold one target, or row of targets, for every graph or for every node of a single one, "
            f"but that of graph {unfit} has the shape {shape}{row}."
        )
    y = np.concatenate(rows)
    if y.shape[1] == 1:
        y = y[:, 0]
    return y.astype(np.int64 if y.dtype.kind in "iub" and y.ndim == 1 else np.float64), level


def _graph(number: int, data: Any) -> Graph:
    try:
        return build_graph(from_pyg(data))
    except InputError as error:
        raise InputError(f"graph {number}: {error}") from None


def _apart(batch: Any) -> list[Any]:
    """The graphs of a batch, which PyG cuts out where they were when it was made; a graph that is none, alone."""
    if not hasattr(batch, "to_data_list") or not hasattr(batch, "num_graphs"):
        return [batch]
    graphs: list[Any] = batch.to_data_list()
    if sum(graph.num_edges for graph in graphs) != batch.num_edges:
        raise InputError("the edges of the batch have changed since it was made; give the graphs as a list.")
    return graphs


def _features(listed: Sequence[Any], name: str, rows: Sequence[int]) -> tuple[list[Int64] | None, list[Float32] | None]:
    """Return labels or attributes, whichever `x` or `edge_attr` holds, of so many nodes or edges of each graph."""
    values = [getattr(each, name, None) for each in listed]
    if all(value is None for value in values):
        return None, None
    if any(value is None for value in values):
        at = next(number for number, value in enumerate(values) if value is None)
        raise InputError(f"graph {at} has no {name}, but others have; give it to all of them or to none.")
    arrays = [as_real(value, f"{name} of graph {at}") for at, value in enumerate(values)]
    for at, (array, number) in enumerate(zip(arrays, rows, strict=True)):
        if array.shape[:1] != (number,):
            things = "nodes" if name == "x" else "edges"
            raise InputError(f"{name} of graph {at} has the shape {array.shape}, but the graph has {number} {things}.")
        if array.ndim > 2:
            raise InputError(
                f"{name} of graph {at} has the shape {array.shape}; give it two dimensions, such as "
                f"({number}, {array.size // max(1, number)})."
            )
    filled = [array.reshape(len(array), -1) for array in arrays if len(array)]  # the others say nothing of their kind
    width = filled[0].shape[1] if filled else max(array.shape[1] if array.ndim > 1 else 1 for array in arrays)
    arrays = [array.reshape(len(array), -1 if len(array) else width) for array in arrays]
    other = next((at for at, array in enumerate(arrays) if array.shape[1] != width), None)
    if other is not None:
        raise InputError(
            f"{name} of graph {other} has the width {arrays[other].shape[1]}, but those before have {width}; "
            "give all the same."
        )
    if (width == 1 or filled) and all(array.dtype.kind in "iub" and array.shape[1] == 1 for array in filled):
        return [array[:, 0].astype(np.int64) for array in arrays], None
    return None, [_float32(array, f"{name} of graph {at}") for at, array in enumerate(arrays)]


def _tell_many(name: str, **labels: list[Int64] | None) -> None:
    """Warn of a column of integers that becomes a thousand columns or more."""
    for which, of_graphs in labels.items():
        number = 0 if of_graphs is None else len(np.unique(np.concatenate(of_graphs)))
        if number >= MANY:
            warn_caller(
                f"{which} of {name} is one column of {number:,} different integers, taken as labels with a column "
                "each; for numbers give floats.",
                UserWarning,
            )


def _float32(array: NDArray[Any], what: str) -> Float32:
    with np.errstate(over="ignore"):
        values = array.astype(np.float32)
    large = np.isinf(values) & np.isfinite(array)
    if large.any():
        raise InputError(f"{what} holds {array[large][0]:g}, which 32 bits cannot hold; scale the numbers.")
    return values


def _masked(data: Any, level: str) -> list[tuple[Int64, Int64, Int64]] | None:
    """Return the parts that the masks of a graph stand for, one fold for each of their columns; none if one lacks."""
    masks = [getattr(data, name, None) for name in MASKS]
    missing = [name for name, mask in zip(MASKS, masks, strict=True) if mask is None]
    if level != "node" or len(missing) == len(MASKS):
        return None
    if missing:
        return []
    arrays = [np.asarray(mask) for mask in masks]
    for name, array in zip(MASKS, arrays, strict=True):
        if array.ndim not in (1, 2) or len(array) != data.num_nodes or not np.isin(array, (0, 1)).all():
            raise InputError(
                f"{name} must say True or False for each of the {data.num_nodes} nodes (a column for each fold), "
                f"but it has the shape {array.shape} and the type {array.dtype}."
            )
    columns = [array.astype(bool).reshape(data.num_nodes, -1) for array in arrays]
    number = max(column.shape[1] for column in columns)
    if any(column.shape[1] not in (1, number) for column in columns):
        raise InputError(f"{', '.join(MASKS)} must have as many columns each, or one.")
    train, val, test = (np.broadcast_to(column, (data.num_nodes, number)) for column in columns)
    return [
        (np.flatnonzero(train[:, at]), np.flatnonzero(val[:, at]), np.flatnonzero(test[:, at])) for at in range(number)
    ]


def _without_unknown(y: Any, folds: list[tuple[Int64, Int64, Int64]]) -> Any:
    """Return the targets of nodes; those in no fold are never asked about, so what they alone have stands for none."""
    used = np.zeros(len(y), bool)
    used[np.concatenate([part for fold in folds for part in fold])] = True
    if used.all() or not used.any():
        return y
    known = y[used]
    if y.dtype.kind != "f":  # classes
        unknown, filling = ~np.isin(y, known), known[0]
    elif y.ndim > 1 and (np.isnan(known) | np.isin(known, (0, 1))).all():  # labels
        unknown, filling = ~np.isin(y, (0, 1)), np.nan
    else:
        unknown, filling = np.isnan(y), known[0]
    return np.where(unknown & ~used.reshape(-1, *[1] * (y.ndim - 1)), filling, y)


def _load(path: Path) -> Any:
    import torch
    from torch_geometric.data import Data, InMemoryDataset
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    if not path.exists():
        raise FileFormatError("there is no such file.", path)
    try:
        check_tensors(path)
        with damage_named(path, "the archive"):
            named = torch.serialization.get_unsafe_globals_in_checkpoint(path)
            safe = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage, InMemoryDataset, *_datasets(named)]
            with torch.serialization.safe_globals(safe):
                found = load_tensors(path)
    except FileFormatError:
        raise FileFormatError(
            "this is no PyG data that can be read without running code; save it with torch.save(list(dataset), file).",
            path,
        ) from None
    if not isinstance(found, tuple):
        return found
    # what `InMemoryDataset.save` and `collate` write: all graphs joined, and where each begins
    joined, slices = found[:2]
    joined = Data.from_dict(joined) if isinstance(joined, dict) else joined
    if slices is None:
        return joined
    dataset = InMemoryDataset()
    dataset._data, dataset.slices = joined, slices
    return dataset


def _datasets(names: Sequence[str]) -> list[Any]:
    """Return those of some classes that are data sets of PyG itself: to read one runs none of its code."""
    listed = [name.rpartition(".") for name in names if name.startswith("torch_geometric.datasets.")]
    return [getattr(import_module(module), name) for module, _, name in listed]
