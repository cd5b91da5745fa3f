"""`WLDetour`: compares graphs by 1-WL colours that start from detours; `WLDetour.paper` is the paper's WL-DeN."""

from __future__ import annotations

from typing import Any, Self

from detours.checks import check_choice, check_flag, check_k
from detours.kernels.base import GraphKernel, check_edge_labels, check_rounds, make_base
from detours.kernels.colours.colouring import ColouringOptions
from detours.kernels.features.blocks import BaseKernel
from detours.wl.options import OLD_NAMES

INITS = ("den", "den-sum", "phi")
PAPER: dict[str, Any] = {
    "base": "shortest-path",
    "init": "den-sum",
    "labels": "degree",
    "normalize": False,
    "plain": False,
}


class WLDetour(GraphKernel):
    """A Weisfeiler–Lehman kernel that starts from detours: a node's label, its degree and the cycles through its edges.

    The colour of a node in round 0 is its label, if the graphs have labels, and for each of its edges the number of
    detours of each length. Every round refines it by the colours of the neighbours; the base kernel is computed on the
    colours of every round. With `plain`, the features of the same kernel without detours are added.

    Args:
        k: The longest detour counted, in edges. An edge on a cycle of length L has a detour of L - 1 edges, so k must
            be at least 5 to see six-rings: take 5 to 7 for molecules, 3 or 4 for dense networks.
        n_iter: Rounds of refinement after round 0; the features of all rounds are used.
        base: "subtree", histograms of colours, or "shortest-path", pairs of nodes by colours and distance, which costs
            time in proportion to the number of pairs.
        init: "den" (the counts of each length), "den-sum" (their sum, the paper's k-DeN) or "phi" (the sum over the
            edges of a node as well).
        labels: What else round 0 uses: "auto" (the labels of the nodes if the graphs have any, else degrees), "degree",
            "data" (the labels), "both" or "none". For "den" and "den-sum" the degree is the size of the multiset and
            adds nothing.
        edge_labels: Whether refinement uses the labels of edges, each together with the colour of the neighbour.
        output: "features" for a sparse matrix of counts, "gram" for the products with the graphs of `fit`.
        normalize: Whether to divide by the norms: a graph then has similarity 1 with itself (0 if it has no features).
            Otherwise, counts and products are exact integers.
        plain: Whether to add the colours of the same refinement without detours. They keep graphs similar in which no
            two nodes have the same detours; without them the kernel is often worse than plain WL on proteins.
        n_jobs: Threads for counting detours; the result does not depend on it.
        memory_limit: Bytes, or a string such as "2GB", for distances and features of base="shortest-path"; default
            4 GB.

    >>> hexagon = [(0, 1, 2, 3, 4, 5) + (1, 2, 3, 4, 5, 0), (1, 2, 3, 4, 5, 0) + (0, 1, 2, 3, 4, 5)]
    >>> triangles = [(0, 1, 2, 3, 4, 5) + (1, 2, 0, 4, 5, 3), (1, 2, 0, 4, 5, 3) + (0, 1, 2, 3, 4, 5)]
    >>> WLDetour(k=2, n_iter=0, output="gram", normalize=False).fit_transform([hexagon, triangles]).tolist()
    [[72, 36], [36, 72]]
    """

    def __init__(
        self,
        k: int = 4,
        n_iter: int = 5,
        *,
        base: str = "subtree",
        init: str = "den",
        labels: str = "auto",
        edge_labels: bool = False,
        output: str = "features",
        normalize: bool = True,
        plain: bool = True,
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
        self.plain = plain
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit

    @classmethod
    def paper(cls, k: int = 4, n_iter: int = 10, **options: Any) -> Self:
        """Return the paper's WL-DeN: WL-SP from {D, k-DeN}, summed over all lengths; degrees only, not normalised.

        >>> WLDetour.paper(k=3)
        WLDetour(base='shortest-path', init='den-sum', k=3, labels='degree', n_iter=10,
                 normalize=False, plain=False)
        """
        return cls(k, n_iter, **(PAPER | options))

    def _colouring_options(self) -> ColouringOptions:
        init = OLD_NAMES.get(self.init, self.init) if isinstance(self.init, str) else self.init
        check_choice("init", init, INITS)
        return ColouringOptions(
            self.labels,
            check_rounds(self.n_iter),
            detours=init,
            k=check_k(self.k),
            n_jobs=self.n_jobs,
            edge_labels=check_edge_labels(self.edge_labels),
            plain=check_flag("plain", self.plain),
        )

    def _new_base(self) -> BaseKernel:
        return make_base(self.base, self.memory_limit)
