"""`WLSubtree`: compares graphs by their 1-WL colours."""

from __future__ import annotations

from detours.kernels.base import GraphKernel, check_edge_labels, check_rounds, make_base
from detours.kernels.colours.colouring import ColouringOptions
from detours.kernels.features.blocks import BaseKernel


class WLSubtree(GraphKernel):
    """The Weisfeiler–Lehman subtree kernel (Shervashidze et al., 2011): histograms of colours, round by round.

    Args:
        n_iter: Rounds of refinement after round 0; the features of all rounds are used.
        labels: The colours of round 0: "auto" (the labels of the nodes if the graphs have any, else degrees), "degree",
            "data" (the labels), "both" or "none".
        edge_labels: Whether refinement uses the labels of edges, each together with the colour of the neighbour.
        output: "features" for a sparse matrix of counts, "gram" for the products with the graphs of `fit`.
        normalize: Whether to divide by the norms: a graph then has similarity 1 with itself (0 if it has no features).
            Otherwise, counts and products are exact integers.

    >>> path = [(0, 1, 1, 2), (1, 0, 2, 1)]
    >>> kernel = WLSubtree(n_iter=1, normalize=False)
    >>> kernel.fit_transform([path]).toarray().tolist()
    [[2, 1, 2, 1]]
    >>> kernel.get_feature_names_out().tolist()
    ['round 0: degree 1', 'round 0: degree 2', 'round 1: colour 0', 'round 1: colour 1']
    """

    def __init__(
        self,
        n_iter: int = 5,
        *,
        labels: str = "auto",
        edge_labels: bool = False,
        output: str = "features",
        normalize: bool = True,
    ) -> None:
        self.n_iter = n_iter
        self.labels = labels
        self.edge_labels = edge_labels
        self.output = output
        self.normalize = normalize

    def _colouring_options(self) -> ColouringOptions:
        return ColouringOptions(self.labels, check_rounds(self.n_iter), edge_labels=check_edge_labels(self.edge_labels))

    def _new_base(self) -> BaseKernel:
        return make_base("subtree", None)
