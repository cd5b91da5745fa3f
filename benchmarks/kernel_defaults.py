"""python -m benchmarks.kernel_defaults [NAME|FOLDER …]: accuracy of `WLDetour()` beside its variants and GraKeL's WL.

Data sets are those of `detours data list`, or folders in the TU Dortmund format. All kernels have the same folds: a
stratified 10-fold cross-validation for each repeat. In every fold C of scikit-learn's `SVC` is chosen by a 5-fold
cross-validation inside the training part; nothing else is chosen. Gram matrices that are not normalised are divided by
their mean diagonal, so that one grid of C suits all.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.report import Sheet
from detours.data import GraphSet, load, read_own
from detours.experiments.kernels.svm import fit_machine, predict_grid
from detours.kernels import WLDetour

DATA = ("MUTAG", "PTC_FM", "ENZYMES", "IMDB-BINARY", "NCI1", "DD")
COSTS = tuple(10.0**power for power in range(-2, 4))
FOLDS, INNER = 10, 5
DEFAULT, GRAKEL = "WLDetour()", "GraKeL's WL"
LARGE = 100_000
"""Nodes of a data set from which on shortest paths are left out."""

Gram = NDArray[np.float64]


def kernels(data: GraphSet) -> dict[str, Callable[[], Gram]]:
    """Return for each kernel a function that computes its Gram matrix."""
    made: dict[str, Callable[[], Gram]] = {GRAKEL: lambda: grakel_gram(data)}
    variants: dict[str, dict[str, Any]] = {
        DEFAULT: {},
        "k = 3": {"k": 3},
        "k = 6": {"k": 6},
        "n_iter = 3": {"n_iter": 3},
        'init="den-sum"': {"init": "den-sum"},
        "plain=False": {"plain": False},
        "normalize=False": {"normalize": False},
    }
    if data.labels is not None:
        variants['labels="degree"'] = {"labels": "degree"}
    if data.edge_labels is not None:
        variants["edge_labels=True"] = {"edge_labels": True}
    if sum(graph.num_nodes for graph in data.graphs) < LARGE:
        variants['base="shortest-path"'] = {"base": "shortest-path"}
    for name, options in variants.items():
        made[name] = lambda options=options: WLDetour(**options, output="gram").fit_transform(data).astype(np.float64)
    return made


def grakel_gram(data: GraphSet) -> Gram:
    """Return the matrix of GraKeL's WL subtree kernel with the labels, or degrees, that ours sees."""
    import grakel

    graphs = []
    for at, graph in enumerate(data.graphs):
        rows = np.split(graph.indices, graph.indptr[1:-1])
        arcs = {node: dict.fromkeys(row.tolist(), 1.0) for node, row in enumerate(rows)}
        labels = graph.degree if data.labels is None else data.labels[at]
        graphs.append(grakel.Graph(arcs, node_labels=dict(enumerate(labels.tolist()))))
    kernel = grakel.WeisfeilerLehman(n_iter=5, normalize=True, base_graph_kernel=grakel.VertexHistogram)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it converts graphs with a warning for each
        return np.asarray(kernel.fit_transform(graphs), np.float64)


def accuracies(gram: Gram, y: NDArray[Any], repeats: int) -> list[float]:
    """Return the accuracy of every repeat, in per cent."""
    from sklearn.model_selection import StratifiedKFold

    gram = gram / gram.diagonal().mean()
    found = []
    for repeat in range(repeats):
        right = 0
        for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=repeat).split(y, y):
            scores = np.zeros(len(COSTS))
            inner = StratifiedKFold(INNER, shuffle=True, random_state=repeat)
            for fit, held_out in ((train[a], train[b]) for a, b in inner.split(train, y[train])):
                grid = predict_grid(gram[np.ix_(fit, fit)], y[fit], gram[np.ix_(held_out, fit)], COSTS)
                scores += (grid.predicted == y[held_out]).sum(axis=1)
            machine = fit_machine(gram[np.ix_(train, train)], y[train], COSTS[int(scores.argmax())])
            right += int((machine.predict(gram[np.ix_(test, train)]) == y[test]).sum())
        found.append(100 * right / len(y))
    return found


def measure(data: GraphSet, repeats: int, only: list[str] | None = None) -> dict[str, list[float]]:
    """Return the accuracies of kernels on a data set."""
    results = {"largest class": [100 * float(np.unique(data.y, return_counts=True)[1].max()) / len(data.y)]}
    for name, gram in kernels(data).items():
        if only is not None and name not in only:
            continue
        try:
            results[name] = accuracies(gram(), data.y, repeats)
        except ImportError as missing:
            print(f"{name} skipped, {missing}", file=sys.stderr)
            continue
        print(f"{data.name}: {name} {np.mean(results[name]):.1f}", file=sys.stderr)
    return results


def sheet(results: dict[str, dict[str, list[float]]]) -> Sheet:
    """One row for each kernel, one column for each data set."""
    names = list(dict.fromkeys(name for found in results.values() for name in found))
    rows = [[name, *(_cell(found.get(name)) for found in results.values())] for name in names]
    notes = []
    for data, found in results.items():
        ours = {name: float(np.mean(each)) for name, each in found.items() if name not in ("largest class", GRAKEL)}
        short = max(ours.values()) - ours[DEFAULT]
        rival = f", {ours[DEFAULT] - np.mean(found[GRAKEL]):+.1f} against GraKeL's WL" if GRAKEL in found else ""
        notes.append(f"{data}: the default is {short:.1f} points below the best of ours{rival}")
    return Sheet("Accuracy in per cent, mean ± deviation over repeats", ["kernel", *results], rows, notes)


def _cell(found: list[float] | None) -> str:
    if found is None:
        return ""
    return f"{np.mean(found):.1f}" + (f" ± {np.std(found, ddof=1):.1f}" if len(found) > 1 else "")


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernel_defaults", description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=DATA, metavar="NAME|FOLDER")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--most", type=int, metavar="N", help="of larger data sets N random graphs")
    parser.add_argument("--kernel", nargs="+", metavar="NAME", help="only these, named as in the table")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all accuracies")
    options = parser.parse_args(arguments)
    results = {}
    for name in options.data:
        data = read_own(Path(name)) if Path(name).is_dir() else load(name)
        if options.most is not None and len(data.graphs) > options.most:
            chosen = np.random.default_rng(0).permutation(len(data.graphs))[: options.most]
            data = data.subset(sorted(chosen.tolist()))
        results[data.name] = measure(data, options.repeats, options.kernel)
        if options.json is not None:
            options.json.write_text(json.dumps(results, indent=1))
    sheet(results).show(Console())
    return 0


if __name__ == "__main__":
    sys.exit(main())
