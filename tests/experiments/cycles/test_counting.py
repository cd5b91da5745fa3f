"""The cycle-counting benchmark: exact counts, and damaged files."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from detours.errors import FileFormatError
from detours.experiments.cycles import counting
from detours.store import Cell
from tests.oracles.cycles import simple_cycles
from tests.real_data import data_folder


def write(folder: Path, graphs: list[nx.Graph], counts: list[list[int]]) -> Path:
    (folder / "graphs.g6").write_bytes(b"".join(nx.to_graph6_bytes(graph, header=False) for graph in graphs))
    lines = ["cycle3,cycle4,cycle5,cycle6", *(",".join(map(str, row)) for row in counts)]
    (folder / "counts.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def benchmark_folder(tmp_path: Path) -> Path:
    graphs = [nx.gnm_random_graph(9, 14, seed=seed) for seed in range(6)]
    lengths = [[len(cycle) for cycle in simple_cycles(graph, 6)] for graph in graphs]
    return write(tmp_path, graphs, [[row.count(length) for length in counting.LENGTHS] for row in lengths])


def cell(folder: Path) -> Cell:
    (task,) = counting.tasks(counting.read_benchmark(folder))
    return Cell(dict(task.key), task.work(), 0.0)


def test_counts_are_equal(benchmark_folder: Path) -> None:
    counted, errors = counting.tables([cell(benchmark_folder)])
    assert [row[:3] for row in counted.rows] == [[length, 6, 6] for length in (3, 4, 5, 6)]
    assert [row[2] for row in errors.rows] == ["0", "0.0003 to 0.0082"]
    assert all(row[3] > 0 for row in counted.rows)


def test_a_wrong_count_is_found(benchmark_folder: Path) -> None:
    data = counting.read_benchmark(benchmark_folder)
    data.y[2, 1] += 3
    rows = counting.tables([Cell({}, counting.tasks(data)[0].work(), 0.0)])
    assert [row[2] for row in rows[0].rows] == [6, 5, 6, 6]
    assert float(rows[1].rows[0][2]) == pytest.approx(0.5 / np.std(data.y[:, 1]), rel=1e-4)


def test_files_that_disagree(tmp_path: Path) -> None:
    write(tmp_path, [nx.cycle_graph(3)], [[1, 0, 0, 0], [1, 0, 0, 0]])
    with pytest.raises(FileFormatError, match="1 graphs, but there are 2"):
        counting.read_benchmark(tmp_path)
    (tmp_path / "counts.csv").unlink()
    with pytest.raises(FileFormatError, match=r"counts\.csv.*no such file"):
        counting.read_benchmark(tmp_path)


def test_the_published_benchmark() -> None:
    folder = data_folder() / counting.FOLDER
    if not folder.is_dir():
        pytest.skip(f"real data not found: {folder} (set DETOURS_DATA to the folder that holds the data sets)")
    data = counting.read_benchmark(folder)
    assert len(data.graphs) == 5000
    np.testing.assert_array_equal(counting.cycles_by_graph(data.graphs), data.y)
