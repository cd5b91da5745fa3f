"""The cases with their contenders and goals, full and quick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import cases
from benchmarks.cases import Csr
from benchmarks.rivals import (
    IGRAPH_CYCLES,
    IGRAPH_LISTING,
    NX_CYCLES,
    RIVALS,
    YARDSTICK,
)

FORMULAS = tuple(name for name, rival in RIVALS.items() if rival.group == "formulas")
SPARSE_FORMULAS = tuple(name for name in FORMULAS if not RIVALS[name].dense)
ORCA = "ORCA 5-node edge orbits"
NX_PATHS = "NetworkX all_simple_paths"
BY_EDGE = ("rustworkx all_simple_paths, by edge", "igraph get_all_simple_paths, by edge")
BY_NODE = ("rustworkx all_simple_paths, by node", "igraph get_all_simple_paths, by node")


@dataclass(frozen=True)
class Goal:
    """The fastest of `group` takes at least `times` as long as we do."""

    group: str
    times: float


@dataclass(frozen=True)
class Case:
    """One graph (or list of graphs) and one k."""

    name: str
    title: str
    make: Callable[[], Csr | list[Csr]]
    k: int
    rivals: tuple[str, ...] = ()
    goals: tuple[Goal, ...] = ()
    lister_budget: float = 15.0
    """Seconds after which each lister is stopped and extrapolated."""
    orca_budget: float = 0.0
    memory_goal: float | None = None
    """The maximum of peak extra memory, in bytes."""


def _squirrel() -> Csr:
    return cases.wikipedia("squirrel")


def _chameleon() -> Csr:
    return cases.wikipedia("chameleon")


def _nci1() -> list[Csr]:
    return cases.tu("NCI1")


GB = 1e9
MANY = (IGRAPH_LISTING, IGRAPH_CYCLES, *BY_EDGE, NX_CYCLES, NX_PATHS)

FULL = [
    Case(
        "squirrel-4",
        "Squirrel, k = 4",
        _squirrel,
        4,
        (YARDSTICK, *FORMULAS, *BY_EDGE),
        (Goal("yardstick", 1 / 1.5), Goal("formulas", 4)),
        memory_goal=GB,
    ),
    Case(
        "squirrel-6",
        "Squirrel, k = 6",
        _squirrel,
        6,
        (YARDSTICK,),
        (Goal("yardstick", 1 / 15),),
        memory_goal=GB,
    ),
    Case(
        "chameleon-4",
        "Chameleon, k = 4",
        _chameleon,
        4,
        (YARDSTICK, *FORMULAS, ORCA, *BY_EDGE, IGRAPH_CYCLES, NX_PATHS, NX_CYCLES),
        (Goal("listers", 100_000), Goal("orca", 1)),
        lister_budget=60,
        orca_budget=200,
    ),
    Case("chameleon-6", "Chameleon, k = 6", _chameleon, 6, (YARDSTICK,)),
    Case(
        "actor-4",
        "Actor, k = 4",
        cases.actor,
        4,
        (YARDSTICK, *FORMULAS, ORCA, *BY_EDGE, *BY_NODE, IGRAPH_CYCLES, NX_PATHS, NX_CYCLES),
        orca_budget=60,
    ),
    Case(
        "ba-4",
        "Barabási–Albert, 100K nodes, 500K edges, k = 4",
        lambda: cases.barabasi_albert(100_000, 5, seed=1),
        4,
        (YARDSTICK, *FORMULAS, ORCA, *BY_EDGE, *BY_NODE, IGRAPH_CYCLES),
        (Goal("formulas", 4), Goal("orca", 1)),
        lister_budget=20,
        orca_budget=150,
    ),
    Case(
        "rgg-4",
        "random geometric, 100K nodes, 500K edges, k = 4",
        lambda: cases.random_geometric(100_000, 500_000, seed=1),
        4,
        (YARDSTICK, *FORMULAS, ORCA, *BY_EDGE, *BY_NODE, IGRAPH_CYCLES, NX_CYCLES, NX_PATHS),
        (Goal("formulas", 4), Goal("orca", 1)),
        orca_budget=120,
    ),
    Case("nci1-5", "NCI1, all 4,110 graphs, k = 5", _nci1, 5, MANY, (Goal("listers", 8),)),
    Case("nci1-8", "NCI1, all 4,110 graphs, k = 8", _nci1, 8, MANY, (Goal("listers", 8),)),
]

QUICK = [
    Case(
        "hubs",
        "Barabási–Albert, 2K nodes, 40K edges, k = 4",
        lambda: cases.barabasi_albert(2_000, 20, seed=1),
        4,
        (YARDSTICK, *FORMULAS, BY_EDGE[0]),
        lister_budget=2,
    ),
    Case(
        "rgg",
        "random geometric, 10K nodes, 50K edges, k = 4",
        lambda: cases.random_geometric(10_000, 50_000, seed=1),
        4,
        (YARDSTICK, *SPARSE_FORMULAS, BY_EDGE[0], NX_CYCLES),
        lister_budget=2,
    ),
    Case(
        "molecules",
        "500 molecule-like graphs, k = 8",
        lambda: cases.small_graphs(500, seed=1),
        8,
        (IGRAPH_LISTING, IGRAPH_CYCLES, BY_EDGE[0]),
        lister_budget=2,
    ),
]

PARTS = ("startup", "threads", "scaling", "lengths")
"""Measurements that are not a race on one graph; they are selected like cases on the command line."""
