"""The report: all values from the store, as Markdown and as a single page."""

import importlib
import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from detours import cli
from detours.errors import FileFormatError, InputError
from detours.experiments.kernels.table import Accuracy
from detours.experiments.networks.entries import Entry
from detours.experiments.networks.records import read_records
from detours.experiments.networks.results import results
from detours.experiments.report.agreement import read_notes, reason_for
from detours.experiments.report.best import best_models, best_sentence, best_table
from detours.experiments.report.curves import Curve, draw_curves
from detours.experiments.report.differences import BETTER, UNCLEAR, Row, draw_differences
from detours.experiments.report.documents import update_blocks
from detours.experiments.report.report import report_sections, write_report
from detours.experiments.report.rivals import rivals
from detours.experiments.report.sections import other_numbers
from detours.store import Store
from tests.experiments.networks.cases import keep

PLAIN = Entry("Texas", "ours", "plain", "gin")
TEN = [0.8, 0.81, 0.82, 0.83, 0.84, 0.85, 0.86, 0.87, 0.88, 0.89]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Results of Texas under both presets: MDNN better than plain in ours, far from the published result in paper."""
    keep(tmp_path, PLAIN, TEN)
    keep(tmp_path, replace(PLAIN, model="mdnn"), [each + 0.02 for each in TEN])
    for model in ("plain", "mdnn"):
        keep(tmp_path, replace(PLAIN, preset="paper", model=model), [0.5] * 5 + [0.4] * 5)
    return tmp_path


def test_the_report_has_every_part(folder: Path) -> None:
    (folder / "notes.toml").write_text('[[note]]\nrow = "MDNN GIN"\npreset = "paper"\nreason = "Because of this."\n')
    markdown, page = (path.read_text("utf-8") for path in write_report(folder, folder / "report"))
    assert "beats the paper's best entry on 1 of 1 finished data sets (12 in total)" in markdown
    assert "preset ours: MDNN beats its plain baseline in 1 of 1 entries." in markdown
    assert "1 of 2 entries (50%) are within one published standard deviation" in markdown
    assert "| Texas | paper  | MDNN GIN" in markdown and "Because of this." in markdown
    assert "| MDNN, ours " in markdown and "theirs: FSGNN" in markdown and "| Texas | ours" in markdown
    for part in ("<svg", "theirs: FSGNN", "Because of this.", "86.50 ± 3.03", "60.27 ± 7.46"):
        assert part in page, part
    assert not re.search(r'(src|href)="(?!#)', page)  # it needs no other file


def test_incomplete_entries_are_shown_but_not_counted(folder: Path) -> None:
    def shown() -> tuple[str, dict[str, list[list[str]]]]:
        sections = report_sections(folder)
        tables = {table.title: table.written() for section in sections for table in section.tables}
        return "\n".join(sections[0].points), tables

    before = shown()
    keep(folder, replace(PLAIN, model="weighted"), [0.99] * 9)  # the best of all, but a fold is missing
    keep(folder, replace(PLAIN, preset="paper", model="weighted"), [0.5])  # within the paper's deviation
    lost = replace(PLAIN, model="mdnn", backbone="gat")
    for each in (replace(lost, model="plain"), lost, replace(lost, use_den=False)):
        keep(folder, each, [0.9] * 10)
        keep(folder, each, [0.9] * 9, seed=1, failed=[4] if each == lost else [])
    text, tables = shown()
    assert text == before[0]
    same = ("Sign tests", "The best detour models", "More than one standard deviation from the paper")
    assert all(tables[title] == before[1][title] for title in same)
    accuracy = {line[0]: line[-1] for line in tables["Node classification"]}
    assert accuracy["weighted GIN, ours"] == "99.00 ± 0.00 (9/10)"
    assert accuracy["MDNN GAT, ours"] == "90.00 ± 0.00 (19/20)"
    paired = {line[2]: line[4] for line in tables["Detour networks against their baselines"] if line[1] == "ours"}
    assert paired == {"MDNN GIN": "10", "MDNN GAT": "10, incomplete", "weighted GIN": "9, incomplete"}


def test_a_kernel_can_be_the_best_detour_model() -> None:
    def accuracy(mean: float) -> Accuracy:
        return Accuracy([0, 1], np.full((2, 10), mean), 0.0, 0, 0, 0)

    # the paper's best: 75.63 on IMDB-BINARY, 82.81 on NCI1; kernels without detours do not count
    rows = {("WL-DeN", "IMDB-BINARY"): 75.0, ("best of ours", "IMDB-BINARY"): 76.0, ("WL-SP", "IMDB-BINARY"): 90.0}
    rows |= {("WL-DeN", "NCI1"): 82.5, ("SP", "MUTAG"): 99.0}
    found = best_models({}, {key: accuracy(mean) for key, mean in rows.items()})
    assert [(each.data, each.ours > each.paper) for each in found] == [("NCI1", False), ("IMDB-BINARY", True)]
    sentence = best_sentence(found)
    assert "on 1 of 2 finished data sets (12 in total; not on NCI1); networks alone do on 0 of 0" in sentence
    lines = {line[0]: line[1:] for line in best_table(found).rows}
    assert lines["IMDB-BINARY"][3:] == ["best of ours", "76.00 ± 0.00", pytest.approx(0.37)]


def test_the_ablation_is_no_detour_network(tmp_path: Path) -> None:
    mdnn = replace(PLAIN, model="mdnn", backbone="gat")
    keep(tmp_path, mdnn, TEN)
    keep(tmp_path, replace(mdnn, use_den=False), [each + 0.05 for each in TEN])
    (best,) = best_models(results(read_records(Store(tmp_path))), {})
    assert best.network is not None and best.network.entry == mdnn


def test_an_ablation_that_is_equal_is_at_least_as_good(tmp_path: Path) -> None:
    mdnn = replace(PLAIN, model="mdnn", backbone="gat")
    for entry in (mdnn, replace(mdnn, use_den=False)):
        keep(tmp_path, entry, TEN)
    (text,) = [line for line in report_sections(tmp_path)[0].points if line.startswith("Ablation")]
    assert "at least as good as without on 1 of 1 data sets" in text


def test_validation_chooses_a_backbone_even_if_another_is_better_on_the_test_parts(tmp_path: Path) -> None:
    for entry in (PLAIN, replace(PLAIN, model="mdnn")):
        keep(tmp_path, entry, [0.8] * 10, validation=0.9)
        keep(tmp_path, replace(entry, backbone="gcn"), [0.9] * 10, validation=0.8)
    (found,) = rivals(results(read_records(Store(tmp_path))))
    assert {each.entry.backbone for each in (found.mdnn, found.plain, found.detour)} == {"gin"}


def test_equal_networks_do_not_beat_each_other(tmp_path: Path) -> None:
    for entry in (PLAIN, replace(PLAIN, model="mdnn")):
        keep(tmp_path, entry, TEN)
    (text,) = [line for line in report_sections(tmp_path)[0].points if line.startswith("MDNN (preset ours)")]
    assert text.count("on 0 of 1 data sets") == 3


def test_significantly_worse_networks_are_named(folder: Path) -> None:
    worse = replace(PLAIN, backbone="gcn")
    keep(folder, worse, [each + 0.1 for each in TEN])
    keep(folder, replace(worse, model="mdnn"), [each + 0.05 for each in TEN])
    (text,) = [line for line in report_sections(folder)[0].points if line.startswith("MDNN (preset ours)")]
    # GCN, which is worse than its baseline in every fold
    first = "on 0 of 1 data sets (p < 0.05: better on 0, worse on Texas; with Holm's correction for 1 tests: 1)"
    assert text.count(first) == 3


def test_each_network_may_have_its_own_backbone(folder: Path) -> None:
    other = replace(PLAIN, backbone="gcn")
    keep(folder, other, [each - 0.2 for each in TEN])
    keep(folder, replace(other, model="mdnn"), [each - 0.05 for each in TEN])
    keep(folder, replace(PLAIN, model="mdnn"), [each - 0.1 for each in TEN])
    keep(folder, replace(PLAIN, model="weighted"), [each + 0.01 for each in TEN])
    sections = report_sections(folder)
    (text,) = [line for line in sections[0].points if line.startswith("MDNN (preset ours)")]
    # MDNN GCN is better than plain GCN, but not than plain GIN, which is what validation chooses
    better = "on 1 of 1 data sets (p < 0.05: better on 1, worse on none; with Holm's correction for 1 tests: 1)"
    worse = "on 0 of 1 data sets (p < 0.05: better on 0, worse on Texas; with Holm's correction for 1 tests: 1)"
    assert f"that validation chooses for it, {worse}. Both" in text
    assert f"chooses for MDNN, it does {better}. If" in text
    assert text.endswith(f"the chosen one does {better}.")
    (table,) = [each for section in sections for each in section.tables if each.title == "MDNN and plain networks"]
    (line,) = table.written()
    assert line[:4] == ["Texas", "GIN 84.50 ± 3.03", "GCN 79.50 ± 3.03", "-5.00"] and line[-1] == "60.27"


def test_data_beyond_the_paper_are_shown_but_not_counted_with_it(folder: Path) -> None:
    other = replace(PLAIN, data="Squirrel-filtered")
    keep(folder, other, TEN)
    keep(folder, replace(other, model="mdnn"), [each + 0.01 for each in TEN])
    sections = report_sections(folder)
    text = "\n".join(sections[0].points)
    assert "that validation chooses for it, on 1 of 1 data sets" in text
    assert "Heterophilous graphs, preset ours: MDNN beats its plain baseline in 1 of 1 entries." in text
    tables = {each.title: each.written() for section in sections for each in section.tables}
    assert [line[0] for line in tables["MDNN and plain networks"]] == ["Texas", "Squirrel-filtered"]
    assert tables["MDNN and plain networks"][1][-1] == "–"
    assert [line[0] for line in tables["Heterophilous graphs: results of others"]][-1].startswith(
        "theirs: best of tuned"
    )


def test_the_estimated_cost_of_the_paper_size(folder: Path) -> None:
    keep(folder, Entry("DD", "paper-small", "mdnn", "gin"), TEN)
    table = next(t for s in report_sections(folder) for t in s.tables if t.title.startswith("Estimated cost"))
    data, minutes, hours = table.rows[0]
    # (768 / 128)² times six times the layers; somewhat less, as not all costs are quadratic
    assert data == "DD" and minutes == pytest.approx(0.5) and 100 < hours * 60 / minutes < 216


def test_plain_networks_without_layers_are_said_to_be_one_network(tmp_path: Path) -> None:
    for data in ("Chameleon", "Texas"):  # the recipe of the first has no layers
        for backbone in ("gcn", "gin"):
            keep(tmp_path, Entry(data, "ours", "plain", backbone), [0.5] * 10)
    texts = [text for section in report_sections(tmp_path) for text in section.text]
    assert [text.split(",")[0] for text in texts if text.endswith("are one network.")] == ["On Chameleon"]


def test_results_of_older_settings_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def remarks() -> str:
        return " ".join(text for section in report_sections(folder) for text in section.text)

    assert "Trained with settings" not in remarks()
    monkeypatch.setattr(Entry, "changes", lambda entry: {"model": entry.model, "backbone": entry.backbone, "lr": 0.3})
    assert "Trained with settings that differ from the current recipes: Texas plain GIN (ours)" in remarks()


def test_a_distance_without_a_note_is_unexplained(folder: Path) -> None:
    table = next(t for s in report_sections(folder) for t in s.tables if t.title.startswith("More than one"))
    assert [line[-1] for line in table.rows] == ["unexplained"]
    assert table.rows[0][:3] == ["Texas", "paper", "MDNN GIN"]


def test_notes() -> None:
    entry = replace(PLAIN, preset="paper")
    notes = [
        {"data": "Texas", "reason": "One."},
        {"row": "plain GIN", "reason": "Two."},
        {"data": ["Cornell", "Texas"], "preset": "paper", "reason": "Three."},
        {"data": "DD", "reason": "No."},
        {"data": ["DD", "Cornell"], "reason": "No."},
    ]
    assert reason_for(entry, notes) == "One. Two. Three." and reason_for(entry, notes[3:]) == "unexplained"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[note", "cannot be read"),
        ('[[note]]\ndata = "DD"', "needs a reason"),
        ('[[note]]\nreason=""\nx=1', "has no x"),
    ],
)
def test_damaged_notes(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "notes.toml").write_text(text)
    with pytest.raises(FileFormatError, match=sentence):
        read_notes(tmp_path)


def test_nothing_finished_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no finished results"):
        report_sections(tmp_path)
    with pytest.raises(InputError, match="is not a results folder"):
        report_sections(tmp_path / "missing")
    Store(tmp_path).keep({"experiment": "networks", "data": "MUTAG", "code": "0"}, {"test_accuracy": 1.0}, 1.0)
    with pytest.raises(
        InputError, match=r"has only finished results of networks; the report needs those of .* reproduce"
    ):
        report_sections(tmp_path)


class Absent:
    """An import hook that makes imports of these modules fail."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def find_spec(self, name: str, *_: object) -> None:
        if name.split(".")[0] in self.names:
            raise ModuleNotFoundError(name)


def test_the_command_needs_no_torch_and_no_data(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DETOURS_DATA", raising=False)
    absent = ("torch", "torch_geometric", "lightning", "sklearn", "matplotlib")
    for name in absent:  # removed, not None: SciPy checks for torch in sys.modules before it uses its classes
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Absent(absent), *sys.meta_path])
    with pytest.raises(ImportError):
        importlib.import_module("torch")
    assert cli.run(["report", "--results", str(folder), "--out", str(folder / "all.html")]) == 0
    assert capsys.readouterr().err == f"Wrote {folder}/all.md, {folder}/all.html\n"
    assert cli.run(["report", "--results", str(folder), "--out", str(folder / "none" / "all")]) == 1
    assert f"the folder {folder}/none does not exist; create it first." in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--out", "--update"])
def test_an_unwritable_file_is_reported_before_the_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    for name in ("report.report_sections", "documents.update_document"):
        monkeypatch.setattr(f"detours.experiments.report.{name}", lambda *_: pytest.fail("the work started"))
    assert cli.run(["report", "--results", str(folder), option, str(folder / "none" / "all")]) == 1
    assert f"the folder {folder}/none does not exist; create it first." in capsys.readouterr().err
    monkeypatch.setattr("os.access", lambda path, mode: not mode & os.W_OK)
    assert cli.run(["report", "--results", str(folder), option, str(folder / "all")]) == 1
    assert f"the folder {folder} is not writable" in capsys.readouterr().err


def test_curves_are_drawn_as_svg() -> None:
    curves = [Curve("MDNN GIN", "mdnn", [1, 2], [0.5, 0.9]), Curve("plain <GCN>", "plain", [1, 2], [0.5, 0.6])]
    drawn = ElementTree.fromstring(draw_curves("Texas, ours", curves))
    lines = [each for each in drawn.iter() if each.tag.endswith("polyline")]
    assert str(lines[0].get("points")).split()[1] == "310.0,26.0"
    ElementTree.fromstring(draw_curves("flat", [Curve("MDNN GIN", "mdnn", [1], [0.5])]))


def test_differences_are_drawn_as_svg() -> None:
    rows = [
        Row("Texas", (-3.0, 1.0), -1.0, None, None, False),
        Row("<Actor>", (1.0, 2.0, 6.0), 3.0, (1.5, 4.0), 0.01, True),
    ]
    drawn = ElementTree.fromstring(draw_differences("MDNN minus plain", rows))
    tags = [each.tag.rpartition("}")[2] for each in drawn.iter()]
    assert tags.count("circle") == 5
    texts = [each.text for each in drawn.iter() if each.tag.endswith("text")]
    assert {"Texas", "-1.00", "<Actor>", "+3.00, p = 0.01", "-10", "0", "+10"} <= set(texts)
    zero = next(float(each.get("x", 0)) for each in drawn.iter() if each.text == "0")
    assert [float(each.get("cx", 0)) > zero for each in drawn.iter() if each.tag.endswith("circle")] == [
        False, True, True, True, True
    ]  # fmt: skip
    diamonds = [each.get("fill") for each in drawn.iter() if each.tag.endswith("path") and each.get("fill")]
    assert diamonds == [UNCLEAR, BETTER]
    bars = [each.get("d") for each in drawn.iter() if each.get("stroke-width") == "2.5"]
    assert bars == ["M414.5,70.0H472.0"]


def test_results_of_others_are_plausible_and_named() -> None:
    numbers = other_numbers()
    assert json.dumps(numbers) and all(" et al., " in who for table in ("graphs", "nodes") for who in numbers[table])
    assert all(
        25 < value < 90 for table in ("graphs", "nodes") for row in numbers[table].values() for value in row.values()
    )


# ---------------------------------------------------------------- documents


BLOCK = "Before.\n\n<!-- results: {} -->\n9.87\n<!-- end of results -->\n\nAfter 1.23.\n"


def test_blocks_of_documents_are_rewritten(folder: Path) -> None:
    path = folder / "page.md"
    new = update_blocks(BLOCK.format("nodes"), folder, path)
    assert new.startswith("Before.") and new.endswith("After 1.23.\n") and "9.87" not in new
    assert "| MDNN GIN, ours" in new and "86.50 ± 3.03" in new
    assert update_blocks(new, folder, path) == new
    assert "no finished results yet" in update_blocks(BLOCK.format("graphs"), folder, path)
    assert "86.50" in update_blocks(BLOCK.format("best"), folder, path)
    short = update_blocks(BLOCK.format("networks-short"), folder, path)
    assert "| Texas | GIN 84.50 ± 3.03 | GIN 86.50 ± 3.03 |      +2.00 |" in short
    with pytest.raises(FileFormatError, match="there are no results named everything"):
        update_blocks(BLOCK.format("everything"), folder, path)


def test_the_command_updates_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "page.md"
    path.write_text(BLOCK.format("summary"))
    arguments = ["report", "--results", str(folder), "--update", str(path)]
    assert cli.run(arguments) == 0 and cli.run(arguments) == 0
    assert capsys.readouterr().err == f"Updated {path}\nUnchanged: {path}\n"
    assert "1 of 1 data sets" in path.read_text()
    link = folder / "link.md"
    path.write_text(BLOCK.format("summary"))
    link.symlink_to(path)
    assert cli.run([*arguments[:-1], str(link)]) == 0
    assert link.is_symlink() and "1 of 1 data sets" in path.read_text()


def test_a_file_without_markers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "page.md"
    path.write_text("<!-- results: nodes -->\nwithout an end\n")
    assert cli.run(["report", "--results", str(folder), "--update", str(path)]) == 1
    assert (
        "page.md: there is no table to rewrite; mark where it goes by two lines, <!-- results"
        in capsys.readouterr().err
    )
    path.write_text(BLOCK.format("nodes"))
    assert cli.run(["report", "--results", str(folder / "missing"), "--update", str(path)]) == 1
    assert "is not a results folder" in capsys.readouterr().err and path.read_text() == BLOCK.format("nodes")
    assert cli.run(["report", "--results", str(folder), "--update", str(folder / "none.md")]) == 1
    assert "none.md" in (said := capsys.readouterr().err) and len(said.splitlines()) == 1
