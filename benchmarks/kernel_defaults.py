"""python -m benchmarks.kernel_defaults [NAME|FOLDER …]: accuracy of `WLDetour()`, its variants and GraKeL's WL.

Data sets are those of `detours data list`, or folders in the TU Dortmund format. All kernels use the same folds: a
stratified 10-fold cross-validation for each repeat. In every fold, C of scikit-learn's `SVC` is selected by a 5-fold
cross-validation on the training part; nothing else is tuned. Gram matrices that are not normalised are divided by
their mean diagonal, so that the same grid of C suits all of them.
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
"""Shortest paths are left out for data sets of at least this many nodes."""

Gram = NDArray[np.float64]


def kernels(data: GraphSet) -> dict[str, Callable[[], Gram]]:
    """Return, for each kernel, a function that computes its Gram matrix."""
    grams: dict[str, Callable[[], Gram]] = {GRAKEL: lambda: grakel_gram(data)}
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
        grams[name] = lambda options=options: WLDetour(**options, output="gram").fit_transform(data).astype(np.float64)
    return grams


def grakel_gram(data: GraphSet) -> Gram:
    """Return the Gram matrix of GraKeL's WL subtree kernel, with the same labels or degrees as ours."""
    import grakel

    graphs = []
    for i, graph in enumerate(data.graphs):
        rows = np.split(graph.indices, graph.indptr[1:-1])
        arcs = {node: dict.fromkeys(row.tolist(), 1.0) for node, row in enumerate(rows)}
        labels = graph.degree if data.labels is None else data.labels[i]
        graphs.append(grakel.Graph(arcs, node_labels=dict(enumerate(labels.tolist()))))
    kernel = grakel.WeisfeilerLehman(n_iter=5, normalize=True, base_graph_kernel=grakel.VertexHistogram)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # GraKeL warns about each graph that it converts
        return np.asarray(kernel.fit_transform(graphs), np.float64)


def accuracies(gram: Gram, y: NDArray[Any], repeats: int) -> list[float]:
    """Return the accuracy of every repeat, in per cent."""
    from sklearn.model_selection import StratifiedKFold

    gram = gram / gram.diagonal().mean()
    result = []
    for repeat in range(repeats):
        correct = 0
        for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=repeat).split(y, y):
            scores = np.zeros(len(COSTS))
            inner = StratifiedKFold(INNER, shuffle=True, random_state=repeat)
            for fit, held_out in ((train[a], train[b]) for a, b in inner.split(train, y[train])):
                grid = predict_grid(gram[np.ix_(fit, fit)], y[fit], gram[np.ix_(held_out, fit)], COSTS)
                scores += (grid.predicted == y[held_out]).sum(axis=1)
            machine = fit_machine(gram[np.ix_(train, train)], y[train], COSTS[int(scores.argmax())])
            correct += int((machine.predict(gram[np.ix_(test, train)]) == y[test]).sum())
        result.append(100 * correct / len(y))
    return result


def measure(data: GraphSet, repeats: int, only: list[str] | None = None) -> dict[str, list[float]]:
    """Return the accuracies of all kernels, or only of these, on a data set."""
    results = {"largest class": [100 * float(np.unique(data.y, return_counts=True)[1].max()) / len(data.y)]}
    for name, gram in kernels(data).items():
        if only is not None and name not in only:
            continue
        try:
            results[name] = accuracies(gram(), data.y, repeats)
        except ImportError as error:
            print(f"{name} skipped, {error}", file=sys.stderr)
            continue
        print(f"{data.name}: {name} {np.mean(results[name]):.1f}", file=sys.stderr)
    return results


def sheet(results: dict[str, dict[str, list[float]]]) -> Sheet:
    """One row per kernel, one column per data set."""
    names = list(dict.fromkeys(name for by_kernel in results.values() for name in by_kernel))
    rows = [[name, *(_cell(by_kernel.get(name)) for by_kernel in results.values())] for name in names]
    notes = []
    for data, by_kernel in results.items():
        means = {name: float(np.mean(values)) for name, values in by_kernel.items()}
        gap = max(value for name, value in means.items() if name not in ("largest class", GRAKEL)) - means[DEFAULT]
        rival = f", {means[DEFAULT] - means[GRAKEL]:+.1f} against GraKeL's WL" if GRAKEL in means else ""
        notes.append(f"{data}: the default is {gap:.1f} points below the best of ours{rival}")
    return Sheet("Accuracy in per cent, mean ± standard deviation over repeats", ["kernel", *results], rows, notes)


def _cell(values: list[float] | None) -> str:
    if values is None:
        return ""
    return f"{np.mean(values):.1f}" + (f" ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else "")


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.kernel_defaults",
        description="Accuracy of WLDetour(), its variants and GraKeL's WL.",
    )
    parser.add_argument("data", nargs="*", default=DATA, metavar="NAME|FOLDER")
    parser.add_argument("--repeats", type=int, default=3, help="repeats of the 10-fold cross-validation (default 3)")
    parser.add_argument("--most", type=int, metavar="N", help="use N random graphs of larger data sets")
    parser.add_argument("--kernel", nargs="+", metavar="NAME", help="only these kernels, named as in the table")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all accuracies to this file, too")
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
