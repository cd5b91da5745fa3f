"""`GraphKernel`: the base class of all kernels, from a list of graphs to features or a Gram matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from detours.checks import check_choice, check_flag, check_integer, parse_bytes
from detours.errors import InputError
from detours.kernels.batch import read_batch
from detours.kernels.colours.colouring import ColouredBatch, Colouring, ColouringOptions
from detours.kernels.colours.description import describe, draw
from detours.kernels.features.blocks import BaseKernel, Blocks, Carriers, stack_blocks
from detours.kernels.features.histograms import HistogramBase
from detours.kernels.features.products import mirror
from detours.kernels.features.triples import TripleBase

OUTPUTS = ("features", "gram")
LABELS = ("auto", "degree", "data", "both", "none")
BASES = ("subtree", "shortest-path")
MAX_ROUNDS = 10**6
"""The largest `n_iter`: every round has its own features, also when colours are stable."""
DEFAULT_LIMIT = 4 * 10**9
"""The default `memory_limit`: bytes for distances and features."""


class GraphKernel(TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """A graph kernel with an explicit feature map; subclasses define how nodes are coloured and what is counted.

    `X` is a list of graphs of any kind that `detours.count` takes. For labels of nodes or edges give a list of
    `Labelled(graph, labels, edge_labels)`, NetworkX or igraph graphs with the attribute "label", PyG data with one-hot
    `x`, or a `detours.data` set. `labelled` converts such a list once, for repeated use.

    Parameters are read by `fit`; changing them afterwards has no effect until the next `fit`. As for every sparse
    transformer of scikit-learn, `set_output(transform="pandas")` needs a dense output, here output="gram".

    Attributes:
        colouring_: The colours learned in `fit`.
        base_: The fitted base kernel, which counts them.
        block_starts_: The offsets of the rounds among the columns, for output="features": the columns before
            ``block_starts_[r + 1]`` are the features of the same kernel with n_iter = r.

    >>> from detours.kernels import WLSubtree
    >>> triangle, path = [(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2), (2, 3)]
    >>> kernel = WLSubtree(n_iter=1)
    >>> isinstance(kernel, GraphKernel), kernel.fit_transform([triangle, path]).shape
    (True, (2, 5))
    """

    labels: str
    output: str
    normalize: bool
    norms_: Any
    n_graphs_: int

    @abstractmethod
    def _colouring_options(self) -> ColouringOptions:
        """How nodes are coloured; parameters are checked here or in `_new_base`."""

    @abstractmethod
    def _new_base(self) -> BaseKernel:
        """A new base kernel, which counts the colours of each round; see `make_base`."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the colours and features of some graphs; `y` is ignored."""
        with self._fitting() as fitted:
            coloured = fitted._learn_colours(X)
            if fitted.output_ == "features":
                fitted._learn_features(coloured)
            else:
                fitted.base_.remember(coloured)
                fitted.norms_ = fitted.base_.norms(coloured) if fitted.normalize_ else None
                fitted.n_graphs_ = len(coloured.batch)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit to some graphs and return the result of `transform` on them; `y` is ignored."""
        with self._fitting() as fitted:
            coloured = fitted._learn_colours(X)
            if fitted.output_ == "features":
                return fitted._features(fitted._learn_features(coloured), len(coloured.batch))
            fitted.base_.remember(coloured)
            fitted.n_graphs_ = len(coloured.batch)
            gram = np.zeros((len(coloured.batch),) * 2, np.int64)
            for _ in fitted.base_.add_rounds(gram):
                pass
            mirror(gram)
            fitted.norms_ = gram.diagonal().copy()
            return _cosine(gram, fitted.norms_, fitted.norms_) if fitted.normalize_ else gram

    def transform(self, X: Any) -> Any:
        """Return sparse features [graphs, features of fit], or products [graphs, graphs of fit].

        Colours that `fit` did not see match nothing; they only add to the norm of their graph.
        """
        check_is_fitted(self, "colouring_")
        coloured = self._coloured(X, self.colouring_.options)
        ids = self.colouring_.find(coloured)
        if self.output_ == "features":
            return self._features(self.base_.features(coloured, ids), len(coloured.batch))
        gram = self.base_.products(coloured, ids)
        return _cosine(gram, self.base_.norms(coloured), self.norms_) if self.normalize_ else gram

    def grams(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the Gram matrices of `X` for n_iter = 0, 1, …, self.n_iter, each a copy; needs no `fit`.

        Colours are refined once, and every matrix is the previous one with one more round added: all of them cost no
        more than the last.
        """
        options, base = self._check_params(), self._new_base()
        coloured = self._coloured(X, options)
        gram = np.zeros((len(coloured.batch),) * 2, np.int64)
        base.remember(coloured)
        for _ in base.add_rounds(gram):
            full = gram.copy()
            mirror(full)
            yield _cosine(full, full.diagonal(), full.diagonal()) if self.normalize else full

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The name of every column: the round and colours of a feature, or the graph of a product."""
        check_is_fitted(self, "colouring_")
        if self.output_ == "gram":
            names = [f"graph {g}" for g in range(self.n_graphs_)]
        else:
            widths = np.diff(self.block_starts_).tolist()
            names = [self._name(round, within) for round, width in enumerate(widths) for within in range(width)]
        return np.array(names, dtype=object)

    def feature_name(self, column: int) -> str:
        """The name of one feature."""
        return self._name(*self.feature_round(column))

    def describe_feature(self, column: int) -> str:
        """Describe in words what a feature stands for: the node (or the two nodes) and its neighbourhood."""
        round, within = self.feature_round(column)
        words = [describe(self.colouring_, round, colour) for colour in self.base_.colours(round, within)]
        return " and ".join(words) + self.base_.relation(round, within)

    def draw_feature(self, column: int) -> str:
        """Draw a feature as lines of text: the node, its neighbours and their neighbours, up to three steps away."""
        round, within = self.feature_round(column)
        trees = [draw(self.colouring_, round, colour) for colour in self.base_.colours(round, within)]
        return "\n".join(filter(None, [*trees, self.base_.relation(round, within).lstrip(", ")]))

    def feature_round(self, column: int) -> tuple[int, int]:
        """The round of a feature, and its index among the features of that round."""
        check_is_fitted(self, "colouring_")
        if self.output_ == "gram":
            raise InputError('The kernel was fitted with output="gram" and has no features; fit it with "features".')
        num_features = int(self.block_starts_[-1])
        column = check_integer("column", column, minimum=-num_features, maximum=num_features - 1) % num_features
        round = int(np.searchsorted(self.block_starts_, column, side="right")) - 1
        return round, column - int(self.block_starts_[round])

    def carriers(self, graph: Any, column: int) -> Carriers:
        """The nodes, and pairs of nodes, of one graph (an item of `X`) that carry a feature."""
        round, within = self.feature_round(column)
        coloured = self._coloured([graph], self.colouring_.options)
        nodes, pairs = self.base_.carriers(coloured, self.colouring_.find(coloured), round, within)
        num_nodes = coloured.batch.graphs[0].num_nodes  # those from here on belong to the plain copy
        return Carriers(nodes % num_nodes if num_nodes else nodes, None if pairs is None else pairs % num_nodes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True  # graphs are checked by `read_batch`, not as an array
        return tags

    def _more_tags(self) -> dict[str, Any]:
        """The same for scikit-learn before 1.6."""
        return {"X_types": ["graphs"], "no_validation": True}

    def _name(self, round: int, within: int) -> str:
        name = self.base_.name(self.colouring_, round, within)
        return f"round {round}: {name}" if self.colouring_.options.rounds else name

    def _check_params(self) -> ColouringOptions:
        check_choice("output", self.output, OUTPUTS)
        check_flag("normalize", self.normalize)
        check_choice("labels", self.labels, LABELS)
        return self._colouring_options()

    def _coloured(self, X: Any, options: ColouringOptions) -> ColouredBatch:
        batch = read_batch(X, "if any" if options.labels == "auto" else options.with_labels, options.edge_labels)
        return ColouredBatch(batch, options.resolved(batch.labels is not None))

    @contextmanager
    def _fitting(self) -> Iterator[Self]:
        """Yield a copy to fit, which this kernel becomes at the end: if something fails, it stays as it was."""
        fitted = copy(self)
        yield fitted
        self.__dict__.update(fitted.__dict__)

    def _learn_colours(self, X: Any) -> ColouredBatch:
        options, base = self._check_params(), self._new_base()  # parameters are refused before detours are counted
        coloured = self._coloured(X, options)
        self.output_, self.normalize_ = self.output, self.normalize
        self.colouring_ = Colouring(coloured)
        self.base_ = base
        return coloured

    def _learn_features(self, coloured: ColouredBatch) -> Blocks:
        learned = self.base_.learn(coloured)
        self.block_starts_ = np.concatenate([[0], np.cumsum([block.width for block in learned.blocks])])
        return learned

    def _features(self, features: Blocks, num_graphs: int) -> Any:
        matrix = stack_blocks(features.blocks, num_graphs)
        if self.normalize_:
            matrix = matrix.astype(np.float64)
            matrix.data /= np.repeat(np.sqrt(np.maximum(features.norms, 1)), np.diff(matrix.indptr))
        return matrix


def _cosine(gram: NDArray[Any], rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.float64]:
    """Products divided by the norms; a graph without features has similarity 0 with every graph, itself included.

    The square root of the product of two norms, not the product of their roots: no entry is rounded to more than 1, and
    graphs with the same features have exactly 1, so that ``1 - gram`` has no negative distances.
    """
    scale = np.sqrt(np.maximum(rows, 1.0)[:, None] * np.maximum(columns, 1.0)[None, :])
    scaled: NDArray[np.float64] = gram / scale
    return scaled


def check_edge_labels(edge_labels: object) -> bool:
    """Return True or False, or raise `InputError`."""
    hint = "; the labels come with each graph, as Labelled(graph, labels, edge_labels)"
    return check_flag("edge_labels", edge_labels, hint=hint)


def check_rounds(n_iter: object) -> int:
    """Return `n_iter` as an int from 0 to `MAX_ROUNDS`, or raise `InputError`."""
    return check_integer("n_iter", n_iter, minimum=0, maximum=MAX_ROUNDS)


def make_base(base: str, memory_limit: int | str | None) -> BaseKernel:
    """Return a new base kernel by its name."""
    check_choice("base", base, BASES)
    limit = parse_bytes(memory_limit) or DEFAULT_LIMIT
    return HistogramBase() if base == "subtree" else TripleBase(limit)
