"""The known data sets: one line for each, and one `Family` for those that are read and fetched in the same way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from detours.choices import Level
from detours.data.attributes import Attributes
from detours.data.graph_set import GraphSet
from detours.data.readers import fetch
from detours.data.readers.arrays import read_heterophilous, read_zinc
from detours.data.readers.geom_gcn import read_features, read_geom_gcn
from detours.data.readers.graphsat import read_graphsat
from detours.data.readers.tu import read_tu
from detours.errors import InputError


class Family(NamedTuple):
    """Data sets that are read and fetched in the same way."""

    read: Callable[[str, Path, Path], GraphSet]
    """Reads the data set of a name from its raw folder (or file) below a root."""
    raw: str = ""
    """The raw folder (or file) below the root, with {name}, {lower} or {snake} for the name; empty if synthetic."""
    level: Level = "graph"
    splits: str = ""
    """The source of the published folds, see `split_files`; empty if there are none."""
    fetch: fetch.Fetcher | None = None
    """Downloads the raw files; None for EXP and CEXP, which only their authors provide, and for synthetic tasks."""


class Known(NamedTuple):
    """A data set with a name."""

    name: str
    family: Family
    in_paper: bool = True
    own_splits: str = ""
    """Replaces `splits` of its family."""

    @property
    def raw(self) -> str:
        """The raw folder (or file) below the root; empty for a synthetic task."""
        lower = self.name.lower()
        return self.family.raw.format(name=self.name, lower=lower, snake=lower.replace("-", "_"))

    @property
    def level(self) -> Level:
        """Whether graphs or nodes have targets."""
        return self.family.level

    @property
    def splits(self) -> str:
        """The source of the published folds; empty if there are none."""
        return self.own_splits or self.family.splits


def _pairs(name: str, folder: Path, root: Path) -> GraphSet:
    graphs, y, tags = read_graphsat(folder / "GRAPHSAT.txt")
    if len(graphs) % 2:
        raise InputError(f"{name} should contain pairs of graphs, but {folder} has {len(graphs)} graphs.")
    return GraphSet(name, graphs, y, tags, [(i, i + 1) for i in range(0, len(graphs), 2)], root=root)


def _tu(name: str, folder: Path, root: Path) -> GraphSet:
    return read_tu(folder, name).graph_set(name, root)


def _geom_gcn(name: str, folder: Path, root: Path) -> GraphSet:
    graph, y = read_geom_gcn(folder)
    return GraphSet(name, [graph], y, level="node", x=Attributes(partial(read_features, folder)), root=root)


def _zinc(name: str, file: Path, root: Path) -> GraphSet:
    molecules = read_zinc(file)
    return GraphSet(name, *molecules[:3], edge_labels=molecules.edge_labels, root=root)


def _heterophilous(name: str, file: Path, root: Path) -> GraphSet:
    graph, y, x = read_heterophilous(file)
    return GraphSet(name, [graph], y, level="node", x=[x], root=root)


def _made(name: str, folder: Path, root: Path) -> GraphSet:
    from detours.data.generated import synthetic

    task: GraphSet = getattr(synthetic, name.replace("-", "_"))()
    return task


PAIRS = Family(_pairs, "{name}/raw")
TU = Family(_tu, "TUDataset/{name}/raw", fetch=fetch.tu)
WIKIPEDIA = Family(_geom_gcn, "WikipediaNetwork/{lower}/geom_gcn/raw", "node", "geom-gcn", fetch.wikipedia)
WEBKB = Family(_geom_gcn, "WebKB/{lower}/raw", "node", "geom-gcn", fetch.webkb)
ACTOR = Family(_geom_gcn, "Actor/raw", "node", "geom-gcn", fetch.actor)
ZINC = Family(_zinc, "ZINC12k/zinc12k.npz", splits="published", fetch=fetch.zinc)
HETEROPHILOUS = Family(_heterophilous, "heterophilous/{snake}.npz", "node", "platonov2023", fetch.heterophilous)
MADE = Family(_made)
MADE_NODES = Family(_made, level="node")

KNOWN = {
    each.name: each
    for each in (
        Known("EXP", PAIRS),
        Known("CEXP", PAIRS),
        Known("MUTAG", TU, own_splits="shipped"),
        Known("PTC_FM", TU, own_splits="shipped"),
        Known("ENZYMES", TU, own_splits="errica2019/CHEMICAL"),
        Known("NCI1", TU, own_splits="errica2019/CHEMICAL"),
        # there is also a file of folds for nodes without features
        Known("IMDB-BINARY", TU, own_splits="errica2019/COLLABORATIVE_DEGREE"),
        Known("DD", TU, own_splits="errica2019/CHEMICAL"),
        Known("Chameleon", WIKIPEDIA),
        Known("Squirrel", WIKIPEDIA),
        Known("Actor", ACTOR),
        Known("Cornell", WEBKB),
        Known("Wisconsin", WEBKB),
        Known("Texas", WEBKB),
        Known("ZINC", ZINC, in_paper=False),
        Known("Roman-empire", HETEROPHILOUS, in_paper=False),
        Known("Amazon-ratings", HETEROPHILOUS, in_paper=False),
        Known("Minesweeper", HETEROPHILOUS, in_paper=False),
        Known("Tolokers", HETEROPHILOUS, in_paper=False),
        Known("Questions", HETEROPHILOUS, in_paper=False),
        Known("Chameleon-filtered", HETEROPHILOUS, in_paper=False),
        Known("Squirrel-filtered", HETEROPHILOUS, in_paper=False),
        Known("rings", MADE, in_paper=False),
        Known("fused-rings", MADE, in_paper=False),
        Known("ring-lattice", MADE_NODES, in_paper=False),
    )
}
"""Every data set by its name, in the order in which they are listed."""


def names(matches: Callable[[Known], bool]) -> tuple[str, ...]:
    """Return the names of the data sets that match.

    >>> names(lambda each: each.family is PAIRS)
    ('EXP', 'CEXP')
    """
    return tuple(name for name, each in KNOWN.items() if matches(each))


GRAPH_SETS = names(lambda each: each.in_paper and each.level == "graph")
NODE_SETS = names(lambda each: each.in_paper and each.level == "node")
"""The data sets of the paper."""
MORE_SETS = names(lambda each: not each.in_paper and bool(each.raw))
"""Data sets that are not in the paper."""
TASKS = names(lambda each: not each.raw)
"""Synthetic tasks, which need no files."""
PAIR_SETS = names(lambda each: each.family is PAIRS)
TU_SETS = names(lambda each: each.family is TU)
HETEROPHILOUS_SETS = names(lambda each: each.family is HETEROPHILOUS)
