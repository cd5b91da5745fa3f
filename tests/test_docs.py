"""Every example in the README and the docs is run, and its output is compared with the output shown."""

import doctest
import json
import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

import pytest
import typer

from detours import cli
from detours.experiments.expressiveness.ratios import PAPERS_REAL_DATA
from detours.experiments.report.finished import read_finished
from detours.experiments.report.rivals import rivals, rivals_figure

ROOT = Path(__file__).resolve().parents[1]
of_the_store = pytest.mark.skipif(
    not (ROOT / "results").exists(), reason="source distributions leave out the finished results"
)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += [ROOT / "examples" / "README.md", *sorted((ROOT / "docs" / "users").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Snippet(NamedTuple):
    language: str
    code: str
    line: int


def snippets(page: Path) -> Iterator[Snippet]:
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        yield Snippet(found[1], found[2], text.count("\n", 0, found.start()) + 2)


def run_python(snippet: Snippet, names: dict[str, Any], page: Path) -> None:
    """Run code, or a session with its outputs; later snippets of a page see the names of earlier ones."""
    if ">>>" not in snippet.code:
        exec(compile("\n" * (snippet.line - 1) + snippet.code, str(page), "exec"), names)
        return
    parser, line = doctest.DocTestParser(), snippet.line - 1
    session = parser.get_doctest(snippet.code, names, page.name, str(page), line)
    runner = doctest.DocTestRunner(optionflags=LOOSE)
    report: list[str] = []
    runner.run(session, out=report.append, clear_globs=False)
    names.update(session.globs)
    assert not report, "".join(report)


def run_console(snippet: Snippet, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines after `$ detours …` are its output on either stream; without them the output is not checked."""
    for command in re.split(r"^\$ ", snippet.code, flags=re.MULTILINE)[1:]:
        line, _, expected = command.partition("\n")
        program, *arguments = shlex.split(line, comments=True)
        assert program == "detours", f"cannot run {program}; mark the snippet as sh"
        capsys.readouterr()
        code = cli.run(arguments)
        printed = "".join(capsys.readouterr())
        assert code == 0 or "detours:" in expected, printed
        if expected.strip():
            wanted = doctest.Example(line, expected)
            checker = doctest.OutputChecker()
            same = checker.check_output(wanted.want, printed, LOOSE)
            assert same, checker.output_difference(wanted, printed, LOOSE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the examples: a folder with only the file that all of them use."""
    import networkx as nx

    nx.write_edgelist(nx.karate_club_graph(), tmp_path / "karate.txt", data=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.mark.filterwarnings("ignore::detours.errors.DroppedEdgesWarning")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for snippet in snippets(page):
        if snippet.language == "python":
            run_python(snippet, names, page)
        elif snippet.language == "console":
            run_console(snippet, capsys)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_existing_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} points to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    files = [
        file.as_posix()
        for folder in ("src", "tests", "benchmarks", "scripts")
        for file in (ROOT / folder).rglob("*.py")
    ]
    for named in re.findall(r"`([a-z][a-z_/]*\.py)[`:]", page.read_text(encoding="utf-8")):
        assert any(file.endswith(f"/{named}") for file in files), f"{page.name} names {named}"


def test_names_in_contributing_exist() -> None:
    """Constants, private names and functions, such as `IN_BLOCKS`, `_on_edges` or `print_summary`."""
    code = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))
    code += "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("*.py"))
    text = FENCE.sub("", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    named = set(re.findall(r"`(_?[a-zA-Z]\w*_\w+|_\w+|[A-Z][a-z]+[A-Z]\w+|[A-Z_]{3,})`", text))
    examples = {"DETOURS_DATA", "DETOURS_SCREENSHOTS", "NAME"}
    assert len(named) > 20
    assert sorted(name for name in named - examples if not re.search(rf"\b{name}\b", code)) == []


def test_readme_starts_with_the_two_commands() -> None:
    first = next(snippets(ROOT / "README.md")).code
    assert [line.split("#")[0].strip() for line in first.splitlines()] == ["make demo", "make test"]


@pytest.mark.parametrize(
    "room", ["", ".data", ".data.hard", ".errors", ".kernels", ".nn", ".transforms", ".viz", ".wl"]
)
def test_the_api_page_names_everything_public(room: str) -> None:
    names = import_module(f"detours{room}").__all__
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


@pytest.mark.parametrize("name", ["Graph", "Detours"])
def test_the_api_page_names_every_member(name: str) -> None:
    import detours

    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    members = [member for member in dir(getattr(detours, name)) if not member.startswith("_")]
    assert [member for member in members if not re.search(rf"\b{member}\b", text)] == []


def test_the_guide_names_every_command() -> None:
    text = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    commands = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
    assert [name for name in commands if f"detours {name}" not in text] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


@of_the_store
def test_the_figure_of_differences_is_that_of_the_store() -> None:
    drawn = rivals_figure(rivals(read_finished(ROOT / "results").networks)) + "\n"
    assert (ROOT / "docs" / "images" / "differences.svg").read_text("utf-8") == drawn, "run: make numbers"


@of_the_store
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_printed_results_are_those_of_the_store(page: Path) -> None:
    from detours.experiments.report.documents import update_blocks

    text = page.read_text(encoding="utf-8")
    if "<!-- results:" in text:
        command = f"detours report --results results --update {page.relative_to(ROOT)}"
        assert text == update_blocks(text, ROOT / "results", page), f"run: {command}"


@of_the_store
def test_the_report_is_that_of_the_store() -> None:
    from detours.experiments.report.page import markdown
    from detours.experiments.report.report import report_sections

    assert (ROOT / "report.md").read_text("utf-8") == markdown(report_sections(ROOT / "results")), "run: make numbers"


@of_the_store
def test_the_shares_told_apart_are_the_measured_ones() -> None:
    cells = [json.loads(path.read_text("utf-8")) for path in (ROOT / "results" / "expressiveness").glob("*.json")]
    measured = {(cell["key"]["method"], cell["key"]["data"]): cell["value"] for cell in cells}
    names, rules = ("EXP", *PAPERS_REAL_DATA, "CEXP", "DD"), {"last": "paper", "every": "rounds"}
    page = (ROOT / "docs" / "expressiveness.md").read_text("utf-8")
    section = page[page.index("## The paper's data") : page.index("## Every small graph")]
    checked = set()
    for table in re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE):
        heading, _, *rows = ([cell.strip(" *") for cell in line.split("|")[1:-1]] for line in table.splitlines())
        for row in (dict(zip(heading, row, strict=True)) for row in rows if not row[0].startswith("seconds")):
            rule = rules[row["rule"]] if "rule" in row else "sound"
            for method in _methods(row["test"]):
                for name in names:
                    value = measured[method, name]
                    assert row[name] == ("–" if "skipped" in value else row[name]), (method, name)
                    assert row[name] == "–" or float(row[name]) == round(value[rule]["ratio"], 3), (method, name)
                    checked.add((rule, method))
    assert len(checked) == 17 + 9 + 6


def _methods(row: str) -> list[str]:
    """The tests of a row such as "1-WL, 2 to 10 rounds" or "4-, 5-, 6-DeN".

    >>> _methods("4-, 5-, 6-DeN"), _methods("3-WL")
    (['4-DeN', '5-DeN', '6-DeN'], ['3-WL'])
    """
    if "DeN" in row:
        return [f"{k}-DeN" for k in re.findall(r"\d", row)]
    if rounds := re.fullmatch(r"1-WL, (\d+) to (\d+) rounds", row):
        return [f"1-WL, {number} rounds" for number in range(int(rounds[1]), int(rounds[2]) + 1)]
    return [row]


@of_the_store
def test_the_errors_on_zinc_are_the_measured_ones() -> None:
    rows = json.loads((ROOT / "results" / "zinc_by_k.json").read_text("utf-8"))["rows"].values()
    measured = (f"{mean(row['test_mae']):.3f} ± {stdev(row['test_mae']):.3f}" for row in rows)
    assert f"| test MAE | {' | '.join(measured)} |" in (ROOT / "docs" / "transforms.md").read_text("utf-8")
