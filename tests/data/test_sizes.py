"""The user's data with the name of a known data set."""

from pathlib import Path

import numpy as np
import pytest

from detours.data import load, read_own, splits
from detours.data.known import KNOWN
from detours.data.overview import is_available
from detours.data.sizes import SIZES
from detours.graph import Graph
from tests import real_data
from tests.data.conftest import write


def undirected(graph: Graph) -> set[tuple[int, int]]:
    return {(min(u, v), max(u, v)) for u, v in np.asarray(graph.edge_index).T.tolist() if u != v}


def test_every_data_set_with_files_has_its_size() -> None:
    assert set(SIZES) == {name for name, each in KNOWN.items() if each.raw}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_are_those_of_the_data(name: str) -> None:
    if not is_available(name, real_data.data_folder()):
        pytest.skip("real data not found (set DETOURS_DATA to the folder that holds the data sets)")
    graphs = load(name, real_data.data_folder()).graphs
    assert SIZES[name] == (sum(graph.num_nodes for graph in graphs), sum(len(undirected(graph)) for graph in graphs))


def test_other_graphs_of_a_known_name_are_renamed(tmp_path: Path) -> None:
    """Ten triangles and ten paths in a folder named MUTAG."""
    arcs = [(i, j) for i in range(1, 61, 3) for j in (i + 1, i + 2)] + [(i + 1, i + 2) for i in range(1, 31, 3)]
    write(
        tmp_path / "MUTAG",
        MUTAG_A="".join(f"{i}, {j}\n{j}, {i}\n" for i, j in arcs),
        MUTAG_graph_indicator="".join(f"{node // 3 + 1}\n" for node in range(60)),
        MUTAG_graph_labels="0\n" * 10 + "1\n" * 10,
    )
    with pytest.warns(UserWarning, match=r"MUTAG is the name of a known .* 3,371 nodes .* these data have 60 and 50; "):
        data = load(str(tmp_path / "MUTAG"))
    assert data.name == "own-MUTAG" and splits(data).source.startswith("generated")
    assert read_own(tmp_path / "MUTAG", targets=False).name == "MUTAG"  # nothing is learned: no settings, no folds


@pytest.mark.filterwarnings("error")
def test_known_graphs_are_recognised_in_any_folder() -> None:
    real_data.molecule_graphs("MUTAG")  # skips where there are no data
    data = load(real_data.data_folder() / "TUDataset" / "MUTAG")
    assert data.name == "MUTAG" and splits(data).source == "shipped"
