"""The straightforward MDNN must compute the same as ours."""

from copy import deepcopy

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from benchmarks.straightforward import padded  # noqa: E402
from detours.nn import MDNN  # noqa: E402


def test_both_networks_have_the_same_outputs() -> None:
    torch.manual_seed(0)
    edge_index = torch.tensor([[0, 1, 1, 2, 2, 0, 3, 0], [1, 0, 2, 1, 0, 2, 0, 3]])
    x, den, pe = torch.randn(5, 3), torch.rand(8, 2), torch.randn(5, 4)
    model = MDNN(3, 8, 2, "gin", num_layers=2, transformer_layers=2, den_channels=2, pe_channels=4).double()
    arguments = (x.double(), edge_index, den.double(), pe.double())
    for ours in (model.train(), model.eval()):
        theirs = padded(deepcopy(ours))
        torch.testing.assert_close(theirs(*arguments), ours(*arguments))
