"""Where runs train."""

import sys

import pytest
import torch

from detours.training.devices import memory_kept


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep memory in their own way")
def test_memory_is_kept_while_training_and_given_back_after() -> None:
    resource = pytest.importorskip("resource")

    def pages() -> int:
        """Of 64 MB that are taken anew four times."""
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(4):
            torch.zeros(2**24).add_(1)
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

    usual = pages()
    with memory_kept(torch.device("cpu")):
        pages()
        kept = pages()
    assert 10 * kept < usual and 2 * pages() > usual
    with memory_kept(torch.device("cuda")):  # whose memory torch keeps itself
        assert 2 * pages() > usual
