"""Networks from recipes: their parameters are those that torch draws from the seed, however many are drawn at once."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")

from torch.utils._python_dispatch import is_in_torch_dispatch_mode  # noqa: E402

from detours.training.build import network_of, networks_of  # noqa: E402
from tests.training.cases import small, task  # noqa: E402

OPTIONS = [{"model": "plain"}, {"model": "weighted", "backbone": "gat"}, {"backbone": "gcn", "den_bias": True}]


@pytest.mark.parametrize("options", OPTIONS)
def test_drawn_in_parallel(options: dict[str, object]) -> None:
    recipes = [small(task(16), fold=fold, seed=seed, **options) for fold in range(3) for seed in range(3)]
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    together = networks_of(recipes, 5, 3)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not is_in_torch_dispatch_mode()  # else torch.compile may do nothing in this process
    for recipe, network in zip(recipes, together, strict=True):
        separate = network_of(recipe, 5, 3).state_dict()
        assert separate.keys() == network.state_dict().keys()
        assert all(torch.equal(separate[name], value) for name, value in network.state_dict().items())
    first, second = (torch.cat([part.flatten() for part in each.parameters()]) for each in together[:2])
    assert not torch.equal(first, second)


def test_drawn_in_32_bits_whatever_the_default_dtype() -> None:
    recipes = [small(task(16), fold=fold) for fold in range(3)]
    usual = [network_of(recipe, 5, 3).state_dict() for recipe in recipes]
    torch.set_default_dtype(torch.float64)
    try:
        found = [network.state_dict() for network in networks_of(recipes, 5, 3)]
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    for one, other in zip(usual, found, strict=True):
        assert all(torch.equal(value, other[name]) for name, value in one.items())


def test_drawn_as_torch_draws() -> None:
    recipe = small(task(16), model="plain", backbone="gin", seed=2, fold=1)
    torch.manual_seed(1_000_003 * 2 + 1)
    first = torch.nn.Linear(5, recipe.hidden)  # of the encoder, drawn before all else
    assert torch.equal(network_of(recipe, 5, 3).state_dict()["encoder.conv.nn.0.weight"], first.weight)
