"""Rows grouped by an index: computed once per tensor, and released with it."""

from __future__ import annotations

import gc
import sys
from itertools import pairwise

import pytest
import torch

from detours.nn.fused import choice, fused, groups
from detours.nn.fused.choice import same_arcs
from detours.nn.fused.groups import checked, declare_groups, ends, groups_of, reversed_arcs


def test_the_rows_of_each_group_in_the_order_listed() -> None:
    index = torch.tensor([3, 0, 3, 1, 0, 3])
    rows, offsets = groups_of(index, 5)
    found = [rows[start:end].tolist() for start, end in pairwise(offsets)]
    assert found == [[1, 4], [3], [], [0, 2, 5], []]


def test_no_rows() -> None:
    rows, offsets = groups_of(torch.zeros(0, dtype=torch.long), 2)
    assert (rows.tolist(), offsets.tolist()) == ([], [0, 0, 0])


def test_declared_groups_are_not_searched() -> None:
    index, offsets = torch.tensor([0, 0, 2]), torch.tensor([0, 2, 2, 3])
    declare_groups(index, offsets)
    found = groups_of(index, 3)
    assert found.begins is offsets and found.rows.tolist() == [0, 1, 2]
    index[0] = 1  # other values, other groups
    assert groups_of(index, 3).begins.tolist() == [0, 1, 2, 3]


def test_cached_until_the_values_change() -> None:
    index = torch.tensor([1, 0, 1])
    first = groups_of(index, 2)
    assert groups_of(index, 2) is first
    assert groups_of(index, 3) is not first
    index[0] = 0
    assert groups_of(index, 2).rows.tolist() == [0, 1, 2]


def test_released_with_the_tensor() -> None:
    before = len(groups._cache)
    index = torch.tensor([1, 0, 1])
    groups_of(index, 2)
    groups._cached(index, "copy", index.clone)
    assert len(groups._cache) == before + 1
    del index
    gc.collect()
    assert len(groups._cache) == before


def test_in_inference_mode_and_after_it() -> None:
    index = torch.tensor([1, 0, 1])
    with torch.inference_mode():
        first = groups_of(index, 2)
        assert groups_of(index.clone(), 2).rows.tolist() == [1, 0, 2]
    assert groups_of(index, 2) is first and not first.rows.is_inference()


@pytest.mark.parametrize("index", [[0, 2], [-1, 0]])
def test_rows_that_do_not_exist(index: list[int]) -> None:
    for function in (groups_of, checked):
        with pytest.raises(RuntimeError, match="an index names a row that does not exist"):
            function(torch.tensor(index), 2)


def test_ends_and_reversed_arcs() -> None:
    arcs = torch.tensor([[0, 1, 2], [3, 4, 5]])
    assert [each.tolist() for each in ends(arcs)] == arcs.tolist()
    assert reversed_arcs(arcs).tolist() == [[3, 4, 5], [0, 1, 2]]


def test_no_kernels_for_unsupported_tensors() -> None:
    with same_arcs():
        assert not fused(torch.zeros(0))
        assert not fused(torch.zeros(3, dtype=torch.long))


def test_a_gpu_without_a_compiler_warns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "find_spec", lambda _: True)
    monkeypatch.setattr(choice, "_interpreted", lambda: False)
    monkeypatch.setitem(sys.modules, "detours.nn.fused.columns_triton", None)  # as if its import failed
    choice._has_triton.cache_clear()
    with pytest.warns(UserWarning, match="Triton does not work here, so training on the GPU is slower"):
        assert not choice._has_triton()
    assert not choice._has_triton()
    choice._has_triton.cache_clear()
