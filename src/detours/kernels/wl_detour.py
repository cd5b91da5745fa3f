"""`WLDetour`: graphs compared by colours that see cycles, the WL-DeN of the paper."""

from __future__ import annotations

from detours.checks import check_choice, check_k
from detours.kernels.base import LABELS, GraphKernel, base_named, check_edge_labels, check_rounds
from detours.kernels.colours.colouring import ColouringOptions
from detours.kernels.features.blocks import Base

INITS = ("den", "den-by-length", "phi")


class WLDetour(GraphKernel):
    """A Weisfeiler–Lehman kernel that starts from {D, k-DeN}: degrees and the detour numbers of the edges around.

    The colour of a node in round 0 is its degree and the multiset of k-DeN of its edges, in every round it is refined
    by the colours of its neighbours, and in every round the base kernel is taken of the colours.

    Args:
        k: The longest detour counted, in edges.
        n_iter: Rounds of refinement after round 0; all rounds count.
        base: "shortest-path" as in the paper (WL-SP with other first colours), or "subtree", histograms of colours,
            whose cost grows with the nodes instead of the pairs of nodes: the one to take for big data.
        init: "den", "den-by-length" (the counts of each length apart) or "phi" (the sum over the edges of a node).
        labels: What round 0 sees besides: "degree", "data" (the labels of the nodes), "both" or "none". For "den" and
            "den-by-length" the degree is the size of the multiset and adds nothing.
        edge_labels: Whether a round sees the labels of edges, each with the colour of the node behind it.
        output: "features" for a sparse matrix of counts, "gram" for the products with the graphs of `fit`.
        normalize: Divide by the norms, so that a graph has 1 with itself (0 if it has no features).
        n_jobs: Threads for counting detours; the result does not depend on it.
        memory_limit: Bytes, or a text like "2GB", for distances and features of base="shortest-path"; 4 GB by default.

    >>> hexagon = [(0, 1, 2, 3, 4, 5) + (1, 2, 3, 4, 5, 0), (1, 2, 3, 4, 5, 0) + (0, 1, 2, 3, 4, 5)]
    >>> triangles = [(0, 1, 2, 3, 4, 5) + (1, 2, 0, 4, 5, 3), (1, 2, 0, 4, 5, 3) + (0, 1, 2, 3, 4, 5)]
    >>> WLDetour(k=2, n_iter=0, base="subtree", output="gram").fit_transform([hexagon, triangles]).tolist()
    [[36, 0], [0, 36]]
    """

    def __init__(
        self,
        k: int = 4,
        n_iter: int = 5,
        *,
        base: str = "shortest-path",
        init: str = "den",
        labels: str = "degree",
        edge_labels: bool = False,
        output: str = "features",
        normalize: bool = False,
        n_jobs: int = 1,
        memory_limit: int | str | None = None,
    ) -> None:
        self.k = k
        self.n_iter = n_iter
        self.base = base
        self.init = init
        self.labels = labels
        self.edge_labels = edge_labels
        self.output = output
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit

    def _colouring_options(self) -> ColouringOptions:
        check_choice("labels", self.labels, LABELS)
        check_choice("init", self.init, INITS)
        rounds, edge_labels = check_rounds(self.n_iter), check_edge_labels(self.edge_labels)
        return ColouringOptions(self.labels, rounds, self.init, check_k(self.k), self.n_jobs, edge_labels)

    def _new_base(self) -> Base:
        return base_named(self.base, self.memory_limit)
