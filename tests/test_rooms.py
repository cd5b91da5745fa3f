"""The sizes that docs/design.md promises: a file is read in one sitting, a folder is seen at a glance."""

from collections import Counter
from pathlib import Path

import detours

ROOT = Path(detours.__file__).parent
LINES, MODULES = 400, 14


def test_no_file_is_long() -> None:
    long = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in ROOT.rglob("*.py")}
    assert len(long) > 300
    assert not {name: lines for name, lines in long.items() if lines > LINES}


def test_no_folder_is_crowded() -> None:
    modules = [path for path in ROOT.rglob("*.py") if path.name != "__init__.py"]
    crowded = Counter(str(path.parent.relative_to(ROOT)) for path in modules)
    assert not {name: modules for name, modules in crowded.items() if modules > MODULES}
