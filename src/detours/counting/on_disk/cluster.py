"""Blocks on other machines: joblib tasks, sent to whatever cluster joblib was told to use."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from detours.errors import InputError

SCRATCH = "DETOURS_SCRATCH"
"""The variable that names a folder which all machines of a cluster share."""
PATIENCE = 5
"""Seconds in which a scheduler must answer."""
_SENTENCES = {
    "KilledWorker": "a block ended several workers, one after the other, most likely for want of memory; "
    "set memory_limit to what a worker has, or use a smaller k",
    "TimeoutError": "the cluster has no worker that would begin; start some and run the same count again",
    **dict.fromkeys(
        ("CommClosedError", "CancelledError", "FutureCancelledError"),
        "the scheduler of the cluster is gone; start it and run the same count again",
    ),
}
"""What is said of errors of Dask and joblib, by their names: neither needs to be there."""
_LEAVE_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""Run by workers on this machine: a terminal sends Ctrl-C to all its processes, and it is the client that ends them."""


def active() -> bool:
    """Whether the caller told joblib to use a cluster; the processes and threads of joblib itself are none.

    Work that itself runs on a cluster is not spread any further.
    """
    parallel: Any = sys.modules.get("joblib.parallel")  # who set it has imported it
    if parallel is None:
        return False
    backend, _ = parallel.get_active_backend()
    return type(backend).__module__ != "joblib._parallel_backends" and not _on_a_worker()


def _on_a_worker() -> bool:
    worker: Any = sys.modules.get("distributed.worker")
    return worker is not None and hasattr(worker.thread_state, "execution_state")


def run(folder: Path, stage: int, blocks: Sequence[int], report: Callable[[float], None]) -> None:
    """Have these blocks done; workers get the folder and the number of a block, and leave what they find there."""
    import joblib

    from detours.counting.on_disk.worker import run_block

    task = joblib.delayed(run_block)
    tasks = (task(str(folder.resolve()), stage, block) for block in blocks)
    spread = joblib.Parallel(n_jobs=-1, batch_size=1, pre_dispatch="4*n_jobs", return_as="generator_unordered")
    done = 0
    try:
        if stage == 0:
            _check_workers()
        with _one_core_is_a_cluster_too(), _lost_tasks_are_told():
            for done, lost in enumerate(spread(tasks), 1):
                if isinstance(lost, BaseException):
                    raise lost
                report(done)
    except Exception as error:
        sentence = _SENTENCES.get(type(error).__name__)
        if isinstance(error, TimeoutError) and done:  # of the caller's own report
            sentence = None
        elif type(error) is OSError and error.errno is None:  # of Dask's: no connection within its time
            sentence = _SENTENCES["CommClosedError"]
        if sentence is None:
            raise
        raise InputError(sentence) from None


@contextmanager
def _one_core_is_a_cluster_too() -> Iterator[None]:
    """Joblib works in the calling process where it could do one task at a time; here that is not the one to work."""
    import joblib

    backend, _ = joblib.parallel.get_active_backend()
    effective = backend.effective_n_jobs
    backend.effective_n_jobs = lambda n_jobs: max(2, effective(n_jobs))
    try:
        yield
    finally:
        del backend.effective_n_jobs


@contextmanager
def _lost_tasks_are_told() -> Iterator[None]:
    """What a task raises comes back from joblib; where the cluster gives a task up, joblib would wait for ever. Then
    the error is made the task's result."""
    import joblib

    backend, _ = joblib.parallel.get_active_backend()
    name = "submit" if hasattr(backend, "submit") else "apply_async"  # until joblib 1.5
    submit = getattr(backend, name)

    def told(task: Any, callback: Any = None) -> Any:
        future = submit(task, callback)
        if callback is not None and hasattr(future, "add_done_callback"):
            future.add_done_callback(lambda done: (error := _error_of(done)) is not None and callback([error]))
        return future

    setattr(backend, name, told)
    try:
        yield
    finally:
        delattr(backend, name)


def _error_of(future: Any) -> BaseException | None:
    error: BaseException | None = None if future.cancelled() else future.exception()
    return error


def _check_workers() -> None:
    """Refuse workers that do not have detours: each would end with its first block."""
    import joblib

    backend, _ = joblib.parallel.get_active_backend()
    client = getattr(backend, "client", None)
    if client is not None and None in client.run(find_spec, "detours").values():
        raise InputError("a worker of the cluster has no detours; install the same version on all machines")


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Within the block, counts run on this cluster: "tcp://host:port", or "local:2" for two processes here."""
    try:
        import dask
        import joblib
        from dask.distributed import Client, LocalCluster
    except ImportError:
        raise InputError("a cluster needs Dask and joblib; run: pip install 'detours[cluster]'") from None
    local = re.fullmatch(r"local:([1-9]\d*)", address)
    if local is None and not re.fullmatch(r"(tcp|tls|ws|wss|ucx)://.+", address):
        raise InputError(f"{address!r} is no cluster; give tcp://host:port of a Dask scheduler, or local:2")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what goes wrong is told in a sentence
    if local is not None:
        # Python's keeper of semaphores outlives a client that Ctrl-C ended, and would complain of what it cleans up.
        quiet = [os.environ.get("PYTHONWARNINGS", ""), "ignore:resource_tracker:UserWarning"]
        os.environ["PYTHONWARNINGS"] = ",".join(filter(None, quiet))
        with (
            tempfile.TemporaryDirectory(prefix="detours-dask-", ignore_cleanup_errors=True) as own,
            dask.config.set({"temporary-directory": own}),
            LocalCluster(
                n_workers=int(local[1]),
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
                preload=[_LEAVE_CTRL_C],
            ) as here,
            Client(here) as client,
            joblib.parallel_config(backend="dask", client=client),
        ):
            yield
        return
    try:
        asyncio.run(_greet(address))
        client = Client(address, timeout=PATIENCE)
    except Exception:  # of whatever it is that answers there
        raise InputError(
            f"no Dask scheduler answers at {address} within {PATIENCE} seconds; check the address and that it runs"
        ) from None
    with client, joblib.parallel_config(backend="dask", client=client):
        yield


async def _greet(address: str) -> None:
    """See that a scheduler answers. A client itself would wait for ever where something else does, as a dashboard."""
    from distributed.comm import connect

    comm = await asyncio.wait_for(connect(address), PATIENCE)
    comm.abort()
