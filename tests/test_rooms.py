"""The sizes that docs/design.md promises: a file is read in one sitting, a folder is seen at a glance."""

from collections import Counter
from pathlib import Path

import detours

ROOT = Path(detours.__file__).parent
LINES, MODULES = 400, 14


def test_no_file_is_long() -> None:
    lines = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in ROOT.rglob("*.py")}
    assert len(lines) > 300  # all of them were found
    long = {name: number for name, number in lines.items() if number > LINES}
    assert not long, f"a file has at most {LINES} lines; find the two that it is: {long}"


def test_no_folder_is_crowded() -> None:
    modules = [path for path in ROOT.rglob("*.py") if path.name != "__init__.py"]
    numbers = Counter(str(path.parent.relative_to(ROOT)) for path in modules)
    crowded = {name: number for name, number in numbers.items() if number > MODULES}
    assert not crowded, f"a folder has at most {MODULES} modules; find the two that it is: {crowded}"
