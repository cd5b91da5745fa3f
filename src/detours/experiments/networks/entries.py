"""The entries of the tables of networks: nine rows on every data set, under each preset, and the ablation.

This module needs neither data nor torch, so that finished entries can be shown on any machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from detours.data.sizes import SIZES
from detours.errors import InputError
from detours.training.recipe import Level, Recipe, recipe

MODELS = {"plain": "plain", "weighted": "weighted", "mdnn": "MDNN"}
BACKBONES = ("gcn", "gat", "gin")
PRESETS = ("ours", "paper", "paper-small")
SMALL = {"hidden": 128, "transformer_layers": 2}
"""The settings in which "paper-small" differs from "paper", whose full size costs hours on large data."""

# From cheap to expensive.
NODE_DATA = ("Texas", "Cornell", "Wisconsin", "Chameleon", "Actor", "Squirrel")
GRAPH_DATA = ("MUTAG", "PTC_FM", "ENZYMES", "IMDB-BINARY", "NCI1", "DD")
HETEROPHILOUS_DATA = (
    *("Chameleon-filtered", "Squirrel-filtered", "Minesweeper", "Tolokers", "Amazon-ratings"),
    *("Roman-empire", "Questions"),
)
ABLATION_DATA = ("Texas", "Cornell", "MUTAG", "Chameleon")
LATER = {"NCI1": 1, "DD": 2}
"""Data that are trained after all others of their table."""
LARGE = ("IMDB-BINARY", "NCI1", "DD", "ZINC")
"""Data for which "paper-small" replaces "paper", unless the latter is requested by name."""

DATA = {
    "nodes": NODE_DATA,
    "ablation": ABLATION_DATA,
    "graphs": GRAPH_DATA,
    "zinc": ("ZINC",),
    "heterophilous": HETEROPHILOUS_DATA,
}
"""The data sets of every table, in the order in which the tables are filled."""
ROC_AUC = ("Minesweeper", "Tolokers", "Questions")
FOLDS = {"ZINC": 1}
"""The number of folds, if not ten."""


@dataclass(frozen=True)
class Entry:
    """One cell of a table: a network on a data set, under a preset."""

    data: str
    preset: str
    model: str
    backbone: str
    use_den: bool = True
    """False for the ablation: MDNN without detour numbers in tokens, hops, convolutions and node features."""

    @property
    def row(self) -> str:
        """The name of the row.

        >>> Entry("MUTAG", "ours", "mdnn", "gin").row
        'MDNN GIN'
        """
        return f"{MODELS[self.model]} {self.backbone.upper()}{'' if self.use_den else ' without φD'}"

    @property
    def folds(self) -> int:
        """The number of folds of the data set."""
        return FOLDS.get(self.data, 10)

    @property
    def level(self) -> Level:
        """Whether graphs or nodes are classified."""
        return "graph" if self.data in (*GRAPH_DATA, "ZINC") else "node"

    def changes(self) -> dict[str, Any]:
        """The arguments of `recipe` for this entry."""
        settings: dict[str, Any] = {"preset": self.preset.removesuffix("-small")}
        settings |= {"model": self.model, "backbone": self.backbone}
        settings |= SMALL if self.preset == "paper-small" else {}
        settings |= {} if self.use_den else dict.fromkeys(("use_den", "hop_den", "edge_den", "node_den"), False)
        settings |= {"task": "regression"} if self.data == "ZINC" else {}
        settings |= {"metric": "roc_auc"} if self.data in ROC_AUC else {}
        return settings

    def recipe(self, **changes: Any) -> Recipe:
        """The recipe of this entry, with some settings changed; the digests of data and splits are empty."""
        return recipe(self.data, "", "", self.level, **{**self.changes(), **changes})

    @property
    def default_seeds(self) -> Sequence[int]:
        """Three seeds for preset ours, one for the presets of the paper, as in the paper."""
        return range(3) if self.preset == "ours" else range(1)


def rows_named(table: str, names: Sequence[str] = ()) -> list[tuple[str, str, bool]]:
    """Return model, backbone and `use_den` of the rows of a table with these names; all its rows by default.

    The ablation has the rows "MDNN GAT without φD" and "MDNN GAT", every other table nine rows, such as "MDNN GIN".
    """
    rows = [(model, backbone, True) for model, backbone in product(MODELS, BACKBONES)]
    if table == "ablation":
        rows = [("mdnn", "gat", False), ("mdnn", "gat", True)]
    by_name = {Entry("", "ours", *row).row: row for row in rows}
    by_lower_name = {name.lower(): row for name, row in by_name.items()}
    for name in names:
        if name.lower() not in by_lower_name:
            raise InputError(f"there is no row {name!r}; choose from {', '.join(by_name)}.")
    return [by_lower_name[name.lower()] for name in names] or rows


def entries(
    table: str, *, presets: Sequence[str] = (), only: Sequence[str] = (), rows: Sequence[str] = ()
) -> list[Entry]:
    """Return the entries of a table, the cheapest first.

    Args:
        table: One of `DATA`.
        presets: Presets to include. Default: "ours", and on the paper's data also "paper", or "paper-small" where the
            full size would cost hours.
        only: Names of data sets; all of the table if empty.
        rows: Names of rows, such as "MDNN GIN"; all if empty.
    """
    found = []
    for data in DATA[table]:
        if only and data not in only:
            continue
        for preset in presets or _default_presets(table, data):
            found += [Entry(data, preset, *row) for row in rows_named(table, rows)]
    return sorted(found, key=lambda entry: (LATER.get(entry.data, 0), cost(entry)))


def _default_presets(table: str, data: str) -> tuple[str, ...]:
    if table in ("zinc", "heterophilous"):
        return ("ours",)
    return ("ours", "paper-small" if data in LARGE else "paper")


@cache
def cost(entry: Entry) -> float:
    """Estimate the multiplications of an epoch for one replica: convolutions, and transformers of MDNN."""
    recipe = entry.recipe()
    nodes, edges = SIZES[entry.data]
    branches = (recipe.layers + 2) * (2 * nodes * recipe.hidden**2 + 4 * edges * recipe.hidden)
    tokens = (nodes + 2 * edges) * recipe.layers * recipe.transformer_layers * 8 * recipe.hidden**2
    return float(branches + (tokens if entry.model == "mdnn" else 0))


def num_weights(recipe: Recipe) -> int:
    """Estimate the number of weights of a network, without those of the input features."""
    transformers = recipe.layers * recipe.transformer_layers * 8 if recipe.model == "mdnn" else 0
    return (2 * (recipe.layers + 2) + transformers) * recipe.hidden**2
