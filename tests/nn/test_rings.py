"""The offline task: plain networks guess, every network with detours learns it."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy
from torch_geometric.data import Batch, Data

from detours.data import rings
from detours.nn import MDNN, PlainNetwork, WeightedNetwork
from detours.transforms import AddDetourNumber

K = 4


def parts(kind: str, backbone: str, seed: int) -> tuple[list[Data], Batch]:
    """Graphs for training and a batch for testing; the two graphs of a pair stay together."""
    task = rings(200, sizes=(3, 4, 5), seed=seed)
    graphs = []
    for graph, label in zip(task.graphs, task.y.tolist(), strict=True):
        degree = torch.from_numpy(np.diff(graph.indptr)).float()
        x = torch.stack([torch.ones_like(degree), degree], dim=1)
        graphs.append(Data(x=x, edge_index=torch.from_numpy(graph.to_edge_index()), y=torch.tensor([label])))
    # The weights of GCN are raw, as its normalisation takes their scale away; all others are logarithms.
    raw = (kind, backbone) == ("weighted", "gcn")
    by_length = kind == "mdnn"
    graphs = AddDetourNumber(K, by_length=by_length, squeeze=not by_length, log=not raw)(graphs)
    pairs = np.random.default_rng(seed).permutation(100)
    first, second = (
        list(chain.from_iterable((2 * pair, 2 * pair + 1) for pair in some)) for some in (pairs[:80], pairs[80:])
    )
    return [graphs[at] for at in first], Batch.from_data_list([graphs[at] for at in second])


def accuracy(kind: str, backbone: str, seed: int, epochs: int, rate: float = 1e-3) -> float:
    train, test = parts(kind, backbone, seed)
    torch.manual_seed(seed)
    net = {
        "plain": lambda: PlainNetwork(2, 32, 2, backbone, num_layers=4),
        "weighted": lambda: WeightedNetwork(2, 32, 2, backbone, num_layers=4),
        "mdnn": lambda: MDNN(2, 32, 2, backbone, num_layers=4, den_channels=K - 1, pe_channels=0),
    }[kind]()
    optimizer = torch.optim.AdamW(net.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        for chosen in torch.randperm(len(train)).split(25):
            batch = Batch.from_data_list([train[at] for at in chosen])
            optimizer.zero_grad()
            cross_entropy(net(batch.x, batch.edge_index, batch.den, batch=batch.batch), batch.y).backward()
            optimizer.step()
        schedule.step()
    net.eval()
    logits = net(test.x, test.edge_index, test.den, batch=test.batch, num_graphs=test.num_graphs)
    return float((logits.argmax(1) == test.y).double().mean())


@pytest.mark.slow
def test_plain_networks_guess() -> None:
    for backbone in ("gcn", "gat", "gin"):
        assert accuracy("plain", backbone, seed=0, epochs=2) == 0.5


@pytest.mark.slow
def test_weights_tell() -> None:
    assert accuracy("weighted", "gin", seed=0, epochs=8) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("kind", "backbone", "epochs", "rate"),
    [
        ("weighted", "gin", 40, 1e-3),
        ("weighted", "gcn", 60, 1e-3),
        ("weighted", "gat", 60, 3e-3),
        ("mdnn", "gin", 40, 1e-3),
        ("mdnn", "gcn", 40, 1e-3),
        ("mdnn", "gat", 40, 1e-3),
    ],
)
def test_detours_tell(kind: str, backbone: str, epochs: int, rate: float, seed: int) -> None:
    assert accuracy(kind, backbone, seed, epochs, rate) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("backbone", ["gcn", "gat", "gin"])
def test_plain_networks_never_learn(backbone: str, seed: int) -> None:
    assert accuracy("plain", backbone, seed, epochs=40) == 0.5
