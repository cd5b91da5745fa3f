"""The drawing of what a linear model sees."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
svm = pytest.importorskip("sklearn.svm")

from detours.data import rings  # noqa: E402
from detours.kernels import ShortestPath, WLDetour, evidence, explain  # noqa: E402
from detours.viz import saved  # noqa: E402
from detours.viz.explanation import AGAINST, FOR, evidence_figure  # noqa: E402


@pytest.mark.parametrize("kernel", [WLDetour(k=5, n_iter=0), ShortestPath()])
def test_a_drawing_per_feature_with_its_nodes_coloured(kernel: object, tmp_path: Path) -> None:
    task = rings(40)
    model = svm.LinearSVC().fit(kernel.fit_transform(task.graphs), task.y)  # type: ignore[attr-defined]
    graph = task.graphs[1]
    found = evidence(kernel, explain(kernel, model, top=1000), graph)[:4]  # type: ignore[arg-type]
    assert len(found) == 4
    figure = evidence_figure(graph, found, "A graph of class 1")
    drawings = figure.axes
    assert len(drawings) == len(found)
    from matplotlib.colors import to_hex

    for axes, (feature, carriers) in zip(drawings, found, strict=True):
        (dots,) = axes.collections
        coloured = [v for v, colour in enumerate(dots.get_facecolors()) if to_hex(colour) in (FOR, AGAINST)]
        assert coloured == sorted(carriers.nodes.tolist())
        assert f"{feature.weight:+.3g}" in axes.get_title()
    assert all(file.stat().st_size > 1000 for file in saved(figure, tmp_path / "seen"))
