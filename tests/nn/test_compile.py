"""`torch.compile` gives the same numbers, and does not compile anew for every batch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch._dynamo.testing import CompileCounterWithBackend

from detours.nn import MDNN, DetourTransformer, Tokens
from tests.nn.cases import Case, case, joined


def molecule(rings: int, seed: int) -> Case:
    """Rings of five with a tail: sets of two, three and four tokens in every batch."""
    arcs = []
    for at in range(rings):
        corners = [7 * at + corner for corner in range(5)]
        arcs += list(zip(corners, corners[1:] + corners[:1], strict=True))
        arcs += [(corners[0], 7 * at + 5), (7 * at + 5, 7 * at + 6)]
    edge_index = torch.tensor(arcs + [(j, i) for i, j in arcs]).t()
    given = case(edge_index, 7 * rings, seed)
    return Case(*(each.float() if each.is_floating_point() else each for each in given))


def batches() -> list[tuple[Case, Tensor, Tokens]]:
    made = []
    for number in range(2, 7):
        given, batch = joined([molecule(rings=2 + seed % 3, seed=number * 10 + seed) for seed in range(number)])
        made.append((given, batch, Tokens.of(given.edge_index, given.num_nodes)))
    return made


def gradients(net: torch.nn.Module) -> list[Tensor]:
    found = [parameter.grad.clone() for parameter in net.parameters()]
    net.zero_grad()
    return found


def compiled(net: torch.nn.Module, backend: str) -> tuple[torch.nn.Module, CompileCounterWithBackend]:
    torch._dynamo.reset()
    counter = CompileCounterWithBackend(backend)
    return torch.compile(net, backend=counter), counter


@pytest.mark.slow
def test_the_transformer_is_traced_once_for_all_batches() -> None:
    torch.manual_seed(0)
    net = DetourTransformer(3, 8, num_layers=2, den_channels=2, pe_channels=2)
    traced, counter = compiled(net, "eager")
    graphs = []
    with torch.no_grad():
        for given, _, tokens in batches():
            net.eval()
            assert torch.allclose(traced(*given, tokens=tokens), net(*given, tokens=tokens), atol=1e-5)
            graphs.append(counter.frame_count)
    # The second batch shows which sizes vary; from then on the same code serves all.
    assert graphs[-1] == graphs[1]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_training_equals_eager(backend: str) -> None:
    torch.manual_seed(0)
    net = MDNN(3, 8, 2, num_layers=1, transformer_layers=2, den_channels=2, pe_channels=2)
    other, counter = compiled(net, backend)
    graphs = []
    for at, (given, batch, tokens) in enumerate(batches()):
        results = []
        for each in (net, other):
            logits = each(*given, batch, num_graphs=at + 2, tokens=tokens)
            logits.square().sum().backward()
            results.append([logits, *gradients(net)])
        assert all(torch.allclose(mine, theirs, atol=1e-4) for mine, theirs in zip(*results, strict=True))
        graphs.append(counter.frame_count)
    assert graphs[-1] == graphs[1]
