"""Measure pages of `detours show` in Chromium: size, time to first paint, and frame rate while the view is dragged.

python scripts/measure_page.py page.html …
"""

import shutil
import sys
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

COUNT_FRAMES = (
    "window.times = []; (function next(t) { times.push(t); requestAnimationFrame(next); })(performance.now())"
)
SECONDS = 2.5


def main(files: list[str]) -> None:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for file in map(Path, files):
            tab = browser.new_page(viewport={"width": 1280, "height": 800})
            tab.goto(file.resolve().as_uri())
            while not (painted := tab.evaluate("document.documentElement.dataset.painted")):
                time.sleep(0.02)
            box = tab.locator(".drawing").first.bounding_box()
            assert box is not None
            x, y = box["x"] + 30, box["y"] + 30
            tab.mouse.move(x, y)
            tab.mouse.down()
            tab.evaluate(COUNT_FRAMES)
            end, step = time.monotonic() + SECONDS, 0
            while time.monotonic() < end:
                step += 1
                tab.mouse.move(x + 7 * step % 200, y + 5 * step % 150)
            frames = tab.evaluate("(times.length - 1) / ((times.at(-1) - times[0]) / 1000)")
            print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB, first paint {painted} ms, {frames:.0f} frames/s")
            tab.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
