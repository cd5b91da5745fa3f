"""Redraw the images of README.md and docs/; needs Chromium and Playwright.

python scripts/draw_docs_images.py
"""

import shutil
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
from PIL import Image
from playwright.sync_api import Page as Tab
from playwright.sync_api import sync_playwright

import detours
from detours.viz import draw_against, draw_lengths, new_figure, page, saved, styled
from detours.viz.style import COLOURS

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
PALETTE = 128  # sufficient colours; the files have a third of the size


def shrink(image: Image.Image, name: str) -> None:
    image.convert("RGB").quantize(PALETTE).save(IMAGES / name, optimize=True)


def screenshot(tab: Tab, shown: detours.viz.Page, folder: Path, name: str, *clicks: str) -> None:
    tab.goto(shown.save(folder / "page.html").as_uri())
    for selector in clicks:
        tab.click(selector) if not selector.startswith("#colouring") else tab.select_option("#colouring", "den")
    tab.wait_for_timeout(500)
    tab.screenshot(path=folder / name)
    shrink(Image.open(folder / name), name)


def draw_walks(ax: Any, walk: str, title: str) -> None:
    """Draw a walk from i to j in a small graph, with numbered steps."""
    positions = {"i": (0, 0), "j": (1.6, 0), "a": (0, 1), "b": (1.6, 1), "c": (0.8, 1.7)}
    for one, other in ("ij", "ia", "ab", "bj", "ac", "cb"):
        ax.plot(*zip(positions[one], positions[other], strict=True), color="#c8ced4", linewidth=3, zorder=1)
    for step, (one, other) in enumerate(pairwise(walk), 1):
        (x, y), (u, v) = positions[one], positions[other]
        shift = (
            0.12 if (other, one) in list(pairwise(walk))[: step - 1] else 0
        )  # a step back is drawn next to the earlier step
        ax.annotate(
            "",
            (u + shift, v + shift),
            (x + shift, y + shift),
            arrowprops={"arrowstyle": "->", "color": COLOURS[5], "lw": 1.6, "shrinkA": 7, "shrinkB": 7},
        )
        ax.text(
            (x + u) / 2 + (0.06 if shift else -0.14) + shift, (y + v) / 2 + 0.06, str(step), size=8, color=COLOURS[5]
        )
    for name, (x, y) in positions.items():
        ax.scatter(x, y, s=170, color="white", edgecolors="black", linewidths=0.8, zorder=3)
        ax.text(x, y, name, ha="center", va="center", size=8, zorder=4)
    ax.set_title(title)
    ax.set_aspect("equal")
    ax.margins(0.15)
    ax.axis("off")


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    IMAGES.mkdir(exist_ok=True)
    karate = nx.karate_club_graph()
    triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        single = page(karate, 4, names=["Zachary's karate club"])
        screenshot(tab, single, folder, "karate.png", "#rows tr:first-child")
        pair = page((triangles, nx.cycle_graph(6)), 3, names=["two triangles", "a hexagon"])
        tab.set_viewport_size({"width": 1280, "height": 560})
        screenshot(tab, pair, folder, "pair.png", "#colouring")
        browser.close()
    result = detours.count(karate, 4)
    figure = new_figure(7, 2.6)
    with styled():
        left, right = figure.subplots(1, 2)
    draw_against(result, "betweenness", left)
    draw_lengths(result, right)
    walks = new_figure(6.5, 2.4)
    with styled():
        axes = walks.subplots(1, 3)
    draw_walks(axes[0], "iabj", "i–a–b–j: a detour")
    draw_walks(axes[1], "iaij", "i–a–i–j: back at i")
    draw_walks(axes[2], "ijbj", "i–j–b–j: twice at j")
    drawn = Image.open(saved(walks, folder / "walks")[0])
    shrink(drawn.resize((drawn.width * 2 // 3, drawn.height * 2 // 3)), "walks.png")
    drawn = Image.open(saved(figure, folder / "measures")[0])
    shrink(drawn.resize((drawn.width * 2 // 3, drawn.height * 2 // 3)), "measures.png")


if __name__ == "__main__":
    main()
