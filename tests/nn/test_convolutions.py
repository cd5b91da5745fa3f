"""Our convolutions against PyG's: the same parameters give the same outputs and gradients."""

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pyg = pytest.importorskip("torch_geometric.nn")

from torch import Tensor, nn  # noqa: E402

from detours.nn.convolutions import GAT, GCN, GIN  # noqa: E402
from detours.nn.functional import pool, segment_softmax, segment_sum  # noqa: E402

NODES, IN, OUT = 9, 4, 6
# two nodes without arcs, one with outgoing arcs only, repeated arcs
ARCS = torch.tensor([[0, 1, 2, 3, 4, 5, 5, 6, 0, 0], [1, 0, 1, 1, 3, 4, 3, 0, 4, 4]])


def _randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def _randomised(module: nn.Module) -> nn.Module:
    """With random values for all parameters, also for those that are initialised with 0."""
    module = module.double()
    for seed, each in enumerate(module.parameters()):
        each.data = _randn(*each.shape, seed=10 + seed)
    return module


def _same(ours: nn.Module, theirs: nn.Module, *given: Tensor, **options: Tensor) -> None:
    theirs.load_state_dict(ours.state_dict(), strict=False)
    x = _randn(NODES, IN).requires_grad_()
    found, expected = ours(x, ARCS, *given, **options), theirs(x, ARCS, *given, **options)
    torch.testing.assert_close(found, expected)
    shared = {name for name, _ in theirs.named_parameters()}
    mine = [x, *(each for name, each in ours.named_parameters() if name in shared)]
    pairs = zip(
        torch.autograd.grad(found.square().sum(), mine),
        torch.autograd.grad(expected.square().sum(), [x, *theirs.parameters()]),
        strict=True,
    )
    for one, other in pairs:
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("weighted", [False, True])
def test_gcn_is_that_of_pyg(weighted: bool) -> None:
    options = {"edge_weight": _randn(ARCS.size(1)).abs()} if weighted else {}
    _same(_randomised(GCN(IN, OUT)), pyg.GCNConv(IN, OUT).double(), **options)


def test_gin_is_that_of_pyg() -> None:
    h = nn.Sequential(nn.Linear(IN, OUT), nn.ReLU(), nn.Linear(OUT, OUT))
    _same(
        _randomised(GIN(h, IN)), pyg.GINConv(nn.Sequential(nn.Linear(IN, OUT), nn.ReLU(), nn.Linear(OUT, OUT))).double()
    )


class _WithLoops(pyg.GATConv):
    """PyG's GAT with a loop of features 0 for each node."""

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        loops = torch.arange(len(x)).expand(2, -1)
        if edge_attr is not None:
            edge_attr = torch.cat([edge_attr, edge_attr.new_zeros(len(x), edge_attr.size(1))])
        return super().forward(x, torch.cat([edge_index, loops], 1), edge_attr)


@pytest.mark.parametrize("edge_dim", [None, 1, 3])
def test_gat_is_that_of_pyg(edge_dim: int | None) -> None:
    options = {"edge_attr": _randn(ARCS.size(1), edge_dim, seed=3)} if edge_dim else {}
    theirs = _WithLoops(IN, OUT, edge_dim=edge_dim, add_self_loops=False).double()
    _same(_randomised(GAT(IN, OUT, edge_dim)), theirs, **options)
    if not edge_dim:
        _same(_randomised(GAT(IN, OUT)), pyg.GATConv(IN, OUT).double())  # which adds the loops itself


@pytest.mark.parametrize("edge_dim", [None, 3])
def test_gat_is_initialised_as_that_of_pyg(edge_dim: int | None) -> None:
    states = []
    for kind in (GAT, pyg.GATConv):
        torch.manual_seed(0)
        states.append({**kind(IN, OUT, edge_dim=edge_dim).state_dict(), "next": torch.rand(1)})
    ours, theirs = states
    assert list(ours) == list(theirs) and all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_convolutions_leave_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from detours.nn.backbones import convolution\nfor each in ('gcn', 'gat', 'gin'): convolution(each, 3, 4)"
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    subprocess.run([sys.executable, "-c", code], check=True)
    assert not list(tmp_path.rglob("*.py"))


@pytest.mark.parametrize("size", [1e3, -1e3])
def test_gat_takes_scores_of_any_size(size: float) -> None:
    conv = _randomised(GAT(IN, OUT))
    conv.att_src.data *= size
    found = conv(_randn(NODES, IN), ARCS)
    assert torch.isfinite(found).all()
    alone = NODES - 1  # a node without arcs sees only itself
    torch.testing.assert_close(found[alone], conv.lin(_randn(NODES, IN))[alone] + conv.bias)


@pytest.mark.parametrize("autocast", [False, True])
def test_gat_in_half_precision_of_a_node_with_many_neighbours(autocast: bool) -> None:
    nodes = 1000
    arcs, x = torch.tensor([range(1, nodes), [0] * (nodes - 1)]), _randn(nodes, IN).float()
    conv = GAT(IN, OUT)
    exact = conv(x, arcs)[0]
    if autocast:
        with torch.autocast("cpu", torch.bfloat16):
            half = conv(x, arcs)[0]
    else:
        half = conv.bfloat16()(x.bfloat16(), arcs)[0]
        assert half.dtype == torch.bfloat16
    assert (half.float() - exact).norm() < 0.02 * exact.norm() + 0.01


def test_sums_in_half_precision_do_not_stop_at_256() -> None:
    ones, graph = torch.ones(1000, 1, dtype=torch.bfloat16), torch.zeros(1000, dtype=torch.long)
    assert segment_sum(ones[:, 0], graph, 1).item() == 1000
    assert pool(ones, graph, 1, "mean").item() == 1
    assert abs(segment_softmax(ones[:, 0], graph, 1).float().sum().item() - 1) < 0.01


def test_gat_in_half_precision_and_stacked() -> None:
    conv, x = GAT(IN, OUT, 1), _randn(NODES, IN).float()
    feature = _randn(ARCS.size(1), 1).float()
    with torch.autocast("cpu", torch.bfloat16):
        half = conv(x, ARCS, feature)
    torch.testing.assert_close(half.float(), conv(x, ARCS, feature), rtol=0.1, atol=0.1)
    stacked = {name: torch.stack([each, 2 * each, -each]) for name, each in conv.named_parameters()}

    def output_of(parameters: dict[str, Tensor]) -> Tensor:
        return torch.func.functional_call(conv, parameters, (x, ARCS, feature))

    stacked_output = torch.vmap(output_of)(stacked)
    for at in range(3):
        torch.testing.assert_close(stacked_output[at], output_of({name: each[at] for name, each in stacked.items()}))
