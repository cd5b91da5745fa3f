"""Draw docs/images/differences.svg, MDNN minus plain networks, from the finished results.

python scripts/draw_differences.py
"""

from pathlib import Path

from detours.experiments.report.finished import read_finished
from detours.experiments.report.rivals import rivals, rivals_figure

ROOT = Path(__file__).resolve().parents[1]
IMAGE = ROOT / "docs" / "images" / "differences.svg"


def figure() -> str:
    return rivals_figure(rivals(read_finished(ROOT / "results").networks)) + "\n"


if __name__ == "__main__":
    IMAGE.write_text(figure(), encoding="utf-8")
