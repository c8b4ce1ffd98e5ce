"""Text as the languages of graphs quote it, so that no name from elsewhere is read as anything but text."""

from __future__ import annotations

from collections.abc import Mapping

# A character reference stands for its character in the labels of both languages.
_DOT = {"\\": "\\\\", '"': '\\"', "&": "&amp;"}
# Mermaid reads HTML and Markdown in a label, and `#` begins a character's name.
_MERMAID = {
    "#": "#35;",
    '"': "#quot;",
    "<": "#lt;",
    ">": "#gt;",
    "&": "#amp;",
    "`": "#96;",
    "*": "#42;",
}


def dot_quoted(*lines: str) -> str:
    """A string of DOT: an id, or a label of one line or several."""
    return '"' + "\\n".join(_escaped(line, _DOT) for line in lines) + '"'


def mermaid_quoted(*lines: str) -> str:
    """A label of Mermaid. Mermaid cannot quote ids."""
    return '"' + "<br>".join(_escaped(line, _MERMAID) for line in lines) + '"'


def _escaped(line: str, escapes: Mapping[str, str]) -> str:
    return "".join(escapes.get(char, char if char.isprintable() else " ") for char in line)
