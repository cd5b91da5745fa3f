"""The notebooks in examples/ run from top to bottom."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def code(notebook: Path) -> list[str]:
    cells: list[dict[str, Any]] = json.loads(notebook.read_text("utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def test_every_notebook_is_listed_and_has_no_outputs() -> None:
    listed = (ROOT / "examples" / "README.md").read_text("utf-8")
    assert NOTEBOOKS and all(f"({notebook.name})" in listed for notebook in NOTEBOOKS)
    for notebook in NOTEBOOKS:
        assert '"outputs": []' in notebook.read_text() and '"output_type"' not in notebook.read_text()
        for cell in code(notebook):
            ast.parse(cell)


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    required = {"molecules": "rdkit", "own-data-pyg": "torch_geometric", "kernel-grid-search": "sklearn"}
    if notebook.stem in required:
        pytest.importorskip(required[notebook.stem])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NODES", "20000")  # the hub graph, smaller
    names: dict[str, Any] = {}
    for cell in code(notebook):
        exec(compile(cell, notebook.name, "exec"), names)
