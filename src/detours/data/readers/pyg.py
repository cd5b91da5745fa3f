"""The user's own data: PyG data in memory or in a .pt file, and folders in the TU Dortmund format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Float32, Int64
from detours.containers import check_expansion, check_tensors, damage_as_input_error, load_tensors
from detours.data.graph_set import GraphSet
from detours.data.readers.checks import as_real, warn_dropped, warn_total
from detours.data.readers.tu import read_tu
from detours.data.sizes import own_name
from detours.errors import FileFormatError, InputError, short_repr, warn_caller
from detours.graph import Graph
from detours.graph.arcs import reverse_arcs, values_on_arcs
from detours.graph.convert import from_pyg
from detours.graph.graph import build_graph

Folds = list[tuple[Int64, Int64, Int64]]
_BYTES_PER_NODE = 32  # approximate memory of a graph
_EDGES_AT_ONCE = 1_000_000  # whose features are compared
_GRAPH: Literal["graph"] = "graph"
MASKS = ("train_mask", "val_mask", "test_mask")
MAX_CLASSES = 20
"""Floats 0, 1, … may be meant as classes if there are no more of them than this."""
MIN_LABELS = 1_000
"""From this number of different labels on, there is a warning: they may be meant as numbers."""


def graph_set_of(dataset: Any, name: str = "data", *, targets: bool = True, folds: Folds | None = None) -> GraphSet:
    """Return PyG data as a `GraphSet`.

    Args:
        dataset: A `Data` with a target `y` for every node, or a data set or list of `Data`, one with such a `y` or more
            with one target each; of a `DataLoader`, its data set. Integers are classes, other numbers are regression
            targets, and rows of 0, 1 and NaN (unknown) are several labels each. `x` and `edge_attr` are features of
            nodes and edges; a single column of integers is taken as labels. The arcs of a `Data` with targets of nodes
            stay as they are, and training takes them both ways unless directed=True (with which features of an edge may
            depend on its direction); all other graphs are undirected. Masks of nodes are folds; the target of a node in
            none of them may be a placeholder for unknown, such as -1 or NaN.
        name: The name of the data set.
        targets: Whether targets are required. With False, for data to predict on, `y` is empty if any target is missing
            or invalid, and masks are not read.
        folds: Folds in place of those of the masks, also of graphs; the target of one in none of them may be a
            placeholder, too.

    >>> import torch
    >>> from torch_geometric.data import Data
    >>> edge = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([1]), num_nodes=2)
    >>> graph_set_of([edge, edge], name="edges").y.tolist()
    [1, 1]
    """
    if hasattr(dataset, "to_homogeneous"):
        raise InputError("A PyG HeteroData was given; call its to_homogeneous() first.")
    if hasattr(dataset, "batch_sampler") and hasattr(dataset, "dataset"):
        dataset = dataset.dataset  # a DataLoader may shuffle and drop graphs, but folds name those of its data set
        if not isinstance(dataset, Iterable):  # torch's Subset
            dataset = [dataset[at] for at in range(len(dataset))]
    # the data sets of PyG also have the attributes of their graphs
    single = hasattr(dataset, "edge_index") and not hasattr(type(dataset), "indices")
    items = [dataset] if single else list(dataset) if isinstance(dataset, Iterable) else [None]
    if not items:
        raise InputError("data must have at least one graph, but the list is empty.")
    items = [graph for each in items for graph in _unbatch(each)]
    if any(getattr(each, "edge_index", None) is None for each in items):
        raise InputError(
            f"data must be a GraphSet, or PyG data with edge_index and y, but {short_repr(dataset)} was given; "
            "for graphs of other libraries, use detours.data.load(graphs, y=targets)."
        )
    missing = [at for at, each in enumerate(items) if getattr(each, "y", None) is None]
    if missing and targets:
        which = name if len(missing) == len(items) else f"graph {missing[0]} of {name}"
        raise InputError(f"{which} has no target y; give it one, without which a model can only predict.")
    y, level = (np.empty(0), _GRAPH) if missing else _targets(items, targets)
    graphs = [_graph(at, each) for at, each in enumerate(items)]
    of_nodes = level == "node" or (not len(y) and len(items) == 1)  # or perhaps of nodes
    warn_dropped(name, graphs, len(graphs), directions=of_nodes)
    labels, x = _features(items, "x", [graph.num_nodes for graph in graphs])
    edge_labels, edge_x = _features(items, "edge_attr", [graph.edge_index.shape[1] for graph in graphs])
    if targets:
        _warn_many_labels(name, x=labels, edge_attr=edge_labels)
    if folds is None and targets:
        folds = _folds_from_masks(items[0], level)
    name = own_name(name, graphs) if targets else name
    y, unknown = _replace_unknown(y, folds) if folds else (y, None)
    data = GraphSet(
        name,
        [_as_stored(graphs[0], items[0], (edge_labels or edge_x or [None])[0])] if of_nodes else graphs,
        y,
        labels,
        level=level,
        edge_labels=edge_labels,
        x=x,
        edge_x=edge_x,
        folds=folds,
        unknown=unknown,
    )
    if targets:
        _warn_targets(data)
    return data


def _warn_targets(data: GraphSet) -> None:
    """Warn about targets whose meaning is ambiguous."""
    classes, values = data.classes, np.unique(data.y) if data.y.ndim == 1 else np.empty(0)
    n = len(values)
    if classes.size and classes[0] >= 0 and classes[-1] >= n:
        missing = int(np.argmax(classes != np.arange(n)))
        found = f"its {n} classes are {short_repr(classes.tolist())}" if n > 1 else f"all are {classes[0]}"
        warn_caller(f"{data.name} has no class {missing}; {found}.", UserWarning)
    elif n > 2 and classes.size and classes[0] < 0 and (classes[1:] == np.arange(n - 1)).all():
        unknown = f"; if it stands for unknown, leave such {data.level}s out"
        unknown += " of all masks" if data.level == "node" else ""
        warn_caller(f"{data.name} has the class {classes[0]} in addition to 0 to {n - 2}{unknown}.", UserWarning)
    elif data.task == "regression" and 1 < n <= MAX_CLASSES and (values == np.arange(n)).all():
        warn_caller(
            f"The targets of {data.name} are 0 to {n - 1}, but not integers: they are taken as regression targets. "
            "For classes give integers, such as y.long().",
            UserWarning,
        )
    elif data.y.ndim == 2 and data.task == "regression" and np.isin(np.nan_to_num(data.y), (-1, 0, 1)).all():
        warn_caller(
            f"The targets of {data.name} are rows of -1, 0 and 1: they are taken as regression targets. If these are "
            "labels, and -1 stands for unknown, give NaN instead of -1.",
            UserWarning,
        )


def is_tu_folder(path: Path) -> bool:
    """Return whether a folder, or raw/ in it, contains a data set in the TU Dortmund format."""
    return any(next(folder.glob("*_A.txt"), None) is not None for folder in (path / "raw", path) if folder.is_dir())


def check_own(path: Path) -> None:
    """Raise `FileFormatError` unless a path is a .pt file or a folder in the TU Dortmund format."""
    if path.is_dir():
        if not is_tu_folder(path):
            raise FileFormatError(
                "this is a folder, but no file in it ends in _A.txt, as required by the TU Dortmund format; "
                "give a folder that has one, or a .pt file with PyG data.",
                path,
            )
    elif path.suffix not in (".pt", ".pth"):
        if path.name.endswith("_A.txt"):
            raise FileFormatError(f"this is one file of a data set; give its folder {path.parent}.", path)
        raise FileFormatError(
            "this is not a data set; give a .pt file with PyG data, or a folder in the TU Dortmund format.", path
        )


def read_own(path: str | os.PathLike[str], *, targets: bool = True) -> GraphSet:
    """Read a .pt file of PyG data, written by `torch.save`, or a folder in the TU Dortmund format.

    Reading a .pt file runs no code from it. It may contain a `Data`, a list of them, or what a data set of PyG saves.
    With `targets=False`, targets may be missing, as in `graph_set_of`.

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
        edge_files = sorted(folder.glob("*_A.txt"))
        if len(edge_files) != 1:
            raise FileFormatError(
                f"a folder should contain one file NAME_A.txt, but it contains {len(edge_files)}.", folder
            )
        name = edge_files[0].name.removesuffix("_A.txt")
        data = read_tu(folder, name, targets=targets)
        warn_total(f"The graphs of {name}", data.dropped, directions=False)
        name = own_name(name, data.graphs) if targets else name
        return data.graph_set(name)
    dataset = _load(path)
    with damage_as_input_error(path, "the PyG data"):
        items = dataset if isinstance(dataset, list) else [dataset]
        nodes = sum(int(each.num_nodes or 0) for each in items if hasattr(each, "num_nodes"))
        check_expansion(_BYTES_PER_NODE * nodes, path.stat().st_size, path)
        return graph_set_of(dataset, path.stem, targets=targets)


def _targets(items: Sequence[Any], required: bool) -> tuple[NDArray[Any], Literal["graph", "node"]]:
    try:
        hint = "; number classes from 0"
        targets = [as_real(each.y, f"y of graph {at}", hint) for at, each in enumerate(items)]
    except InputError:
        if required:
            raise
        return np.empty(0), _GRAPH
    level: Literal["graph", "node"] = "node" if len(items) == 1 and targets[0].size != 1 else "graph"
    num_rows = items[0].num_nodes if level == "node" else 1
    rows = [each if each.ndim == 2 else each.reshape(-1, 1) for each in targets]
    wrong = (at for at, row in enumerate(rows) if len(row) != num_rows or row.shape != rows[0].shape)
    first_wrong = next(wrong, None)
    if first_wrong is not None and not required:
        return np.empty(0), _GRAPH
    if first_wrong is not None:
        shape = targets[first_wrong].shape
        row = f"; a row of targets has the shape (1, {shape[0]})" if level == _GRAPH and len(shape) == 1 else ""
        raise InputError(
            "y must contain one target, or row of targets, for every graph or for every node of a single graph, "
            f"but that of graph {first_wrong} has the shape {shape}{row}."
        )
    y = np.concatenate(rows)
    if y.shape[1] == 1:
        y = y[:, 0]
    return y.astype(np.int64 if y.dtype.kind in "iub" and y.ndim == 1 else np.float64), level


def _graph(at: int, data: Any) -> Graph:
    try:
        return build_graph(from_pyg(data))
    except InputError as error:
        raise InputError(f"graph {at}: {error}") from None


def _as_stored(graph: Graph, data: Any, edge_features: NDArray[Any] | None) -> Graph:
    """Return a graph with the arcs of the PyG data if some are one-way, or have other features in one direction."""
    depends = edge_features is not None and _depends_on_direction(graph, edge_features)
    return build_graph(from_pyg(data), directed=True) if graph.dropped.one_way or depends else graph


def _depends_on_direction(graph: Graph, features: NDArray[Any]) -> bool:
    """Return whether both arcs of some edge have other features, and repetitions of an arc the same."""
    edge_of_arc, _ = values_on_arcs(graph, np.arange(len(features), dtype=np.int64))
    listed = np.flatnonzero(graph.edge_arc >= 0)
    repeated_alike = _are_alike(features, listed, edge_of_arc[graph.edge_arc[listed]])
    return repeated_alike and not _are_alike(features, edge_of_arc, edge_of_arc[reverse_arcs(graph)])


def _are_alike(features: NDArray[Any], edges: Int64, others: Int64) -> bool:
    for start in range(0, len(edges), _EDGES_AT_ONCE):
        one, other = (features[each[start : start + _EDGES_AT_ONCE]] for each in (edges, others))
        if not ((one == other) | ((one != one) & (other != other))).all():
            return False
    return True


def _unbatch(batch: Any) -> list[Any]:
    """Return the graphs of a batch, which PyG cuts at the original offsets; for a single graph, the graph itself."""
    if not hasattr(batch, "to_data_list") or not hasattr(batch, "num_graphs"):
        return [batch]
    graphs: list[Any] = batch.to_data_list()
    if sum(graph.num_edges for graph in graphs) != batch.num_edges:
        raise InputError("the edges of the batch have changed since it was created; give the graphs as a list.")
    return graphs


def _features(items: Sequence[Any], name: str, sizes: Sequence[int]) -> tuple[list[Int64] | None, list[Float32] | None]:
    """Return the labels or the attributes in `x` or `edge_attr`, given the number of nodes or edges of each graph."""
    values = [getattr(each, name, None) for each in items]
    if all(value is None for value in values):
        return None, None
    if any(value is None for value in values):
        missing = next(at for at, value in enumerate(values) if value is None)
        raise InputError(f"graph {missing} has no {name}, but others have; give it to all of them or to none.")
    arrays = [as_real(value, f"{name} of graph {at}") for at, value in enumerate(values)]
    for at, (array, size) in enumerate(zip(arrays, sizes, strict=True)):
        if array.shape[:1] != (size,):
            things = "nodes" if name == "x" else "edges"
            raise InputError(f"{name} of graph {at} has the shape {array.shape}, but the graph has {size} {things}.")
        if array.ndim > 2:
            raise InputError(
                f"{name} of graph {at} has the shape {array.shape}; give it two dimensions, such as "
                f"({size}, {array.size // max(1, size)})."
            )
    nonempty = [array.reshape(len(array), -1) for array in arrays if len(array)]  # only these have a meaningful dtype
    width = nonempty[0].shape[1] if nonempty else max(array.shape[1] if array.ndim > 1 else 1 for array in arrays)
    arrays = [array.reshape(len(array), -1 if len(array) else width) for array in arrays]
    other = next((at for at, array in enumerate(arrays) if array.shape[1] != width), None)
    if other is not None:
        raise InputError(
            f"{name} of graph {other} has the width {arrays[other].shape[1]}, but those before have {width}; "
            "give all of them the same width."
        )
    if (width == 1 or nonempty) and all(array.dtype.kind in "iub" and array.shape[1] == 1 for array in nonempty):
        return [array[:, 0].astype(np.int64) for array in arrays], None
    return None, [_float32(array, f"{name} of graph {at}") for at, array in enumerate(arrays)]


def _warn_many_labels(name: str, **labels: list[Int64] | None) -> None:
    """Warn about a column of integers that would be encoded in a thousand columns or more."""
    for attribute, by_graph in labels.items():
        num_labels = 0 if by_graph is None else len(np.unique(np.concatenate(by_graph)))
        if num_labels >= MIN_LABELS:
            warn_caller(
                f"{attribute} of {name} is one column of {num_labels:,} different integers, taken as labels with a "
                "column each; for numbers give floats.",
                UserWarning,
            )


def _float32(array: NDArray[Any], what: str) -> Float32:
    with np.errstate(over="ignore"):
        values = array.astype(np.float32)
    overflow = np.isinf(values) & np.isfinite(array)
    if overflow.any():
        raise InputError(f"{what} contains {array[overflow][0]:g}, which overflows float32; scale the values.")
    return values


def _folds_from_masks(data: Any, level: str) -> Folds | None:
    """Return one fold per column of the masks; None if there are no masks, empty if some are missing."""
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
                f"{name} must be True or False for each of the {data.num_nodes} nodes (in a column for each fold), "
                f"but it has the shape {array.shape} and the type {array.dtype}."
            )
    columns = [array.astype(bool).reshape(data.num_nodes, -1) for array in arrays]
    num_folds = max(mask.shape[1] for mask in columns)
    if any(mask.shape[1] not in (1, num_folds) for mask in columns):
        raise InputError(f"{', '.join(MASKS)} must have the same number of columns, or one.")
    train, val, test = (np.broadcast_to(mask, (data.num_nodes, num_folds)).T for mask in columns)
    folds = zip(train, val, test, strict=True)
    return [(np.flatnonzero(train), np.flatnonzero(val), np.flatnonzero(test)) for train, val, test in folds]


def _replace_unknown(y: NDArray[Any], folds: Folds) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Replace values that occur only at nodes or graphs in no fold: these are placeholders for unknown targets.

    They become NaN for labels, else the target of some other node, so that they do not change the task or the classes.
    Return the targets, and whether each is now that of another node; `None` if none is.
    """
    used = np.zeros(len(y), bool)
    rows = np.concatenate([part for fold in folds for part in fold])
    used[rows[(rows >= 0) & (rows < len(y))]] = True
    if used.all() or not used.any():
        return y, None
    known = y[used]
    if y.dtype.kind != "f":  # classes
        unknown, fill_value = ~np.isin(y, known), known[0]
    elif y.ndim > 1 and (np.isnan(known) | np.isin(known, (0, 1))).all():  # labels
        unknown, fill_value = ~np.isin(y, (0, 1)), np.nan
    else:
        unknown, fill_value = np.isnan(y), known[0]
    unknown &= ~used.reshape(-1, *[1] * (y.ndim - 1))
    filled = np.where(unknown, fill_value, y)
    replaced = (unknown & (filled == filled)).reshape(len(y), -1).any(axis=1)  # NaN is no other's target
    return filled, replaced if replaced.any() else None


def _load(path: Path) -> Any:
    import torch
    from torch_geometric.data import Data, InMemoryDataset
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    if not path.exists():
        raise FileFormatError("there is no such file.", path)
    try:
        check_tensors(path)
        with damage_as_input_error(path, "the archive"):
            class_names = torch.serialization.get_unsafe_globals_in_checkpoint(path)
            safe = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage, InMemoryDataset, *_datasets(class_names)]
            with torch.serialization.safe_globals(safe):
                loaded = load_tensors(path)
    except FileFormatError:
        raise FileFormatError(
            "this is not PyG data that can be read without running code; save it with torch.save(list(dataset), file).",
            path,
        ) from None
    if not isinstance(loaded, tuple):
        return loaded
    # the format of `InMemoryDataset.save` and `collate`: all graphs joined, and the slices of each
    joined, slices = loaded[:2]
    joined = Data.from_dict(joined) if isinstance(joined, dict) else joined
    if slices is None:
        return joined
    dataset = InMemoryDataset()
    dataset._data, dataset.slices = joined, slices
    return dataset


def _datasets(names: Sequence[str]) -> list[Any]:
    """Return those classes that are data sets of PyG itself; unpickling them runs none of their code."""
    paths = [name.rpartition(".") for name in names if name.startswith("torch_geometric.datasets.")]
    return [getattr(import_module(module), name) for module, _, name in paths]
