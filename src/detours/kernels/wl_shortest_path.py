"""`WLShortestPath`: graphs compared by the distances between nodes with the colours of 1-WL."""

from __future__ import annotations

from detours.kernels.base import GraphKernel, base_named, check_edge_labels, check_rounds
from detours.kernels.colours.colouring import ColouringOptions
from detours.kernels.features.blocks import Base


class WLShortestPath(GraphKernel):
    """The Weisfeiler–Lehman shortest-path kernel (Shervashidze et al., 2011).

    In every round the features are those of `ShortestPath`, with the colours of that round as labels. Distances are
    found once for all rounds. With output="gram" the features are never all held at once: large graphs fit.

    Args:
        n_iter: Rounds of refinement after round 0; all rounds count.
        labels: The colours of round 0: "auto" (the labels of the nodes if the graphs have any, else degrees), "degree",
            "data" (the labels), "both" or "none".
        edge_labels: Whether a round sees the labels of edges, each with the colour of the node behind it.
        output: "features" for a sparse matrix of counts, "gram" for the products with the graphs of `fit`.
        normalize: Divide by the norms, so that a graph has 1 with itself (0 if it has no features). Without it counts
            and products are exact integers.
        memory_limit: Bytes, or a text like "2GB", for distances and features; 4 GB by default. Distances that do not
            fit are searched for again when needed; features that do not fit are refused.

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

    def _new_base(self) -> Base:
        return base_named("shortest-path", self.memory_limit)
