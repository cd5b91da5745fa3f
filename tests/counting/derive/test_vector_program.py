"""The program of sparse products; what it computes is tested through the engine."""

import os
import subprocess
import sys


def test_the_program_does_not_depend_on_the_hash_seed() -> None:
    code = (
        "from detours.counting.derive.vector_program import program;"
        "print([program(k, directed).passes for k in (5, 6) for directed in (False, True)])"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(printed) == 1 and printed.pop().startswith(b"[")
