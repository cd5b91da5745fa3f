"""Tables: the same values in Markdown and in JSON."""

import json
from pathlib import Path

import pytest

from detours.errors import InputError
from detours.experiments.paper import paper_tables
from detours.experiments.tables import COUNT, RATIO, Column, Table, write_tables

TABLE = Table(
    "Cycles",
    [Column("data"), Column("cycles", COUNT), Column("ratio", RATIO)],
    [["A|B", 1234567, 1.0], ["C", None, 1 / 3], ["D", "too many", None]],
    ["A note."],
)


def test_markdown() -> None:
    assert TABLE.markdown().splitlines() == [
        "## Cycles",
        "",
        "| data |    cycles | ratio |",
        "| ---- | --------: | ----: |",
        "| A\\|B | 1,234,567 | 1.000 |",
        "| C    |         – | 0.333 |",
        "| D    |  too many |     – |",
        "",
        "A note.",
    ]


@pytest.mark.parametrize(("form", "zero", "below"), [("+.2f", "+0.00", "-0.01"), (".2f", "0.00", "-0.01")])
def test_zeros_are_not_negative(form: str, zero: str, below: str) -> None:
    table = Table("", [Column("difference", form)], [[-0.004], [-0.006], [0.0]])
    assert table.written() == [[zero], [below], [zero]]


def test_written_tables_can_be_read_again(tmp_path: Path) -> None:
    files = write_tables(tmp_path / "new", "cycles", [TABLE, TABLE], about={"k": 4})
    assert [file.name for file in files] == ["cycles.md", "cycles.json"]
    assert files[0].read_text().count("| A\\|B |") == 2
    read = json.loads(files[1].read_text())
    assert read["k"] == 4 and read["tables"][1]["rows"][1] == {"data": "C", "cycles": None, "ratio": 1 / 3}


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        write_tables(tmp_path / "file" / "folder", "x", [TABLE])


def test_the_papers_results_are_shipped() -> None:
    tables = paper_tables()
    assert sum(tables["cycle_length_combinations"]["CEXP"].values()) == 1200
    assert tables["cycle_totals_directed"]["Chameleon"] == {"3": 124687, "4": 5016955, "5": 220750980}
    assert tables["graph_classification"]["mdnn"]["GIN"]["MUTAG"] == {"mean": 86.24, "std": 9.01}
