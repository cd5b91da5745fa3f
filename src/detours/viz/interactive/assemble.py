"""One self-contained HTML file of the page's source, the drawing library and the data.

Nothing is fetched: the content-security policy allows exactly the scripts and styles in the file, by their digests. The
data are JSON in an element that is never executed, with `<`, `>` and `&` escaped, so that no text can end that element.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from functools import cache
from importlib.resources import files
from typing import Any

SCRIPTS = ("model.js", "colours.js", "layer.js", "panel.js", "table.js", "details.js", "export.js", "page.js")
_ESCAPES = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def assemble(content: dict[str, Any]) -> str:
    """Return the page as one text."""
    from detours import __version__

    library, style = _asset("vendor/force-graph.min.js"), _asset("page.css")
    script = '"use strict";\n{\n' + "\n".join(map(_asset, SCRIPTS)) + "}\n"
    # force-graph first adds its two style sheets empty, so the empty style is allowed too.
    allowed = [_digest(style), _digest(""), *json.loads(_asset("vendor/force-graph.json"))["styles"]]
    policy = {
        "default-src": ["'none'"],
        "script-src": [f"'{_digest(text)}'" for text in (library, script)],
        "style-src": [f"'{digest}'" for digest in allowed],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    parts = {
        "policy": "; ".join(f"{name} {' '.join(values)}" for name, values in policy.items()),
        "generator": html.escape(f"detours {__version__}"),
        "title": html.escape(content["title"]),
        "style": style,
        "licences": html.escape(_asset("vendor/LICENSES.txt")),
        "data": escaped_json(content),
        "library": library,
        "script": script,
    }
    page = _asset("page.html")
    pieces = []
    for name, text in parts.items():  # in the order of the page, so that inserted text is never searched for marks
        before, mark, page = page.partition("{{" + name + "}}")
        assert mark, f"page.html has no {name}"
        pieces += [before, text]
    return "".join([*pieces, page])


def escaped_json(value: Any) -> str:
    """Return JSON that is safe inside a script element.

    >>> escaped_json({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


@cache
def _asset(name: str) -> str:
    text = files("detours.viz.interactive").joinpath("assets", *name.split("/")).read_text("utf-8")
    if name.endswith(".js"):
        assert "</script" not in text.lower() and "<!--" not in text, f"{name} would end its own element"
    return text


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
