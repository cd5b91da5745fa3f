"""`TokenNorm`: torch's batch norm, over all processes if there are several."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn

from detours.nn.norm import TokenNorm

ROWS, CHANNELS = (7, 2), 3


def norm_and_rows() -> tuple[TokenNorm, Tensor, Tensor]:
    random = torch.Generator().manual_seed(0)
    norm = TokenNorm(CHANNELS).double()
    with torch.no_grad():
        norm.weight.uniform_(0.5, 2, generator=random)
        norm.bias.normal_(generator=random)
    rows = torch.randn(sum(ROWS), CHANNELS, dtype=torch.float64, generator=random) * 3 + 100
    return norm, rows, torch.randn(rows.shape, dtype=torch.float64, generator=random)


def run(norm: TokenNorm, rows: Tensor, grad_output: Tensor) -> list[Tensor]:
    """Two steps: output and gradient of the second, and the state after it."""
    norm(rows)
    rows = rows.clone().requires_grad_()
    out = norm(rows)
    (out * grad_output).sum().backward()
    return [out.detach(), rows.grad, norm.weight.grad, norm.bias.grad, norm.running_mean, norm.running_var]


def test_is_batch_norm_in_one_process() -> None:
    norm, rows, grad_output = norm_and_rows()
    torchs = nn.BatchNorm1d(CHANNELS).double()
    torchs.load_state_dict(norm.state_dict())
    for mine, theirs in zip(run(norm, rows, grad_output), run(torchs, rows, grad_output), strict=True):
        assert torch.equal(mine, theirs)
    assert torch.equal(norm.eval()(rows), torchs.eval()(rows))


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_rows_use_the_running_statistics(count: int) -> None:
    norm, rows, grad_output = norm_and_rows()
    run(norm, rows, grad_output)
    before = copy.deepcopy(norm.state_dict())
    out = norm(rows[:count])
    assert torch.equal(out, norm.eval()(rows[:count]))
    assert all(torch.equal(value, before[name]) for name, value in norm.state_dict().items())


def one_of_two(rank: int, folder: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    norm, rows, grad_output = norm_and_rows()
    outputs = run(norm, rows.split(ROWS)[rank], grad_output.split(ROWS)[rank])
    torch.save([*outputs, norm.num_batches_tracked], f"{folder}/{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.slow
def test_two_processes_equal_one(tmp_path: Path) -> None:
    mp.spawn(one_of_two, args=(str(tmp_path),), nprocs=2)
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    norm, rows, grad_output = norm_and_rows()
    out, grad, weight_grad, bias_grad, mean, variance = run(norm, rows, grad_output)

    def close(mine: Tensor, theirs: Tensor) -> bool:
        return torch.allclose(mine, theirs, rtol=0, atol=1e-10)

    assert close(torch.cat([first[0], second[0]]), out)
    assert close(torch.cat([first[1], second[1]]), grad)
    # Each process has its part of the gradient of parameters; DDP adds them.
    assert close(first[2] + second[2], weight_grad)
    assert close(first[3] + second[3], bias_grad)
    for outputs in (first, second):
        assert close(outputs[4], mean)
        assert close(outputs[5], variance)
        assert outputs[6] == norm.num_batches_tracked == 2


def test_double_backward_is_refused() -> None:
    norm, rows, grad_output = norm_and_rows()
    rows.requires_grad_()
    outputs = norm(rows, torch.arange(len(rows)) > 2)
    with pytest.raises(NotImplementedError, match="has no second derivative"):
        torch.autograd.grad((outputs * grad_output).sum(), rows, create_graph=True)
