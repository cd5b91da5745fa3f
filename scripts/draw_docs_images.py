"""Draw the pictures of README and docs/ again; needs Chromium and Playwright.

python scripts/draw_docs_images.py
"""

import shutil
import tempfile
from pathlib import Path

import networkx as nx
from PIL import Image
from playwright.sync_api import Page as Tab
from playwright.sync_api import sync_playwright

import detours
from detours.viz import draw_against, draw_lengths, new_figure, page, saved, styled

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
COLOURS = 128  # enough for the pictures, which are a third of the size then


def shrink(image: Image.Image, name: str) -> None:
    image.convert("RGB").quantize(COLOURS).save(IMAGES / name, optimize=True)


def photograph(tab: Tab, made: detours.viz.Page, folder: Path, name: str, *clicks: str) -> None:
    tab.goto(made.save(folder / "page.html").as_uri())
    for selector in clicks:
        tab.click(selector) if not selector.startswith("#colouring") else tab.select_option("#colouring", "den")
    tab.wait_for_timeout(500)
    tab.screenshot(path=folder / name)
    shrink(Image.open(folder / name), name)


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    IMAGES.mkdir(exist_ok=True)
    karate = nx.karate_club_graph()
    triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        whole = page(karate, 4, names=["Zachary's karate club"])
        photograph(tab, whole, folder, "karate.png", "#rows tr:first-child")
        pair = page((triangles, nx.cycle_graph(6)), 3, names=["two triangles", "a hexagon"])
        tab.set_viewport_size({"width": 1280, "height": 560})
        photograph(tab, pair, folder, "pair.png", "#colouring")
        browser.close()
    result = detours.count(karate, 4)
    figure = new_figure(7, 2.6)
    with styled():
        left, right = figure.subplots(1, 2)
    draw_against(result, "betweenness", left)
    draw_lengths(result, right)
    drawn = Image.open(saved(figure, folder / "measures")[0])
    shrink(drawn.resize((drawn.width * 2 // 3, drawn.height * 2 // 3)), "measures.png")


if __name__ == "__main__":
    main()
