"""`ShortestPath`: compares graphs by the distances between labelled nodes."""

from __future__ import annotations

from detours.kernels.base import GraphKernel, make_base
from detours.kernels.colours.colouring import ColouringOptions
from detours.kernels.features.blocks import BaseKernel


class ShortestPath(GraphKernel):
    """The shortest-path kernel (Borgwardt and Kriegel, 2005) of unweighted graphs.

    A feature is (label u, label v, distance), counted over all ordered pairs of different connected nodes, so an
    undirected pair counts in both directions, as in GraKeL.

    Args:
        labels: The labels of the nodes: "auto" (those of the data if the graphs have any, else degrees), "degree",
            "data", "both" or "none".
        output: "features" for a sparse matrix of counts, "gram" for the products with the graphs of `fit`.
        normalize: Whether to divide by the norms: a graph then has similarity 1 with itself (0 if it has no features).
            Otherwise, counts and products are exact integers.
        memory_limit: Bytes, or a string such as "2GB", for distances and features; default 4 GB. Distances that do not
            fit are computed again when needed; features that do not fit raise an error.

    >>> path = [(0, 1, 1, 2), (1, 0, 2, 1)]
    >>> kernel = ShortestPath(labels="none", normalize=False)
    >>> kernel.fit_transform([path]).toarray().tolist(), kernel.get_feature_names_out().tolist()
    ([[4, 2]], ['node –1– node', 'node –2– node'])
    """

    def __init__(
        self,
        *,
        labels: str = "auto",
        output: str = "features",
        normalize: bool = True,
        memory_limit: int | str | None = None,
    ) -> None:
        self.labels = labels
        self.output = output
        self.normalize = normalize
        self.memory_limit = memory_limit

    def _colouring_options(self) -> ColouringOptions:
        return ColouringOptions(self.labels, 0)

    def _new_base(self) -> BaseKernel:
        return make_base("shortest-path", self.memory_limit)
