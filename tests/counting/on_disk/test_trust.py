"""Access to a cluster and its files, and the table of error messages in docs/clusters.md."""

import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

import detours
from detours.counting.on_disk import cluster
from detours.counting.on_disk.job import Job
from detours.counting.on_disk.scratch import local_scratch, shared_scratch
from detours.errors import InputError
from tests.counting.on_disk.cases import assert_same, sparse

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A certificate, which is its own authority, and its key, by their names in Dask's configuration."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = str(folder / "certificate.pem"), str(folder / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([*command, "-out", certificate, "-keyout", key], check=True, capture_output=True)
    return {"ca": certificate, "cert": certificate, "key": key}


def test_a_cluster_with_certificates(pair: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    sides = {f"tls_{side}_{part}": pair[part] for side in ("client", "scheduler", "worker") for part in ("cert", "key")}
    security = distributed.Security(tls_ca_file=pair["ca"], require_encryption=True, **sides)
    settings = {"distributed.comm.tls.ca-file": pair["ca"]}
    settings |= {f"distributed.comm.tls.client.{part}": pair[part] for part in ("cert", "key")}
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tls://",
        host="127.0.0.1",
        security=security,
        dashboard_address=None,
    ) as encrypted:
        address = encrypted.scheduler_address
        assert address.startswith("tls://127.0.0.1:")
        with dask.config.set(settings):
            assert_same(detours.count(sparse(), 4, cluster=address), detours.count(sparse(), 4))
        monkeypatch.setattr(cluster, "ANSWER_SECONDS", 2)
        for stranger in (address, address.replace("tls", "tcp")):  # without a certificate, or without encryption
            with pytest.raises(InputError, match="no Dask scheduler answers"):
                detours.count(sparse(), 4, cluster=stranger)


def test_local_workers_listen_on_loopback_only() -> None:
    with cluster.connect("local:1") as client:
        ours = psutil.Process()
        listening = [
            each.laddr.ip
            for process in (ours, *ours.children(recursive=True))
            for each in process.net_connections("inet")
            if each.status == psutil.CONN_LISTEN
        ]
        assert client.scheduler.address.startswith("tcp://127.0.0.1:")
    assert len(listening) >= 3 and set(listening) <= {"127.0.0.1", "::1"}, listening


def test_scratch_folders_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DETOURS_SCRATCH", str(tmp_path))
    with shared_scratch() as shared, local_scratch("detours-") as local:
        assert shared.parent == tmp_path
        assert {stat.S_IMODE(folder.stat().st_mode) for folder in (shared, local)} == {0o700}


def test_a_worker_that_cannot_see_the_folder_is_an_error(tmp_path: Path) -> None:
    refusal = r"away cannot be seen from here; a cluster needs a folder that all machines share"
    with pytest.raises(InputError, match=refusal):
        Job.open(tmp_path / "away")


PROVOKED = {
    "no Dask scheduler answers at": "test_cluster.py::test_a_scheduler_that_does_not_respond_is_an_error",
    "the cluster has no worker after": "test_cluster.py::test_a_cluster_without_workers_is_an_error",
    "the scheduler of the cluster is gone": "test_cluster.py::test_a_scheduler_that_is_gone_is_an_error",
    "a worker of the cluster has no detours": "test_cluster.py::test_workers_without_detours_are_refused",
    "a worker has version": "test_worker.py::test_workers_refuse_another_version_and_another_graph",
    "a worker finds another graph at": "test_worker.py::test_workers_refuse_another_version_and_another_graph",
    "cannot be seen from here": "test_trust.py::test_a_worker_that_cannot_see_the_folder_is_an_error",
    "a block ended several workers": "test_cluster.py::test_a_block_that_kills_its_workers_is_an_error",
    "is full; make room and run the same count again: finished blocks are kept in a ": "test_job.py::",
    "holds a count of another graph": "test_job.py::",
    "this is a folder, not a file": "test_job.py::",
    "was damaged and is removed": "test_job.py::",
    "cannot be read (": "test_job.py::test_an_unreadable_block_is_kept",
    "is missing or damaged; remove": "test_count_in_blocks.py::test_damaged_finished_counts_are_refused",
    "engine='dense' takes about": "test_parts.py::test_requested_dense_matrices_that_do_not_fit_are_refused",
    "another process is counting in": "test_job.py::test_of_two_processes_in_one_folder_one_is_refused",
}
"""A part of each message in the table, and the test that provokes it."""


def test_every_message_of_the_table_is_provoked_by_a_test() -> None:
    here = Path(__file__)
    page = (here.parents[3] / "docs" / "clusters.md").read_text("utf-8").partition("## Error messages")[2]
    messages = re.findall(r"\| `([^|]*)` \|$", page, re.MULTILINE)
    assert len(messages) == len(PROVOKED)
    for message in messages:
        (known,) = (each for each in PROVOKED if each in message)
        file, _, test = PROVOKED[known].partition("::")
        body = (here.parent / file).read_text("utf-8").partition(f"def {test}(" if test else "def ")[2]
        body = body.partition("\ndef ")[0] if test else body
        words = known.split("; ")[0].removesuffix(" (").replace("a worker has version", "a worker has")
        assert words in body.replace("\\", "") or words in body, (message, PROVOKED[known])
