"""Small HTML tables with which notebooks show graphs and results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from detours.graph.csr_graph import CsrGraph

_ROWS = 5


def html_table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return an HTML table, with all text escaped.

    >>> html_table("a < b", ["n"], [[1200]])
    '<table><caption>a &lt; b</caption><thead><tr><th>n</th></tr></thead><tbody><tr><td>1,200</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def graph_table(graph: CsrGraph) -> str:
    """Return the table of a graph: its size, and the nodes with the most neighbours."""
    largest = (-graph.degree).argsort(kind="stable")[:_ROWS]
    rows = [(graph.name(node), int(graph.degree[node])) for node in largest]
    return html_table(repr(graph), ["node", "outgoing arcs" if graph.directed else "degree"], rows)


def _cell(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    text = str(value)
    return escape(text if len(text) <= 60 else text[:59] + "…")
