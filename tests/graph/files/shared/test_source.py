import gzip
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from detours.errors import FileFormatError
from detours.graph import Graph
from tests.graph.cases import put, refused

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256))


@pytest.mark.parametrize("ending", ["txt", "csv", "mtx", "graphml", "gml", "g6", "s6", "npz"])
def test_unreadable_files_are_refused(tmp_path, ending):
    refused(put(tmp_path, f"image.{ending}", PNG), "")
    refused(put(tmp_path, f"empty.{ending}", b""), "empty")
    refused(put(tmp_path, f"blank.{ending}.gz", b""), "")
    refused(tmp_path / f"absent.{ending}", "no such file")
    (tmp_path / f"folder.{ending}").mkdir()
    refused(tmp_path / f"folder.{ending}", "folder")
    (tmp_path / f"fake.{ending}.gz").write_bytes(b"0 1\n")
    refused(tmp_path / f"fake.{ending}.gz", "not gzip")
    noise = np.random.default_rng(0).integers(0, 2**31 - 1, 4000).tolist()
    whole = gzip.compress("".join(f"{a} {b}\n" for a, b in pairwise(noise)).encode())
    (tmp_path / f"half.{ending}.gz").write_bytes(whole[: len(whole) // 2])
    refused(tmp_path / f"half.{ending}.gz", "cut off")


def test_gzip_without_its_ending_and_utf16_are_refused(tmp_path):
    refused(put(tmp_path, "g.txt", gzip.compress(b"0 1\n")), ".gz")
    refused(put(tmp_path, "g.txt", "0 1\n".encode("utf-16")), "UTF-16")
    refused(put(tmp_path, "g.txt", "ä b\n".encode("latin-1")), "UTF-8")


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="no /dev/stdin here")
def test_a_pipe_can_be_read():
    code = "from detours import Graph; print(Graph.read('/dev/stdin').num_edges)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, input="0 1\n1 2\n", capture_output=True, text=True, check=True)
    assert done.stdout == "2\n"


@pytest.mark.parametrize("name", ["x" * 5000, "nul\0.txt", "absent/g.txt"])
def test_names_that_no_file_can_have(name):
    with pytest.raises(FileFormatError, match="no such file"):
        Graph.from_any(name)
