"""The page in Chromium, driven as a person would: what it shows is compared with `count` and `paths`."""

import os
import re
import shlex
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import detours
from detours.viz import page

sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")

HOSTILE = [
    "</script><script>boom()</script>",
    '"><img src=x onerror=boom()>',
    "\u202eabc",
    "b" * 10_000,
    "<b>&amp;</b>",
]
QUOTED = ["a'; touch pwned; '", "O'Brien", "-k", "n" * 60, "tab\there"]
WIDE = {"width": 1280, "height": 800}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    prism = nx.convert_node_labels_to_integers(nx.cartesian_product(nx.cycle_graph(3), nx.path_graph(2)))
    pages = {
        "karate": page(nx.karate_club_graph(), 4, names=["karate"]),
        "pair": page((prism, nx.complete_bipartite_graph(3, 3)), 3, names=["prism", "K33"]),
        "hostile": page(nx.relabel_nodes(nx.complete_graph(5), dict(enumerate(HOSTILE))), 3, names=[HOSTILE[0]]),
        "large": page(nx.gnm_random_graph(400, 1300, seed=1), 3, names=["large"]),
        "molecule": _molecule(),
        "directed": page(nx.relabel_nodes(nx.complete_graph(5), dict(enumerate(QUOTED))), 3, directed=True),
        "chordless": page(nx.relabel_nodes(nx.complete_graph(5), dict(enumerate(QUOTED))), 3, chordless=True),
        "ring": page(nx.cycle_graph(5), 6),
        "edge": page(nx.karate_club_graph(), 4, names=["karate"], around=[32, 2]),
    }
    return {name: made.save(folder / f"{name}.html") for name, made in pages.items() if made is not None}


def _molecule() -> Any:
    """A page of naphthalene, or None without RDKit."""
    try:
        from rdkit import Chem as chem
    except ImportError:
        return None
    return page(chem.MolFromSmiles("c1ccc2ccccc2c1"), 9, names=["naphthalene"])


Opener = Callable[..., Any]


@pytest.fixture
def problems() -> list[str]:
    """Messages of the console, errors, and requests: a test fails if it leaves any."""
    return []


@pytest.fixture
def opened(browser: Any, files: dict[str, Path], problems: list[str]) -> Iterator[Opener]:
    """Open a page by its name."""
    contexts = []
    own = re.compile("file:|blob:")

    def open_page(name: str, **options: Any) -> Any:
        context = browser.new_context(viewport=WIDE, accept_downloads=True, **options)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: problems.append(message.text))
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.on("request", lambda request: None if own.match(request.url) else problems.append(request.url))
        tab.goto(files[name].as_uri())
        until(tab, "document.documentElement.dataset.painted")
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


def until(tab: Any, condition: str, seconds: float = 8.0) -> None:
    """Wait for a condition; Playwright's own way needs `eval`, which the page's policy refuses."""
    deadline = time.monotonic() + seconds
    while not tab.evaluate(condition):
        assert time.monotonic() < deadline, f"not within {seconds} s: {condition}"
        tab.wait_for_timeout(30)


def keep(tab: Any, name: str) -> None:
    """Keep a screenshot where DETOURS_SCREENSHOTS says, to be looked at."""
    if folder := os.environ.get("DETOURS_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        tab.screenshot(path=Path(folder, f"{name}.png"))


def karate_counts() -> dict[tuple[int, int], list[int]]:
    """The 4-DeN of every arc, and its counts by length."""
    result = detours.count(nx.karate_club_graph(), 4)
    arcs = zip(*result.graph.to_edge_index().tolist(), result.arc_by_length.tolist(), strict=True)
    return {(u, v): [sum(lengths), *lengths] for u, v, lengths in arcs}


def rows(tab: Any) -> list[list[str]]:
    texts: list[list[str]] = tab.eval_on_selector_all(
        "#rows tr", "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    return texts


def on_screen(tab: Any, x: str, panel: int = 0) -> tuple[float, float]:
    """Where a point is on the screen, `x` being JavaScript that gives it in the graph's own coordinates."""
    place = tab.evaluate(
        f"""() => {{ const panel = window.detoursPanels[{panel}]; const at = {x};
            const box = panel.drawing.getBoundingClientRect(), to = panel.graph.graph2ScreenCoords(at.x, at.y);
            return [box.left + to.x, box.top + to.y]; }}"""
    )
    return tuple(place)


LINK_MIDDLE = (
    "(({{source: a, target: b}}) => ({{x: a.x + (b.x - a.x) * 0.45, y: a.y + (b.y - a.y) * 0.45}}))"
    "(panel.model.byId[{0}])"
)


def test_the_table_has_the_counts_and_sorts(opened: Opener) -> None:
    tab = opened("karate")
    expected = karate_counts()
    shown = rows(tab)
    assert len(shown) == 78
    assert all([int(cell) for cell in row[2:]] == expected[int(row[0]), int(row[1])] for row in shown)
    assert [int(row[2]) for row in shown] == sorted((int(row[2]) for row in shown), reverse=True)
    tab.click("th:nth-child(4) button")
    assert [int(row[3]) for row in rows(tab)] == sorted((int(row[3]) for row in shown), reverse=True)
    assert tab.get_attribute("th:nth-child(4)", "aria-sort") == "descending"
    tab.click("th:nth-child(1) button")
    assert [int(row[0]) for row in rows(tab)] == sorted(int(row[0]) for row in shown)


def test_hover_shows_counts_and_a_click_lists_the_detours(opened: Opener) -> None:
    tab = opened("karate")
    link = tab.evaluate(
        "detoursPanels[0].model.byId.findIndex((link) => link.source.name === '0' && link.target.name === '11')"
    )
    near = tab.evaluate(
        "detoursPanels[0].model.byId.findIndex((link) => link.source.name === '5' && link.target.name === '16')"
    )
    for at, (u, v) in ((near, (5, 16)), (link, (0, 11))):
        tab.mouse.move(*on_screen(tab, LINK_MIDDLE.format(at)))
        until(tab, f"document.getElementById('tooltip').textContent.startsWith('{u} – {v}')")
        total, *lengths = karate_counts()[u, v]
        lines = tab.inner_text("#tooltip").splitlines()
        assert lines == [f"{u} – {v}", f"4-DeN {total}", *(f"{n} edges: {c}" for n, c in enumerate(lengths, 2))]
    tab.mouse.move(*on_screen(tab, LINK_MIDDLE.format(near)))
    until(tab, "document.getElementById('tooltip').textContent.startsWith('5 – 16')")
    tab.mouse.down()
    tab.mouse.up()
    tab.wait_for_selector("#detours li")
    listed = [tuple(map(int, text.split(" – "))) for text in tab.locator("#detours li").all_inner_texts()]
    assert listed == list(detours.paths(nx.karate_club_graph(), 5, 16, 4))
    keep(tab, "karate-light")


def test_detours_are_drawn_one_after_another(opened: Opener) -> None:
    tab = opened("karate")
    tab.click("#rows tr:first-child")
    assert tab.inner_text("#step") == "1 of 89"
    until(tab, "document.getElementById('step').textContent.startsWith('2 of')")
    tab.click("#play")
    tab.click("#next")
    assert tab.inner_text("#step") == "3 of 89" and tab.inner_text("#play") == "Play"
    drawn = tab.evaluate("detoursPanels[0].view.path")
    assert tab.inner_text("#detours [aria-current=true]") == " – ".join(map(str, drawn))
    tab.keyboard.press("Escape")
    assert tab.locator("#detours li").count() == 0


def test_the_edge_that_a_page_is_about_is_selected(opened: Opener) -> None:
    tab = opened("edge")
    number = len(list(detours.paths(nx.karate_club_graph(), 32, 2, k=4)))
    assert tab.inner_text("#facts h2") == "edge 2 – 32" and f"of {number}" in tab.inner_text("#step")


def test_the_slider_for_k_changes_counts_colours_and_lists(opened: Opener) -> None:
    tab = opened("karate")
    tab.click("#rows tr:first-child")
    before = tab.evaluate("detoursPanels[0].model.byId.map((link) => link.colour)")
    tab.focus("#k")
    tab.keyboard.press("ArrowLeft")
    assert tab.inner_text("#k-value") == "3"
    result = detours.count(nx.karate_club_graph(), 3)
    assert int(rows(tab)[0][2]) == result.edge.max()
    assert tab.inner_text("#edge-ticks span:last-child") == str(result.edge.max())
    assert tab.evaluate("detoursPanels[0].model.byId.map((link) => link.colour)") != before
    heading = tab.inner_text("#facts h2")
    u, v = map(int, re.findall(r"\d+", heading))
    assert tab.locator("#detours li").count() == len(list(detours.paths(nx.karate_club_graph(), u, v, 3)))
    tab.select_option("#scale", "log")
    assert "log scale" in tab.inner_text("#edge-legend")


def test_rounds_of_refinement_side_by_side(opened: Opener) -> None:
    tab = opened("pair", color_scheme="dark")
    assert (
        "1-WL from degrees does not tell them apart; refinement from 3-DeN differs from round 0 on"
        in tab.inner_text("#verdict")
    )
    tab.select_option("#colouring", "degree")
    assert tab.inner_text("#node-legend").startswith("nodes: 1 colour in round 0")
    assert "ringed" not in tab.inner_text("#panels")
    tab.select_option("#colouring", "den")
    assert tab.inner_text("#panels").count("6 nodes ringed") == 2
    colours = tab.evaluate("detoursPanels.map((panel) => new Set(panel.model.nodes.map((node) => node.colour)).size)")
    assert colours == [1, 1]
    keep(tab, "pair-dark")
    tab.select_option("#colouring", "phi")
    assert {row[0] for row in rows(tab)} == {"A", "B"} and len(rows(tab)) == 18


def test_the_round_slider_shows_the_colours_of_refine(opened: Opener) -> None:
    tab = opened("karate")
    colors = detours.wl.refine([nx.karate_club_graph()], init="degree", rounds=8)
    tab.select_option("#colouring", "degree")
    for round in range(colors.rounds + 1):
        assert tab.inner_text("#round-value") == f"{round} of {colors.rounds}"
        assert tab.inner_text("#node-legend") == f"nodes: {colors.num_colors[round]} colours in round {round}"
        tab.focus("#round")
        tab.keyboard.press("ArrowRight")


def test_the_keyboard_alone_is_enough(opened: Opener) -> None:
    tab = opened("karate", reduced_motion="reduce")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    reached = set()
    for _ in range(40):
        tab.keyboard.press("Tab")
        reached.add(tab.evaluate("document.activeElement.id || document.activeElement.tagName"))
        if "TR" in reached:
            break
    assert {"k", "scale", "colouring", "search", "fit", "svg", "png", "theme", "TR"} <= reached
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    assert tab.evaluate("document.activeElement.dataset.at") == "2"
    tab.keyboard.press("End")
    assert tab.evaluate("document.activeElement.dataset.at") == "77"
    tab.keyboard.press("Home")
    tab.keyboard.press("Enter")
    assert tab.inner_text("#facts h2") == "edge 2 – 32"
    assert tab.inner_text("#play") == "Play"  # nothing moves by itself for those who asked for that


def test_search_finds_a_node(opened: Opener) -> None:
    tab = opened("karate")
    tab.fill("#search", "33")
    tab.keyboard.press("Enter")
    result = detours.count(nx.karate_club_graph(), 4)
    assert tab.inner_text("#facts h2") == "node 33"
    facts = tab.locator("#facts dd").all_inner_texts()
    assert facts[:2] == ["17", str(result.node[33])]
    tab.fill("#search", "nobody")
    tab.keyboard.press("Enter")
    assert tab.text_content("#status") == "No node is named nobody."


def test_light_and_dark_follow_the_system_and_the_switch(opened: Opener) -> None:
    tab = opened("karate", color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    assert tab.evaluate(paper) == "rgb(16, 20, 24)"
    keep(tab, "karate-dark")
    tab.click("#theme")
    assert tab.evaluate(paper) == "rgb(255, 255, 255)"
    tab.emulate_media(color_scheme="light")
    tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")  # is told of it
    tab.emulate_media(color_scheme="dark")
    until(tab, f"{paper} === 'rgb(16, 20, 24)'")


def test_hostile_names_are_text_and_nothing_runs(opened: Opener, problems: list[str]) -> None:
    tab = opened("hostile")
    assert tab.evaluate("typeof window.boom") == "undefined"
    names = {cell for row in rows(tab) for cell in row[:2]}
    assert {HOSTILE[0], HOSTILE[1], HOSTILE[4], "\\u202eabc"} <= names
    assert any(name.startswith("bbb") and name.endswith("…") for name in names)
    tab.click("#rows tr:first-child")
    assert tab.inner_text("h1") == HOSTILE[0] and tab.locator("img, main b").count() == 0
    tab.fill("#search", "<b>")
    tab.keyboard.press("Enter")
    assert tab.inner_text("#facts h2") == "node <b>&amp;</b>"
    inserted = tab.evaluate(
        "() => { const made = document.createElement('script'); made.textContent = 'window.ran = 1';"
        " document.body.append(made); return window.ran === undefined; }"
    )
    assert inserted, "the policy must refuse scripts that are not in the file"
    assert len(problems) == 1 and "Content Security Policy" in problems.pop()
    keep(tab, "hostile")


def test_lengths_without_detours_are_zeros(opened: Opener) -> None:
    tab = opened("ring")
    assert rows(tab)[0] == ["0", "1", "1", "0", "0", "1", "0", "0"]
    tab.click("#rows tr:first-child")
    assert tab.locator("#facts dd").all_inner_texts() == ["1 detour", "0", "0", "1", "0", "0"]


@pytest.mark.parametrize("kind", ["directed", "chordless"])
def test_the_command_that_lists_all_detours_can_be_pasted_into_a_shell(opened: Opener, kind: str) -> None:
    tab = opened(kind)
    for at, (source, target, *_) in enumerate(rows(tab)):
        tab.click(f"#rows tr:nth-child({at + 1})")
        text = tab.text_content("#unlisted")
        if r"tab\there" in (source, target):  # not the name in the file
            assert "detours paths" not in text
            continue
        *_, command = text.partition("All of them: ")
        options = ["detours", "paths", "FILE", "-k", "3"]
        options += ["--directed"] if kind == "directed" else ["--undirected", "--chordless"]
        assert shlex.split(command) == options + ["--"] * ("-k" in (source, target)) + [source, target]


def test_a_large_graph_moves_as_an_image_and_hovers_again_afterwards(opened: Opener) -> None:
    tab = opened("large")
    assert tab.evaluate("detoursPanels[0].layer !== null")
    x, y = tab.evaluate("(({left, top}) => [left + 30, top + 30])(detoursPanels[0].drawing.getBoundingClientRect())")
    renders = "detoursPanels[0].layer.rendered"
    first = tab.evaluate(renders)
    tab.mouse.move(x, y)
    tab.mouse.down()
    for step in range(12):
        tab.mouse.move(x + 4 * step, y + 3 * step)
    assert tab.evaluate("detoursPanels[0].graph.enablePointerInteraction()") is False
    tab.mouse.up()
    until(tab, f"{renders} > {first}")
    assert tab.evaluate("detoursPanels[0].graph.enablePointerInteraction()") is True
    tab.click("#later")
    assert tab.inner_text("#range") == "101–200 of 1,300"


def test_the_view_is_exported(opened: Opener, tmp_path: Path) -> None:
    tab = opened("karate")
    for kind, start in (("svg", b"<svg "), ("png", b"\x89PNG")):
        with tab.expect_download() as download:
            tab.click(f"#{kind}")
        target = tmp_path / f"view.{kind}"
        download.value.save_as(target)
        assert target.read_bytes().startswith(start) and download.value.suggested_filename == f"detours.{kind}"
    drawing = (tmp_path / "view.svg").read_text()
    assert drawing.count("<circle") == 34 and drawing.count("<polyline") == 78 and ">33</text>" in drawing


def test_a_molecule_is_drawn_with_its_symbols(opened: Opener, files: dict[str, Path]) -> None:
    if "molecule" not in files:
        pytest.skip("needs RDKit: pip install 'detours[chem]'")
    tab = opened("molecule")
    assert tab.evaluate("detoursPanels[0].model.symbols.join('')") == "C" * 10
    keep(tab, "molecule")
