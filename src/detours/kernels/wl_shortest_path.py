"""`WLShortestPath`: compares graphs by the distances between nodes with given 1-WL colours."""

from __future__ import annotations

from detours.kernels.base import GraphKernel, check_edge_labels, check_rounds, make_base
from detours.kernels.colours.colouring import ColouringOptions
from detours.kernels.features.blocks import BaseKernel


class WLShortestPath(GraphKernel):
    """The Weisfeiler–Lehman shortest-path kernel (Shervashidze et al., 2011).

    The features of every round are those of `ShortestPath` with the colours of that round as labels. Distances are
    computed once for all rounds. With output="gram" the features are never all in memory at once, so large graphs fit.

    Args:
        n_iter: Rounds of refinement after round 0; the features of all rounds are used.
        labels: The colours of round 0: "auto" (the labels of the nodes if the graphs have any, else degrees), "degree",
            "data" (the labels), "both" or "none".
        edge_labels: Whether refinement uses the labels of edges, each together with the colour of the neighbour.
        output: "features" for a sparse matrix of counts, "gram" for the products with the graphs of `fit`.
        normalize: Whether to divide by the norms: a graph then has similarity 1 with itself (0 if it has no features).
            Otherwise, counts and products are exact integers.
        memory_limit: Bytes, or a string such as "2GB", for distances and features; default 4 GB. Distances that do not
            fit are computed again when needed; features that do not fit raise an error.

    >>> path = [(0, 1, 1, 2), (1, 0, 2, 1)]
    >>> WLShortestPath(n_iter=2, output="gram", normalize=False).fit_transform([path]).tolist()
    [[36]]
    """

    def __init__(
        self,
        n_iter: int = 5,
        *,
        labels: str = "auto",
        edge_labels: bool = False,
        output: str = "features",
        normalize: bool = True,
        memory_limit: int | str | None = None,
    ) -> None:
        self.n_iter = n_iter
        self.labels = labels
        self.edge_labels = edge_labels
        self.output = output
        self.normalize = normalize
        self.memory_limit = memory_limit

    def _colouring_options(self) -> ColouringOptions:
        return ColouringOptions(self.labels, check_rounds(self.n_iter), edge_labels=check_edge_labels(self.edge_labels))

    def _new_base(self) -> BaseKernel:
        return make_base("shortest-path", self.memory_limit)
