"""Graphs and helpers that the tests of counting in blocks share."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import detours
from detours.counting.on_disk.job import Job


def sparse(directed: bool = False, nodes: int = 300, seed: int = 1) -> detours.Graph:
    graph = nx.gnp_random_graph(nodes, 5 / nodes, seed=seed, directed=directed)
    return detours.Graph.from_networkx(graph, directed=directed)


def strip(width: int, length: int) -> detours.Graph:
    """A long strip of a lattice with diagonals, a tenth of its edges missing: large, irregular and quick to build."""
    column, row = np.divmod(np.arange(width * length), width)
    kept = np.random.default_rng(0)
    ends = []
    for right, up in ((0, 1), (1, -1), (1, 0), (1, 1)):
        inside = (row + up >= 0) & (row + up < width) & (column + right < length) & (kept.random(len(row)) < 0.9)
        from_node = np.flatnonzero(inside)
        ends.append(np.stack([from_node, from_node + right * width + up]))
    half = np.concatenate(ends, axis=1)
    return detours.Graph.from_edge_index(np.concatenate([half, half[::-1]], axis=1))


def ring(directed: bool = False) -> detours.Graph:
    return detours.Graph.from_networkx(nx.circulant_graph(600, [1, 2, 5]), directed=directed)


def saved(graph: detours.Graph, folder: Path) -> detours.Graph:
    graph.save(folder)
    return detours.Graph.open(folder)


def assert_same(result: detours.Detours, expected: detours.Detours) -> None:
    np.testing.assert_array_equal(result.arc_by_length, expected.arc_by_length)
    np.testing.assert_array_equal(result.arc_cycles, expected.arc_cycles)
    assert result.cycles == expected.cycles


class Stopped(Exception):
    pass


def stop(done: float, total: float) -> None:
    """A progress function that ends the count after its first block."""
    if done >= 1:
        raise Stopped


def started(folder: Path, k: int = 3) -> Job:
    """A count of a saved graph in parts, one of which is finished."""
    graph = saved(sparse(), folder / "graph")
    with pytest.raises(Stopped):
        detours.count(graph, k, out=folder / "out", memory_limit=200_000, progress=stop)
    job = Job.open(folder / "out")
    job.update(source=str(folder / "graph"), nodes=graph.num_nodes, arcs=graph.num_arcs)
    return job


def wait_for(condition: Callable[[], Any], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
