"""The package: the cost of importing it, its version, the contents of its wheel."""

import inspect
import itertools
import os
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import detours

ROOT = Path(__file__).resolve().parents[1]
TRAINING_NEEDS = "detours.training needs torch, torch_geometric, lightning; run: pip install 'detours[torch]'"
NN_NEEDS = "detours.nn needs torch and torch_geometric, which are not both installed; run: pip install 'detours[torch]'"


def modules_after(code: str) -> set[str]:
    """The top-level modules loaded in a fresh interpreter after running this code."""
    listing = f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.split())


def test_import_loads_nothing_heavy() -> None:
    heavy = {
        "torch",
        "torch_geometric",
        "scipy",
        "numba",
        "networkx",
        "pandas",
        "igraph",
        "rich",
        "typer",
        "joblib",
    }
    assert not heavy & modules_after("import detours; detours.errors; detours.Graph.from_edge_index([[0, 1], [1, 0]])")


def test_counting_never_loads_torch() -> None:
    loaded = modules_after("import detours; detours.count([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]], k=3)")
    assert not {"torch", "networkx", "pandas", "rich", "typer"} & loaded


def test_every_public_name_exists() -> None:
    for name in detours.__all__:
        assert getattr(detours, name) is not None
    assert set(detours.__all__) <= set(dir(detours))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = detours.nonsense


WITHOUT = """
import importlib.util, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "torch_geometric", "lightning", "sklearn", "matplotlib", "networkx"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
found = importlib.util.find_spec

def find_spec(name, package=None):
    try:
        return found(name, package)
    except ModuleNotFoundError:
        return None

importlib.util.find_spec = find_spec
"""
"""Makes a fresh interpreter one without the optional libraries."""


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("from detours import *\nprint(count([(0, 1, 2), (1, 2, 0)], 2).edge)", "[1 1 1]"),
        ("import inspect, detours\nprint({'nn', 'kernels'} & dict(inspect.getmembers(detours)).keys())", "set()"),
        ("import pydoc, detours\nprint('count_pairs' in pydoc.render_doc(detours))", "True"),
        ("import detours\ntry: detours.training.fit\nexcept ImportError as error: print(error)", TRAINING_NEEDS),
        ("import detours\ntry: detours.nn\nexcept ImportError as error: print(error)", NN_NEEDS),
        (
            "import detours.experiments.report.report as report\nprint(report.report_sections.__name__)",
            "report_sections",
        ),
    ],
    ids=["star", "members", "help", "training", "nn", "report"],
)
def test_without_the_optional_libraries(code: str, printed: str) -> None:
    done = subprocess.run([sys.executable, "-c", f"{WITHOUT}{code}"], capture_output=True, text=True, timeout=120)
    assert (done.stdout.strip(), done.returncode) == (printed, 0), done.stderr


@pytest.mark.slow
def test_misspelt_names_are_errors_for_type_checkers(tmp_path: Path) -> None:
    mypy = pytest.importorskip("mypy.api")
    program = tmp_path / "program.py"
    program.write_text("import detours\nfrom detours import nn, training\ndetours.coutn\nnn.MDN\ntraining.fitt\n")
    config = ["--config-file", os.devnull, "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache")]
    found, _, _ = mypy.run([*config, str(program)])
    assert [f'"{name}"' in found for name in ("coutn", "MDN", "fitt")] == [True] * 3, found


def test_python_m_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "detours", "--help"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "explain" in done.stdout


def test_version_is_that_of_the_installed_package() -> None:
    assert Version(detours.__version__) >= Version("0.1.0")
    assert detours.__version__ == version("detours")


def test_a_source_tree_on_the_path_has_a_version() -> None:
    """Without site-packages nothing is installed."""
    listing = "import detours; print(detours.__version__)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", listing],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout == "0+unknown\n"


def test_the_changelog_starts_with_unreleased_changes() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased"
    released = [Version(heading) for heading in headings[1:]]
    assert released == sorted(set(released), reverse=True) and released


def test_typed() -> None:
    assert (Path(detours.__file__).parent / "py.typed").is_file()


def test_every_dependency_is_pinned_for_tests() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    pinned = {line.partition("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines()}
    names = {canonicalize_name(Requirement(line).name) for line in wanted}
    assert {"dask", "orbit-count", "numpy"} <= names
    assert names - {"detours"} <= pinned


def test_pinned_versions_are_allowed() -> None:
    """The tests run with the pinned versions, so pyproject must not exclude them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    for line in [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]:
        wanted = Requirement(line)
        if wanted.name != "detours":
            assert pinned[canonicalize_name(wanted.name)] in wanted.specifier, line


@pytest.mark.slow
def test_wheel_is_pure_python(tmp_path: Path) -> None:
    import zipfile

    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(tmp_path),
        str(ROOT),
    ]
    subprocess.run(build, check=True)
    (wheel,) = tmp_path.glob("detours-*-py3-none-any.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"detours/__init__.py", "detours/py.typed", "detours/cli/__init__.py"} <= names
    page = "detours/viz/interactive/assets"
    assert {f"{page}/page.html", f"{page}/page.js", f"{page}/vendor/force-graph.min.js"} <= names
    assert f"{page}/vendor/LICENSES.txt" in names
    assert all(name.startswith("detours/") or re.match(r"detours-[^/]*\.dist-info/", name) for name in names)
    assert not any(name.endswith((".so", ".nbi", ".nbc", ".pyc")) for name in names)


@pytest.mark.parametrize("room", ["", ".data", ".errors", ".kernels", ".nn", ".training", ".transforms", ".viz", ".wl"])
def test_every_public_name_has_an_example_that_is_run(room: str) -> None:
    """The examples are doctests: pytest runs those of all modules in src."""
    found = import_module(f"detours{room}")
    public = {name: getattr(found, name) for name in found.__all__}
    without = [
        name
        for name, value in public.items()
        if callable(value) and not inspect.ismodule(value) and ">>> " not in (inspect.getdoc(value) or "")
    ]
    assert without == []
