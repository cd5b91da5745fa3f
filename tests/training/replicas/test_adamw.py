"""AdamW of stacked networks: torch's own, for each row."""

import pytest

torch = pytest.importorskip("torch")

from detours.training.replicas.adamw import AdamW  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 1e-6)])
@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("width", [7, 2050])  # one program of a GPU, and several
def test_every_row_is_stepped_as_by_torch(dtype: torch.dtype, tolerance: float, alike: bool, width: int) -> None:
    torch.manual_seed(0)
    rates, decays = ([0.1, 1e-2, 0.1], [0.1, 0.5, 0.1]) if alike else ([1e-3, 0.1, 1e-2], [0.0, 0.1, 0.5])
    groups = rates if alike else None
    stacked = torch.randn(3, width, dtype=dtype, device=DEVICE)
    single = [row.clone().requires_grad_() for row in stacked]
    torchs = [
        torch.optim.AdamW([row], lr=rate, weight_decay=decay, foreach=False, fused=False)
        for row, rate, decay in zip(single, rates, decays, strict=True)
    ]
    ours = AdamW(stacked, decays, groups)
    for step in range(20):
        if step == 10:  # the first row has stopped, the others resume from a checkpoint
            state = {name: value.clone() for name, value in ours.state().items()}
            ours = AdamW(stacked, decays, groups)
            ours.load(state)
            ours.keep(torch.tensor([1, 2], device=DEVICE))
            stacked, single, torchs, rates = stacked[1:].clone(), single[1:], torchs[1:], rates[1:]
        gradients = torch.randn(stacked.shape, dtype=dtype, device=DEVICE) * 10.0 ** int(torch.randint(-3, 3, (1,)))
        warm = min(1.0, (step + 1) / 5)
        for row, optimizer, rate, gradient in zip(single, torchs, rates, gradients, strict=True):
            optimizer.param_groups[0]["lr"] = rate * warm
            row.grad = gradient.clone()
            optimizer.step()
        ours.step(stacked, [gradients], warm * torch.tensor(rates, dtype=dtype, device=DEVICE).unsqueeze(1))
        torch.testing.assert_close(stacked, torch.stack(single).detach(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("width", [7, 2050])
def test_gradients_may_come_in_parts_of_other_dtypes(width: int) -> None:
    torch.manual_seed(0)
    one = torch.randn(3, width, device=DEVICE)
    other, rates = one.clone(), torch.tensor([[0.1], [1e-2], [1e-3]], device=DEVICE)
    steppers = AdamW(one, [0.1, 0.5, 0.0]), AdamW(other, [0.1, 0.5, 0.0])
    for _ in range(3):
        parts = [torch.randn(3, 5, device=DEVICE).bfloat16(), torch.randn(3, width - 5, device=DEVICE)]
        steppers[0].step(one, parts, rates)
        steppers[1].step(other, [torch.cat([each.float() for each in parts], dim=1)], rates)
    torch.testing.assert_close(one, other, rtol=0, atol=0)
