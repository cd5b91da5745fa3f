"""The sizes that docs/design.md promises: a file can be read in one sitting, a folder seen at a glance."""

from collections import Counter
from pathlib import Path

import detours

ROOT = Path(detours.__file__).parent
LINES, MODULES = 400, 14


def test_no_file_is_long() -> None:
    lines = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in ROOT.rglob("*.py")}
    assert len(lines) > 300  # all of them were found
    long = {name: count for name, count in lines.items() if count > LINES}
    assert not long, f"a file has at most {LINES} lines; split {long}"


def test_no_folder_is_crowded() -> None:
    modules = [path for path in ROOT.rglob("*.py") if path.name != "__init__.py"]
    counts = Counter(str(path.parent.relative_to(ROOT)) for path in modules)
    crowded = {name: count for name, count in counts.items() if count > MODULES}
    assert not crowded, f"a folder has at most {MODULES} modules; split {crowded}"
