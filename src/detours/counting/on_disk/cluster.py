"""Blocks on a Dask cluster: each is a future of Dask's client, and workers open the graph by its path."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from detours.counting.on_disk.scratch import local_scratch
from detours.counting.on_disk.worker import run_block
from detours.errors import InputError, short_repr

if TYPE_CHECKING:
    from distributed import Client

ANSWER_SECONDS = 5  # how long a scheduler may take to respond
WORKER_SECONDS = 10  # how long the first worker may take to appear
RETRIES = 2  # how often a failed block is retried: the shared disk may have been unavailable for a moment

GONE = "the scheduler of the cluster is gone; start it and run the same count again"
_IGNORE_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""Run by local workers: a terminal sends Ctrl-C to all its processes, but only the client shall end them."""


def run_blocks(
    client: Client, folder: Path, stage: int, blocks: Sequence[int], report: Callable[[float], None]
) -> None:
    """Run blocks on the workers: each gets the folder and the index of a block, and writes the counts to the folder."""
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    futures: list[Any] = []
    try:
        with _scheduler_needed(client):
            for order, block in enumerate(blocks):  # the first blocks are the longest
                args = str(folder.resolve()), stage, block
                futures.append(client.submit(run_block, *args, pure=False, retries=RETRIES, priority=-order))
        for done, future in enumerate(as_completed(futures, loop=client.loop), 1):
            # Not `future.result()`, which would fetch the result, None, from a worker.
            if future.cancelled():  # by the client when it lost its connection
                raise InputError(GONE)
            if future.status == "error":
                error = future.exception()
                if isinstance(error, KilledWorker):
                    raise InputError(
                        "a block ended several workers, one after the other, probably for lack of memory; "
                        "set memory_limit to what a worker has, or use a smaller k"
                    )
                raise error
            report(done)
    finally:
        for future in futures:  # blocks that have not started are then dropped
            future.release()


@contextmanager
def connect(cluster: Any) -> Iterator[Client]:
    """Yield a client of the given cluster, which has at least one worker with detours installed.

    Args:
        cluster: A `distributed.Client` or cluster object; "tcp://host:port" (or tls://, ws://, ...) of a scheduler; or
            "local:4" for four worker processes on this machine, which end with the block.
    """
    try:
        import distributed
        from distributed.deploy.cluster import Cluster
    except ImportError:
        raise InputError("a cluster needs Dask; run: pip install 'detours[cluster]'") from None
    local = re.fullmatch(r"local:([1-9]\d*)", cluster) if isinstance(cluster, str) else None
    with ExitStack() as stack:
        if isinstance(cluster, distributed.Client):
            client = cluster
        elif isinstance(cluster, Cluster):
            client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
        elif local is not None:
            client = stack.enter_context(_local_client(int(local[1])))
        elif isinstance(cluster, str) and re.fullmatch(r"(tcp|tls|ws|wss|ucx)://.+", cluster):
            stack.enter_context(_no_logging())
            client = stack.enter_context(_remote_client(cluster))
        else:
            raise InputError(
                f"cluster={short_repr(cluster)} is not a cluster; give tcp://host:port of a Dask scheduler, "
                "local:2 for two processes on this machine, or a distributed.Client"
            )
        if client.asynchronous:
            raise InputError("cluster= needs a client that is not asynchronous; create it with asynchronous=False")
        _check_workers(client)
        yield client


def _check_workers(client: Client) -> None:
    """Refuse a cluster without workers, and workers without detours, which would die with their first block."""
    with _scheduler_needed(client):
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError:
            if client.status != "running":
                raise
            raise InputError(
                f"the cluster has no worker after {WORKER_SECONDS} seconds; start some and run the same count again"
            ) from None
        specs = client.run(find_spec, "detours", on_error="return")
    if None in specs.values():
        raise InputError("a worker of the cluster has no detours; install the same version on all machines")


@contextmanager
def _scheduler_needed(client: Client) -> Iterator[None]:
    """Turn any error of a client that has lost its connection into one `InputError`."""
    try:
        yield
    except Exception:
        if client.status == "running":
            raise
        raise InputError(GONE) from None


@contextmanager
def _local_client(workers: int) -> Iterator[Client]:
    import dask
    from distributed import Client, LocalCluster

    # Python's semaphore tracker outlives a client ended by Ctrl-C, and would warn about what it cleans up.
    quiet = [os.environ.get("PYTHONWARNINGS", ""), "ignore:resource_tracker:UserWarning"]
    with (
        _no_logging(),
        _environment("PYTHONWARNINGS", ",".join(filter(None, quiet))),
        local_scratch("detours-dask-") as folder,
        dask.config.set({"temporary-directory": str(folder)}),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",  # not reachable from outside: a scheduler runs any code that it is sent
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",  # in older releases of Dask these listen on all interfaces
            silence_logs=logging.CRITICAL,
            preload=[_IGNORE_CTRL_C],
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _remote_client(address: str) -> Client:
    from distributed import Client

    try:
        with ThreadPoolExecutor(1) as executor:  # this thread may run an event loop, as in a notebook
            executor.submit(asyncio.run, _greet(address)).result()
        return Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
    except Exception:  # whatever else may be listening there
        message = f"no Dask scheduler answers at {address} within {ANSWER_SECONDS} seconds"
        raise InputError(f"{message}; check the address and that it runs") from None


async def _greet(address: str) -> None:
    """Check that a scheduler responds; a client would wait forever for another server, such as a dashboard."""
    from distributed.comm import connect
    from distributed.security import Security

    security = Security().get_connection_args("client")
    comm = await asyncio.wait_for(connect(address, **security), ANSWER_SECONDS)
    comm.abort()


@contextmanager
def _no_logging() -> Iterator[None]:
    """Silence Dask while we own the client: errors are reported as one message."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
