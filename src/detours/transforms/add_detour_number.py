"""`AddDetourNumber`: k-DeN and other cycle features as an attribute of edges and, optionally, of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data.datapipes import functional_transform

from detours.checks import check_choice, check_flag
from detours.counting.sums import sum_rows
from detours.errors import InputError
from detours.transforms.base import CountedGraph, DetourTransform, check_name

FEATURES = ("by_length", "den", "shortest", "bridge")


@functional_transform("add_detour_number")
class AddDetourNumber(DetourTransform):
    r"""Adds the detour number (DeN) of every edge from the paper "Message Detouring: A Simple Yet Effective Cycle
    Representation for Expressive Graph Learning" (functional name: :obj:`add_detour_number`).

    .. math::
        k\text{-}\mathrm{DeN}_{ij} = |\Omega^k_{ij}|

    where :math:`\Omega^k_{ij}` are the simple paths of 2 to :math:`k` edges between the ends of the edge
    :math:`(i, j)`.

    Values follow the columns of :obj:`edge_index`: both arcs of an undirected edge and all repeats of an edge have the
    same values, and a loop has zeros. In a :class:`~torch_geometric.data.HeteroData`, every edge type within one node
    type is a graph of its own, and the other edge types are left unchanged.

    Args:
        k (int): The maximum length of a detour in edges, at least 2.
        attr_name (str, optional): The attribute of the edges to write. If set to :obj:`None`, values are concatenated
            to :obj:`edge_attr`. If a graph has as many nodes as edges, PyG treats an edge attribute as a node attribute
            unless its name contains :obj:`"edge"`; transforms that drop nodes or edges then need such a name.
            (default: :obj:`"den"`)
        by_length (bool, optional): If set to :obj:`False`, writes the sum over all lengths instead of one column for
            each length. (default: :obj:`True`)
        features (tuple of str, optional): What to write for every edge, as columns in this order: :obj:`"by_length"`,
            k-DeN by length; :obj:`"den"`, their sum; :obj:`"shortest"`, the length of the shortest cycle through the
            edge, zero if none has up to :math:`k + 1` edges; :obj:`"bridge"`, one if the edge is on no cycle of any
            length, else zero. If set to :obj:`None`, it is :obj:`"by_length"`, or :obj:`"den"` if
            :obj:`by_length=False`. (default: :obj:`None`)
        node_attr (str, optional): The attribute of the nodes to write, the sums over their (outgoing) edges. If set to
            :obj:`None`, values are concatenated to :obj:`x`. If set to :obj:`False`, nodes are left unchanged. In a
            :class:`~torch_geometric.data.HeteroData`, sums run over all edge types within the node type.
            (default: :obj:`False`)
        log (bool, optional): If set to :obj:`False`, writes exact counts as :obj:`int64` instead of
            :math:`\log(1 + \mathrm{DeN})` as :obj:`float32`. Lengths and bridges are not scaled, but have the same
            type. (default: :obj:`True`)
        cat (bool, optional): If set to :obj:`False`, existing attributes are replaced instead of concatenated with the
            new values. (default: :obj:`True`)
        squeeze (bool, optional): If set to :obj:`True`, writes :obj:`[edges]` instead of :obj:`[edges, 1]`; needs
            :obj:`by_length=False` or one other feature. (default: :obj:`False`)
        directed (bool, optional): If set to :obj:`True`, counts directed paths for every arc. Otherwise arcs are
            treated as undirected edges. (default: :obj:`False`)

    Shapes:
        - **attr_name:** :math:`(|\mathcal{E}|, k - 1)`, or :math:`(|\mathcal{E}|, 1)` if not by length, plus one column
          for every other feature: ready for convolutions with :obj:`edge_dim`
        - **node_attr:** :math:`(|\mathcal{V}|, 1)`

    Example:
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> triangle = Data(edge_index=torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]]), num_nodes=3)
        >>> AddDetourNumber(k=2, log=False)(triangle).den.flatten()
        tensor([1, 1, 1, 1, 1, 1])
        >>> AddDetourNumber(k=2, features=("by_length", "shortest", "bridge"))(triangle).den[0]
        tensor([0.6931, 3.0000, 0.0000])
    """

    def __init__(
        self,
        k: int,
        attr_name: str | None = "den",
        by_length: bool = True,
        node_attr: str | Literal[False] | None = False,
        log: bool = True,
        *,
        features: Sequence[str] | None = None,
        cat: bool = True,
        squeeze: bool = False,
        directed: bool = False,
    ) -> None:
        super().__init__(k, directed=directed)
        self.attr_name = attr_name if attr_name is None else check_name(attr_name, "attr_name")
        self.by_length = check_flag("by_length", by_length)
        self.features = features if features is None else _check_features(features)
        self.squeeze = check_flag("squeeze", squeeze)
        if self.squeeze and (len(self._feature_names()) > 1 or self._feature_names() == ("by_length",)):
            raise InputError(
                "squeeze=True needs by_length=False or one other feature, because several columns cannot be squeezed."
            )
        self.node_attr = node_attr if node_attr is None or node_attr is False else check_name(node_attr, "node_attr")
        self.log = check_flag("log", log)
        self.cat = check_flag("cat", cat)

    def add(self, graphs: Sequence[CountedGraph]) -> None:
        for graph in graphs:
            values = torch.cat([self._columns(graph, feature) for feature in self._feature_names()], dim=1)
            name = "edge_attr" if self.attr_name is None else self.attr_name
            graph.set_edge_attr(name, values.squeeze(-1) if self.squeeze else values, self.cat)
        if self.node_attr is not False:
            self._add_to_nodes(graphs, "x" if self.node_attr is None else self.node_attr)

    def _feature_names(self) -> tuple[str, ...]:
        return self.features or ("by_length" if self.by_length else "den",)

    def _columns(self, graph: CountedGraph, feature: str) -> Tensor:
        """The columns of one feature, [edges, k - 1] or [edges, 1]."""
        if feature in ("by_length", "den"):
            return graph.edge_counts(feature == "by_length", self.log)
        values: Any = graph.detours.shortest if feature == "shortest" else graph.detours.bridges
        column = torch.from_numpy(values[graph.edge_slice, None].astype(np.float32 if self.log else np.int64))
        return column.to(graph.edge_index.device)

    def _add_to_nodes(self, graphs: Sequence[CountedGraph], name: str) -> None:
        by_node_store: dict[int, list[CountedGraph]] = {}
        for graph in graphs:
            by_node_store.setdefault(id(graph.node_store), []).append(graph)
        message = f"the detours around a node up to k = {self.k} exceed 2^63 when summed over its edge types"
        for group in by_node_store.values():
            counts: Any = np.stack([graph.node_counts() for graph in group], axis=1)
            total = sum_rows(counts, message)[:, None]
            group[0].set_node_attr(name, group[0].to_tensor(total, self.log), self.cat)


def _check_features(features: Sequence[str]) -> tuple[str, ...]:
    names = (features,) if isinstance(features, str) else tuple(features)
    if not names:
        raise InputError(f"features must name one or more of {', '.join(map(repr, FEATURES))}, but it is empty.")
    for name in names:
        check_choice("every one of features", name, FEATURES)
    return names
