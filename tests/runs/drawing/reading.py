"""Two small readers of drawn plans: what another tool would see, and where it would stumble."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pydot

_TEXT = r'"((?:[^"#<>&`*]|#(?:\d+|quot|lt|gt|amp);|<br>)*)"'
_NODE = re.compile(rf"(\w+)(?:\({_TEXT}\)|\[\[{_TEXT}\]\]|\[{_TEXT}\])(?::::(\w+))?$")
_BOX = re.compile(rf"subgraph (\w+)\[{_TEXT}\]$")
_ARROW = re.compile(rf"(\w+) (-->|==>|-\.->)(?:\|{_TEXT}\|)? (\w+)$")
_CLASS_DEF = re.compile(r"classDef (\w+) [a-z-]+:[#\w-]+(,[a-z-]+:[#\w-]+)*$")
_CLASS = re.compile(r"class (\w+(?:,\w+)*) (\w+)$")
# Words of Mermaid's own: an id that is one of them ends a diagram or is no id.
_KEPT_WORDS = {"end", "graph", "flowchart", "subgraph", "class", "classDef", "style", "click", "default"}
_NAMED = {"quot": '"', "lt": "<", "gt": ">", "amp": "&"}


@dataclass
class Drawn:
    """Boxes hold ids of nodes; `labels` and `words` are text as a person reads it, one line break a line."""

    labels: dict[str, str] = field(default_factory=dict)
    boxes: dict[str, list[str]] = field(default_factory=dict)
    box_labels: dict[str, str] = field(default_factory=dict)
    arrows: dict[tuple[str, str], str] = field(default_factory=dict)
    thick: set[tuple[str, str]] = field(default_factory=set)


def read_mermaid(text: str) -> Drawn:
    """A flowchart, strictly: whatever is none of the few forms that we write is an error."""
    found, open_box, classes, used = Drawn(), "", set[str](), set[str]()
    comment, first, *lines = text.splitlines()
    assert comment.startswith("%% ")
    assert first == "flowchart TB"
    for line in (line.strip() for line in lines):
        if line == "end":
            assert open_box, "nothing is open"
            open_box = ""
        elif match := _BOX.match(line):
            assert not open_box, "boxes do not lie in boxes"
            open_box = match[1]
            found.boxes[open_box], found.box_labels[open_box] = [], _mermaid_text(match[2])
        elif match := _NODE.match(line):
            assert match[1] not in found.labels, "declared twice"
            found.labels[match[1]] = _mermaid_text(match[2] or match[3] or match[4] or "")
            used.add(match[5] or "")
            if open_box:
                found.boxes[open_box].append(match[1])
        elif match := _ARROW.match(line):
            arrow = (match[1], match[4])
            assert arrow not in found.arrows, "drawn twice"
            found.arrows[arrow] = _mermaid_text(match[3] or "")
            if match[2] == "==>":
                found.thick.add(arrow)
        elif match := _CLASS_DEF.match(line):
            classes.add(match[1])
        elif match := _CLASS.match(line):
            assert set(match[1].split(",")) <= set(found.labels)
            used.add(match[2])
        else:
            raise AssertionError(f"not Mermaid: {line}")
    assert not open_box, "a box is not closed"
    assert used - {""} <= classes
    assert {end for arrow in found.arrows for end in arrow} <= set(found.labels)
    assert not {*found.labels, *found.boxes} & _KEPT_WORDS
    assert not set(found.labels) & set(found.boxes)
    return found


def read_dot(text: str) -> Drawn:
    """A digraph, by a reader of DOT that is not ours."""
    (graph,) = pydot.graph_from_dot_data(text)
    found = Drawn()
    for box in graph.get_subgraphs():
        name = _plain(box.get_name())
        found.box_labels[name] = _plain(box.get_label())
        found.boxes[name] = []
        for node in box.get_nodes():
            step = _plain(node.get_name())
            assert step not in found.labels, "declared twice"
            found.labels[step] = _plain(node.get_label())
            found.boxes[name].append(step)
    for edge in graph.get_edges():
        arrow = (_plain(edge.get_source()), _plain(edge.get_destination()))
        assert arrow not in found.arrows, "drawn twice"
        found.arrows[arrow] = _plain(edge.get_label() or "")
        if edge.get("penwidth"):
            found.thick.add(arrow)
    assert {end for arrow in found.arrows for end in arrow} <= set(found.labels)
    return found


def _plain(quoted: str) -> str:
    text = quoted[1:-1] if quoted.startswith('"') else quoted
    text = re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], text)
    return text.replace("&amp;", "&")


def _mermaid_text(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        return chr(int(match[1])) if match[1].isdigit() else _NAMED[match[1]]

    return re.sub(r"#(\w+);", character, text.replace("<br>", "\n"))
