"""Tiny data sets in the layout of the real ones."""

from pathlib import Path

import pytest


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text)
    return folder


@pytest.fixture
def tiny_tu(tmp_path: Path) -> Path:
    """MUTAG with three graphs: a path with a repeated edge, a node by itself, and a triangle given one way only."""
    write(
        tmp_path / "TUDataset" / "MUTAG" / "raw",
        MUTAG_A="1, 2\n2, 1\n1, 2\n2, 3\n3, 2\n5, 6\n6, 7\n7, 5\n",
        MUTAG_graph_indicator="1\n1\n1\n2\n3\n3\n3\n",
        MUTAG_graph_labels="-1\n1\n1\n",
        MUTAG_node_labels="0\n1\n0\n5\n2\n2\n2\n",
    )
    return tmp_path


@pytest.fixture
def tiny_exp(tmp_path: Path) -> Path:
    write(tmp_path / "EXP" / "raw", GRAPHSAT="2\n3 1\n0 1 1\n1 2 0 2\n0 1 1\n2 0\n0 1 1\n1 1 0\n")
    return tmp_path


@pytest.fixture
def tiny_texas(tmp_path: Path) -> Path:
    write(
        tmp_path / "WebKB" / "texas" / "raw",
        out1_graph_edges="node_id\tnode_id\n0\t1\n1\t2\n2\t0\n0\t1\n2\t2\n",
        out1_node_feature_label="node_id\tfeature\tlabel\n2\t0,1\t4\n0\t1,1\t1\n1\t0,0\t0\n",
    )
    return tmp_path


def with_edge_attributes(root: Path, rows: str) -> Path:
    write(root / "TUDataset" / "MUTAG" / "raw", MUTAG_edge_attributes=rows.replace(";", "\n"))
    return root


def with_edge_labels(root: Path, labels: str) -> Path:
    write(root / "TUDataset" / "MUTAG" / "raw", MUTAG_edge_labels="\n".join(labels.split()))
    return root
