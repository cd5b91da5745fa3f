"""Detours against other measures of nodes, and their distribution by length and class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from detours.arrays import Float64, Int64
from detours.checks import check_choice
from detours.counting.result import Detours
from detours.errors import InputError, short_repr
from detours.graph.convert import library
from detours.viz.style import COLOURS, new_axes, styled

MEASURES = ("degree", "clustering", "betweenness")


def draw_against(result: Detours, measure: str = "degree", ax: Any = None) -> Any:
    """Draw Φ of every node against its degree, clustering coefficient or betweenness, and return the axes.

    The title shows Spearman's rank correlation. Clustering and betweenness are NetworkX's; the degree in a directed
    graph is the out-degree.

    >>> import detours, networkx as nx
    >>> ax = draw_against(detours.count(nx.karate_club_graph(), k=4))
    >>> ax.get_xlabel(), ax.get_title()
    ('degree', "Spearman's ρ = 0.78")
    """
    from scipy.stats import spearmanr

    check_choice("measure", measure, MEASURES)
    values = _measure(result, measure)
    phi = result.node.astype(np.float64)
    with styled():
        ax = new_axes(ax)
        ax.scatter(values, phi, s=10, color=COLOURS[0], alpha=0.6, linewidths=0)
        ax.set_yscale("symlog", linthresh=1)
        ax.set_ylim(bottom=0)
        ax.set_xlabel("out-degree" if measure == "degree" and result.directed else measure)
        ax.set_ylabel(f"Φ, k = {result.k}")
        varied = len(np.unique(values)) > 1 and len(np.unique(phi)) > 1
        ax.set_title(f"Spearman's ρ = {spearmanr(values, phi).statistic:.2f}" if varied else "")
    return ax


def _measure(result: Detours, measure: str) -> Float64:
    if measure == "degree":
        return result.graph.degree.astype(np.float64)
    nx = library("networkx", "networkx")
    graph = result.graph.to_networkx()
    values_by_name = nx.clustering(graph) if measure == "clustering" else nx.betweenness_centrality(graph)
    return np.array([values_by_name[name] for name in result.graph.name_list()])


def draw_lengths(results: Detours | Mapping[Any, Detours | Iterable[Detours]], ax: Any = None) -> Any:
    """Draw the distribution of the number of detours per edge for each length, and return the axes.

    A box shows the middle half of the edges, its line the median, its whiskers the 5th and 95th percentiles. Several
    graphs, such as the classes of a data set, are given by name and drawn side by side, each with the lengths up to its
    own k.

    >>> import detours, networkx as nx
    >>> ax = draw_lengths(detours.count(nx.karate_club_graph(), k=4))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['2', '3', '4']
    """
    counts = {name: _edge_counts(name, given) for name, given in _classes(results).items()}
    lengths = max(columns.shape[1] for columns in counts.values())
    width = 0.8 / len(counts)
    with styled():
        ax = new_axes(ax)
        for index, (name, columns) in enumerate(counts.items()):
            positions = np.arange(columns.shape[1]) + (index - (len(counts) - 1) / 2) * width
            boxes = ax.boxplot(
                list(columns.T),
                positions=positions,
                widths=0.8 * width,
                whis=(5, 95),
                showfliers=False,
                patch_artist=True,
                medianprops={"color": "black"},
            )
            for box in boxes["boxes"]:
                box.set(facecolor=COLOURS[index % len(COLOURS)], linewidth=0.6)
            boxes["boxes"][0].set_label(str(name))
        ax.set_xticks(range(lengths), [str(length + 2) for length in range(lengths)])
        ax.set_yscale("symlog", linthresh=1)
        ax.set_ylim(bottom=0)
        ax.set_xlabel("edges of a detour")
        ax.set_ylabel("detours of an edge")
        if len(counts) > 1:
            ax.legend()
    return ax


def _classes(results: Any) -> dict[Any, list[Detours]]:
    """Return the results by class, or raise `InputError` if a class has none."""
    try:
        given = {"": results} if isinstance(results, Detours) else dict(results)
    except (TypeError, ValueError):
        given = {}
    classes = {
        name: [own] if isinstance(own, Detours) else list(own) if isinstance(own, Iterable) else []
        for name, own in given.items()
    }
    if not classes or not all(own and all(isinstance(one, Detours) for one in own) for own in classes.values()):
        raise InputError(
            "results must be a Detours, or a dict of at least one name with a Detours or a list of them, but it is "
            f"{short_repr(results)}."
        )
    return classes


def _edge_counts(name: Any, results: list[Detours]) -> Int64:
    """Return int64 [edges, lengths] of all edges of a class, each once."""
    if len(found := sorted({result.k for result in results})) > 1:
        raise InputError(
            f"results[{name!r}] must have a single k, but its graphs have k = {', '.join(map(str, found))}."
        )
    parts = []
    for result in results:
        ends = result.graph.to_edge_index()
        once = np.ones(ends.shape[1], np.bool_) if result.directed else ends[0] < ends[1]
        parts.append(result.arc_by_length[once])
    return np.concatenate(parts)
