"""The site: `make docs` builds it in build/docs, without warnings."""

import inspect
import re
from importlib import import_module
from importlib.metadata import version as installed
from pathlib import Path

project = "detours"
author = "The detours developers"
copyright = "the detours developers"
release = installed("detours")
version = ".".join(release.split(".")[:2])

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 4
exclude_patterns = ["README.md"]
# Sections of results have the same heading wherever they are printed; shapes such as [nodes] look like references.
suppress_warnings = ["myst.header", "ref.python"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_default_options = {"members": True}
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"detours {version}"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b57a4", "color-brand-content": "#0b57a4"},
    "dark_css_variables": {"color-brand-primary": "#7cc0ff", "color-brand-content": "#7cc0ff"},
}


ROOMS = {
    "wl": "Weisfeiler–Leman tests",
    "kernels": "Graph kernels",
    "transforms": "Transforms",
    "nn": "Networks",
    "training": "Training",
    "data": "Data",
    "viz": "Pictures",
    "errors": "Errors",
}
COUNTING = ["count", "count_many", "count_pairs", "explain", "paths", "cycles", "Detours", "Graph"]


def _write_reference(app: object) -> None:
    """Write a page for every room, with everything in its `__all__`."""
    folder = Path(__file__).parent / "reference"
    folder.mkdir(exist_ok=True)
    _write_room(folder / "counting.md", "Counting", "detours", COUNTING)
    for room, title in ROOMS.items():
        module = f"detours.{room}"
        _write_room(folder / f"{room}.md", title, module, import_module(module).__all__)


def _write_room(file: Path, title: str, module: str, names: list[str]) -> None:
    found = import_module(module)
    lines = [f"# {title}: `{module}`", "", "```{eval-rst}", f".. automodule:: {module}", "   :no-members:", ""]
    for name in names:
        value = getattr(found, name)
        kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
        lines += [f".. auto{kind}:: {module}.{name}", *(["   :no-value:"] if kind == "data" else []), ""]
        if kind == "class" and name == "Graph":
            lines[-1:] = ["   :inherited-members:", ""]
    text = "\n".join([*lines, "```", ""])
    if not file.exists() or file.read_text("utf-8") != text:
        file.write_text(text, "utf-8")


_CODE = re.compile(r"(:\w+:`[^`]+`|``.+?``)|`([^`]+)`")


def _as_rst(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Make single backticks of docstrings, which are Markdown's, code in reStructuredText."""
    for at, line in enumerate(lines):
        if not line.lstrip().startswith(">>>"):
            lines[at] = _CODE.sub(lambda found: found[1] or f"``{found[2]}``", line)


def _inside_the_site(app: object, page: str, source: list[str]) -> None:
    """Let links to files of the repository, which readers of the sources follow, lead to pages of the site."""
    source[0] = source[0].replace("(../CONTRIBUTING.md)", "(contributing.md)")
    source[0] = re.sub(r"\[([^\]]+)\]\(\.\./results/README\.md\)", r"\1", source[0])


def setup(app: object) -> None:
    app.connect("builder-inited", _write_reference)  # type: ignore[attr-defined]
    app.connect("source-read", _inside_the_site)  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", _as_rst)  # type: ignore[attr-defined]
