"""Blocks of a graph that is counted as a whole: they cover it, share the work, and are checked when they are read."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import detours
from detours.counting.engines import threads
from detours.counting.engines.base import Engine, Estimate, Task
from detours.counting.engines.dense.count import DenseCount
from detours.counting.engines.registry import ENGINES
from detours.counting.on_disk import whole_graph as whole
from detours.counting.on_disk.job import Job
from detours.errors import EngineError, InputError
from tests.counting.on_disk.cases import assert_same, sparse


@given(
    weights=st.lists(st.integers(1, 1000), min_size=1, max_size=60),
    number=st.integers(1, 60),
    lanes=st.sampled_from([1, 16, 64]),
    missing=st.integers(0, 15),
)
def test_blocks_of_roots_cover_all_and_none_is_empty(weights: list[int], number: int, lanes: int, missing: int) -> None:
    work, number = np.array(weights) / sum(weights), min(number, len(weights))
    total = lanes * len(weights) - min(missing, lanes - 1)
    cuts = whole._cuts(work, number, lanes, total)
    assert (cuts[0], cuts[-1], len(cuts)) == (0, total, number + 1)
    assert (np.diff(cuts) > 0).all() and (cuts[:-1] % lanes == 0).all()


def test_blocks_of_roots_share_the_work() -> None:
    """Hubs come first and make up half of it; the last blocks are the shortest."""
    work = 1 / np.arange(10, 1010)
    work /= work.sum()
    shares = np.add.reduceat(work, whole._cuts(work, 10, 64, 64_000)[:-1] // 64)
    np.testing.assert_allclose(shares, np.diff(1 - (1 - np.arange(11) / 10) ** whole.TAPER), atol=0.03)
    assert shares.argmax() == 0 and shares.argmin() == 9


@pytest.mark.parametrize("engine", ["rows", "search", "dense"])
@pytest.mark.parametrize("damage", [lambda arrays: (), lambda arrays: (*arrays[:-1], arrays[-1][:2, :1])])
@pytest.mark.usefixtures("many_blocks")
def test_a_block_of_another_shape_is_detected(engine: str, damage: Any, tmp_path: Path) -> None:
    """In a graph that is counted as a whole: otherwise a small array would broadcast to a large one."""
    save, saved = Job.save, []

    def save_damaged(job: Job, stage: int, block: int, arrays: Any) -> None:
        save(job, stage, block, arrays if saved else damage(arrays))
        saved.append(block)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Job, "save", save_damaged)
        with pytest.raises(InputError, match=r"was damaged and is removed; run the same count again"):
            detours.count(sparse(), 4, engine=engine, out=tmp_path / "out")
    assert_same(detours.count(sparse(), 4, engine=engine, out=tmp_path / "out"), detours.count(sparse(), 4))


def test_matrix_products_of_a_block_stay_on_its_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, count_bundle = [], DenseCount.count_bundle

    def watched(*args: Any) -> None:
        inside.append(threads._inside)
        count_bundle(*args)

    monkeypatch.setattr(DenseCount, "count_bundle", watched)
    detours.count(sparse(), 4, engine="dense", out=tmp_path / "out")
    assert inside and min(inside) > 0


def test_an_engine_without_blocks_is_refused() -> None:
    plan = SimpleNamespace(chosen=object(), engine="zero", seconds=1.0, task=SimpleNamespace(n_jobs=1))
    with pytest.raises(EngineError, match=r"^engine='zero' cannot count in blocks; use another one, or leave out="):
        whole.describe(plan)  # type: ignore[arg-type]


class ZeroEngine(Engine):
    """The fastest of all; it cannot count in blocks."""

    name = "zero"

    def estimate(self, task: Task) -> Estimate:
        return Estimate(seconds=0.0, bytes=0, how="always answers zero", prepared=SimpleNamespace(run=lambda *_: None))


@pytest.mark.parametrize("options", [{}, {"memory_limit": 60_000}], ids=["whole", "in parts"])
def test_only_engines_with_blocks_are_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    expected = detours.count(sparse(), 4)
    module = ModuleType("detours.counting.engines.zero.engine")
    module.ZeroEngine = ZeroEngine  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(ENGINES, "zero", "ZeroEngine")
    assert detours.explain(sparse(), 4).engine == "zero"
    assert_same(detours.count(sparse(), 4, out=tmp_path / "out", **options), expected)
    with pytest.raises(EngineError, match=r"^engine='zero' cannot count in blocks; use another one, or leave out="):
        detours.count(sparse(), 4, engine="zero", out=tmp_path / "zero", **options)
    assert not (tmp_path / "zero").exists()
    with pytest.raises(InputError, match=r"engine must be one of 'auto', 'rows', 'dense', 'search', but it is 'warp'"):
        detours.count(sparse(), 4, engine="warp", out=tmp_path / "zero", **options)


@pytest.mark.parametrize(
    ("engine", "kind"), [("rows", "RowBlocks"), ("search", "SearchBlocks"), ("dense", "DenseBlocks")]
)
@pytest.mark.usefixtures("many_blocks")
def test_a_block_that_is_run_again_is_not_counted_twice(engine: str, kind: str, tmp_path: Path) -> None:
    """A cluster that lost a worker's result may run the same block again."""
    blocks = getattr(whole, kind)
    run = blocks.run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "run", lambda self, *given: (run(self, *given), run(self, *given))[1])
        found = detours.count(sparse(), 4, engine=engine, out=tmp_path / "out")
    assert_same(found, detours.count(sparse(), 4))
