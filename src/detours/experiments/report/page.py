"""The report as Markdown, and as a self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from detours.experiments.report.sections import Section
from detours.experiments.tables import Table

TITLE = "Results next to the paper's"
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 78rem; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: .6rem 0 1.2rem; font-size: 13px; }
th, td { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th.text, td.text { text-align: left; } td.long { white-space: normal; }
tr.published { color: #777; font-style: italic; }
.note { color: #555; font-size: 13px; max-width: 60rem; } .wide { overflow-x: auto; }
svg { margin: 0 .6rem .6rem 0; } h2 { margin-top: 2.2rem; }
"""


def markdown(sections: Sequence[Section]) -> str:
    """Return the report as Markdown; figures are in the HTML page only."""
    return "\n".join([f"# {TITLE}", "", *(f"## {each.title}\n\n{as_markdown(each, 3)}" for each in sections)])


def as_markdown(section: Section, level: int) -> str:
    """Return the content of a section, its tables with headings of this level."""
    lines = ["\n".join(f"- {point}" for point in section.points) + "\n"] if section.points else []
    lines += [f"{text}\n" for text in section.text]
    lines += [table.markdown(level) for table in section.tables]
    if section.figures:
        lines.append(f"The HTML page has {len(section.figures)} figure{'s' * (len(section.figures) > 1)} here.\n")
    return "\n".join(lines)


def html(sections: Sequence[Section]) -> str:
    """Return the report as an HTML page."""
    parts = ["<!doctype html>", '<html lang="en"><head><meta charset="utf-8">', f"<title>{escape(TITLE)}</title>"]
    parts += [f"<style>{_STYLE}</style></head><body>", f"<h1>{escape(TITLE)}</h1>", "<ul>"]
    named = [(f"s{index}", section) for index, section in enumerate(sections)]
    parts += [f'<li><a href="#{name}">{escape(section.title)}</a></li>' for name, section in named]
    parts.append("</ul>")
    for name, section in named:
        parts.append(f'<h2 id="{name}">{escape(section.title)}</h2>')
        if section.points:
            parts.append(f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in section.points)}</ul>")
        parts += [f"<p>{escape(each)}</p>" for each in section.text]
        parts += map(_table, section.tables)
        parts += section.figures
    return "\n".join([*parts, "</body></html>", ""])


def _table(table: Table) -> str:
    kinds = ["text" if not column.form else "" for column in table.columns]
    head = "".join(_cell("th", column.name, kind) for column, kind in zip(table.columns, kinds, strict=True))
    rows = []
    for row in table.written():
        kind = ' class="published"' if row and (", published" in row[0] or row[0].startswith("theirs:")) else ""
        rows.append(f"<tr{kind}>{''.join(_cell('td', cell, k) for cell, k in zip(row, kinds, strict=True))}</tr>")
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    body = f'<div class="wide"><table><tr>{head}</tr>{"".join(rows)}</table></div>{notes}'
    if len(table.rows) > 30:
        return f"<details><summary>{escape(table.title)} ({len(table.rows)} lines)</summary>{body}</details>"
    return f"<h3>{escape(table.title)}</h3>{body}"


def _cell(tag: str, text: str, kind: str) -> str:
    kinds = " ".join(filter(None, (kind, "long" if len(text) > 60 else "")))
    return f"<{tag}{f' class={chr(34)}{kinds}{chr(34)}' if kinds else ''}>{escape(text)}</{tag}>"
