"""Settings without effect are those that leave a training as it is, to the last bit."""

from typing import Any

import numpy as np
import pytest

from detours.data import Split
from detours.errors import InputError
from detours.training.recipe import recipe
from detours.training.recipe.idle import ONLY_MDNN, idle
from tests.training.cases import one_graph, task

pytest.importorskip("lightning")

SMALL = {"hidden": 8, "epochs": 3, "precision": "64-true", "layers": 1, "lr": 0.05, "input_dropout": 0.0}
OTHERS: dict[str, tuple[Any, Any]] = {
    **{"k": (3, 4), "log": (False, True), "by_length": (False, True), "cycle_features": (True, False)},
    **{"use_den": (False, True), "den_bias": (True, False), "detour_gate": (True, False), "heads": (2, 1)},
    **{"transformer_layers": (2, 1), "token_norm": ("layer", "none"), "pe": (2, 1), "hop_den": (True, False)},
    **{"encoder": ("mlp", "conv"), "hops": (3, 2), "decoder": ("none", "conv"), "norm": ("layer", "none")},
    **{"jump": ("cat", "last"), "gate": (True, False), "skip": (False, True), "head": ("mlp", "linear")},
    **{"pool": ("mean", "max"), "pool_of": ("states", "logits"), "backbone": ("gat", "gcn"), "layers": (2, 1)},
    **{"edge_den": (True, False), "node_den": (True, False), "layer_dropout": (0.3, 0.0), "batch_size": (5, 6)},
    **{"directed": (True, False), "directions": ("both", "in"), "evaluation": ("sampled", "whole")},
    "regression_loss": ("mse", "l1"),
}
"""Two values of each setting of which one is another than that of any recipe below."""


def trained(level: str, **changed: Any) -> tuple[float, ...] | None:
    """Return losses after training; None if the settings are refused."""
    from detours.training import fit

    data = one_graph(40) if level == "node" else task(24)
    parts = np.split(np.arange(len(data.y)), [len(data.y) // 2, 3 * len(data.y) // 4])
    try:
        (cell,) = fit(data, folds=[Split(*parts)], device="cpu", **{**SMALL, **changed})
    except InputError:
        return None
    return cell.value["val_loss"], cell.value["test_loss"]


@pytest.mark.filterwarnings("ignore:k = 3 has no effect:UserWarning")
@pytest.mark.parametrize("model", ["plain", "weighted", "mdnn"])
@pytest.mark.parametrize(
    ("level", "changed"),
    [
        ("graph", {"layers": 0, "encoder": "linear", "decoder": "none"}),
        pytest.param("graph", {}, marks=pytest.mark.slow),
        pytest.param("graph", {"layers": 0}, marks=pytest.mark.slow),
        pytest.param("graph", {"edge_den": True}, marks=pytest.mark.slow),
        pytest.param("node", {}, marks=pytest.mark.slow),
        pytest.param("node", {"layers": 0, "edge_den": True}, marks=pytest.mark.slow),
        pytest.param("node", {"layers": 0, "encoder": "hops"}, marks=pytest.mark.slow),
        pytest.param("node", {"encoder": "hops", "directed": True}, marks=pytest.mark.slow),
        pytest.param("node", {"neighbours": (3,)}, marks=pytest.mark.slow),
        pytest.param("graph", {"use_den": False}, marks=pytest.mark.slow),
        pytest.param("node", {"use_den": False, "encoder": "hops", "hop_den": True}, marks=pytest.mark.slow),
    ],
)
def test_idle_settings_are_those_without_effect(model: str, level: str, changed: dict[str, Any]) -> None:
    if model != "mdnn" and "use_den" in changed:
        pytest.skip("refused")
    before = trained(level, model=model, **changed)
    assert before is not None
    values = vars(recipe("one", "", "", level, **{**SMALL, "model": model, "task": "classification", **changed}))
    said, found = idle(values), set()
    for name, pair in OTHERS.items():
        after = trained(level, model=model, **{**changed, name: pair[0] if values[name] != pair[0] else pair[1]})
        if after is None:
            said.discard(name)
        elif np.allclose(after, before, rtol=1e-12):  # another number of graphs in a batch rounds otherwise
            found.add(name)
    assert found - {"directed"} == said & OTHERS.keys()  # features may depend on degrees, so it is never called idle


def test_settings_of_mdnn_alone() -> None:
    pytest.importorskip("torch_geometric")
    from detours.training.build import OF_MDNN

    assert set(ONLY_MDNN) == {*OF_MDNN, "pe", "hop_den"}
