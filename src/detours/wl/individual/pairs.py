"""Copies in which the colours of pairs of nodes are refined as well: 2-FWL, from the detours between all pairs."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from detours.arrays import Int32, Int64
from detours.graph import Graph
from detours.wl.individual.copies import Choices, Copies
from detours.wl.individual.marking import mark
from detours.wl.individual.matching import find_orbits
from detours.wl.individual.targets import with_fewest_marks
from detours.wl.nodes.pair_colours import StablePairs, stable_pairs
from detours.wl.nodes.ranks import rank_vectors


class PairStep(NamedTuple):
    """A level of marked copies: digests, the copies, and for each the first that an automorphism maps to it."""

    digests: list[bytes]
    copies: Copies
    alike: Int64


def mark_pairs(
    copies: Copies, choices: Choices, graphs: list[Graph], pairs: list[StablePairs], merged_cells: Int32, n_jobs: int
) -> PairStep:
    """Mark a node for each choice, refine the nodes and then the pairs.

    `pairs` are the stable colours of the pairs of each graph, `merged_cells` the cells before any mark
    (`merge_similar_cells`). Of copies that an automorphism exchanges, which have the same digest, only the first is
    refined further.
    """
    digests, below, _ = mark(copies, choices, n_jobs, keep=True)
    assert below is not None
    alike = find_orbits(copies, choices, digests, below)
    partitions = below.partitions
    cell = partitions.cell.copy()
    for i in np.flatnonzero(alike == np.arange(len(alike))).tolist():
        own, g = slice(partitions.offsets[i], partitions.offsets[i + 1]), int(partitions.graph[i])
        stable = stable_pairs(graphs[g], _marked(pairs[g].colour, cell[own]))
        digests[i] = hashlib.sha256(digests[i] + stable.digest).digest()
        cell[own] = _cells(cell[own], np.diagonal(stable.colour))
    everything = Choices(np.arange(len(alike)), np.full(len(alike), -1))
    described, _, _ = replace(below, partitions=partitions._replace(cell=cell)).refine(everything)
    found = with_fewest_marks(replace(below, partitions=described), merged_cells)
    return PairStep([digests[i] for i in alike.tolist()], found, alike)


def _marked(colour: Int32, cell: Int32) -> Int64:
    """Return for each pair the vector of its colour and the cells of its nodes."""
    n = len(cell)
    return np.stack([colour, np.broadcast_to(cell[:, None], (n, n)), np.broadcast_to(cell, (n, n))], axis=2)


def _cells(cell: Int32, colour: Int32) -> Int32:
    """Split cells by the colours of their nodes; both in their order."""
    rank, _ = rank_vectors(np.stack([cell, colour], axis=1))
    sizes = np.bincount(rank)
    return (np.cumsum(sizes) - sizes)[rank].astype(np.int32)
