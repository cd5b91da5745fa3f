"""Small files that claim to be large, and memory limits that readers respect."""

import gzip
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import detours
from detours.containers import EXPANSION, reading_within
from detours.errors import FileFormatError, InputError
from tests.test_containers import archive, npy

HUGE = 2**31 - 2
MOST = 100 << 20


def entity(number: int) -> str:
    return f"&a{number or ''};"


def hostile(folder: Path) -> list[Path]:
    """Files of about a kilobyte, or less, that declare two billion nodes, entries or bytes."""
    (folder / "a.mtx").write_text(f"%%MatrixMarket matrix coordinate pattern general\n{HUGE} {HUGE} 1\n1 2\n")
    (folder / "b.mtx").write_text(f"%%MatrixMarket matrix coordinate pattern general\n9 9 {HUGE}\n1 2\n")
    (folder / "a.txt").write_text(f"0 {HUGE}\n")
    (folder / "names.csv").write_text(f"source,target\na,{'b' * 900}\n")
    (folder / "a.g6").write_bytes(b"~~?@~~~~" + b"?" * 900)
    (folder / "a.s6").write_bytes(b":~~@~~~~" + b"?" * 900)
    np.savez(folder / "nodes.npz", edge_index=np.array([[0], [1]]), num_nodes=np.int64(HUGE))
    np.savez(folder / "ids.npz", edge_index=np.array([[0], [10**8]]))
    shape = {"shape": np.array([HUGE, HUGE]), "format": np.array(b"coo")}
    np.savez(folder / "coo.npz", row=np.array([0]), col=np.array([1]), data=np.array([1]), **shape)
    np.savez(folder / "dia.npz", offsets=np.array([0]), data=np.ones((1, 1)), **{**shape, "format": np.array(b"dia")})
    archive(folder / "shape.npz", npy(f"{{'descr': '<i8', 'fortran_order': False, 'shape': (2, {HUGE})}}"))
    (folder / "zeros.txt.gz").write_bytes(gzip.compress(b"0" * 1_000_000, mtime=0))
    (folder / "laughs.graphml").write_text(
        '<!DOCTYPE g [<!ENTITY a "aaaaaaaaaa">'
        + "".join(f'<!ENTITY a{i} "{entity(i - 1) * 10}">' for i in range(1, 12))
        + "]><graphml><graph edgedefault='undirected'><node id='&a11;'/></graph></graphml>"
    )
    (folder / "a.gml").write_text(f"graph [ node [ id {HUGE} ] node [ id 1 ] edge [ source {HUGE} target 1 ] ]")
    return sorted(folder.iterdir())


PROGRAM = """
import sys, warnings
warnings.simplefilter("ignore")
import networkx, scipy.io, scipy.sparse, xml.etree.ElementTree
from detours.errors import DetoursError
from detours.graph import Graph
Graph.read(sys.argv[1])
def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
for file in sys.argv[2:]:
    before = peak()
    try:
        Graph.read(file)
        outcome = "read"
    except DetoursError as error:
        outcome = "refused"
    print(peak() - before, outcome, file)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_a_small_file_never_takes_much_memory(tmp_path: Path) -> None:
    """In one process: the peak only grows, so its increase is the memory of a file beyond that of earlier ones."""
    (tmp_path / "hostile").mkdir()
    files = [str(file) for file in hostile(tmp_path / "hostile")]
    assert max(Path(file).stat().st_size for file in files) < 2100
    (tmp_path / "plain.txt").write_text("0 1\n")
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "plain.txt"), *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = [line.split(" ", 2) for line in done.stdout.splitlines()]
    assert len(lines) == len(files)
    assert sum(int(kilobytes) for kilobytes, _, _ in lines) * 1024 < MOST, done.stdout
    assert sum(outcome == "refused" for _, outcome, _ in lines) >= 8, done.stdout


def test_the_expansion_limit_of_a_file_can_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = detours.Graph.from_edge_index([[0, 1], [1, 0]], num_nodes=3_000_000)
    graph.write(tmp_path / "a.npz")
    with pytest.raises(FileFormatError, match=rf"expands to more than 64 MB; if that is right, set {EXPANSION}"):
        detours.Graph.read(tmp_path / "a.npz")
    monkeypatch.setenv(EXPANSION, "1000000")
    assert detours.Graph.read(tmp_path / "a.npz").num_nodes == 3_000_000


def test_decompressed_text_has_a_limit(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"0 1\n" * 20_000_000, 9, mtime=0))
    with pytest.raises(FileFormatError, match="expands to more than"):
        detours.Graph.read(tmp_path / "a.txt.gz")


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.npz", "a.mtx", "a.graphml"])
def test_readers_keep_the_memory_limit(tmp_path: Path, name: str) -> None:
    graph = detours.Graph.from_networkx(nx.gnm_random_graph(2000, 8000, seed=1))
    graph.write(tmp_path / name)
    with pytest.raises(FileFormatError, match=r"reading it takes .* or more, and the memory limit is 10 KB; raise"):
        detours.count(tmp_path / name, 3, memory_limit="10KB")
    assert detours.count(tmp_path / name, 2, memory_limit="1GB").graph.num_edges == 8000
    graph.save(tmp_path / "saved")
    with reading_within(10_000):
        assert detours.Graph.read(tmp_path / "saved").num_edges == 8000


@pytest.mark.parametrize("out", [None, "folder", "counts.parquet"])
def test_counts_larger_than_the_machine_are_refused(tmp_path: Path, out: str | None) -> None:
    with pytest.raises(InputError, match=r"arcs by length up to k = 2000000000 take .* this machine has"):
        detours.count(nx.complete_graph(5), 2_000_000_000, out=None if out is None else tmp_path / out)
    assert not list(tmp_path.iterdir())


def test_a_matrix_of_scipy_still_reads(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "a.npz", sp.eye_array(50_000, k=1, format="csr"))
    assert detours.Graph.read(tmp_path / "a.npz", directed=True).num_edges == 49_999
