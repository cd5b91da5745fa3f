"""Counting on a real Dask cluster: the same bits, even if workers are lost, and one error for each failure."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import detours
from detours.cli import run as command
from detours.counting.on_disk import cluster
from detours.counting.on_disk.job import Job
from detours.counting.on_disk.worker import BlockRunner
from detours.errors import InputError
from tests.counting.on_disk.cases import Stopped, assert_same, sparse, stop, strip, wait_for

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two worker processes for all tests of this module that do not change them."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def in_process() -> Iterator[Any]:
    """A cluster of one thread of this process."""
    with thread_cluster(1) as here, distributed.Client(here, set_as_default=False) as client:
        yield client


def thread_cluster(workers: int) -> Any:
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=False, protocol="tcp://", dashboard_address=":0"
    )


def busy() -> detours.Graph:
    """A graph whose count at k = 6 takes some seconds on one core."""
    return detours.Graph.from_networkx(nx.random_regular_graph(32, 800, seed=1))


# ---------------------------------------------------------------------------------------------- the same bits


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.usefixtures("many_blocks")
def test_the_same_bits_as_in_one_process(client: Any, directed: bool) -> None:
    graph, seen = sparse(directed), []
    expected = detours.count(graph, 5)
    for engine in ("rows", "search"):
        result = detours.count(graph, 5, engine=engine, cluster=client, progress=lambda *done: seen.append(done))
        assert result.run is not None and result.run.blocks > 10 and result.run.redone == 0
        assert seen[-1] == (result.run.blocks, result.run.blocks)
        assert_same(result, expected)
        assert result.arc_by_length.tobytes() == expected.arc_by_length.tobytes()


def test_parts_of_a_saved_graph(client: Any, tmp_path: Path) -> None:
    graph = strip(12, 200)
    graph.save(tmp_path / "graph")
    result = detours.count(tmp_path / "graph", 4, out=tmp_path / "out", memory_limit="1MB", cluster=client)
    assert result.run is not None and result.run.blocks > 4
    assert_same(result, detours.count(graph, 4))


def test_workers_are_sent_integers_not_arrays(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[Any, ...]] = []
    submit = client.submit

    def watched(function: Any, *args: Any, **options: Any) -> Any:
        sent.append(args)
        return submit(function, *args, **options)

    monkeypatch.setattr(client, "submit", watched)
    detours.count(sparse(), 4, cluster=client)
    assert sent and {tuple(map(type, args)) for args in sent} == {(str, int, int)}


def test_a_client_is_used_only_where_it_is_given(client: Any) -> None:
    with client.as_current():
        assert distributed.default_client() is client
        assert detours.count(sparse(), 3).run is None
    assert client.submit(lambda: detours.count(sparse(), 3).run).result() is None  # nor on a worker


def test_clusters_by_client_by_address_and_as_objects(in_process: Any) -> None:
    expected = detours.count(sparse(), 4)
    with thread_cluster(1) as here:
        for given in (in_process, in_process.scheduler.address, here):
            result = detours.count(sparse(), 4, cluster=given)
            assert result.run is not None
            assert_same(result, expected)
        assert in_process.status == "running"  # and the clients that were created are closed
        with pytest.raises(ValueError, match="No client"):
            distributed.default_client()


def test_an_address_within_an_event_loop(in_process: Any) -> None:
    """Notebooks run one in their main thread."""

    async def cell() -> detours.Detours:
        return detours.count(sparse(), 4, cluster=in_process.scheduler.address)

    assert_same(asyncio.run(cell()), detours.count(sparse(), 4))


def test_the_work_is_done_by_the_worker(in_process: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    run = BlockRunner.run

    def watched(runner: BlockRunner, stage: int, block: int) -> None:
        threads.append(threading.current_thread())
        run(runner, stage, block)

    monkeypatch.setattr(BlockRunner, "run", watched)
    detours.count(sparse(), 4, cluster=in_process)
    assert threads and threading.main_thread() not in threads


def test_the_scratch_folder_is_empty_afterwards(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DETOURS_SCRATCH", str(tmp_path))
    detours.count(sparse(), 4, cluster=client)
    assert os.listdir(tmp_path) == []
    monkeypatch.setenv("DETOURS_SCRATCH", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"DETOURS_SCRATCH=.*nowhere"):
        detours.count(sparse(), 4, cluster=client)


def test_a_raised_limit_reaches_the_workers(client: Any, tmp_path: Path) -> None:
    strip(12, 200).save(tmp_path / "graph")
    out = tmp_path / "out"
    with pytest.raises(Stopped):
        detours.count(tmp_path / "graph", 4, out=out, memory_limit="1MB", cluster=client, progress=stop)
    result = detours.count(tmp_path / "graph", 4, out=out, memory_limit="2MB", cluster=client)
    assert result.run is not None and result.run.resumed > 0
    assert_same(result, detours.count(tmp_path / "graph", 4))
    assert sorted(os.listdir(out)) == ["by_length.npy", "graph", "manifest.json"]


def test_the_command_line_counts_on_a_cluster(client: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sparse().write(tmp_path / "graph.txt")
    given = ["count", str(tmp_path / "graph.txt"), "-k", "4", "--json", "--top", "0"]
    assert command(given) == 0
    here = capsys.readouterr().out.splitlines()
    assert command([*given, "--cluster", client.scheduler.address]) == 0
    there = capsys.readouterr().out.splitlines()
    assert [line for line in here if "seconds" not in line] == [line for line in there if "seconds" not in line]
    assert command([*given, "--cluster", "nowhere"]) == 1
    assert capsys.readouterr().err.startswith("detours: cluster='nowhere' is not a cluster")


@pytest.mark.slow
def test_the_command_line_starts_local_workers(tmp_path: Path) -> None:
    sparse().write(tmp_path / "graph.txt")
    out = tmp_path / "out"
    line = ["count", str(tmp_path / "graph.txt"), "-k", "4", "--cluster", "local:2", "--out", str(out)]
    subprocess.run([sys.executable, "-m", "detours", *line], check=True, capture_output=True)
    found = np.load(out / "by_length.npy")
    np.testing.assert_array_equal(found, detours.count(tmp_path / "graph.txt", 4).arc_by_length)


# ---------------------------------------------------------------------------------------------- losses


@pytest.mark.usefixtures("many_blocks")
def test_the_blocks_of_a_killed_worker_are_run_again(client: Any, tmp_path: Path) -> None:
    graph, out, workers = busy(), tmp_path / "out", list(client.run(os.getpid).values())

    def kill(done: float, total: float) -> None:
        if workers and done >= total / 2 + 2:  # in the second pass, where a block takes some time
            wait_for(lambda: any(killed_at_work(worker, out) for worker in workers))  # one may have no block left
            workers.clear()

    result = detours.count(graph, 6, engine="rows", out=out, cluster=client, progress=kill)
    assert not workers
    assert result.run is not None and 1 <= result.run.redone < result.run.blocks / 2
    assert_same(result, detours.count(graph, 6))


def killed_at_work(pid: int, out: Path) -> bool:
    """Kill a worker if it is running a block."""
    os.kill(pid, signal.SIGSTOP)
    for begun in (out / "begun").glob(f"*.{pid}-*"):
        stage, block = map(int, begun.stem.split("-"))
        if not Job(out, {}).has(stage, block):
            os.kill(pid, signal.SIGKILL)
            return True
    os.kill(pid, signal.SIGCONT)
    return False


@pytest.mark.usefixtures("many_blocks")
def test_a_killed_client_is_resumed(client: Any, tmp_path: Path) -> None:
    graph, out = busy(), tmp_path / "out"
    graph.save(tmp_path / "graph")
    script = """
        import sys, detours
        from detours.counting.on_disk import whole_graph
        whole_graph.MIN_BLOCK_SECONDS = 1e-6
        detours.count(sys.argv[2], 6, engine="rows", out=sys.argv[3], cluster=sys.argv[1])
    """
    given = [client.scheduler.address, str(tmp_path / "graph"), str(out)]
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script), *given]) as process:
        wait_for(lambda: len(list((out / "blocks").glob("*.npz"))) >= 3)
        process.send_signal(signal.SIGKILL)
    result = detours.count(tmp_path / "graph", 6, engine="rows", out=out, cluster=client)
    assert result.run is not None and 3 <= result.run.resumed < result.run.blocks
    assert_same(result, detours.count(graph, 6))


def test_blocks_that_have_not_started_are_dropped_with_the_count(
    in_process: Any, tmp_path: Path, many_blocks: None
) -> None:
    with pytest.raises(Stopped):
        detours.count(sparse(), 5, engine="rows", out=tmp_path / "out", cluster=in_process, progress=stop)
    wait_for(lambda: not any(in_process.processing().values()))
    assert 0 < len(list((tmp_path / "out" / "blocks").glob("*.npz"))) < sum(Job.open(tmp_path / "out").stages) / 2


SERVED = """
    import asyncio, sys
    from distributed import Scheduler, Worker

    async def serve():
        async with Scheduler(port=0, dashboard_address=None) as scheduler:
            async with Worker(scheduler.address, nthreads=1, local_directory=sys.argv[1]):
                print(scheduler.address, flush=True)
                await scheduler.finished()

    asyncio.run(serve())
"""


def test_a_scheduler_that_ends_during_the_count_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    busy().save(tmp_path / "busy")
    line = ["count", str(tmp_path / "busy"), "-k", "6", "--out", str(tmp_path / "out"), "--cluster"]
    served = [sys.executable, "-c", textwrap.dedent(SERVED), str(tmp_path)]
    with subprocess.Popen(served, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as scheduler:
        assert scheduler.stdout is not None
        address = scheduler.stdout.readline().strip()

        def later() -> None:
            wait_for(lambda: any((tmp_path / "out" / "blocks").glob("*.npz")))
            scheduler.kill()

        ending = threading.Thread(target=later)
        ending.start()
        try:
            code = command([*line, address])
        finally:
            scheduler.kill()  # or a command that fails before it has counted anything leaves it waiting
        ending.join()
    err = capfd.readouterr().err
    assert code == 1 and "the scheduler of the cluster is gone; start it and run the same count again" in err
    assert "Traceback" not in err


def test_ctrl_c_in_a_terminal_ends_local_workers_silently(tmp_path: Path) -> None:
    """It goes to all processes of the terminal, the workers among them."""
    busy().save(tmp_path / "busy")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    running = subprocess.Popen(
        [sys.executable, "-m", "detours", "count", str(tmp_path / "busy"), "-k", "6", "--cluster", "local:2",
         "--out", str(tmp_path / "out")], stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    )  # fmt: skip
    wait_for(lambda: any((tmp_path / "out" / "blocks").glob("*.npz")))
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in err and err.count("\n") <= 2, err
    assert list(scratch.iterdir()) == []


# ---------------------------------------------------------------------------------------------- refused


def test_a_scheduler_that_does_not_respond_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ANSWER_SECONDS", 1)
    with socket.socket() as taken:  # a port that nobody listens on
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        start = time.monotonic()
        with pytest.raises(InputError, match=rf"^no Dask scheduler answers at {address} within 1 seconds; check"):
            detours.count(sparse(), 4, cluster=address)
        assert time.monotonic() - start < 60


def test_another_server_at_the_address_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ANSWER_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for address in (f"tcp://127.0.0.1:{silent.getsockname()[1]}", "tls://127.0.0.1:9"):
            with pytest.raises(InputError, match="no Dask scheduler answers"):
                detours.count(sparse(), 4, cluster=address)


@pytest.mark.parametrize("given", ["somewhere", "local:0", "local:two", 4, object])
def test_other_values_are_refused(given: Any) -> None:
    with pytest.raises(InputError, match=r"^cluster=.* is not a cluster; give tcp://host:port of a Dask"):
        detours.count(sparse(), 4, cluster=given)


def test_a_missing_dask_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"^a cluster needs Dask; run: pip install 'detours\[cluster\]'$"):
        detours.count(sparse(), 4, cluster="local:2")


def test_a_device_on_a_cluster_is_refused() -> None:
    with pytest.raises(InputError, match=r"^device='cuda' counts in this process; leave it out with out= or cluster="):
        detours.count(sparse(), 4, device="cuda", cluster="local:2")


def test_a_cluster_without_workers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "WORKER_SECONDS", 1)
    with (
        thread_cluster(0) as here,
        pytest.raises(InputError, match=r"^the cluster has no worker after 1 seconds; start some and run the same"),
    ):
        detours.count(sparse(), 4, cluster=here)


def test_a_scheduler_that_is_gone_is_an_error() -> None:
    soon = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
    with soon, thread_cluster(1) as here, distributed.Client(here.scheduler_address, timeout=1) as client:
        here.close()
        with pytest.raises(InputError, match=r"^the scheduler of the cluster is gone; start it and run the same"):
            detours.count(sparse(), 4, cluster=client)


class Deadly(distributed.WorkerPlugin):  # type: ignore[misc]
    """A worker that ends with the first block it is given."""

    def setup(self, worker: Any) -> None:
        BlockRunner.run = lambda *given: os._exit(1)  # type: ignore[method-assign]


def test_a_block_that_kills_its_workers_is_an_error(tmp_path: Path) -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as workers,
        distributed.Client(workers, set_as_default=False) as alone,
    ):
        alone.register_plugin(Deadly())
        workers.workers[0].auto_restart = False  # it would end with its next block, too
        with pytest.raises(InputError, match="a block ended several workers, one after the other"):
            detours.count(sparse(), 5, engine="rows", out=tmp_path / "out", cluster=alone)


def test_workers_without_detours_are_refused(in_process: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "run", lambda *given, **options: {"tcp://a": object(), "tcp://b": None})
    with pytest.raises(InputError, match="a worker of the cluster has no detours; install the same version"):
        detours.count(sparse(), 4, cluster=in_process)


def test_an_error_in_a_block_is_raised_as_it_is(in_process: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def fail(runner: BlockRunner, stage: int, block: int) -> None:
        tried.append(block)
        raise InputError("the disk of out is full")

    monkeypatch.setattr(BlockRunner, "run", fail)
    with pytest.raises(InputError, match=r"^the disk of out is full$"):
        detours.count(sparse(), 3, cluster=in_process)
    assert tried.count(tried[0]) == 1 + cluster.RETRIES


def test_a_timeout_of_the_progress_function_is_raised_as_it_is(in_process: Any) -> None:
    def late(done: float, total: float) -> None:
        raise TimeoutError("no time left")

    with pytest.raises(TimeoutError, match="no time left"):
        detours.count(sparse(), 4, cluster=in_process, progress=late)
