"""Moving averages of weights, against a loop over the steps."""

import pytest

torch = pytest.importorskip("torch")

from detours.training.replicas.average import WARM_UP, Averaged  # noqa: E402
from detours.training.replicas.stack import Stack  # noqa: E402


def stack_of(networks: int) -> Stack:
    torch.manual_seed(0)
    listed = [torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)) for _ in range(networks)]
    return Stack(listed, torch.device("cpu"), torch.float64)


def test_averages_of_parameters_and_of_running_statistics() -> None:
    stack, decay = stack_of(2), torch.tensor([[0.0], [0.9]], dtype=torch.float64)
    averaged = Averaged(stack, decay)
    flat, mean = stack.flat.clone(), stack.buffers["1.running_mean"].clone()
    for step in range(1, 200):
        stack.flat += torch.randn_like(stack.flat)
        stack.buffers["1.running_mean"] += 1
        stack.buffers["1.num_batches_tracked"] += 1
        averaged.update(stack, torch.tensor(float(step)))
        kept = decay.clamp(max=(1 + step) / (WARM_UP + step))
        flat = kept * flat + (1 - kept) * stack.flat
        mean = kept * mean + (1 - kept) * stack.buffers["1.running_mean"]
    torch.testing.assert_close(averaged.flat, flat)
    torch.testing.assert_close(averaged.buffers["1.running_mean"], mean)
    assert torch.equal(averaged.flat[0], stack.flat[0])  # no averaging: the weights themselves
    assert not torch.allclose(averaged.flat[1], stack.flat[1])
    assert averaged.buffers["1.num_batches_tracked"].tolist() == [199, 199]


def test_restoring_and_dropping() -> None:
    stack = stack_of(3)
    averaged = Averaged(stack, torch.full((3, 1), 0.5, dtype=torch.float64))
    stack.flat += 1
    averaged.update(stack, torch.tensor(1.0))
    again = Averaged(stack_of(3), averaged.decay)
    again.load(**averaged.state())
    assert torch.equal(again.flat, averaged.flat)
    expected = averaged.flat[[2, 0]]
    again.keep(torch.tensor([2, 0]))
    assert torch.equal(again.flat, expected) and again.decay.shape == (2, 1)
    assert again.buffers["1.running_var"].shape == (2, 2)
