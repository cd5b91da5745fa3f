"""Counting on a real Dask cluster of two worker processes: bit-equal, whatever is lost on the way."""

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
from detours.counting.on_disk import whole_graph as whole
from detours.counting.on_disk.job import Job
from detours.counting.on_disk.worker import Site
from detours.errors import InputError
from tests.counting.on_disk.test_count_in_blocks import Stopped, assert_same, sparse, strip, wait_for

dask = pytest.importorskip("dask")
joblib = pytest.importorskip("joblib")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as workers,
        distributed.Client(workers) as client,
    ):
        yield client


@pytest.fixture
def many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "SHORTEST", 1e-6)


def busy() -> detours.Graph:
    """A graph whose count at k = 6 takes some seconds on one core."""
    return detours.Graph.from_networkx(nx.random_regular_graph(36, 1500, seed=1))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.usefixtures("many_blocks")
def test_the_same_bits_as_here(client: Any, directed: bool) -> None:
    graph, seen = sparse(directed), []
    for engine in ("rows", "search"):
        with joblib.parallel_config(backend="dask"):
            result = detours.count(graph, 5, engine=engine, progress=lambda *done: seen.append(done))
        assert result.run is not None and result.run.blocks > 10 and result.run.redone == 0
        assert seen[-1] == (result.run.blocks, result.run.blocks)
        assert_same(result, detours.count(graph, 5))
        assert result.arc_by_length.tobytes() == detours.count(graph, 5).arc_by_length.tobytes()


def test_parts_of_a_saved_graph(client: Any, tmp_path: Path) -> None:
    graph = strip(12, 200)
    graph.save(tmp_path / "graph")
    with joblib.parallel_config(backend="dask"):
        result = detours.count(tmp_path / "graph", 4, out=tmp_path / "out", memory_limit="1MB")
    assert result.run is not None and result.run.blocks > 4
    assert_same(result, detours.count(graph, 4))


def test_workers_are_sent_numbers_not_arrays(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[Any, ...]] = []
    delayed = joblib.delayed

    def watched(function: Any) -> Any:
        def call(*args: Any) -> Any:
            sent.append(args)
            return delayed(function)(*args)

        return call

    monkeypatch.setattr(joblib, "delayed", watched)
    with joblib.parallel_config(backend="dask"):
        detours.count(sparse(), 4)
    assert sent and {tuple(map(type, args)) for args in sent} == {(str, int, int)}


@pytest.mark.usefixtures("many_blocks")
def test_the_blocks_of_a_killed_worker_are_done_again(client: Any, tmp_path: Path) -> None:
    graph, out, victims = busy(), tmp_path / "out", list(client.run(os.getpid).values())[:1]

    def kill(done: float, total: float) -> None:
        if victims and done >= total / 2 + 2:  # in the second pass, where a block takes some time
            wait_for(lambda: killed_at_work(victims[0], out))
            victims.clear()

    with joblib.parallel_config(backend="dask"):
        result = detours.count(graph, 6, engine="rows", out=out, progress=kill)
    assert not victims
    assert result.run is not None and 1 <= result.run.redone < result.run.blocks / 2
    assert_same(result, detours.count(graph, 6))


def killed_at_work(pid: int, out: Path) -> bool:
    """Kill a worker, if it has begun a block and not finished it."""
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
        from detours.counting.on_disk import whole_graph as whole
        from detours.counting.on_disk.cluster import connected
        whole.SHORTEST = 1e-6
        with connected(sys.argv[1]):
            detours.count(sys.argv[2], 6, engine="rows", out=sys.argv[3])
    """
    given = [client.scheduler.address, str(tmp_path / "graph"), str(out)]
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script), *given]) as process:
        wait_for(lambda: len(list((out / "blocks").glob("*.npz"))) >= 3)
        process.send_signal(signal.SIGKILL)
    with joblib.parallel_config(backend="dask"):
        result = detours.count(tmp_path / "graph", 6, engine="rows", out=out)
    assert result.run is not None and 3 <= result.run.resumed < result.run.blocks
    assert_same(result, detours.count(graph, 6))


def test_counts_that_run_on_a_worker_stay_there(client: Any) -> None:
    graph = sparse()
    client.wait_for_workers(2)  # one may be on its way back; with one core alone joblib works in this process
    with joblib.parallel_config(backend="dask"):
        found = joblib.Parallel()(joblib.delayed(detours.count)(graph, k) for k in (3, 4))
    for result, k in zip(found, (3, 4), strict=True):
        assert result.run is None
        assert_same(result, detours.count(graph, k))


def test_a_cluster_of_one_core_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[threading.Thread] = []
    run = Site.run

    def watched(site: Site, stage: int, block: int) -> None:
        places.append(threading.current_thread())
        run(site, stage, block)

    monkeypatch.setattr(Site, "run", watched)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as here,
        distributed.Client(here) as client,
        joblib.parallel_config(backend="dask", client=client),
    ):
        assert_same(detours.count(sparse(), 4), count_here(sparse(), 4))
    assert places and threading.main_thread() not in places


def count_here(graph: detours.Graph, k: int) -> detours.Detours:
    with joblib.parallel_config(backend="sequential"):
        return detours.count(graph, k)


def test_processes_and_threads_of_joblib_are_no_cluster() -> None:
    for backend in ("loky", "threading"):
        with joblib.parallel_config(backend=backend):
            assert not cluster.active()
    assert detours.count(sparse(), 3).run is None


def test_nothing_is_left_in_the_scratch_folder(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DETOURS_SCRATCH", str(tmp_path))
    with joblib.parallel_config(backend="dask"):
        detours.count(sparse(), 4)
    assert os.listdir(tmp_path) == []
    monkeypatch.setenv("DETOURS_SCRATCH", str(tmp_path / "nowhere"))
    with joblib.parallel_config(backend="dask"), pytest.raises(InputError, match=r"DETOURS_SCRATCH=.*nowhere"):
        detours.count(sparse(), 4)


def test_a_scheduler_that_does_not_answer_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:  # a port that nobody listens on
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        assert cluster.PATIENCE <= 10
        monkeypatch.setattr(cluster, "PATIENCE", 1)
        start = time.monotonic()
        with (
            pytest.raises(InputError, match=rf"^no Dask scheduler answers at {address} within 1 seconds; check"),
            cluster.connected(address),
        ):
            pass
        assert time.monotonic() - start < 8
    with pytest.raises(InputError, match=r"^'somewhere' is no cluster; give tcp://host:port"):
        cluster.connected("somewhere").__enter__()


def test_a_cluster_without_workers_is_one_sentence() -> None:
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as here,
        distributed.Client(here) as client,
        joblib.parallel_config(backend="dask", client=client, wait_for_workers_timeout=1),
        pytest.raises(InputError, match=r"^the cluster has no worker that would begin; start some and run the same"),
    ):
        detours.count(sparse(), 4)


def test_a_scheduler_that_is_gone_is_one_sentence() -> None:
    soon = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
    with soon, distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as here:
        client = distributed.Client(here.scheduler_address, timeout=1)
        with client, joblib.parallel_config(backend="dask", client=client):
            here.close()
            with pytest.raises(InputError, match=r"^the scheduler of the cluster is gone; start it and run the same"):
                detours.count(sparse(), 4)


class Deadly(distributed.WorkerPlugin):  # type: ignore[misc]
    """A worker that ends with the first block it is given."""

    def setup(self, worker: Any) -> None:
        Site.run = lambda *given: os._exit(1)  # type: ignore[method-assign]


def test_a_block_that_ends_its_workers_is_one_sentence(tmp_path: Path) -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as workers,
        distributed.Client(workers) as alone,
        joblib.parallel_config(backend="dask", client=alone),
    ):
        alone.register_plugin(Deadly())
        with pytest.raises(InputError, match="a block ended several workers, one after the other"):
            detours.count(sparse(), 5, engine="rows", out=tmp_path / "out")


SCHEDULER = """
    import asyncio, sys
    from distributed import Scheduler

    async def serve():
        async with Scheduler(port=int(sys.argv[1]), dashboard_address=None) as scheduler:
            await scheduler.finished()

    asyncio.run(serve())
"""


def test_a_scheduler_that_goes_away_is_one_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    port = address.rpartition(":")[2]
    scheduler = subprocess.Popen([sys.executable, "-c", textwrap.dedent(SCHEDULER), port])
    worker = None
    try:
        wait_for(lambda: answers(int(port)))
        worker = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard",
             "--local-directory", str(tmp_path), "--death-timeout", "5"], stderr=subprocess.DEVNULL,
        )  # fmt: skip
        busy().save(tmp_path / "busy")

        def later() -> None:
            wait_for(lambda: any((tmp_path / "out" / "blocks").glob("*.npz")))
            scheduler.kill()

        ending = threading.Thread(target=later)
        ending.start()
        code = command(
            ["count", str(tmp_path / "busy"), "-k", "6", "--out", str(tmp_path / "out"), "--cluster", address]
        )
        ending.join()
    finally:
        scheduler.kill()
        if worker is not None:
            worker.kill()
            worker.wait()
    said = capfd.readouterr().err
    assert code == 1 and "the scheduler of the cluster is gone; start it and run the same count again" in said
    assert "Traceback" not in said


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_something_else_that_answers_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(InputError, match="no Dask scheduler answers"), cluster.connected(address):
            pass
    with pytest.raises(InputError, match="no Dask scheduler answers"), cluster.connected("tls://127.0.0.1:9"):
        pass


def test_workers_without_detours_are_refused(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with joblib.parallel_config(backend="dask", client=client):
        monkeypatch.setattr(client, "run", lambda function, name: {"tcp://a": object(), "tcp://b": None})
        with pytest.raises(InputError, match="a worker of the cluster has no detours; install the same version"):
            detours.count(sparse(), 4)


def test_ctrl_c_in_a_terminal_ends_workers_of_our_own_without_a_word(tmp_path: Path) -> None:
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
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in said and said.count("\n") <= 2, said
    assert list(scratch.iterdir()) == []


def test_a_report_that_runs_out_of_time_is_not_mended(client: Any) -> None:
    def late(done: float, total: float) -> None:
        raise TimeoutError("no time left")

    with joblib.parallel_config(backend="dask"), pytest.raises(TimeoutError, match="no time left"):
        detours.count(sparse(), 4, progress=late)


def test_a_raised_limit_reaches_the_workers(client: Any, tmp_path: Path) -> None:
    strip(12, 200).save(tmp_path / "graph")

    def stop(done: float, total: float) -> None:
        raise Stopped

    out = tmp_path / "out"
    with joblib.parallel_config(backend="dask"):
        with pytest.raises(Stopped):
            detours.count(tmp_path / "graph", 4, out=out, memory_limit="1MB", progress=stop)
        result = detours.count(tmp_path / "graph", 4, out=out, memory_limit="2MB")
    assert result.run is not None and result.run.resumed > 0
    assert_same(result, detours.count(tmp_path / "graph", 4))
    assert sorted(os.listdir(out)) == ["by_length.npy", "manifest.json"]


def test_the_command_line_counts_on_a_cluster(client: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sparse().write(tmp_path / "graph.txt")
    given = ["count", str(tmp_path / "graph.txt"), "-k", "4", "--json", "--top", "0"]
    assert command(given) == 0
    here = capsys.readouterr().out.splitlines()
    assert command([*given, "--cluster", client.scheduler.address]) == 0
    there = capsys.readouterr().out.splitlines()
    assert [line for line in here if "seconds" not in line] == [line for line in there if "seconds" not in line]
    assert command([*given, "--cluster", "nowhere"]) == 1
    assert capsys.readouterr().err.startswith("detours: 'nowhere' is no cluster")


@pytest.mark.slow
def test_the_command_line_starts_workers_of_its_own(tmp_path: Path) -> None:
    sparse().write(tmp_path / "graph.txt")
    program, out = Path(sys.executable).with_name("detours"), tmp_path / "out"
    options = ["-k", "4", "--cluster", "local:2", "--out", str(out)]
    subprocess.run([program, "count", tmp_path / "graph.txt", *options], check=True, capture_output=True)
    found = np.load(out / "by_length.npy")
    np.testing.assert_array_equal(found, detours.count(tmp_path / "graph.txt", 4).arc_by_length)
